//! Runs that take turns: asked for, begun one after the other, and cancelled.
//!
//! Never starts one while another is going: two at once measure neither.

use super::super::effect::Effect;
use super::super::mode::Mode;
use super::super::state::State;
use super::watch;
use crate::course::{Next, Results, Series};
use crate::runs::RunId;

/// The two runs of the lesson of the step under the cursor.
pub fn guided(state: &mut State) -> Vec<Effect> {
    let series = state.course.lessons.of_step(state.step).and_then(|lesson| Series::guided(lesson, &state.spec, &state.preset));
    match series {
        Some(series) => begin(state, series),
        None => {
            state.inform(format!("step {} has no two runs of its own: r runs what is set", state.step.number()));
            Vec::new()
        }
    }
}

/// All steps but one, in turn: so many runs are asked about first.
pub fn ablation(state: &mut State) -> Vec<Effect> {
    match state.spec.problem() {
        Some(problem) => state.error(format!("cannot start: {problem}")),
        None if is_going(state) => show(state),
        None => state.mode = Mode::ConfirmAblation,
    }
    Vec::new()
}

pub fn begin_ablation(state: &mut State) -> Vec<Effect> {
    let series = Series::ablation(&state.spec, &state.preset);
    begin(state, series)
}

fn begin(state: &mut State, series: Series) -> Vec<Effect> {
    if is_going(state) {
        show(state);
        return Vec::new();
    }
    if let Some(problem) = series.turns.iter().find_map(|turn| turn.spec.problem()) {
        state.error(format!("cannot start: {problem}"));
        return Vec::new();
    }
    (state.course.series, state.course.results) = (Some(series.clone()), None);
    show(state);
    vec![Effect::BeginSeries(Box::new(series))]
}

/// The last series there was, or how the one that is going stands.
pub fn show(state: &mut State) {
    match state.course.series {
        Some(_) => state.mode = Mode::Series { scroll: 0 },
        None => state.inform("no two runs to put side by side yet: g makes those of this step, A all steps but one"),
    }
}

/// What waits will not begin; the run that is going is stopped.
pub fn cancel(state: &mut State) -> Vec<Effect> {
    match state.next_turn() {
        Next::Over => Vec::new(),
        Next::Start(_) => vec![Effect::CancelSeries],
        Next::Wait(run) => vec![Effect::CancelSeries, Effect::Stop(run)],
    }
}

pub fn is_going(state: &State) -> bool {
    state.next_turn() != Next::Over
}

/// Begins the next turn if nothing else is going.
pub fn advance(state: &mut State) -> Vec<Effect> {
    let is_next = matches!(state.next_turn(), Next::Start(_));
    if !is_next || !state.listed || state.going().is_some() || std::mem::replace(&mut state.course.is_starting, true) {
        return Vec::new();
    }
    vec![Effect::StartNext]
}

/// The series as the file has it, after something was done to it; `started` is the run that was begun by that.
pub fn changed(state: &mut State, series: Option<Series>, started: Option<RunId>) -> Vec<Effect> {
    state.course.is_starting = false;
    state.course.series = series;
    let mut effects = Vec::new();
    if let Some(run) = started {
        state.course.is_news = true;
        effects.extend(watch(state, run));
        effects.push(Effect::ListRuns);
        tell_turn(state);
    }
    effects.extend(ask(state));
    effects.extend(advance(state));
    effects
}

/// Turns begin by themselves, and go on when the screen is opened again: whoever does not look at them is told.
fn tell_turn(state: &mut State) {
    if let (Some(series), Mode::Normal) = (&state.course.series, &state.mode) {
        let (name, turn, turns) = (series.name(), series.begun(), series.turns.len());
        state.inform(format!("{name}: turn {turn} of {turns} begins. v in the pane Steps shows them"));
    }
}

/// A run of the series is over: its results are read, and the next begins.
pub fn ended(state: &mut State, run: RunId) -> Vec<Effect> {
    if !state.course.series.as_ref().is_some_and(|series| series.contains(run)) {
        return advance(state);
    }
    let mut effects = ask(state);
    effects.extend(advance(state));
    effects
}

fn ask(state: &State) -> Vec<Effect> {
    let series = state.course.series.as_ref().filter(|series| series.begun() > 0);
    series.map(|series| Effect::ReadResults(Box::new(series.clone()))).into_iter().collect()
}

/// Results have been read.
pub fn shown(state: &mut State, results: Option<Results>) {
    state.course.results = results;
    let Some(series) = state.course.series.as_ref().filter(|_| !is_going(state)) else { return };
    let name = series.name();
    if std::mem::take(&mut state.course.is_news) && state.mode == Mode::Normal {
        state.inform(format!("{name} are over: v in the pane Steps shows what differs"));
    }
}
