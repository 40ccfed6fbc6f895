//! The tests of this feature, on the whole screen.

pub mod compare;
mod details;
pub mod table;
pub mod undo;
