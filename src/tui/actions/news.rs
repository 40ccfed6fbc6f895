//! What happened to the learner's own trainer.

use crate::domain::step::Step;
use crate::runs::RunId;

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
