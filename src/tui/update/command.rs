//! What each command of the key table does while the panes have the keyboard.
//!
//! Never does nothing: a command that cannot be followed says why.

use super::super::chart_view;
use super::super::effect::Effect;
use super::super::habits;
use super::super::keymap::Command;
use super::super::mode::Mode;
use super::super::settings::{Direction, Field};
use super::super::state::{Pane, State};
use super::{devices, exercise, lesson, log, mouse, replay, runs, series, window};
use crate::domain::run::RunState;
use crate::domain::step::{Step, StepSet};
use crate::runs::Filter;

/// Lines of one page in a log or table.
const PAGE: usize = 10;

pub fn obey(state: &mut State, command: Command) -> Vec<Effect> {
    if command == Command::Suspend {
        return vec![Effect::Suspend];
    }
    if state.mode != Mode::Normal {
        return window::obey(state, command);
    }
    if let Some(effects) = replay::obey(state, command) {
        return effects;
    }
    match command {
        Command::ToggleStep(step) => toggle(state, step),
        Command::AllSteps => set_steps(state, StepSet::ALL),
        Command::NoSteps => set_steps(state, StepSet::NONE),
        Command::Run => return run(state),
        Command::Stop => stop(state),
        Command::Continue => continue_run(state),
        Command::Baseline => return baseline(state),
        Command::Pin => return chart_view::toggle_pin(state),
        Command::Details => match state.watched.as_ref().map(|watched| watched.id) {
            Some(run) => state.mode = Mode::Details { run, scroll: 0 },
            None => state.inform("no run yet: r starts one"),
        },
        Command::Lesson => return lesson::open(state),
        Command::Diff => exercise::diff(state, state.step),
        Command::Edit => return exercise::edit(state),
        Command::Exercise => {
            state.mode = Mode::Exercise { scroll: 0 };
            return vec![Effect::ReadExercise];
        }
        Command::Guided => return series::guided(state),
        Command::Ablation => return series::ablation(state),
        Command::Results => series::show(state),
        Command::MoreRanks => change(state, Field::Np, Direction::Up),
        Command::FewerRanks => change(state, Field::Np, Direction::Down),
        Command::NextPane => turn(state, 1),
        Command::PreviousPane => turn(state, Pane::ALL.len() - 1),
        Command::Zoom => state.zoom = !state.zoom,
        Command::Help => state.mode = Mode::Help { scroll: 0, words: String::new(), typing: false },
        Command::Palette => state.mode = Mode::Palette { typed: String::new(), chosen: 0 },
        Command::Projector => {
            state.habits.projector = !state.habits.projector;
            // The only one of the panes whose cursor shows there.
            state.focus = if state.habits.projector { Pane::Steps } else { state.focus };
        }
        Command::Tour => habits::start_tour(state),
        Command::ResetBorders => {
            state.habits.shares.clear();
            state.inform("the borders are where they were at first");
        }
        Command::Mouse => return mouse::switch(state),
        Command::Theme => {
            state.theme.look = state.theme.look.next();
            let name = state.theme.look.name();
            state.inform(match state.theme.colour {
                true => format!("theme {name}; T takes the next one"),
                false => format!("theme {name}, without colours: NO_COLOR is set"),
            });
        }
        Command::Quit => match state.going() {
            Some(going) => state.mode = Mode::Quit { going },
            None => state.done = true,
        },
        Command::Back => {
            if std::mem::take(&mut state.habits.projector) {
                return Vec::new();
            }
            match log::back(state) {
                Some(effects) => return effects,
                None if state.focus == Pane::Runs && !state.runs_view.filter.is_empty() => {
                    state.runs_view.filter = Filter::default();
                }
                None => state.zoom = false,
            }
        }
        _ => return in_pane(state, command),
    }
    Vec::new()
}

fn in_pane(state: &mut State, command: Command) -> Vec<Effect> {
    match state.focus {
        Pane::Steps => match command {
            Command::Switch => toggle(state, state.step),
            _ => {
                let place = moved(state.step.number() - 1, Step::ALL.len(), command);
                state.step = Step::ALL[place];
            }
        },
        Pane::Settings => return settings(state, command),
        Pane::Devices => return devices::obey(state, command),
        Pane::Chart => chart_view::obey(state, command),
        Pane::Log => return log::obey(state, command),
        Pane::Runs => return runs::obey(state, command),
    }
    Vec::new()
}

fn settings(state: &mut State, command: Command) -> Vec<Effect> {
    let before = state.spec.clone();
    match command {
        Command::Left => change(state, state.field, Direction::Down),
        Command::Right | Command::Switch => change(state, state.field, Direction::Up),
        Command::Accept if matches!(state.field, Field::Preset | Field::Data | Field::Checkpointing) => {
            change(state, state.field, Direction::Up);
        }
        Command::Accept => {
            let text = state.field.value(&state.spec, &state.preset);
            state.mode = Mode::Edit { field: state.field, text, error: None };
        }
        _ => {
            let place = Field::ALL.iter().position(|field| *field == state.field).unwrap_or(0);
            state.field = Field::ALL[moved(place, Field::ALL.len(), command)];
        }
    }
    data_changed(state, &before)
}

/// Asks again which images would be used, after a change of the data source.
pub fn data_changed(state: &State, before: &crate::domain::run::RunSpec) -> Vec<Effect> {
    if before.data == state.spec.data { Vec::new() } else { vec![Effect::LocateData(Box::new(state.spec.clone()))] }
}

/// The place after a movement in a list of `len`, which ends at both ends.
pub fn moved(place: usize, len: usize, command: Command) -> usize {
    let last = len.saturating_sub(1);
    match command {
        Command::Up | Command::Left => place.saturating_sub(1),
        Command::Down | Command::Right => (place + 1).min(last),
        Command::PageUp => place.saturating_sub(PAGE),
        Command::PageDown => (place + PAGE).min(last),
        Command::First => 0,
        Command::Last => last,
        _ => place.min(last),
    }
}

fn turn(state: &mut State, by: usize) {
    let place = Pane::ALL.iter().position(|pane| *pane == state.focus).unwrap_or(0);
    state.focus = Pane::ALL[(place + by) % Pane::ALL.len()];
    if state.focus.shares_slot() {
        state.slot = state.focus;
    }
}

fn toggle(state: &mut State, step: Step) {
    state.step = step;
    set_steps(state, state.spec.steps.toggled(step));
    let steps = state.spec.steps;
    if steps.contains(step) && !steps.is_effective(step) {
        let needed = step.needs().map_or(1, Step::number);
        state.inform(format!("step {} is on, but has no effect while step {needed} is off", step.number()));
    }
}

fn set_steps(state: &mut State, steps: StepSet) {
    state.touched = true;
    state.spec.steps = steps;
}

fn change(state: &mut State, field: Field, direction: Direction) {
    state.touched = true;
    field.step(&mut state.spec, &mut state.preset, &state.presets, direction);
}

fn run(state: &mut State) -> Vec<Effect> {
    if let Some(problem) = state.spec.problem() {
        state.error(format!("cannot start: {problem}"));
        return Vec::new();
    }
    if state.is_starting() {
        state.inform("a run is starting already: wait until it shows");
        return Vec::new();
    }
    if let Some(going) = state.going() {
        state.mode = Mode::ConfirmStart { going };
        return Vec::new();
    }
    start(state)
}

pub fn start(state: &mut State) -> Vec<Effect> {
    state.runs_view.is_starting = true;
    vec![Effect::Start { spec: Box::new(state.spec.clone()), preset: state.preset.clone() }]
}

fn stop(state: &mut State) {
    match state.going() {
        Some(run) => state.mode = Mode::ConfirmStop { run },
        None if state.is_starting() => state.inform("the run is only just starting: x stops it as soon as it shows"),
        None => state.inform("no run is going: nothing to stop"),
    }
}

pub fn continue_run(state: &mut State) {
    let Some(run) = state.watched.as_ref().and_then(|watched| state.summary(watched.id)) else {
        state.inform("no run to continue yet: r starts one");
        return;
    };
    let id = run.id;
    let Some(record) = &run.record else {
        state.error(format!("the record of run {id} cannot be read, so it cannot go on"));
        return;
    };
    // The list may be a moment behind what the run itself has told.
    let told = state.watched.as_ref().and_then(|watched| watched.epochs.last()).map_or(0, |report| report.epoch);
    let (done, asked, checkpoints) = (run.last_epoch.max(told), record.spec.epochs, record.spec.checkpointing);
    if !state.run_state(run).is_over() {
        state.inform(format!("run {id} is still going: it can be continued when it has ended"));
    } else if !checkpoints {
        state.error(format!("run {id} wrote no checkpoints, so it cannot go on: switch checkpoints on for the next run"));
    } else {
        // What is left of a run that was stopped; else as many as it had, within reason.
        let more = if done < asked { asked - done } else { asked.clamp(1, 3) };
        state.mode = Mode::Continue { run: id, done, more };
    }
}

pub fn baseline(state: &mut State) -> Vec<Effect> {
    let Some(run) = state.watched.as_ref().and_then(|watched| state.summary(watched.id)) else {
        state.inform("no run to compare with yet: r starts one");
        return Vec::new();
    };
    let (id, measured, run_state) = (run.id, run.figures.images_per_sec.is_some(), state.run_state(run));
    if !measured && run_state != RunState::Running {
        state.error(format!("run {id} measured no images/s: choose a run that finished an epoch"));
        return Vec::new();
    }
    state.baseline = Some(id);
    state.inform(format!("speed-up and efficiency now compare with run {id}"));
    chart_view::refresh(state)
}
