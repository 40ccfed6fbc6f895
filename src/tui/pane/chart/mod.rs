//! Curves of the run on the screen, the baseline and the pinned runs; or where the time of a step goes.
//!
//! Never joins the curves of two runs, and never draws a line where a value was no number.

mod ending;
mod plot;
mod scale;
mod timeline;
mod trace;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::chart_view;
use super::super::graph::{Graph, Tab};
use super::super::state::{Pane, State};
use super::{Hit, behind_title, cut, frame_of};
use crate::columns;
use crate::runs::RunId;
use ending::Ending;
use plot::{Common, Shown};

/// A name in the legend is cut to no less than this.
const NAME: usize = 6;

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme;
    let view = &state.chart_view;
    let mut runs = chart_view::shown(state);
    if view.tab == Tab::Timeline {
        runs.truncate(1);
    }
    let block = frame_of(state, Pane::Chart, legend(state, &runs, area.width));
    let block = block.title_bottom(Line::styled(how(state), theme.dim()).right_aligned());
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let Some(watched) = &state.watched else {
        let text = Line::styled(" Loss and accuracy appear here while a run trains.", theme.dim());
        frame.render_widget(Paragraph::new(text), inner);
        return;
    };
    let Tab::Graph(chosen) = view.tab else {
        timeline::draw(frame, inner, state, watched);
        return;
    };
    let shown: Vec<Shown> = runs.into_iter().filter_map(|run| of(state, run)).collect();
    let common = common(state, &shown);
    for (graph, place) in places(inner, chosen) {
        plot::draw(frame, place, graph, view.is_log(graph), graph == chosen, &common);
    }
}

fn common<'a>(state: &State, runs: &'a [Shown<'a>]) -> Common<'a> {
    let range = &state.chart_view.range;
    Common {
        theme: state.theme,
        along: range.along,
        window: range.window(chart_view::reach(state)),
        magnification: range.magnification(),
        cursor: range.cursor,
        runs,
    }
}

/// The graph under the pointer, and where along its curves.
pub fn hit(state: &State, inner: Rect, at: Position) -> Option<Hit> {
    let Tab::Graph(chosen) = state.chart_view.tab else { return None };
    state.watched.as_ref()?;
    let shown: Vec<Shown> = chart_view::shown(state).into_iter().filter_map(|run| of(state, run)).collect();
    let (graph, place) = places(inner, chosen).into_iter().find(|(_, place)| place.contains(at))?;
    let x = plot::x_at(place, graph, state.chart_view.is_log(graph), &common(state, &shown), at);
    Some(Hit::Graph { graph, x })
}

/// The run whose name in the title is under the pointer.
pub fn legend_hit(state: &State, area: Rect, at: Position) -> Option<RunId> {
    let mut runs = chart_view::shown(state);
    if state.chart_view.tab == Tab::Timeline {
        runs.truncate(1);
    }
    let mut from = behind_title(Pane::Chart, area);
    let entries = legend_entries(state, &runs, area.width);
    entries.into_iter().find_map(|(run, spans)| {
        let place = Rect::new(from, area.y, spans.iter().map(Span::width).sum::<usize>() as u16, 1);
        from = place.right();
        place.contains(at).then_some(run)
    })
}

fn of(state: &State, run: RunId) -> Option<Shown<'_>> {
    let view = &state.chart_view;
    let slot = view.slot(run)?;
    let ending = Ending::of(state, run);
    Some(Shown { letter: view.letter(run)?, style: state.theme.run(slot), slot, curves: chart_view::curves(state, run)?, ending })
}

/// All four where there is room, two side by side or one above the other; else the chosen one.
fn places(inner: Rect, chosen: Graph) -> Vec<(Graph, Rect)> {
    let [first, second, third, fourth] = Graph::ALL;
    let pair = if [first, second].contains(&chosen) { [first, second] } else { [third, fourth] };
    let halves = [Constraint::Fill(1); 2];
    if inner.width >= 100 && inner.height >= 26 {
        let rows: [Rect; 2] = Layout::vertical(halves).areas(inner);
        let cells = rows.into_iter().flat_map(|row| Layout::horizontal(halves).areas::<2>(row));
        Graph::ALL.into_iter().zip(cells).collect()
    } else if inner.height >= 18 && inner.width < inner.height * 4 {
        pair.into_iter().zip(Layout::vertical(halves).areas::<2>(inner)).collect()
    } else if inner.width >= 66 {
        pair.into_iter().zip(Layout::horizontal(halves).areas::<2>(inner)).collect()
    } else {
        vec![(chosen, inner)]
    }
}

/// What lies along the curves, and how much of it is shown.
fn how(state: &State) -> String {
    let range = &state.chart_view.range;
    match (state.chart_view.tab, range.magnification()) {
        (Tab::Timeline, _) => String::new(),
        (_, 1) => format!(" by {} ", range.along.name()),
        (_, larger) => format!(" by {}, {larger}× ", range.along.name()),
    }
}

/// Letter and name of each shown run, and how it ended if not well: ◆ is the baseline, a bold name a pinned run.
fn legend(state: &State, runs: &[RunId], width: u16) -> Vec<Span<'static>> {
    legend_entries(state, runs, width).into_iter().flat_map(|(_, spans)| spans).collect()
}

fn legend_entries(state: &State, runs: &[RunId], width: u16) -> Vec<(RunId, [Span<'static>; 4])> {
    let baseline = state.baseline().map(|run| run.id);
    let room = usize::from(width).saturating_sub(10) / runs.len().max(1);
    let entry = |run: &RunId| {
        let (slot, letter) = (state.chart_view.slot(*run)?, state.chart_view.letter(*run)?);
        let name = state.summary(*run).and_then(|run| run.record.as_ref()?.name.clone());
        let text = name.map_or(format!("run {run}"), |name| format!("{run} {name}"));
        let ending = Ending::of(state, *run);
        let ending = match ending.map(|ending| format!("{} {} ", ending.sign(), ending.word())) {
            // The sign goes with the name, the word only where there is room.
            Some(words) if room < NAME + 5 + columns::width(&words) => words.chars().take(2).collect(),
            words => words.unwrap_or_default(),
        };
        let text = cut(&text, room.saturating_sub(5 + columns::width(&ending)).max(NAME));
        let mark = if Some(*run) == baseline { " ◆ " } else { " " };
        let style = if state.chart_view.is_pinned(*run) { state.theme.strong() } else { state.theme.text() };
        let letter = Span::styled(format!("{letter} "), state.theme.run(slot));
        Some((*run, [letter, Span::styled(text, style), Span::raw(mark), Span::styled(ending, state.theme.warn())]))
    };
    runs.iter().filter_map(entry).collect()
}
