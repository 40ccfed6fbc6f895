//! The learner's own trainer: the program to complete, its solutions, and how the two differ.
//!
//! Never draws, and never judges a program by its text: `course` judges by what a run of it did.

mod diff;
mod page;
mod programs;

pub use diff::Diff;
pub use page::{Piece, Role, Row, TWO_COLUMNS, rows};
pub use programs::{EXERCISE, solution};
