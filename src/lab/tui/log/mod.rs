//! The log: what the processes print.

pub mod ask;
pub mod draw;
pub mod find;
pub mod keys;
pub mod read;
pub mod rows;
pub mod state;
#[cfg(test)]
pub mod tests;
pub mod update;
