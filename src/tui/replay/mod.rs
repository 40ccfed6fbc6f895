//! A recording that is played.
//!
//! Never names another feature.

pub mod draw;
pub mod keys;
#[cfg(test)]
pub mod tests;
pub mod update;
