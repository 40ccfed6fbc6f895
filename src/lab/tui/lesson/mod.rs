//! The lessons: their text, their questions and answers.

pub mod draw;
pub mod front;
pub mod keys;
pub mod page;
pub mod state;
#[cfg(test)]
pub mod tests;
pub mod update;
pub mod windows;
