//! When to stop: the target accuracy exceeded in `patience` epochs in a row.
//!
//! Never lets each rank decide for itself. The original did, and its last run hung when three ranks stopped an epoch before
//! the fourth.

use super::evidence;
use crate::comm::{CommError, Communicator};
use crate::domain::event::Observation;
use crate::domain::topology::ROOT_RANK;

pub struct EarlyStop {
    target: f64,
    patience: usize,
    met: usize,
}

impl EarlyStop {
    /// `epochs_at_target`: epochs in a row that met the target before this run began, 0 for a fresh start.
    pub fn new(target: f64, patience: usize, epochs_at_target: usize) -> EarlyStop {
        EarlyStop { target, patience, met: epochs_at_target }
    }

    /// Epochs in a row, up to the last, that met the target on this rank.
    pub fn epochs_at_target(&self) -> usize {
        self.met
    }

    /// Whether to stop after this epoch. The root decides on its `accuracy`; the others follow, whatever theirs is.
    ///
    /// # Collective
    /// Every rank calls it at the end of every epoch.
    ///
    /// # Errors
    /// As for every collective, see [`Communicator`].
    pub fn agreed(&mut self, comm: &dyn Communicator, accuracy: f64) -> Result<bool, CommError> {
        self.met = if accuracy > self.target { self.met + 1 } else { 0 };
        let mut decision = [f32::from(self.met >= self.patience.max(1))];
        comm.broadcast(&mut decision, ROOT_RANK)?;
        let stops = decision[0] > 0.0;
        evidence::tell(|| Observation::Decision { accuracy, stops });
        Ok(stops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::LocalComm;

    #[test]
    fn the_target_must_hold_in_epochs_in_a_row() {
        let mut stop = EarlyStop::new(0.85, 2, 0);
        let decisions: Vec<bool> =
            [0.9, 0.85, 0.86, 0.87].into_iter().map(|accuracy| stop.agreed(&LocalComm, accuracy).unwrap()).collect();
        assert_eq!(decisions, [false, false, false, true]);
    }
}
