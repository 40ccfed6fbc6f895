//! The tests of this feature, on the whole screen.

pub mod compare;
pub mod table;
pub mod undo;
