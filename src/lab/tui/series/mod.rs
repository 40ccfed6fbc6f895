//! Runs that take turns: before and after a step, and all steps but one.

pub mod confirm;
pub mod state;
#[cfg(test)]
pub mod tests;
pub mod turns;
pub mod update;
