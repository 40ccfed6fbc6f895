//! The runs: their table, one in detail, and two side by side.

pub mod ask;
pub mod compare;
pub mod confirm;
pub mod details;
pub mod draw;
pub mod keys;
pub mod state;
#[cfg(test)]
pub mod tests;
pub mod update;
