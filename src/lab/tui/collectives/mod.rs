//! Allreduces on the screen: the messages of a real run played step by step, and what each method took.

pub mod crossing;
pub mod draw;
pub mod form;
pub mod keys;
pub mod log;
pub mod player;
pub mod stage;
pub mod state;
#[cfg(test)]
pub mod tests;
pub mod who;
