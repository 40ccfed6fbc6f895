//! The learner's own programs: what is to complete, its solutions, how the two differ, and building and running it.
//!
//! Never draws, and never judges a program by its text: `course` judges by what a run of it did.

mod attempt;
mod build;
mod diff;
pub mod editor;
mod folder;
mod page;
mod places;
mod program;
mod programs;
mod proofread;
pub mod ring;
mod track;
mod watch;

pub use build::{Built, CompileError, build};
pub use diff::Diff;
pub use folder::{ExerciseError, Folder};
pub use page::{Piece, Role, Row, TWO_COLUMNS, rows};
pub use program::{Judged, Program};
#[cfg(test)]
pub use programs::PROGRAMS;
pub use programs::{FOUR_CHANGES, TEN_STEPS, of_track};
pub use proofread::proofread;
pub use track::{RING_SOLUTION, Track};
pub use watch::Watch;
