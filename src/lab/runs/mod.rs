//! The run folders on disk: what was asked for, what happened, and what it adds up to.
//!
//! It starts and ends processes of a run in one case only: a killed supervisor left ranks behind, which are ended, or a job of Slurm,
//! which gets another supervisor (`orphans`).
//!
//! ```text
//! HVD_LAB_HOME/runs/0007/
//!   run.json         RunRecord: what was asked for, the exact command line of each attempt
//!   status.json      domain::run::RunStatus, replaced at every change
//!   events.jsonl     domain::event::EventLine, one a line, of all ranks in order of arrival
//!   telemetry.jsonl  domain::device::TelemetrySample, one a line
//!   rank-0.log ...   what each process printed, standard output and error
//!   launcher.log     what mpirun and the supervisor said themselves
//!   arrivals.txt     when the lines of these logs came, and in which order
//!   summary.json     RunSummary of a run that is over: a cache, made again when it is missing
//!   lock             held by the supervisor for as long as it lives
//!   logs/            checkpoints and TensorBoard files of the trainer
//! HVD_LAB_HOME/trash/0007-1700000000123/    a run that was deleted, as it was
//! ```

mod accuracy;
pub mod batch_job;
pub mod busy_host;
mod comparable;
mod compare;
mod error;
mod events;
pub mod export;
mod folder;
mod follower;
mod lines;
mod logs;
mod measurement;
mod orphans;
mod record;
pub mod recording;
mod records;
mod references;
mod running_totals;
pub mod scaling;
mod select;
mod store;
mod summary;
mod supervision;
mod thinned;
mod trash;

pub use accuracy::{AccuracyChange, accuracy_change};
pub use comparable::{Work, baseline, gained, gained_so_far, no_efficiency, work};
pub use compare::{Difference, Report, Row, differences};
pub use error::{StoreError, remedy};
pub use events::Events;
pub use folder::RunFolder;
pub use follower::{Follower, RunUpdate};
pub use logs::{
    Arrival, Arrivals, Found, Jump, LogFilter, LogLine, LogPage, LogQuery, LogReader, LogRequest, LogSource, Pattern, Place, safe,
};
pub use measurement::{Measurement, Measurements, measured, row_json};
pub use record::{Attempt, RunId, RunRecord, RunRequest, Trial};
pub use records::{json, lock, read_json, read_json_if_any, write_json};
pub use references::{Published, Source, references};
pub use select::{FIELDS, Filter, SortKey, select};
pub use store::RunStore;
pub use summary::{Accountant, Devices, LoggedTally, RunSummary, Tally, epochs_to_go_on_to};
pub use supervision::Supervision;
pub use thinned::Thinning;
pub use trash::Deleted;

#[cfg(test)]
mod tests;
