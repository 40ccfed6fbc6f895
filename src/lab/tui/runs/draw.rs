//! The table of runs, with what each gained over the baseline, and what others published below them.
//!
//! Never compares what cannot be compared: a dash stands there, and the header says why.

use super::state::Runs;
use crate::tui::actions::Pane;
use crate::tui::shared::{Shared, has_steps};
use crate::tui::widgets::frame::{self, Focus};
use crate::tui::widgets::{Theme, bar, sign, table};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::columns::{self, cut};
use crate::dataset::is_generated;
use crate::domain::speedup::Comparison;
use crate::domain::units::rate;
use crate::domain::{printable, units};
use crate::runs::{self as run_data, Published, RunId, RunRecord, RunSummary, SortKey, references};

type Text = fn(&Shared, &RunSummary, &Comparison) -> String;

struct Column {
    title: &'static str,
    width: usize,
    /// Lower numbers stay longer where the pane is narrow.
    rank: u8,
    right: bool,
    text: Text,
    published: fn(&Published) -> String,
}

/// Its text stands at the right, as figures do.
const fn column(title: &'static str, width: usize, rank: u8, text: Text, published: fn(&Published) -> String) -> Column {
    Column { title, width, rank, right: true, text, published }
}

impl Column {
    const fn left(self) -> Column {
        Column { right: false, ..self }
    }
}

const SPEEDUP_BAR: &str = "speed-up bar";
/// What other programs on the machine have a part in, beside the rate.
const GAINS: [&str; 3] = ["speed-up", "efficiency", "sooner"];
/// The last one: it takes what room is left.
const NAME: &str = "name";
const LABEL_WIDTH: usize = 23;
const PUBLISHED_RANK: u8 = 4;

static COLUMNS: [Column; 17] = [
    column("run", 3, 0, |_, run, _| run.id.to_string(), |_| String::new()),
    column("", 1, 0, |shared, run, _| sign(shared.run_state(run)).into(), |_| "○".into()).left(),
    column("state", 9, 3, |shared, run, _| shared.run_state(run).name().into(), |_| "published".into()).left(),
    column("steps", 7, 1, |_, run, _| steps(run), |row| dash(row.steps)).left(),
    column("np", 3, 0, |_, run, _| run.np_in_words().unwrap_or("?".into()), |row| row.np.to_string()),
    column("epochs", 6, 6, |_, run, _| of(run, |_| dash(run.epochs_in_words())), |row| dash(row.epochs)),
    column("img/s", 6, 1, |shared, run, _| dash(shared.shown_rate(run)), |row| dash(row.images_per_sec_of_all().map(rate))),
    column("speed-up", 8, 2, |_, _, gained| times(gained.speedup), |row| times(row.speedup)),
    column("", 10, 8, |_, _, _| SPEEDUP_BAR.into(), |_| String::new()).left(),
    column("efficiency", 10, 3, |_, _, gained| percent(gained.scaling_efficiency), |row| percent(row.scaling_efficiency())),
    column("time", 7, 5, |_, run, _| time(run.training_seconds), |row| time(row.seconds.map(|[_, high]| high))),
    column("target", 7, 9, |_, run, _| time(run.figures.seconds_to_target), |_| time(None)),
    column("sooner", 6, 9, |_, _, gained| times(gained.speedup_to_target), |row| times(row.speedup_to_target)),
    column("test acc", 8, 2, |_, run, _| accuracy(run.test.map(|test| test.accuracy)), |row| accuracy(row.exact_accuracy())),
    column("dev-s", 6, 10, |_, run, _| dash(run.device_seconds().map(rate)), |_| dash(None::<String>)),
    column("data", 9, 10, |_, run, _| of(run, data), |_| String::new()).left(),
    column(NAME, 12, 7, |_, run, _| run.record.as_ref().map_or(String::new(), name), |row| row.label.clone()).left(),
];

fn of(run: &RunSummary, text: impl Fn(&RunRecord) -> String) -> String {
    run.record.as_ref().map_or("?".into(), text)
}

/// The steps of a training; of any other run its kind.
fn steps(run: &RunSummary) -> String {
    of(run, |record| {
        if has_steps(run) {
            dash(record.training().map(|training| training.steps))
        } else {
            record.request.spec.workload.short_kind().to_owned()
        }
    })
}

fn dash(value: Option<impl ToString>) -> String {
    value.map_or("–".into(), |value| value.to_string())
}

fn percent(part: Option<f64>) -> String {
    dash(part.map(units::percent))
}

fn time(seconds: Option<f64>) -> String {
    dash(seconds.map(units::seconds))
}

fn accuracy(part: Option<f64>) -> String {
    dash(part.map(|part| format!("{:.1} %", part * 100.0)))
}

fn times(ratio: Option<f64>) -> String {
    // As many digits as fit beside each other.
    dash(ratio.map(|ratio| match ratio {
        ..9.995 => format!("{ratio:.2}x"),
        ..99.95 => format!("{ratio:.1}x"),
        _ => format!("{ratio:.0}x"),
    }))
}

fn data(record: &RunRecord) -> String {
    if is_generated(&record.data_label) { "generated".into() } else { "real".into() }
}

/// What the user called it, and the note behind; a benchmark also by what it measures, for which there is no other column.
fn name(record: &RunRecord) -> String {
    let said = record.request.name.iter().chain(&record.request.note).map(|text| printable::line(text).into_owned());
    let measured = record.request.spec.benchmark().map(|benchmark| benchmark.model.to_string());
    measured.into_iter().chain(said).collect::<Vec<_>>().join(" · ")
}

pub fn draw(frame: &mut Frame, area: Rect, runs: &Runs, shared: &Shared, focus: Focus) {
    let theme = shared.theme;
    let shown = runs.shown(&shared.runs);
    let block = frame::pane(shared.theme, Pane::Runs.title(), focus, title(runs, shared, shown.len(), area.width as usize));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    if shared.runs.is_empty() {
        let text = if shared.listed { " No runs yet. Speed-ups appear here." } else { " reading …" };
        frame.render_widget(Paragraph::new(Line::styled(text, theme.dim())), inner);
        return;
    }
    let width = inner.width as usize;
    let columns = fitting(width, runs.published);
    below(frame, area, shared, columns.iter().any(|column| column.title == NAME));
    let mut lines = vec![head(shared, &columns)];
    // The baseline is looked for once, not for each of a thousand runs.
    let baseline = shared.baseline();
    let speedups = shown.iter().filter_map(|run| run_data::gained(run, baseline?).ok()?.speedup);
    let fastest = speedups.fold(1.0, f64::max);
    if shown.is_empty() {
        lines.push(Line::styled(" No run matches the filter: Esc removes it.", theme.warn()));
    }
    let (visible, others) = visible(runs, shared, inner);
    lines.extend(visible.into_iter().map(|run| row(shared, focus, run, &columns, fastest, width)));
    if runs.published {
        lines.extend(published(theme, &columns, width, others));
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

/// The runs there is room for, the chosen one among them, and the lines left for what others published: half of the room at
/// least, where that is wanted, and what the runs leave.
fn visible<'a>(runs: &Runs, shared: &'a Shared, inner: Rect) -> (Vec<&'a RunSummary>, usize) {
    let shown = runs.shown(&shared.runs);
    // Below the head.
    let room = (inner.height as usize).saturating_sub(1).max(1);
    let others = if runs.published { room.saturating_sub(shown.len()).max(room / 2) } else { 0 };
    let rows = room.saturating_sub(others).max(1);
    let chosen = shared.watched.as_ref().map(|watched| watched.id);
    let cursor = shown.iter().position(|run| Some(run.id) == chosen).unwrap_or(0);
    (shown.into_iter().skip((cursor + 1).saturating_sub(rows)).take(rows).collect(), others)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    Run(RunId),
    /// The title of a column.
    Title(&'static str),
}

pub fn hit(runs: &Runs, shared: &Shared, inner: Rect, at: Position) -> Option<Hit> {
    match usize::from(at.y - inner.y).checked_sub(1) {
        Some(row) => visible(runs, shared, inner).0.get(row).map(|run| Hit::Run(run.id)),
        None if shared.runs.is_empty() => None,
        None => title_hit(runs, inner, at).map(Hit::Title),
    }
}

/// The title of a column under the pointer.
fn title_hit(runs: &Runs, inner: Rect, at: Position) -> Option<&'static str> {
    let columns = fitting(inner.width as usize, runs.published);
    // The mark of the baseline or of a pin stands before the first.
    let mut from = inner.x + 1;
    let column = columns.into_iter().find(|column| {
        from += 1 + column.width as u16;
        at.x < from
    });
    column.map(|column| column.title).filter(|title| !title.is_empty())
}

/// What is shown, in which order, and against what.
fn title(runs: &Runs, shared: &Shared, shown: usize, width: usize) -> Vec<Span<'static>> {
    let (theme, view) = (shared.theme, runs);
    let mut title = Vec::new();
    if !view.filter.is_empty() {
        let text = cut(view.filter.text(), width / 3);
        title.push(Span::styled(format!("/{text} {shown} of {} ", shared.runs.len()), theme.strong()));
    }
    if view.sort != SortKey::default() || view.reverse {
        let way = if view.reverse { "↑" } else { "↓" };
        title.push(Span::styled(format!("by {} {way} ", view.sort), theme.accent()));
    }
    let left = width.saturating_sub(title.iter().map(Span::width).sum::<usize>());
    if let Some(run) = shared.baseline() {
        let long = format!("compared with run {} ◆ ", run.id);
        title.push(Span::styled(if left > long.len() + 8 { long } else { format!("◆ run {} ", run.id) }, theme.dim()));
    }
    title
}

/// The most important columns that fit, in their order. The place of the names is kept where no run has one: a name takes no
/// column away. What others published has long names, which come first.
fn fitting(width: usize, published: bool) -> Vec<&'static Column> {
    let wanted = |column: &Column| match published && column.title == NAME {
        true => (LABEL_WIDTH, PUBLISHED_RANK),
        false => (column.width, column.rank),
    };
    // The mark of the baseline or of a pin stands before the first.
    let shown = table::fitting(width.saturating_sub(1), COLUMNS.iter().map(wanted));
    shown.into_iter().map(|place| &COLUMNS[place]).collect()
}

fn padded(text: &str, column: &Column, left: usize) -> String {
    if column.title == NAME {
        return format!(" {}", cut(text, left.saturating_sub(1)));
    }
    let padded = if column.right { columns::right } else { columns::left };
    format!(" {}", padded(text, column.width))
}

fn head(shared: &Shared, columns: &[&Column]) -> Line<'static> {
    let titles: String = columns.iter().map(|column| padded(column.title, column, column.width)).collect();
    Line::styled(format!(" {titles}"), shared.theme.dim())
}

fn row(shared: &Shared, focus: Focus, run: &RunSummary, columns: &[&Column], fastest: f64, width: usize) -> Line<'static> {
    let theme = shared.theme;
    let gained = shared.comparison(run).unwrap_or_default();
    let baseline = shared.baseline();
    let is_baseline = baseline.is_some_and(|baseline| baseline.id == run.id);
    let is_shared = !is_baseline && baseline.into_iter().chain([run]).any(|of| shared.shared_machine(of).is_some());
    let now = shared.run_state(run);
    let mut bar_at = None;
    let mut spans = vec![if is_baseline { Span::styled("◆", theme.accent()) } else { pin(shared, run) }];
    for column in columns {
        let mut text = (column.text)(shared, run, &gained);
        if is_shared && GAINS.contains(&column.title) && text != dash(None::<String>) {
            text.push('*');
        }
        if text == SPEEDUP_BAR {
            let (full, rest) = bar(gained.speedup.unwrap_or(0.0) / fastest, column.width);
            spans.push(Span::raw(" "));
            bar_at = Some(spans.len());
            spans.extend([Span::styled(full, theme.accent()), Span::styled(rest, theme.dim())]);
            continue;
        }
        let style = if column.title == "state" || column.width == 1 { theme.state(now) } else { Style::new() };
        let left = width.saturating_sub(spans.iter().map(Span::width).sum());
        spans.push(Span::styled(padded(&text, column, left), style));
    }
    let line = Line::from(spans);
    if shared.watched.as_ref().is_none_or(|watched| watched.id != run.id) {
        return line;
    }
    let missing = width.saturating_sub(line.width());
    let cursor = theme.cursor(focus.here);
    // A bar whose colours are reversed would be a hole in the row, and one in the row's own colour could not be seen.
    let is_bar = |at: usize| bar_at.is_some_and(|from| (from..from + 2).contains(&at));
    let style = |at| if is_bar(at) { theme.text() } else { cursor };
    let spans = line.spans.into_iter().enumerate().map(|(at, span)| span.style(style(at)));
    Line::from_iter(spans.chain([Span::styled(" ".repeat(missing), cursor)]))
}

/// On the lower border the name of the chosen run, where the table has no room for names.
fn below(frame: &mut Frame, area: Rect, shared: &Shared, has_names: bool) {
    let chosen = shared.summary_on_screen();
    let name = chosen.and_then(|run| run.record.as_ref()).map(name).filter(|name| !has_names && !name.is_empty());
    let Some(name) = name.filter(|_| area.height >= 2 && area.width >= 8) else { return };
    let line = Line::styled(format!(" {} ", cut(&name, area.width as usize - 6)), shared.theme.strong());
    let width = (line.width() as u16).min(area.width - 2);
    frame.render_widget(line, Rect::new(area.x + 2, area.bottom() - 1, width, 1));
}

/// The letter of a pinned run in the chart, in its colour there.
fn pin(shared: &Shared, run: &RunSummary) -> Span<'static> {
    let view = &shared.pins;
    match (view.letter(run.id), view.slot(run.id)) {
        (Some(letter), Some(slot)) if view.contains(run.id) => Span::styled(letter.to_string(), shared.theme.run(slot)),
        _ => Span::raw(" "),
    }
}

/// Rows of their own below the runs, which no cursor reaches, each source under its name, as far as they fit.
fn published(theme: Theme, columns: &[&Column], width: usize, room: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    // Clusters of thousands stand in the comparison: their numbers are wider than the column.
    let narrow = |row: &&Published| row.np < 1000;
    for source in references().iter().filter(|source| source.rows.iter().any(|row| narrow(&row))) {
        let rule = cut(&format!("─ published elsewhere: {} ", source.name), width);
        let rest = "─".repeat(width.saturating_sub(columns::width(&rule)));
        lines.push(Line::styled(format!("{rule}{rest}"), theme.dim()));
        lines.extend(source.rows.iter().filter(narrow).map(|row| {
            let mut spans = vec![Span::raw(if row.baseline { "◆" } else { " " })];
            for column in columns {
                let text = (column.published)(row);
                let style = if column.width == 1 || column.title == "state" { theme.strong() } else { theme.dim() };
                let left = width.saturating_sub(spans.iter().map(Span::width).sum());
                spans.push(Span::styled(padded(&text, column, left), style));
            }
            Line::from(spans)
        }));
    }
    lines.truncate(room.saturating_sub(1));
    lines.push(Line::styled("  … v shows all, with their sources", theme.dim()));
    lines
}
