//! For a lecture hall: what more ranks gained, in figures that the last row can read.
//!
//! The lowest lines hold nothing vital: heads are in the way.

use crate::tui::state::State;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::columns::{cut, wrap};
use crate::domain::step::Step;
use crate::domain::{printable, units};
use crate::runs::RunId;
use crate::tui::shared::Shared;
use crate::tui::shared::gain::Gain;
use crate::tui::widgets::big_text::{Pixel, big_lines};

/// Lines below the figure: an empty one, runs, efficiency, bar and an empty one; then the steps.
const WORDS: u16 = 5;
const STEPS: u16 = 4;

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let shared = &state.shared;
    // The lowest eighth of the screen stays empty.
    let height = area.height.saturating_sub(area.height / 8 + 1);
    let [_, area, _] = Layout::horizontal([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(1)]).areas(area);
    let area = Rect { height, ..area };
    let room = height.saturating_sub(WORDS + STEPS);
    let used = match gain(shared) {
        Some(gain) => figures(frame, area, room, shared, &gain) + WORDS,
        None => {
            let lines = how_to_get_one(shared, area.width.into());
            let used = lines.len() as u16 + 1;
            frame.render_widget(Paragraph::new(lines), area);
            used
        }
    };
    let used = used.min(height);
    steps(frame, Rect { y: area.y + used, height: height - used, ..area }, shared);
}

/// The gain of the run on the screen if it can be compared, else the best gain.
fn gain(shared: &Shared) -> Option<Gain> {
    let chosen = shared.watched.as_ref().and_then(|watched| shared.summary(watched.id));
    chosen.and_then(|run| shared.gain(run).ok()).or_else(|| shared.best_gain())
}

/// The speed-up as large as it gets, and below it what it is of. Returns the lines that the figure took.
fn figures(frame: &mut Frame, area: Rect, room: u16, shared: &Shared, gain: &Gain) -> u16 {
    let (theme, width) = (shared.theme, usize::from(area.width));
    let text = format!("{:.2}x", gain.speedup);
    let pixel = Pixel::largest(text.len(), width, room.into(), theme.ascii);
    let mut lines: Vec<Line> = big_lines(&text, pixel);
    lines.iter_mut().for_each(|line| *line = std::mem::take(line).style(theme.warn()));
    let used = lines.len() as u16;
    let so_far = if gain.so_far { " so far" } else { "" };
    let against = format!("{}{so_far} against {}", named(shared, gain.run), named(shared, gain.baseline));
    let ranks = shared.summary(gain.baseline).map_or(1, |run| run.figures.np);
    let efficiency = match gain.efficiency {
        Ok(part) => format!("{} scaling efficiency", units::percent(part)),
        Err(reason) => format!("scaling efficiency –, {reason}"),
    };
    let efficiency = format!("{} against {ranks}: {efficiency}", units::counted(gain.np, "rank"));
    let of = format!(" {} of {}", gain.times(), gain.of());
    let [full, rest] = theme.gauge(gain.speedup / gain.ideal, width.saturating_sub(of.chars().count()), theme.accent());
    // The last line of the smallest figures is an empty one.
    let has_room = used + WORDS <= area.height;
    lines.extend(has_room.then(Line::default));
    lines.extend([
        Line::styled(cut(&against, width), theme.strong()),
        Line::raw(cut(&efficiency, width)),
        Line::from(vec![full, rest, Span::raw(of)]),
    ]);
    frame.render_widget(Paragraph::new(lines), area);
    used
}

/// `run 2 (two ranks)`
fn named(shared: &Shared, run: RunId) -> String {
    let name = shared.summary(run).and_then(|run| run.record.as_ref()?.name.as_deref());
    name.map_or(format!("run {run}"), |name| format!("run {run} ({})", printable::line(name)))
}

/// No two runs can be compared: why, and what to do.
fn how_to_get_one(shared: &Shared, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let keys = "- and + change the ranks of the next run, r starts it.";
    let chosen = shared.watched.as_ref().and_then(|watched| shared.summary(watched.id));
    let (what, how) = match (shared.baseline(), chosen) {
        (None, None) => {
            ("No runs yet".to_owned(), format!("Run once on 1 rank and once on 2 ranks, with the same settings. {keys}"))
        }
        (None, Some(run)) => {
            let ranks = units::counted(run.figures.np, "rank");
            (
                format!("Run {} on {ranks} has measured no speed yet", run.id),
                format!("Let it end an epoch, then run on more ranks. {keys}"),
            )
        }
        (Some(baseline), chosen) => {
            let why = chosen.filter(|run| run.id != baseline.id).and_then(|run| Some((run.id, shared.gain(run).err()?)));
            let what = why.map_or("Only one run can be compared so far".to_owned(), |(run, why)| {
                format!("No speed-up of run {run}: {why}")
            });
            let (np, more) = (units::counted(baseline.figures.np, "rank"), 2 * baseline.figures.np);
            (what, format!("Run {} is measured on {np}. Run the same settings on {more} ranks. {keys}", baseline.id))
        }
    };
    let mut lines = vec![Line::raw("")];
    lines.extend(wrap(&what, width).into_iter().map(|line| Line::styled(line, theme.warn())));
    lines.push(Line::raw(""));
    lines.extend(wrap(&how, width).into_iter().map(Line::raw));
    lines
}

/// The step under the cursor, and which steps are on.
fn steps(frame: &mut Frame, area: Rect, shared: &Shared) {
    let (theme, step, steps) = (shared.theme, shared.step, shared.spec.workload.steps);
    let switched = if steps.contains(step) { "on" } else { "off" };
    let title = format!("step {} of 10, {switched}: {}", step.number(), step.title());
    // Ten marks with a space on either side, or on one where there is no room.
    let end = if usize::from(area.width) < 10 * 6 + 1 { "" } else { " " };
    let mark = |other: Step| {
        let text = format!(" [{}]{}{end}", if steps.contains(other) { "x" } else { " " }, other.number());
        Span::styled(text, if other == step { theme.cursor(true) } else { theme.text() })
    };
    let way_back = Line::from(vec![Span::styled("P", theme.key()), Span::styled(" shows the panes again", theme.dim())]);
    let lines = vec![
        Line::styled(cut(&title, area.width.into()), theme.strong()),
        Line::from_iter(Step::ALL.map(mark)),
        Line::raw(""),
        way_back,
    ];
    frame.render_widget(Paragraph::new(lines), area);
}
