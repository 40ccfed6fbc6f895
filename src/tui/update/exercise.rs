//! What each command does with the learner's own trainer and its diffs.
//!
//! Never starts a program: effects do.

use super::super::effect::Effect;
use super::super::exercise_view::{News, Stage};
use super::super::keymap::Command;
use super::super::mode::Mode;
use super::super::pane::diff::FRAME;
use super::super::state::State;
use super::lesson;
use crate::course::Judged;
use crate::domain::step::Step;
use crate::exercise::{TWO_COLUMNS, attempt, part_named, places};

/// What a step changes.
pub fn diff(state: &mut State, step: Step) {
    state.step = step;
    state.mode = Mode::Diff { step, mine: false, scroll: 0 };
}

/// The diff is in front, scrolled as the command asks.
pub fn in_diff(state: &mut State, step: Step, mine: bool, scroll: usize, command: Command) -> Vec<Effect> {
    let number = step.number();
    match command {
        Command::Back if mine => state.mode = Mode::Exercise { scroll: 0 },
        Command::Back => {}
        Command::Lesson => return lesson::open(state),
        Command::Left | Command::Right => {
            let other = if command == Command::Left { number.saturating_sub(1) } else { number + 1 };
            let step = Step::from_number(other).unwrap_or(step);
            state.step = step;
            state.mode = Mode::Diff { step, mine, scroll: 0 };
        }
        Command::Mine => {
            state.mode = Mode::Diff { step, mine: !mine, scroll: 0 };
            return vec![Effect::ReadExercise];
        }
        Command::Reset => {
            state.mode = Mode::Diff { step, mine, scroll };
            match mine {
                true => ask_reset(state, step, true),
                false => state.inform("this is what the step changes: m shows your own program, where R resets it"),
            }
        }
        Command::Columns => {
            let needed = TWO_COLUMNS + FRAME;
            match usize::from(state.size.0) < needed {
                true => state.inform(format!("side by side needs {needed} columns, and this screen has {}", state.size.0)),
                false => state.exercise.one_column ^= true,
            }
            // Another number of rows: the place in the old ones means nothing.
            state.mode = Mode::Diff { step, mine, scroll: 0 };
        }
        _ => state.mode = Mode::Diff { step, mine, scroll },
    }
    Vec::new()
}

/// The editor, with the window of the exercise behind it, which shows what comes of a save.
pub fn edit(state: &mut State) -> Vec<Effect> {
    state.mode = Mode::Exercise { scroll: 0 };
    vec![Effect::Edit]
}

/// The window of the exercise is in front.
pub fn in_window(state: &mut State, scroll: usize, command: Command) -> Vec<Effect> {
    state.mode = Mode::Exercise { scroll };
    match command {
        Command::Back => state.mode = Mode::Normal,
        Command::Edit => return vec![Effect::Edit],
        Command::Run => return begin(state),
        Command::Reset => ask_reset(state, places::reached(&state.exercise.program), false),
        Command::Diff => {
            state.mode = Mode::Diff { step: places::reached(&state.exercise.program), mine: true, scroll: 0 };
            return vec![Effect::ReadExercise];
        }
        _ => {}
    }
    Vec::new()
}

fn ask_reset(state: &mut State, step: Step, diff: bool) {
    match state.exercise.program.is_empty() {
        true => state.inform("you have no trainer of your own yet: e makes it"),
        false => state.mode = Mode::ConfirmReset { step, diff },
    }
}

/// The answer to whether a step or the whole goes back to what it was.
pub fn reset(state: &mut State, step: Step, diff: bool, command: Command) -> Vec<Effect> {
    let part = match command {
        Command::Accept => Some(Some(step)),
        Command::AllSteps => Some(None),
        _ => None,
    };
    state.mode = if diff { Mode::Diff { step, mine: true, scroll: 0 } } else { Mode::Exercise { scroll: 0 } };
    part.map(Effect::ResetExercise).into_iter().collect()
}

/// Build and run it, as soon as nothing else is going.
fn begin(state: &mut State) -> Vec<Effect> {
    let is_busy = state.going().is_some() || matches!(state.exercise.stage, Stage::Building | Stage::Running(_));
    state.exercise.again = is_busy;
    if is_busy {
        return Vec::new();
    }
    state.exercise.tried = state.exercise.program.clone();
    state.exercise.stage = Stage::Building;
    vec![Effect::TryExercise]
}

/// Something happened to the program.
pub fn hear(state: &mut State, news: News) -> Vec<Effect> {
    let view = &mut state.exercise;
    match news {
        News::Read { path, program } => {
            view.next = places::next(&program);
            let is_first = view.path.is_empty();
            (view.path, view.program) = (path, program);
            if is_first {
                view.tried = view.program.clone();
                return vec![Effect::WatchExercise];
            }
            // The editor's end and the watcher tell of the same save.
            return if view.program == view.tried { Vec::new() } else { begin(state) };
        }
        News::Reset { step, program, backup } => {
            view.next = places::next(&program);
            // Nothing to try in what nobody has written.
            (view.tried, view.program, view.again) = (program.clone(), program, false);
            if !matches!(view.stage, Stage::Building | Stage::Running(_)) {
                view.stage = Stage::Idle;
            }
            state.inform(format!("{} is as it was; what you had is in {backup}", part_named(step)));
            return Vec::new();
        }
        News::Saved => return vec![Effect::ReadExercise],
        News::Broken(errors) => view.stage = Stage::Broken(errors),
        News::Failed(error) => view.stage = Stage::Failed(error),
        News::Started(run) => {
            view.stage = Stage::Running(run);
            let mut effects = super::watch(state, run);
            effects.push(Effect::ListRuns);
            return effects;
        }
    }
    again(state)
}

/// A run was judged: if it is one of the learner's program, say what it shows.
pub fn judged(state: &mut State, judged: &Judged) -> Vec<Effect> {
    let run = judged.record.id;
    let watched = state.watched.as_ref().filter(|watched| watched.id == run);
    let Some(status) = watched.and_then(|watched| watched.status.as_ref()) else { return Vec::new() };
    if state.exercise.stage == Stage::Running(run) && status.state.is_over() {
        let words = attempt::verdict_in_words(status, &judged.verdicts, &state.exercise.program);
        state.exercise.stage = Stage::Judged(run, words);
    }
    again(state)
}

/// What was saved meanwhile.
fn again(state: &mut State) -> Vec<Effect> {
    if state.exercise.again { begin(state) } else { Vec::new() }
}
