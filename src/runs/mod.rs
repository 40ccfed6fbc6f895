//! The run folders on disk: what was asked for, what happened, and what it adds up to.
//!
//! Never starts a process. It ends some in one case only: ranks that a killed supervisor left behind (`orphans`).
//!
//! ```text
//! HVD_LAB_HOME/runs/0007/
//!   run.json         RunRecord: what was asked for, the exact command line of each attempt
//!   status.json      domain::run::RunStatus, replaced at every change
//!   events.jsonl     domain::event::EventLine, one a line, of all ranks in order of arrival
//!   telemetry.jsonl  domain::device::TelemetrySample, one a line
//!   rank-0.log ...   what each process printed, standard output and error
//!   launcher.log     what mpirun and the supervisor said themselves
//!   summary.json     RunSummary of a run that is over: a cache, made again when it is missing
//!   logs/            checkpoints and TensorBoard files of the trainer
//! ```

mod compare;
mod error;
mod files;
mod folder;
mod follower;
mod orphans;
pub mod process;
mod record;
mod store;
mod summary;

pub use compare::{Difference, Row, differences, table};
pub use error::StoreError;
pub use files::write_json;
pub use folder::RunFolder;
pub use follower::{Follower, RunUpdate};
pub use record::{Attempt, RunId, RunRecord};
pub use store::RunStore;
pub use summary::{Accountant, RunSummary, Tally};

#[cfg(test)]
mod tests;
