//! Faults that are made on purpose in the run that is going: a menu of them, with what will happen.

mod draw;
pub mod front;
pub mod keys;
pub mod state;
#[cfg(test)]
mod tests;
pub mod update;
pub mod windows;
