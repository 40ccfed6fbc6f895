//! The ground floor of hvd-lab, on which its two towers stand. Each of the three is a package.
//!
//! ```text
//!  bin/hvd-train                       bin/hvd-lab
//!       |                                   |
//!    trainer                               tui, cli
//!       |                   exercise |       |        |       |
//!     comm                      course   launch  telemetry  runs
//!  src/ranks                    src/lab     |
//!       \______ src/core: domain, host, dataset ______/
//! ```
//!
//! The towers meet in two places: the argument vector of the programs of the ranks, and the JSON-lines events of
//! [`domain::event`], with the variables that it names. Beside them, checkpoints and a mistake on purpose are files of the run folder. No crate of one can name the other; `tests/architecture.rs` holds the rules inside of each:
//!
//! - `domain`: std and serde only; no I/O, no clock. `host`: clock, name, processor and files of the host, for all but `domain`.
//! - `flags`: what a program of the ranks and a verb of the lab both take. Names only `domain`.
//! - `dataset`: files, no network, no tensor, no screen.
//! - `lab::columns`: how wide a text is on a terminal, and nothing else. Names only `domain`.
//! - `lab::download`: fetches the images, and alone names the network.
//! - `lab::lease`: who has which GPU or core of a shared machine, and who waits for one; beneath `launch`. Names `domain` and `host`.
//! - `lab::process`: finds, proves, signals and locks the processes of runs; beneath `runs`. Names `domain` and `host`.
//! - `lab::simulate`: a model of scaling, over `domain` and `runs`. Never a clock or a random number.
//! - `ranks::comm`: never a tensor, a file or a terminal. `ranks::trainer`: never the launcher or the screen.
//! - Only `tui` names ratatui and crossterm; only `telemetry/nvml.rs` NVML.
//! - Files stay under 400 lines and open with `//!`: their purpose, and what they never do if that says something.

// They panic when standard error is closed, and print escape sequences as they come.
#![deny(clippy::print_stderr, clippy::print_stdout)]

pub mod dataset;
pub mod domain;
pub mod flags;
pub mod host;
