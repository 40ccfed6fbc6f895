//! What the end of a job tells the supervisor.

use std::collections::BTreeSet;

use crate::launch::verdict::Verdict;

/// How a job ended.
pub(in crate::launch) struct End {
    pub verdict: Verdict,
    /// The launcher's, or 2 where the run folder could not be written.
    pub exit_code: Option<i32>,
    /// Library versions that the ranks reported.
    pub versions: BTreeSet<String>,
    /// Ranks that a program of the user's own had, by what was in their environment.
    pub np: Option<usize>,
    /// The part of this host's cores that other programs used during the training, where that can be told.
    pub others_cpu: Option<f64>,
    /// Slurm will start it again.
    pub is_requeued: bool,
    /// It goes on under Slurm, and nobody follows it.
    pub is_left: bool,
    /// It was ended at a checkpoint, to go on with other hosts.
    pub is_resized: bool,
}
