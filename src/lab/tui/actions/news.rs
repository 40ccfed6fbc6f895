//! News about the learner's own trainer.

use crate::exercise::Language;
use crate::runs::RunId;

/// A change of the program, or a result of it.
#[derive(Clone, Debug)]
pub enum ExerciseNews {
    /// Where it is, and its text.
    Read {
        path: String,
        program: String,
    },
    /// The language that the learner writes in, or would by default; whether they said so.
    Language {
        language: Language,
        is_chosen: bool,
    },
    Saved,
    /// One TODO, or the whole program, was reset.
    Reset {
        number: Option<usize>,
        program: String,
        /// The file that keeps the earlier text.
        backup: String,
    },
    Broken(String),
    /// A run of it has begun; a further one of a program that passed says what is different.
    Started(RunId, Option<&'static str>),
    /// The verdict on all its runs, of which `run` was the first, and notes for the user.
    Judged {
        run: Option<RunId>,
        words: String,
        notes: Vec<String>,
    },
    Failed(String),
}
