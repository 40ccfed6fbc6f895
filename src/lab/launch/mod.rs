//! Starting, following up and stopping runs.
//!
//! Nothing here depends on a screen: a supervisor of its own session starts `mpirun` and writes the run
//! folder, which screens and verbs then follow.
//!
//! ```text
//!  start ──spawns──> supervisor ──starts──> mpirun ──> hvd-train or hvd-measure x np
//!                        │  reads tagged lines (output) and events (event_socket), writes both into files (run_writer),
//!                        │  judges the end (verdict)
//!                        v
//!                    run folder  <──follow── screen, `hvd-lab run`
//! ```

mod adapter;
mod bar;
mod binding;
mod build_lock;
mod control;
mod discovery;
mod elastic;
mod endless;
mod error;
mod event_socket;
mod fault;
mod fault_request;
mod flavour;
mod host_name;
pub mod hosts;
mod job;
mod leased;
pub mod libraries;
mod line_file;
mod link_monitor;
mod mpirun;
mod no_progress;
mod notice;
mod observations;
mod once;
mod output;
mod parameters;
mod piece;
mod pipe;
pub mod preflight;
mod prepare;
mod preset;
mod printed_errors;
mod rank_networks;
mod remedies;
mod run_writer;
mod runaway;
mod setup;
mod shared;
pub mod slurm;
mod stopped_ranks;
pub mod supervisor;
mod thin;
mod user_program;
mod verdict;
mod work;

pub use build_lock::is_going_on as is_being_built;
pub use control::{MoreWork, continue_run, preview, start, stop};
pub use error::LaunchError;
pub use fault_request::{faults_made, make_fault};
pub use flavour::Flavour;
pub use leased::is_queued;
pub use mpirun::{CommandLine, command_line};
pub use once::execute_once;
pub use prepare::{located, whole_path};
pub use preset::{Preset, Ranks, default_preset, presets};
pub use setup::{Launcher, Machine, Setup, find_measure, find_trainer};
pub use shared::{DeviceRow, DeviceState, RunOf, SharedMachine, WaitingRow};
pub use user_program::OWN_PROGRAM;
