//! The chart: curves of the shown runs, and where the time of a step goes.

pub mod draw;
pub mod graph;
pub mod keys;
pub mod range;
pub mod state;
#[cfg(test)]
pub mod tests;
pub mod update;
