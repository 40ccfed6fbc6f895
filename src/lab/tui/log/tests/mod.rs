//! The tests of this feature, on the whole screen.

pub mod lines;
pub mod pane;
