//! Runs that take turns: begun one after the other, and cancelled.
//!
//! Never starts one while another is going: two at once measure neither.

use super::state::SeriesView;
use crate::course::{Next, Results, Series};
use crate::runs::RunId;
use crate::tui::actions::{Action, Effect};
use crate::tui::shared::Shared;
use crate::tui::state::State;

/// What waits will not begin; the run that is going is stopped.
pub fn cancel(own: &SeriesView, shared: &Shared) -> Vec<Action> {
    match own.next(shared) {
        Next::Over => Vec::new(),
        Next::Start(_) => vec![Effect::CancelSeries.into()],
        Next::Wait(run) => vec![Effect::CancelSeries.into(), Effect::Stop(run).into()],
    }
}

pub fn is_going(own: &SeriesView, shared: &Shared) -> bool {
    own.next(shared) != Next::Over
}

/// Begins the next turn if nothing else is going.
pub fn advance(own: &SeriesView, shared: &mut Shared) -> Vec<Action> {
    let is_next = matches!(own.next(shared), Next::Start(_));
    if !is_next || !shared.listed || shared.going().is_some() || std::mem::replace(&mut shared.starting.turn, true) {
        return Vec::new();
    }
    vec![Effect::StartNext.into()]
}

/// The series as the file has it, after something was done to it; `started` is the run that was begun by that. Told where no
/// window is in front.
pub fn changed(state: &mut State, series: Option<Series>, started: Option<RunId>) -> Vec<Action> {
    let State { series: own, shared, windows, .. } = state;
    shared.starting.turn = false;
    own.series = series;
    let mut actions = Vec::new();
    if let Some(run) = started {
        own.is_news = true;
        actions.extend([Action::Watch(run), Effect::ListRuns.into()]);
        // Turns begin by themselves, and go on when the screen is opened again: so a notice says it to those who look elsewhere.
        if let Some(series) = own.series.as_ref().filter(|_| windows.is_empty()) {
            let (name, turn, turns) = (series.name(), series.begun(), series.turns.len());
            shared.inform(format!("{name}: run {turn} of {turns} starts. G shows them"));
        }
    }
    actions.extend(read_results(own));
    actions.push(Action::AdvanceSeries);
    actions
}

/// A run is over: if it is one of the series its results are read, and the next begins.
pub fn ended(own: &SeriesView, shared: &mut Shared, run: RunId) -> Vec<Action> {
    let is_of_series = own.series.as_ref().is_some_and(|series| series.contains(run));
    let mut actions = if is_of_series { read_results(own) } else { Vec::new() };
    actions.extend(advance(own, shared));
    actions
}

fn read_results(own: &SeriesView) -> Vec<Action> {
    let series = own.series.as_ref().filter(|series| series.begun() > 0);
    series.map(|series| Effect::ReadResults(Box::new(series.clone())).into()).into_iter().collect()
}

/// Results have been read. That all runs are over is told where no window is in front.
pub fn shown(State { series: own, shared, windows, .. }: &mut State, results: Option<Results>) {
    own.results = results;
    let Some(series) = own.series.as_ref().filter(|_| !is_going(own, shared)) else { return };
    let name = series.name();
    if std::mem::take(&mut own.is_news) && windows.is_empty() {
        shared.inform(format!("{name} are over: G shows what differs"));
    }
}
