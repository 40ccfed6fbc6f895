//! What each key does with the learner's own trainer and its diffs, and what happens to it.

use super::keys::Command;
use super::state::{Exercise, Stage, tracks_in_order};
use super::windows::{ConfirmReset, Diff, Own, Tracks, Window};
use crate::domain::step::Step;
use crate::exercise::{Language, TWO_COLUMNS, Track};
use crate::tui::actions::action::Action;
use crate::tui::actions::effect::Effect;
use crate::tui::actions::news::News;
use crate::tui::shared::state::Shared;
use crate::tui::window::FRAME;

/// Shows what a step changes.
pub fn show_diff(exercise: &mut Exercise, shared: &mut Shared, step: Step) {
    shared.step = step;
    let of = if exercise.has_steps() { exercise.track } else { exercise.ten_steps };
    exercise.window = Some(Diff { of, number: step.number(), mine: false, scroll: 0 }.into());
}

fn front() -> Window {
    Own { scroll: 0, hints: 0 }.into()
}

/// Shows how the program stands.
pub fn show(exercise: &mut Exercise) -> Vec<Action> {
    exercise.window = Some(front());
    // A command may have judged it since.
    vec![Effect::ReadExercise.into(), Effect::ReadProgress.into()]
}

/// The editor, with the window of the exercise behind it, which shows what comes of a save.
pub fn edit(exercise: &mut Exercise) -> Vec<Action> {
    exercise.window = Some(front());
    vec![Effect::Edit.into()]
}

/// A key while a diff is in front.
pub fn diff(diff: Diff, exercise: &mut Exercise, shared: &mut Shared, command: Command) -> Vec<Action> {
    let Diff { of, number, mine, .. } = diff;
    exercise.window = Some(diff.into());
    match command {
        Command::Back => exercise.window = mine.then(front),
        Command::Lesson => return lesson(exercise, of, number),
        Command::Previous | Command::Next => {
            let Track::Program(program) = of else { return Vec::new() };
            let other = if command == Command::Previous { number.saturating_sub(1) } else { number + 1 };
            let number = program.numbers().find(|number| *number == other).unwrap_or(number);
            if program.has_steps() {
                shared.step = Step::from_number(number).unwrap_or(shared.step);
            }
            exercise.window = Some(Diff { of, number, mine, scroll: 0 }.into());
        }
        Command::Mine | Command::Reset if shared.replay.is_some() => {
            shared.inform("this is a recording: your own trainer is not part of it");
        }
        Command::Mine if of == Track::Collectives => {
            shared.inform("this exercise has no places: this is yours against the solution")
        }
        Command::Mine if of.name() != exercise.track.name() => {
            shared.inform(format!("you are at another exercise, {}: E and then o open this one", exercise.track.name()));
        }
        Command::Mine => {
            exercise.window = Some(Diff { of, number, mine: !mine, scroll: 0 }.into());
            return vec![Effect::ReadExercise.into()];
        }
        Command::Reset if mine => ask_reset(exercise, shared, number, true),
        Command::Reset => shared.inform("this is what the step changes: m shows your own program, where u undoes your changes"),
        Command::Columns => {
            let needed = TWO_COLUMNS + usize::from(FRAME);
            match usize::from(shared.size.0) < needed {
                true => shared.inform(format!("side by side needs {needed} columns, and this screen has {}", shared.size.0)),
                false => exercise.one_column ^= true,
            }
            // Another number of rows: the place in the old ones means nothing.
            exercise.window = Some(Diff { of, number, mine, scroll: 0 }.into());
        }
        _ => {}
    }
    Vec::new()
}

/// The lesson about a place.
fn lesson(exercise: &mut Exercise, of: Track, number: usize) -> Vec<Action> {
    exercise.window = None;
    match of {
        Track::Program(program) if program.has_steps() => vec![Action::Lesson],
        of => vec![Action::LessonOf(of.lesson(number))],
    }
}

/// A key while the window of the exercise is in front.
pub fn own(own: Own, exercise: &mut Exercise, shared: &mut Shared, command: Command) -> Vec<Action> {
    let hints = own.hints;
    exercise.window = Some(own.into());
    match command {
        Command::Back => exercise.window = None,
        Command::Edit => return vec![Effect::Edit.into()],
        Command::Run => return begin(exercise, shared),
        Command::Compare => return compare(exercise, shared),
        Command::Reset => {
            let number = exercise.reached();
            ask_reset(exercise, shared, number, false);
        }
        Command::Diff => {
            exercise.window = Some(Diff { of: exercise.track, number: exercise.reached(), mine: true, scroll: 0 }.into());
            return vec![Effect::ReadExercise.into()];
        }
        Command::Hint => hint(exercise, shared, hints + 1),
        Command::Lesson => {
            let number = exercise.place();
            if exercise.has_steps() {
                shared.step = Step::from_number(number).unwrap_or(shared.step);
            }
            return lesson(exercise, exercise.track, number);
        }
        Command::Tracks => {
            let chosen = tracks_of(exercise);
            exercise.window = Some(Tracks { chosen }.into());
        }
        _ => {}
    }
    Vec::new()
}

/// So many of the hints that the lesson has.
fn hint(exercise: &mut Exercise, shared: &mut Shared, hints: usize) {
    let number = exercise.track.lesson(exercise.place());
    let all = shared.course.lessons.lesson(number).map_or(0, |lesson| lesson.hints.len());
    if all == 0 {
        return shared.inform(format!("lesson {number} has no hints"));
    }
    // Scrolled to, if it does not fit.
    exercise.window = Some(Own { scroll: 0, hints: hints.min(all) }.into());
}

/// The place of the present exercise in the list.
fn tracks_of(exercise: &Exercise) -> usize {
    tracks_in_order().iter().position(|track| *track == exercise.track).unwrap_or(0)
}

/// A key while all exercises are listed.
pub fn tracks(mut window: Tracks, exercise: &mut Exercise, shared: &mut Shared, command: Command) -> Vec<Action> {
    let all = tracks_in_order();
    match command {
        Command::Back => {
            exercise.window = Some(front());
            return Vec::new();
        }
        Command::Move(by) => window.chosen = by.within(window.chosen, all.len()),
        Command::Choose if exercise.is_busy() => {
            shared.inform(format!(
                "your program of {} is being tried: wait until that is over, or stop its run",
                exercise.track.name()
            ));
        }
        Command::Choose => {
            let Some(track) = all.get(window.chosen).copied() else { return Vec::new() };
            *exercise = Exercise {
                track,
                one_column: exercise.one_column,
                ten_steps: exercise.ten_steps,
                window: Some(front()),
                ..Exercise::default()
            };
            return vec![Effect::ChooseExercise(track).into(), Effect::ReadExercise.into()];
        }
        _ => {}
    }
    exercise.window = Some(window.into());
    Vec::new()
}

fn ask_reset(exercise: &mut Exercise, shared: &mut Shared, number: usize, diff: bool) {
    match exercise.program.is_empty() {
        true => shared.inform("you do not have your own trainer yet: press e to create it"),
        false => exercise.window = Some(ConfirmReset { number, diff }.into()),
    }
}

/// The answer to whether a step or the whole goes back to what it was.
pub fn reset(asked: ConfirmReset, exercise: &mut Exercise, command: Command) -> Vec<Action> {
    let ConfirmReset { number, diff } = asked;
    let part = match command {
        // A program without numbered places goes back as a whole.
        Command::Step if exercise.track == Track::Collectives => Some(None),
        Command::Step => Some(Some(number)),
        Command::Whole => Some(None),
        _ => None,
    };
    exercise.window = Some(if diff { Diff { of: exercise.track, number, mine: true, scroll: 0 }.into() } else { front() });
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

/// Run it on one rank and on two, unless something else is going.
fn compare(exercise: &mut Exercise, shared: &mut Shared) -> Vec<Action> {
    let why_not = match exercise.track {
        Track::Program(program) if program.has_steps() => {
            Some("the ten steps are compared one by one: close this window, choose a step, and press g")
        }
        Track::Program(program) => program.why_not_compared(),
        Track::Collectives => {
            Some("this exercise has no runs to compare: `hvd-lab collectives run` times the ring beside the others")
        }
    };
    if let Some(why) = why_not {
        shared.inform(why);
        return Vec::new();
    }
    if shared.going().is_some() || exercise.is_busy() {
        shared.inform("a run is going: compare when it is over, or stop it");
        return Vec::new();
    }
    exercise.tried = exercise.program.clone();
    exercise.stage = Stage::Building;
    vec![Effect::CompareExercise.into()]
}

/// Something happened to the program.
pub fn hear(exercise: &mut Exercise, shared: &mut Shared, news: News) -> Vec<Action> {
    match news {
        News::Read { path, program } => {
            // Of the exercise that was chosen before this one.
            let Some(track) = Track::of_file(&path).filter(|track| track.name() == exercise.track.name()) else {
                return Vec::new();
            };
            let is_first = exercise.path != path;
            take_language(exercise, shared, track);
            (exercise.path, exercise.program) = (path, program);
            exercise.next = track.next(&exercise.program);
            if is_first {
                exercise.tried = exercise.program.clone();
                return vec![Effect::WatchExercise.into()];
            }
            // The editor's end and the watcher tell of the same save.
            return if exercise.program == exercise.tried { Vec::new() } else { begin(exercise, shared) };
        }
        News::Language { language, is_chosen } => {
            shared.course.writes_rust = is_chosen && language == Language::Rust;
            if let Track::Program(program) = exercise.ten_steps {
                exercise.ten_steps = program.in_language(language).map_or(exercise.ten_steps, Track::Program);
            }
            if exercise.has_steps() && exercise.path.is_empty() {
                exercise.track = exercise.ten_steps;
            }
            return Vec::new();
        }
        News::Reset { number, program, backup } => {
            exercise.next = exercise.track.next(&program);
            // Nothing to try in what nobody has written.
            (exercise.tried, exercise.program, exercise.again) = (program.clone(), program, false);
            if !exercise.is_busy() {
                exercise.stage = Stage::Idle;
            }
            let part = match exercise.track {
                Track::Program(program) => program.part_named(number),
                Track::Collectives => "the whole program".to_owned(),
            };
            shared.inform(format!("{part} is as it was; what you had is in {backup}"));
            return Vec::new();
        }
        News::Saved => return vec![Effect::ReadExercise.into()],
        News::Broken(errors) => exercise.stage = Stage::Broken(errors),
        News::Failed(error) => exercise.stage = Stage::Failed(error),
        News::Started(run, once_more) => {
            exercise.stage = Stage::Running(run, once_more);
            return vec![Action::Watch(run), Effect::ListRuns.into()];
        }
        News::Judged { run, words, notes } => {
            exercise.stage = Stage::Judged(run, words);
            if !notes.is_empty() {
                shared.inform(notes.join("; "));
            }
            let mut actions = again(exercise, shared);
            actions.push(Effect::ReadProgress.into());
            return actions;
        }
    }
    again(exercise, shared)
}

/// The learner's program is in this language: lessons and diffs follow it.
fn take_language(exercise: &mut Exercise, shared: &mut Shared, track: Track) {
    exercise.track = track;
    if let Track::Program(program) = track
        && program.has_steps()
    {
        exercise.ten_steps = track;
        shared.course.writes_rust = program.language == Language::Rust;
    }
}

/// Nothing else is going any more: what was saved meanwhile is tried.
pub fn again(exercise: &mut Exercise, shared: &Shared) -> Vec<Action> {
    if exercise.again { begin(exercise, shared) } else { Vec::new() }
}
