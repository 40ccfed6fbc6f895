//! How the learner's own trainer is built and run, and what happens to it.

use super::state::{Exercise, Stage};
use crate::exercise::{Language, Track};
use crate::tui::actions::{Action, Effect, ExerciseNews};
use crate::tui::shared::Shared;

/// Build and run it, as soon as nothing else is going.
pub fn begin(exercise: &mut Exercise, shared: &Shared) -> Vec<Action> {
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
pub fn compare(exercise: &mut Exercise, shared: &mut Shared) -> Vec<Action> {
    let why_not = match exercise.track {
        Track::Program(program) if program.has_steps() => {
            Some("the ten steps are compared one by one: close this window, choose a step in the pane Steps, and press g")
        }
        Track::Program(program) => program.why_not_compared(),
        Track::Collectives => {
            Some("this exercise has no runs to compare: `hvd-lab collectives run` times the ring beside the others")
        }
    };
    if let Some(why) = why_not {
        return shared.refuse(why);
    }
    if shared.going().is_some() || exercise.is_busy() {
        return shared.refuse("a run is going: compare when it is over, or stop it");
    }
    exercise.tried = exercise.program.clone();
    exercise.stage = Stage::Building;
    vec![Effect::CompareExercise.into()]
}

/// Something happened to the program.
pub fn hear(exercise: &mut Exercise, shared: &mut Shared, news: ExerciseNews) -> Vec<Action> {
    match news {
        ExerciseNews::Read { path, program } => {
            // Ignore news of the exercise that was chosen before this one.
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
            // Both the end of the editor and the watcher report the same save.
            return if exercise.program == exercise.tried { Vec::new() } else { begin(exercise, shared) };
        }
        ExerciseNews::Language { language, is_chosen } => {
            shared.course.writes_rust = is_chosen && language == Language::Rust;
            if let Track::Program(program) = exercise.ten_steps {
                exercise.ten_steps = program.in_language(language).map_or(exercise.ten_steps, Track::Program);
            }
            if exercise.has_steps() && exercise.path.is_empty() {
                exercise.track = exercise.ten_steps;
            }
            return Vec::new();
        }
        ExerciseNews::Reset { number, program, backup } => {
            exercise.next = exercise.track.next(&program);
            // A program that was reset needs no try.
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
        ExerciseNews::Saved => return vec![Effect::ReadExercise.into()],
        ExerciseNews::Broken(errors) => exercise.stage = Stage::Broken(errors),
        ExerciseNews::Failed(error) => exercise.stage = Stage::Failed(error),
        ExerciseNews::Started(run, once_more) => {
            exercise.stage = Stage::Running(run, once_more);
            return vec![Action::Watch(run), Effect::ListRuns.into()];
        }
        ExerciseNews::Judged { run, words, notes } => {
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
