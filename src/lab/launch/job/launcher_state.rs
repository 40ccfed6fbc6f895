//! What was seen so far of the launcher of a job.

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
