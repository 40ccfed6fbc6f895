//! A recording that is played.

pub mod draw;
pub mod keys;
#[cfg(test)]
pub mod tests;
pub mod update;
