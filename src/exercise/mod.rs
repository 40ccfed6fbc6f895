//! The learner's own trainer: the program to complete, its solutions, how the two differ, and building and running it.
//!
//! Never draws, and never judges a program by its text: `course` judges by what a run of it did.

pub mod attempt;
mod build;
mod diff;
pub mod editor;
mod folder;
mod page;
pub mod places;
mod programs;
mod proofread;
pub mod ring;
mod track;
mod watch;

pub use build::{Built, CompileError, build};
pub use diff::Diff;
pub use folder::{ExerciseError, Folder, part_named};
pub use page::{Piece, Role, Row, TWO_COLUMNS, rows};
pub use programs::{EXERCISE, RING_SOLUTION, solution};
pub use proofread::proofread;
pub use track::Track;
pub use watch::Watch;
