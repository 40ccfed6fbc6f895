//! What is known about a job while it runs, and how it ended.

use std::collections::BTreeSet;
use std::process::ExitStatus;

use tokio::time::Instant;

use crate::launch::endless::Endless;
use crate::launch::verdict::Verdict;

/// What was seen of the launcher so far.
#[derive(Default)]
pub(super) struct Launcher {
    /// Since when it is stopped, and whether that was told.
    pub down: Option<(Instant, bool)>,
    /// Since when there is no rank any more, and something that ranks have left behind.
    pub deserted: Option<Instant>,
    pub endless: Endless,
    /// The ranks were asked to end, and the launcher was not.
    pub is_spared: bool,
}

/// A program of the user's own that has ended, and has left processes of its own.
pub(super) struct Behind {
    pub exit: ExitStatus,
    pub since: Instant,
    /// What becomes of them was said.
    pub is_told: bool,
}

/// How a job ended.
pub(in crate::launch) struct End {
    pub verdict: Verdict,
    /// The launcher's, or 1 if the run folder could not be written.
    pub exit_code: Option<i32>,
    /// Library versions that the ranks reported.
    pub versions: BTreeSet<String>,
    /// Ranks that a program of the user's own had, by what was in their environment.
    pub np: Option<usize>,
    /// The part of this host's cores that other programs used during the training, where that can be told.
    pub others_cpu: Option<f64>,
    /// Slurm will start it again.
    pub is_requeued: bool,
    /// It still runs under Slurm, and has no follower.
    pub is_left: bool,
    /// It was ended at a checkpoint, to go on with other hosts.
    pub is_resized: bool,
}
