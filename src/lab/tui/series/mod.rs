//! Runs that take turns: before and after a step, and all steps but one.

pub mod draw;
pub mod front;
pub mod keys;
pub mod state;
#[cfg(test)]
pub mod tests;
pub mod update;
pub mod windows;
