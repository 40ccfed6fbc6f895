//! What is known about a job while it runs, and how it ended.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::process::ExitStatus;
use std::rc::Rc;

use tokio::time::Instant;

use crate::host::load::Load;
use crate::launch::endless::Endless;
use crate::launch::verdict::Verdict;

/// What has happened to a job so far.
#[derive(Default)]
pub(super) struct JobState {
    /// When the job is to be ended because one rank reported a fatal error, or is gone.
    pub end_after_failure_at: Option<Instant>,
    pub end_after_vanishing_at: Option<Instant>,
    /// The first epoch of this launch: what came before it took none of its time.
    pub first_epoch: Option<usize>,
    /// Who used the cores up to the moment in which training began.
    pub began: Option<Load>,
    /// When SIGKILL follows; set once the ranks are being ended.
    pub kill_at: Option<Instant>,
    pub asked_to_stop: bool,
    pub out_of_time: bool,
    /// It is being ended to go on with other hosts.
    pub is_resized: bool,
    /// Why the ranks were taken for stuck.
    pub stuck: Option<String>,
    /// Why the supervisor itself cannot go on.
    pub broken: Option<String>,
    /// Why a part of the output of a user's program is not kept.
    pub unwritten: Rc<OnceCell<String>>,
    pub unwritten_is_told: bool,
    /// Since when the launcher is stopped, and whether that was reported.
    pub launcher_down: Option<(Instant, bool)>,
    /// The ranks were asked to end, and the launcher was not.
    pub launcher_is_spared: bool,
    /// Since when there is no rank any more, and something that ranks have left behind.
    pub deserted: Option<Instant>,
    pub endless: Endless,
    /// The program itself has ended, and what it has put into the background has not.
    pub behind: Option<Behind>,
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
