//! The lessons: their text, their questions and answers.

pub mod draw;
pub mod reading;
pub mod state;
#[cfg(test)]
pub mod tests;
