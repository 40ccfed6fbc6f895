//! What each key does with the learner's own trainer and its diffs, and what happens to it.

use super::keys::Command;
use super::state::{Exercise, Stage};
use super::windows::{ConfirmReset, Diff, Own};
use crate::course::{Judged, Shown};
use crate::domain::step::Step;
use crate::exercise::{TEN_STEPS, TWO_COLUMNS};
use crate::tui::actions::action::Action;
use crate::tui::actions::effect::Effect;
use crate::tui::actions::news::News;
use crate::tui::shared::state::Shared;
use crate::tui::window::FRAME;

/// Shows what a step changes.
pub fn show_diff(exercise: &mut Exercise, shared: &mut Shared, step: Step) {
    shared.step = step;
    exercise.window = Some(Diff { step, mine: false, scroll: 0 }.into());
}

/// Shows how the program stands.
pub fn show(exercise: &mut Exercise) -> Vec<Action> {
    exercise.window = Some(Own { scroll: 0 }.into());
    vec![Effect::ReadExercise.into()]
}

/// The editor, with the window of the exercise behind it, which shows what comes of a save.
pub fn edit(exercise: &mut Exercise) -> Vec<Action> {
    exercise.window = Some(Own { scroll: 0 }.into());
    vec![Effect::Edit.into()]
}

/// A key while a diff is in front.
pub fn diff(diff: Diff, exercise: &mut Exercise, shared: &mut Shared, command: Command) -> Vec<Action> {
    let Diff { step, mine, .. } = diff;
    let number = step.number();
    exercise.window = Some(diff.into());
    match command {
        Command::Back => exercise.window = mine.then(|| Own { scroll: 0 }.into()),
        Command::Lesson => {
            exercise.window = None;
            return vec![Action::Lesson];
        }
        Command::Previous | Command::Next => {
            let other = if command == Command::Previous { number.saturating_sub(1) } else { number + 1 };
            let step = Step::from_number(other).unwrap_or(step);
            shared.step = step;
            exercise.window = Some(Diff { step, mine, scroll: 0 }.into());
        }
        Command::Mine | Command::Reset if shared.replay.is_some() => {
            shared.inform("this is a recording: your own trainer is not part of it");
        }
        Command::Mine => {
            exercise.window = Some(Diff { step, mine: !mine, scroll: 0 }.into());
            return vec![Effect::ReadExercise.into()];
        }
        Command::Reset if mine => ask_reset(exercise, shared, step, true),
        Command::Reset => shared.inform("this is what the step changes: m shows your own program, where u undoes your changes"),
        Command::Columns => {
            let needed = TWO_COLUMNS + usize::from(FRAME);
            match usize::from(shared.size.0) < needed {
                true => shared.inform(format!("side by side needs {needed} columns, and this screen has {}", shared.size.0)),
                false => exercise.one_column ^= true,
            }
            // Another number of rows: the place in the old ones means nothing.
            exercise.window = Some(Diff { step, mine, scroll: 0 }.into());
        }
        _ => {}
    }
    Vec::new()
}

/// A key while the window of the exercise is in front.
pub fn own(own: Own, exercise: &mut Exercise, shared: &mut Shared, command: Command) -> Vec<Action> {
    exercise.window = Some(own.into());
    match command {
        Command::Back => exercise.window = None,
        Command::Edit => return vec![Effect::Edit.into()],
        Command::Run => return begin(exercise, shared),
        Command::Reset => {
            let step = reached(exercise);
            ask_reset(exercise, shared, step, false);
        }
        Command::Diff => {
            exercise.window = Some(Diff { step: reached(exercise), mine: true, scroll: 0 }.into());
            return vec![Effect::ReadExercise.into()];
        }
        _ => {}
    }
    Vec::new()
}

/// The step whose solution the program is held against.
fn reached(exercise: &Exercise) -> Step {
    Step::from_number(TEN_STEPS.reached(&exercise.program)).unwrap_or(Step::InitAndPin)
}

fn ask_reset(exercise: &mut Exercise, shared: &mut Shared, step: Step, diff: bool) {
    match exercise.program.is_empty() {
        true => shared.inform("you have no trainer of your own yet: e makes it"),
        false => exercise.window = Some(ConfirmReset { step, diff }.into()),
    }
}

/// The answer to whether a step or the whole goes back to what it was.
pub fn reset(asked: ConfirmReset, exercise: &mut Exercise, command: Command) -> Vec<Action> {
    let ConfirmReset { step, diff } = asked;
    let part = match command {
        Command::Step => Some(Some(step)),
        Command::Whole => Some(None),
        _ => None,
    };
    exercise.window = Some(if diff { Diff { step, mine: true, scroll: 0 }.into() } else { Own { scroll: 0 }.into() });
    part.map(|part| Effect::ResetExercise(part).into()).into_iter().collect()
}

/// Build and run it, as soon as nothing else is going.
fn begin(exercise: &mut Exercise, shared: &Shared) -> Vec<Action> {
    let is_busy = shared.going().is_some() || exercise.is_busy();
    exercise.again = is_busy;
    if is_busy {
        return Vec::new();
    }
    exercise.tried = exercise.program.clone();
    exercise.stage = Stage::Building;
    vec![Effect::TryExercise.into()]
}

/// Something happened to the program.
pub fn hear(exercise: &mut Exercise, shared: &mut Shared, news: News) -> Vec<Action> {
    match news {
        News::Read { path, program } => {
            exercise.next = TEN_STEPS.next(&program);
            let is_first = exercise.path.is_empty();
            (exercise.path, exercise.program) = (path, program);
            if is_first {
                exercise.tried = exercise.program.clone();
                return vec![Effect::WatchExercise.into()];
            }
            // The editor's end and the watcher tell of the same save.
            return if exercise.program == exercise.tried { Vec::new() } else { begin(exercise, shared) };
        }
        News::Reset { step, program, backup } => {
            exercise.next = TEN_STEPS.next(&program);
            // Nothing to try in what nobody has written.
            (exercise.tried, exercise.program, exercise.again) = (program.clone(), program, false);
            if !exercise.is_busy() {
                exercise.stage = Stage::Idle;
            }
            shared.inform(format!("{} is as it was; what you had is in {backup}", TEN_STEPS.part_named(step.map(Step::number))));
            return Vec::new();
        }
        News::Saved => return vec![Effect::ReadExercise.into()],
        News::Broken(errors) => exercise.stage = Stage::Broken(errors),
        News::Failed(error) => exercise.stage = Stage::Failed(error),
        News::Started(run) => {
            exercise.stage = Stage::Running(run);
            return vec![Action::Watch(run), Effect::ListRuns.into()];
        }
    }
    again(exercise, shared)
}

/// A run was judged: if it is one of the learner's program, say what it shows.
pub fn judged(exercise: &mut Exercise, shared: &Shared, judged: &Judged) -> Vec<Action> {
    let run = judged.record.id;
    let watched = shared.watched.as_ref().filter(|watched| watched.id == run);
    let Some(status) = watched.and_then(|watched| watched.status.as_ref()) else { return Vec::new() };
    if exercise.stage == Stage::Running(run) && status.state.is_over() {
        let shown: Vec<Shown> = judged.verdicts.iter().map(Shown::from).collect();
        let words = TEN_STEPS.verdict_in_words(status, &shown, &exercise.program);
        exercise.stage = Stage::Judged(run, words);
    }
    again(exercise, shared)
}

/// What was saved meanwhile.
fn again(exercise: &mut Exercise, shared: &Shared) -> Vec<Action> {
    if exercise.again { begin(exercise, shared) } else { Vec::new() }
}
