//! Who has which device of a machine that is shared, and who waits for some.

mod draw;
pub mod front;
pub mod keys;
pub mod state;
#[cfg(test)]
mod tests;
pub mod update;
pub mod windows;
