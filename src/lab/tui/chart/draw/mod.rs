//! Curves of the run on the screen, the baseline and the pinned runs; or where the time of a step goes.
//!
//! A line ends where a value was not a number.

mod fit;
mod plot;
mod timeline;
mod trace;

use crate::tui::actions::Pane;
use crate::tui::chart::state::{Chart, other_kinds, shown as shown_runs};
use crate::tui::shared::{Shared, kind_of};
use crate::tui::widgets::frame::{self, Focus, behind_name};
use crate::tui::widgets::{indented, sign};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::columns::{self, cut};
use crate::domain::run::RunState;
use crate::runs::RunId;
use crate::tui::chart::draw::plot::{Common, ShownRun};
use crate::tui::chart::graph::{Graph, Tab};

/// A name in the legend is cut to no less than this.
const NAME: usize = 6;
/// Between the end of a curve and the numbers of the next plot.
const GAP: u16 = 1;

pub fn draw(frame: &mut Frame, area: Rect, chart: &Chart, shared: &Shared, focus: Focus) {
    let theme = shared.theme;
    let legend = legend(chart, shared, area.width).into_iter().flat_map(|(_, spans)| spans).collect();
    let block = frame::pane(shared.theme, Pane::Chart.title(), focus, legend);
    let block = block.title_bottom(Line::styled(how(chart), theme.dim()).right_aligned());
    let room = usize::from(area.width).saturating_sub(columns::width(&how(chart)) + 3);
    let block = block.title_bottom(Line::styled(not_drawn(shared, room), theme.warn()));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let Some(watched) = &shared.watched else {
        let width = usize::from(inner.width).saturating_sub(2);
        let lines = indented("Loss and accuracy appear here while a run trains.", width, theme.dim());
        frame.render_widget(Paragraph::new(lines), inner);
        return;
    };
    let Tab::Graph(chosen) = chart.tab else {
        timeline::draw(frame, inner, chart, shared, watched);
        return;
    };
    let common = common(chart, shared);
    for (graph, place) in places(inner, chosen, order(shared)) {
        plot::draw(frame, place, graph, chart.is_log(graph), graph == chosen, &common);
    }
}

/// The curves alone, thick enough for the last row: two graphs, or the chosen one of them where there is room for one.
pub fn large(frame: &mut Frame, area: Rect, chart: &Chart, shared: &Shared) {
    let mut common = Common { thick: true, ..common(chart, shared) };
    common.range.cursor = None;
    let [first, second, ..] = order(shared);
    let places = if area.height < 20 {
        vec![(if chart.tab == Tab::Graph(second) { second } else { first }, area)]
    } else {
        let halves = Layout::vertical([Constraint::Fill(1); 2]).areas::<2>(area);
        [first, second].into_iter().zip(halves).collect()
    };
    for (graph, place) in places {
        plot::draw(frame, place, graph, chart.is_log(graph), true, &common);
    }
}

fn common<'a>(chart: &'a Chart, shared: &'a Shared) -> Common<'a> {
    // The shown runs whose curves have been read, with their colours and letters.
    let shown = |run: RunId| {
        let slot = shared.pins.slot(run)?;
        let ending = ending(chart, shared, run).map(|(sign, _)| sign);
        let (letter, style) = (shared.pins.letter(run)?, shared.theme.run(slot));
        Some(ShownRun { run, letter, style, slot, curves: chart.curves(shared, run)?, ending })
    };
    let runs: Vec<ShownRun> = shown_runs(shared).into_iter().filter_map(shown).collect();
    Common {
        theme: shared.theme,
        range: chart.range,
        window: chart.range.window(chart.reach(shared)),
        thick: false,
        is_over: runs.iter().all(|run| shared.status(run.run).is_some_and(|status| status.state.is_over())),
        runs,
    }
}

/// The graph under the pointer, and where along its curves.
pub fn hit(chart: &Chart, shared: &Shared, inner: Rect, at: Position) -> Option<(Graph, Option<f64>)> {
    let Tab::Graph(chosen) = chart.tab else { return None };
    shared.watched.as_ref()?;
    let (graph, place) = places(inner, chosen, order(shared)).into_iter().find(|(_, place)| place.contains(at))?;
    Some((graph, plot::x_at(place, graph, chart.is_log(graph), &common(chart, shared), at)))
}

/// The run whose name in the title is under the pointer.
pub fn legend_hit(chart: &Chart, shared: &Shared, area: Rect, at: Position) -> Option<RunId> {
    let mut from = behind_name(Pane::Chart.title(), area);
    legend(chart, shared, area.width).into_iter().find_map(|(run, spans)| {
        let place = Rect::new(from, area.y, spans.iter().map(Span::width).sum::<usize>() as u16, 1);
        from = place.right();
        place.contains(at).then_some(run)
    })
}

/// The mark, as in the table of runs where that has one, and the word. `None` for a run that finished or is still learning.
fn ending(chart: &Chart, shared: &Shared, run: RunId) -> Option<(&'static str, &'static str)> {
    let now = shared.watched_state(run).or_else(|| shared.summary(run).map(|run| run.status.state))?;
    let loss = chart.curves(shared, run).and_then(|curves| curves.loss.last());
    match now {
        RunState::Failed => Some((sign(now), now.name())),
        // Whatever became of it since.
        _ if loss.is_some_and(|point| !point.value.is_finite()) => Some(("!", "diverged")),
        RunState::Stopped => Some((sign(now), now.name())),
        RunState::Preparing | RunState::Running | RunState::Stopping | RunState::Finished => None,
    }
}

/// Which two graphs go together: the rate of a benchmark, or of a training on photos, stands beside its loss, for nothing is
/// validated.
fn order(shared: &Shared) -> [Graph; 4] {
    let record = shared.summary_on_screen().and_then(|run| run.record.as_ref());
    match record.is_some_and(|record| record.request.spec.benchmark().is_some() || record.request.spec.nvcnn().is_some()) {
        true => [Graph::Loss, Graph::ImagesPerSec, Graph::Accuracy, Graph::LearningRate],
        false => Graph::ALL,
    }
}

/// All four where there is room, in two rows or in three; two side by side or one above the other; else the chosen one.
fn places(inner: Rect, chosen: Graph, order: [Graph; 4]) -> Vec<(Graph, Rect)> {
    let [first, second, third, fourth] = order;
    let pair = if [first, second].contains(&chosen) { [first, second] } else { [third, fourth] };
    let halves = [Constraint::Fill(1); 2];
    if inner.width >= 100 && inner.height >= 26 {
        let rows: [Rect; 2] = Layout::vertical(halves).areas(inner);
        let cells = rows.into_iter().flat_map(beside);
        order.into_iter().zip(cells).collect()
    } else if inner.width >= 66 && inner.height >= 38 {
        let rows = [Constraint::Fill(3), Constraint::Fill(3), Constraint::Fill(2)];
        let [upper, middle, lower]: [Rect; 3] = Layout::vertical(rows).areas(inner);
        order.into_iter().zip([upper, middle].into_iter().chain(beside(lower))).collect()
    } else if inner.height >= 18 && inner.width < inner.height * 4 {
        pair.into_iter().zip(Layout::vertical(halves).areas::<2>(inner)).collect()
    } else if inner.width >= 66 {
        pair.into_iter().zip(beside(inner)).collect()
    } else {
        vec![(chosen, inner)]
    }
}

/// Two plots side by side; the second has the longer title.
fn beside(area: Rect) -> [Rect; 2] {
    let second = area.width.saturating_sub(GAP).div_ceil(2);
    Layout::horizontal([Constraint::Fill(1), Constraint::Length(second)]).spacing(GAP).areas(area)
}

/// Which runs are not drawn beside the one on the screen, and why: nothing where all are.
fn not_drawn(shared: &Shared, room: usize) -> String {
    let mut others = other_kinds(shared).into_iter();
    let Some(first) = others.next() else { return String::new() };
    let kind = |run: RunId| shared.summary(run).and_then(kind_of).unwrap_or("run").to_owned();
    let own = shared.watched.as_ref().map_or_else(String::new, |watched| kind(watched.id));
    let text = match others.len() {
        0 => format!(" run {first} is a {}: not drawn beside a {own} ", kind(first)),
        more => format!(" run {first} and {more} more are no {own}: not drawn here "),
    };
    cut(&text, room)
}

/// What lies along the curves, and how much of it is shown.
fn how(chart: &Chart) -> String {
    let range = &chart.range;
    match (chart.tab, range.magnification()) {
        (Tab::Timeline, _) => String::new(),
        (_, 1) => format!(" by {} ", range.along.name()),
        (_, larger) => format!(" by {}, {larger}x ", range.along.name()),
    }
}

/// Letter and name of each shown run, and how it ended if not well: ◆ is the baseline, a bold name a pinned run.
fn legend(chart: &Chart, shared: &Shared, width: u16) -> Vec<(RunId, [Span<'static>; 4])> {
    let mut runs = shown_runs(shared);
    if chart.tab == Tab::Timeline {
        runs.truncate(1);
    }
    let baseline = shared.baseline().map(|run| run.id);
    let room = usize::from(width).saturating_sub(10) / runs.len().max(1);
    let entry = |run: &RunId| {
        let (slot, letter) = (shared.pins.slot(*run)?, shared.pins.letter(*run)?);
        let name = shared.summary(*run).and_then(|run| run.record.as_ref()?.request.name.clone());
        let text = name.map_or(format!("run {run}"), |name| format!("run {run}: {name}"));
        let ending = match ending(chart, shared, *run).map(|(sign, word)| format!("{sign} {word} ")) {
            // The sign goes with the name, the word only where there is room.
            Some(words) if room < NAME + 5 + columns::width(&words) => words.chars().take(2).collect(),
            words => words.unwrap_or_default(),
        };
        let text = cut(&text, room.saturating_sub(5 + columns::width(&ending)).max(NAME));
        let mark = if Some(*run) == baseline { " ◆ " } else { " " };
        let style = if shared.pins.contains(*run) { shared.theme.strong() } else { shared.theme.text() };
        let letter = Span::styled(format!("{letter} "), shared.theme.run(slot));
        Some((*run, [letter, Span::styled(text, style), Span::raw(mark), Span::styled(ending, shared.theme.warn())]))
    };
    runs.iter().filter_map(entry).collect()
}
