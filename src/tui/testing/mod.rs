//! States and logs made up for tests.
//!
//! Never used outside tests.

pub mod front;
pub mod printed;
pub mod samples;
