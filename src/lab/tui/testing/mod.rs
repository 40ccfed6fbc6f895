//! States and logs made up for tests.

pub mod cluster;
pub mod printed;
pub mod samples;
