//! The lab: it starts runs, follows them, judges them and shows them, without libtorch and MPI.

// `cli::output` prints, and makes it safe; the screen draws.
#![deny(clippy::print_stderr, clippy::print_stdout)]

pub mod cli;
mod columns;
pub mod course;
pub mod download;
pub mod exercise;
pub mod inspect;
pub mod launch;
pub mod lease;
pub mod process;
pub mod runs;
pub mod simulate;
pub mod telemetry;
pub mod tui;

pub use hvd_lab_core::{dataset, domain, flags, host};
