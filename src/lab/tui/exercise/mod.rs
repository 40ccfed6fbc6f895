//! The learner's own trainer: its state, its diffs, its reset.

pub mod draw;
pub mod state;
#[cfg(test)]
pub mod tests;
pub mod update;
pub mod windows;
