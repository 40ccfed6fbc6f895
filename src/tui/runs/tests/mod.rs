//! The tests of this feature, on the whole screen.

pub mod table;
pub mod undo;
