//! hvd-lab: two towers on one ground floor.
//!
//! ```text
//!  bin/hvd-train                       bin/hvd-lab
//!       |                                   |
//!    trainer                               tui, cli
//!       |                   exercise |       |        |       |
//!     comm                      course   launch  telemetry  runs
//!       \__________ domain, host, dataset __/_______/________/
//! ```
//!
//! The towers meet in two places only: the argument vector of `hvd-train`, and the JSON-lines events of
//! [`domain::event`]. `tests/architecture.rs` holds the rules:
//!
//! - `domain`: std and serde only; no I/O, no clock. `host`: clock, name, processor and files of the host, for all but `domain`.
//! - `flags`: what a program of the ranks and a verb of the lab both take. Names only `domain`.
//! - `columns`: how wide a text is on a terminal, and nothing else. Names only `domain`.
//! - `dataset`: files and network, no tensor, no screen.
//! - `lease`: who has which GPU or core of a shared machine, and who waits for one; beneath `launch`. Names `domain` and `host`.
//! - `simulate`: a model of scaling, over `domain` and `runs`. Never a clock or a random number.
//! - `comm`: never a tensor, a file or a terminal. `trainer`: never the launcher or the screen.
//! - The lab's floors never link libtorch or MPI. Only `tui` names ratatui and crossterm; only `telemetry/nvml.rs` NVML.
//! - Files stay under 400 lines and open with `//!`: their purpose, and what they never do if that says something.

pub mod dataset;
pub mod domain;
pub mod flags;
pub mod host;

#[cfg(feature = "lab")]
pub mod cli;
#[cfg(feature = "lab")]
mod columns;
#[cfg(feature = "lab")]
pub mod course;
#[cfg(feature = "lab")]
pub mod exercise;
#[cfg(feature = "lab")]
pub mod launch;
#[cfg(feature = "lab")]
pub mod lease;
#[cfg(feature = "lab")]
pub mod runs;
#[cfg(feature = "lab")]
pub mod simulate;
#[cfg(feature = "lab")]
pub mod telemetry;
#[cfg(feature = "lab")]
pub mod tui;

#[cfg(feature = "train")]
pub mod comm;
#[cfg(feature = "train")]
pub mod trainer;
