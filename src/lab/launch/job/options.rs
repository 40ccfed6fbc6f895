//! The options of one launch: its work, its limits and its devices.

use std::time::Duration;

use tokio::time::Instant;

use crate::launch::discovery::Wish;
use crate::launch::output::Tags;
use crate::launch::runaway::RunawayLimits;
use crate::launch::user_program::OwnProgram;
use crate::lease::Lease;
use crate::process::LockIdentity;
use crate::runs::RunFolder;

pub(in crate::launch) struct JobOptions {
    pub folder: RunFolder,
    /// The ranks sign their events with it.
    pub secret: String,
    /// Ranks. A program of the user's own may turn out to have more.
    pub np: usize,
    pub tags: Tags,
    pub limits: RunawayLimits,
    /// Reads what a program of the user's own prints: it reports nothing by itself.
    pub own: Option<OwnProgram>,
    /// Devices of a shared machine, kept until nothing of the job is left.
    pub lease: Option<Lease>,
    /// The ranks are ended when the run folder, which this lock is in, is gone.
    pub lock: LockIdentity,
    /// The ranks are ended as stuck when none has reported anything for this long; `None` for no limit.
    pub patience: Option<Duration>,
    /// When every rank has to have reported, and after how many seconds: else the ranks are ended.
    pub start: Option<(Instant, f64)>,
    /// When the time limit of the run ends it, and that limit in seconds.
    pub deadline: Option<(Instant, f64)>,
    /// Bits a second of the network that each rank gets for itself.
    pub link_bits: Option<u64>,
    /// Ends the job at a checkpoint when there are better hosts.
    pub wish: Option<Wish>,
    /// A rank that stays stopped is given up, and the run continues without it.
    pub is_elastic: bool,
    /// Slurm has the job, and decides what becomes of it when ranks fail.
    pub is_batch: bool,
}
