//! The state of the learner's own program on the screen.

use crate::exercise::{Language, Track};
use crate::runs::RunId;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exercise {
    /// Which exercise, in the language that the learner writes it in, as far as that is known.
    pub track: Track,
    /// The ten steps in that language, whichever exercise it is.
    pub ten_steps: Track,
    /// Diffs in one column, even where there is room for two.
    pub one_column: bool,
    /// Where the program is, once it is there.
    pub path: String,
    /// The program as it was read last.
    pub program: String,
    /// The number of the next TODO, where the exercise has numbers, and its line.
    pub next: Option<(Option<usize>, usize)>,
    pub stage: Stage,
    /// The program as it was built last, or as it was when the screen opened.
    pub tried: String,
    /// Saved while something else was going on.
    pub again: bool,
}

impl Exercise {
    /// It is the trainer of the ten steps.
    pub fn has_steps(&self) -> bool {
        matches!(self.track, Track::Program(program) if program.has_steps())
    }

    /// The place that the learner is at: the first that is to do, else the last.
    pub fn place(&self) -> usize {
        match (self.next, self.track) {
            (Some((Some(number), _)), _) => number,
            (_, Track::Program(program)) => program.count,
            _ => 1,
        }
    }

    /// The number that the program is held against the solution of.
    pub fn reached(&self) -> usize {
        if let Track::Program(program) = self.track { program.reached(&self.program) } else { 1 }
    }

    /// It is being built or is running.
    pub fn is_busy(&self) -> bool {
        matches!(self.stage, Stage::Building | Stage::Running(..))
    }
}

/// How far the last attempt is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Stage {
    #[default]
    Idle,
    Building,
    /// Errors of the compiler in words.
    Broken(String),
    /// It runs; once more after it has passed, with what is different.
    Running(RunId, Option<&'static str>),
    /// The first run, and the verdict in words.
    Judged(Option<RunId>, String),
    /// Why it could not be built or run at all.
    Failed(String),
}

/// All exercises, in the order of the window: those in Python first.
pub fn tracks_in_order() -> Vec<Track> {
    let (python, others): (Vec<Track>, Vec<Track>) = Track::all().partition(|track| track.language() == Language::Python);
    python.into_iter().chain(others).collect()
}
