//! The tests of this feature, on the whole screen.

pub mod own;
pub mod reset;
