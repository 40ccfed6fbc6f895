//! The learner's own programs: what is to complete, its solutions, how the two differ, and building and running it.
//!
//! `course` judges a program by what a run of it did, not by its text.

mod attempt;
mod build;
mod built;
mod compared;
mod conditions;
mod diff;
pub mod editor;
mod folder;
mod interpreter;
mod language;
mod next;
mod page;
mod places;
mod program;
mod programs;
mod python;
mod pytorch;
pub mod ring;
mod track;
mod watch;
mod words;

pub use attempt::{Attempted, Begun};
pub use build::build;
pub use built::{Built, CompileError};
pub use compared::Compared;
pub use conditions::Condition;
pub use diff::Diff;
pub use folder::{ExerciseError, Folder};
pub use interpreter::find_module;
pub use language::Language;
pub use page::{Piece, Role, Row, TWO_COLUMNS, rows};
pub use places::proofread;
pub use program::Program;
#[cfg(test)]
pub use programs::PROGRAMS;
pub use programs::{
    FOUR_CHANGES, FOUR_CHANGES_IN_PYTHON, NVCNN, NVCNN_IN_PYTHON, TEN_STEPS, TEN_STEPS_IN_PYTHON, TEN_STEPS_IN_PYTORCH, of_track,
};
pub use track::{RING_SOLUTION, Track};
pub use watch::Watch;
