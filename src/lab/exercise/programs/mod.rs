//! The exercises with places to complete, each a file here and a line in [`PROGRAMS`].

mod four_changes;
mod nvcnn;
pub(super) mod pytorch;
mod ten_steps;

pub use four_changes::{FOUR_CHANGES, FOUR_CHANGES_IN_PYTHON};
pub use nvcnn::{NVCNN, NVCNN_IN_PYTHON};
pub use pytorch::TEN_STEPS_IN_PYTORCH;
pub use ten_steps::{TEN_STEPS, TEN_STEPS_IN_PYTHON};

use super::language::Language;
use super::program::Program;

/// All of them; the first is meant where none is named.
pub static PROGRAMS: [&Program; 7] =
    [&TEN_STEPS, &FOUR_CHANGES, &NVCNN, &TEN_STEPS_IN_PYTHON, &FOUR_CHANGES_IN_PYTHON, &NVCNN_IN_PYTHON, &TEN_STEPS_IN_PYTORCH];

/// The one whose track has this name.
pub fn of_track(track: &str) -> Option<&'static Program> {
    PROGRAMS.into_iter().find(|program| program.track == track)
}

impl Program {
    /// The same exercise in this language, if it is there in it.
    pub fn in_language(&self, language: Language) -> Option<&'static Program> {
        PROGRAMS.into_iter().find(|other| other.track == self.track && other.language == language)
    }
}
