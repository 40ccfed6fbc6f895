//! The trait that executes the rounds of a schedule.
//!
//! Never waits for a rank that sleeps: all ranks execute the same schedule, and MPI spins while it waits.

use nix::time::{ClockId, clock_gettime};

use super::plan::Round;
use crate::comm::error::CommError;

/// A rank that sends to others, and receives from them.
pub trait PointToPoint {
    fn rank(&self) -> usize;

    fn size(&self) -> usize;

    /// Does this rank's part of one round on `data`. `scratch` has room for what is added ([`Plan::scratch`](super::Plan::scratch)). With `times` it
    /// says when what happened.
    ///
    /// # Errors
    /// On threads, that a rank has left. MPI ends the job.
    fn exchange(&self, round: &Round, data: &mut [f32], scratch: &mut [f32], times: Option<&mut Times>) -> Result<(), CommError>;

    /// Returns when all ranks have called it.
    ///
    /// # Errors
    /// As [`PointToPoint::exchange`].
    fn barrier(&self) -> Result<(), CommError>;
}

/// When the messages of one rank's part of a round left and came, in nanoseconds of [`now`].
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// By [`Round::sends`]: when they were handed to MPI.
    pub handed: Vec<i64>,
    /// By [`Round::reduces`]: when they were there, before they are added.
    pub reduced: Vec<i64>,
    /// By [`Round::copies`].
    pub copied: Vec<i64>,
}

/// The host's clock in nanoseconds, which is never set. All processes of a host read the same.
pub fn now() -> i64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}
