//! What happened to the learner's own trainer.

use crate::exercise::Language;
use crate::runs::RunId;

/// What happened to the program.
#[derive(Clone, Debug)]
pub enum News {
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
    /// A place, or the whole, is as it was.
    Reset {
        number: Option<usize>,
        program: String,
        /// What there was before.
        backup: String,
    },
    Broken(String),
    /// A run of it has begun; a further one of a program that passed says what is different.
    Started(RunId, Option<&'static str>),
    /// What all its runs show, of which this was the first where it makes any, and what there is to say beside it.
    Judged {
        run: Option<RunId>,
        words: String,
        notes: Vec<String>,
    },
    Failed(String),
}
