//! The words both towers share: topology, steps, events, runs, devices, units.
//!
//! Never performs I/O, reads a clock, or names a tensor, a screen or a process: std and serde only.

pub mod device;
pub mod event;
pub mod markup;
pub mod run;
pub mod schedule;
pub mod speedup;
pub mod step;
pub mod topology;
pub mod units;
