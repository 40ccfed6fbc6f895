//! Executes a schedule on one rank, with or without a log of its messages.

use super::log::Log;
use super::plan::Plan;
use super::point::{PointToPoint, Times, now};
use crate::comm::error::CommError;

impl Plan {
    /// Replaces each number by the sum over the ranks. `scratch` grows to what is needed, before the first message. All ranks end
    /// with the same bits: a number is summed once and handed on, in the order of the senders, or the two ranks of a pair add the
    /// same two numbers.
    ///
    /// # Collective
    /// All ranks, with the same schedule.
    ///
    /// # Errors
    /// As [`PointToPoint::exchange`].
    ///
    /// # Panics
    /// If there are more or less numbers than the schedule has.
    pub fn run(&self, peers: &dyn PointToPoint, data: &mut [f32], scratch: &mut Vec<f32>) -> Result<(), CommError> {
        self.reserve(data, scratch);
        self.rounds.iter().try_for_each(|round| peers.exchange(round, data, scratch, None))
    }

    /// As [`Plan::run`], and writes down when each message left and came.
    ///
    /// # Collective
    /// As [`Plan::run`].
    ///
    /// # Errors
    /// As [`Plan::run`].
    pub fn run_logged(&self, peers: &dyn PointToPoint, data: &mut [f32], scratch: &mut Vec<f32>) -> Result<Log, CommError> {
        self.reserve(data, scratch);
        peers.barrier()?;
        let mut log = Log::new(now());
        let mut times = Times::default();
        for (index, round) in self.rounds.iter().enumerate() {
            peers.exchange(round, data, scratch, Some(&mut times))?;
            log.take(index, round, &times);
        }
        Ok(log)
    }

    fn reserve(&self, data: &[f32], scratch: &mut Vec<f32>) {
        assert_eq!(data.len(), self.elements, "a schedule is for one length");
        if scratch.len() < self.scratch() {
            scratch.resize(self.scratch(), 0.0);
        }
    }
}
