//! What the screen knows of the learner's own trainer.
//!
//! Never holds a process or a file: `runner` builds and reads.

use crate::domain::step::Step;
use crate::runs::RunId;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExerciseView {
    /// Diffs in one column, even where there is room for two.
    pub one_column: bool,
    /// Where the program is, once it is there.
    pub path: String,
    /// The program as it was read last.
    pub program: String,
    /// The next TODO, with its line.
    pub next: Option<(Step, usize)>,
    pub stage: Stage,
    /// What was built last, or was there before.
    pub tried: String,
    /// Saved while something else was going on.
    pub again: bool,
}

/// How far the last attempt is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Stage {
    #[default]
    Idle,
    Building,
    /// Errors of the compiler in words.
    Broken(String),
    Running(RunId),
    /// What its run shows.
    Judged(RunId, String),
    /// Why it could not be built or run at all.
    Failed(String),
}

/// What happened to the program.
#[derive(Clone, Debug)]
pub enum News {
    /// Where it is, and its text.
    Read {
        path: String,
        program: String,
    },
    Saved,
    /// A step, or the whole, is as it was.
    Reset {
        step: Option<Step>,
        program: String,
        /// What there was before.
        backup: String,
    },
    Broken(String),
    Started(RunId),
    Failed(String),
}
