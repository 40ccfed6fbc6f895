//! The words both towers share: topology, steps, events, runs, devices, units.
//!
//! Never performs I/O, reads a clock, or names a tensor, a screen or a process: std and serde only.

pub mod benchmark;
pub mod bounds;
pub mod cells;
pub mod checkpoint;
pub mod collective;
pub mod command;
pub mod device;
pub mod event;
pub mod fault;
pub mod history;
pub mod images;
pub mod job;
pub mod launcher;
pub mod markup;
pub mod measured;
pub mod model;
mod named;
mod number;
pub mod nvcnn;
pub mod phase;
pub mod pipeline;
pub mod printable;
pub mod process_location;
pub mod run;
pub mod schedule;
pub mod setting;
pub mod settings;
pub mod speedup;
pub mod step;
mod testing;
pub mod topology;
pub mod training;
pub mod units;
pub mod user_metrics;
