//! The phases of a rank's time: what it is doing, and how many seconds it spent on that.
//!
//! Never measures anything: the trainer's stopwatch does. Every name of a phase stands in one table here.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::{Index, IndexMut};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

crate::named! {
    /// What a rank is doing, as seen from the thread that trains.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    Phase {
        /// From the launch of the process to the first epoch.
        StartUp = "start-up",
        /// All steps of an epoch: the whole of [`Phase::OF_STEP`].
        Training = "training",
        Data = "data",
        Forward = "forward",
        Backward = "backward",
        /// Waiting for gradients of other ranks: the communication that no computation hides.
        AllreduceExposed = "exposed allreduce",
        Optimizer = "optimizer",
        Validation = "validation",
        Checkpoint = "checkpoint",
    }
}

impl Phase {
    /// The parts of a training step, in their order.
    pub const OF_STEP: [Phase; 5] = [Phase::Data, Phase::Forward, Phase::Backward, Phase::AllreduceExposed, Phase::Optimizer];

    /// In events.
    pub fn key(self) -> &'static str {
        match self {
            Phase::StartUp => "start_up",
            Phase::AllreduceExposed => "allreduce_exposed",
            other => other.name(),
        }
    }

    /// A part of a training step.
    pub fn is_of_step(self) -> bool {
        Phase::OF_STEP.contains(&self)
    }
}

/// Where an epoch's time went on one rank, in seconds by phase. `StartUp` is set in the first epoch only.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseSeconds([f64; Phase::ALL.len()]);

impl PhaseSeconds {
    /// Part of the training time, 0 to 1, that went by waiting for other ranks. `None` before any training.
    pub fn exposed_communication(&self) -> Option<f64> {
        (self[Phase::Training] > 0.0).then(|| self[Phase::AllreduceExposed] / self[Phase::Training])
    }
}

impl<const N: usize> From<[(Phase, f64); N]> for PhaseSeconds {
    fn from(seconds: [(Phase, f64); N]) -> PhaseSeconds {
        let mut phases = PhaseSeconds::default();
        seconds.into_iter().for_each(|(phase, seconds)| phases[phase] = seconds);
        phases
    }
}

impl Index<Phase> for PhaseSeconds {
    type Output = f64;

    fn index(&self, phase: Phase) -> &f64 {
        &self.0[phase as usize]
    }
}

impl IndexMut<Phase> for PhaseSeconds {
    fn index_mut(&mut self, phase: Phase) -> &mut f64 {
        &mut self.0[phase as usize]
    }
}

impl Sum for PhaseSeconds {
    fn sum<I: Iterator<Item = PhaseSeconds>>(all: I) -> PhaseSeconds {
        let mut sums = PhaseSeconds::default();
        all.for_each(|seconds| Phase::ALL.into_iter().for_each(|phase| sums[phase] += seconds[phase]));
        sums
    }
}

/// An object with one number for each phase.
impl Serialize for PhaseSeconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Phase::ALL.map(|phase| (phase.key(), self[phase])))
    }
}

/// Phases of a newer trainer are skipped, as unknown fields are everywhere in events; a phase that is missing took no time.
impl<'de> Deserialize<'de> for PhaseSeconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PhaseSeconds, D::Error> {
        let mut given = BTreeMap::<String, serde_json::Value>::deserialize(deserializer)?;
        let mut phases = PhaseSeconds::default();
        for phase in Phase::ALL {
            if let Some(seconds) = given.remove(phase.key()) {
                phases[phase] = f64::deserialize(seconds).map_err(D::Error::custom)?;
            }
        }
        Ok(phases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_has_its_place_and_names_of_its_own() {
        let mut keys: Vec<&str> = Phase::ALL.map(Phase::key).to_vec();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), Phase::ALL.len());
        assert_eq!(Phase::ALL.map(|phase| phase as usize), std::array::from_fn(|place| place));
    }

    #[test]
    fn events_hold_one_number_for_each_phase_by_the_names_of_before() {
        let phases = PhaseSeconds::from([(Phase::Training, 6.1), (Phase::AllreduceExposed, 0.5)]);
        let text = concat!(
            r#"{"start_up":0.0,"training":6.1,"data":0.0,"forward":0.0,"backward":0.0,"#,
            r#""allreduce_exposed":0.5,"optimizer":0.0,"validation":0.0,"checkpoint":0.0}"#
        );
        assert_eq!(serde_json::to_string(&phases).unwrap(), text);
        assert_eq!(serde_json::from_str::<PhaseSeconds>(text).unwrap(), phases);
        let newer = r#"{"training":6.1,"allreduce_exposed":0.5,"compress":{"mean":1.0}}"#;
        assert_eq!(serde_json::from_str::<PhaseSeconds>(newer).unwrap(), phases);
        assert!(serde_json::from_str::<PhaseSeconds>(r#"{"training":"long"}"#).is_err());
    }

    #[test]
    fn seconds_add_up_phase_by_phase() {
        let one = PhaseSeconds::from([(Phase::Training, 4.0), (Phase::AllreduceExposed, 1.0)]);
        let all: PhaseSeconds = [one, one, PhaseSeconds::from([(Phase::Data, 0.5)])].into_iter().sum();
        assert_eq!((all[Phase::Training], all[Phase::Data], all[Phase::Optimizer]), (8.0, 0.5, 0.0));
        assert_eq!((all.exposed_communication(), PhaseSeconds::default().exposed_communication()), (Some(0.25), None));
    }
}
