//! The devices: what they are doing, and what they did in the last minutes.

#[cfg(test)]
mod dense_tests;
pub mod details;
pub mod draw;
pub mod keys;
pub mod lane;
#[cfg(test)]
mod lane_tests;
pub mod state;
#[cfg(test)]
pub mod tests;
pub mod update;
