//! The tests of this feature, on the whole screen.

pub mod axes;
pub mod curves;
pub mod endings;
