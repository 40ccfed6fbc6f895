//! The table of all runs, newest on top, with what each gained over the baseline.
//!
//! Never compares what cannot be compared: a dash stands there, and the details say why.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::state::{Pane, State};
use super::super::theme::{bar, sign};
use super::{Hit, cut, frame_of};
use crate::dataset::LABEL_GENERATED;
use crate::domain::speedup::Comparison;
use crate::domain::units;
use crate::runs::{RunRecord, RunSummary};

struct Column {
    title: &'static str,
    width: usize,
    /// Lower numbers stay longer where the pane is narrow.
    rank: u8,
    right: bool,
    text: fn(&State, &RunSummary, &Comparison) -> String,
}

const fn column(
    title: &'static str,
    width: usize,
    rank: u8,
    right: bool,
    text: fn(&State, &RunSummary, &Comparison) -> String,
) -> Column {
    Column { title, width, rank, right, text }
}

const SPEEDUP_BAR: &str = "speed-up bar";

static COLUMNS: [Column; 13] = [
    column("run", 3, 0, true, |_, run, _| run.id.to_string()),
    column("", 1, 0, false, |state, run, _| sign(state.run_state(run)).into()),
    column("state", 9, 3, false, |state, run, _| state.run_state(run).name().into()),
    column("steps", 7, 1, false, |_, run, _| of(run, |record| record.spec.steps.to_string())),
    column("np", 3, 0, true, |_, run, _| of(run, |record| record.spec.np.to_string())),
    column("epochs", 6, 6, true, |_, run, _| of(run, |record| format!("{}/{}", run.last_epoch, record.spec.epochs))),
    column("img/s", 6, 1, true, |_, run, _| run.figures.images_per_sec.map_or("–".into(), units::rate)),
    column("speed", 6, 2, true, |_, _, gained| gained.speedup.map_or("–".into(), |value| format!("{value:.2}×"))),
    column("", 10, 7, false, |_, _, _| SPEEDUP_BAR.into()),
    column("eff.", 5, 2, true, |_, _, gained| gained.scaling_efficiency.map_or("–".into(), units::percent)),
    column("time", 7, 5, true, |_, run, _| run.training_seconds.map_or("–".into(), units::seconds)),
    column("test", 5, 2, true, |_, run, _| run.test.map_or("–".into(), |test| format!("{:.1}%", test.accuracy * 100.0))),
    column("data", 9, 8, false, |_, run, _| of(run, data)),
];

fn of(run: &RunSummary, text: impl Fn(&RunRecord) -> String) -> String {
    run.record.as_ref().map_or("?".into(), text)
}

fn data(record: &RunRecord) -> String {
    if record.data_label == LABEL_GENERATED { "generated".into() } else { "real".into() }
}

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme;
    let compared = match state.baseline() {
        Some(run) => format!("compared with run {} ◆ ", run.id),
        None => String::new(),
    };
    let block = frame_of(state, Pane::Runs, vec![Span::styled(compared, theme.dim())]);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    if state.runs.is_empty() {
        let text = if state.listed { " No run yet: what each gained shows here." } else { " reading …" };
        frame.render_widget(Paragraph::new(Line::styled(text, theme.dim())), inner);
        return;
    }
    let columns = fitting(inner.width as usize);
    let mut lines = vec![head(state, &columns)];
    let chosen = state.watched.as_ref().map(|watched| watched.id);
    let fastest = state.runs.iter().filter_map(|run| gained(state, run).speedup).fold(1.0, f64::max);
    for run in visible(state, inner) {
        lines.push(row(state, run, &columns, fastest, Some(run.id) == chosen, inner.width as usize));
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

/// Newest first, the chosen one among them; below the head.
fn visible(state: &State, inner: Rect) -> impl Iterator<Item = &RunSummary> {
    let chosen = state.watched.as_ref().map(|watched| watched.id);
    let cursor = state.runs.iter().rev().position(|run| Some(run.id) == chosen).unwrap_or(0);
    let rows = (inner.height as usize).saturating_sub(1).max(1);
    state.runs.iter().rev().skip((cursor + 1).saturating_sub(rows)).take(rows)
}

pub fn hit(state: &State, inner: Rect, at: Position) -> Option<Hit> {
    let row = usize::from(at.y - inner.y).checked_sub(1)?;
    visible(state, inner).nth(row).map(|run| Hit::Run(run.id))
}

fn gained(state: &State, run: &RunSummary) -> Comparison {
    state.comparison(run).unwrap_or_default()
}

/// The most important columns that fit, in their order.
fn fitting(width: usize) -> Vec<&'static Column> {
    let mut by_rank: Vec<usize> = (0..COLUMNS.len()).collect();
    by_rank.sort_by_key(|&index| COLUMNS[index].rank);
    // The baseline's mark stands before the first.
    let mut left = width.saturating_sub(1);
    let mut chosen = Vec::new();
    for index in by_rank {
        let columns = COLUMNS[index].width + 1;
        if columns > left {
            break;
        }
        left -= columns;
        chosen.push(index);
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|index| &COLUMNS[index]).collect()
}

fn padded(text: &str, column: &Column) -> String {
    let text = cut(text, column.width);
    let width = column.width;
    if column.right { format!(" {text:>width$}") } else { format!(" {text:<width$}") }
}

fn head(state: &State, columns: &[&Column]) -> Line<'static> {
    let titles: String = columns.iter().map(|column| padded(column.title, column)).collect();
    Line::styled(format!(" {titles}"), state.theme.dim())
}

fn row(state: &State, run: &RunSummary, columns: &[&Column], fastest: f64, chosen: bool, width: usize) -> Line<'static> {
    let theme = state.theme;
    let gained = gained(state, run);
    let is_baseline = state.baseline().is_some_and(|baseline| baseline.id == run.id);
    let now = state.run_state(run);
    let mut spans = vec![Span::styled(if is_baseline { "◆" } else { " " }, theme.accent())];
    for column in columns {
        let text = (column.text)(state, run, &gained);
        if text == SPEEDUP_BAR {
            let (full, rest) = bar(gained.speedup.unwrap_or(0.0) / fastest, column.width);
            spans.extend([Span::raw(" "), Span::styled(full, theme.accent()), Span::styled(rest, theme.dim())]);
            continue;
        }
        let style = if column.title == "state" || column.width == 1 { theme.state(now) } else { Style::new() };
        spans.push(Span::styled(padded(&text, column), style));
    }
    let line = Line::from(spans);
    if !chosen {
        return line;
    }
    let missing = width.saturating_sub(line.width());
    let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
    Line::styled(format!("{text}{}", " ".repeat(missing)), theme.cursor(state.focus == Pane::Runs))
}
