//! What was seen so far of the launcher of a job.

use std::process::ExitStatus;

use tokio::time::Instant;

use crate::launch::endless::Endless;

/// What was seen of it so far.
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
