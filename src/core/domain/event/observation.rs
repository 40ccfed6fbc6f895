//! What the library itself saw of a training, whatever the program around it reports: claims can then be compared with facts.
//!
//! The optimizers, the wrapper around them, the images, the decision to stop and the writer of checkpoints each report a few of
//! these.

use serde::{Deserialize, Serialize};

use crate::domain::bounds::{Bounded, MAX_COUNT, MAX_EPOCHS, count, figure, first};
use crate::domain::number::number;

/// Numbers in one sample.
const MOST: usize = 4096;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Observation {
    Update(UpdateReport),
    /// How many distributed optimizers stand around the one that was just wrapped, itself included.
    Wrapped {
        times: usize,
    },
    /// The first images of a training batch, by their numbers in the set. Batches count from 0 in each launch.
    Picks {
        batch: usize,
        images: Vec<u32>,
    },
    /// An epoch's training is over: the number of updates that the process has made since its launch.
    Counted {
        updates: usize,
    },
    /// This process writes a file for TensorBoard.
    Board,
    /// No callback of the program can change the rate from epoch to epoch.
    NoSchedule,
    /// Early stopping was asked at the end of an epoch.
    Decision {
        /// The accuracy that it was given.
        #[serde(deserialize_with = "number")]
        accuracy: f64,
        stops: bool,
    },
    /// This process wrote the checkpoint of this epoch.
    Saved {
        epoch: usize,
    },
    /// The heading of an epoch, counted from 1, was due, and whether this process printed it: in its output another line may stand
    /// before it.
    Heading {
        epoch: usize,
        is_printed: bool,
    },
    /// The program goes by another value than one of its flags has.
    Instead(Instead),
    /// The program's own schedule of the rate.
    Schedule(ScheduleReport),
}

/// Another value than a flag has, as text: `--epochs`, 2 asked, 3 used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instead {
    pub flag: String,
    pub asked: String,
    pub used: String,
}

/// A function of the program that gives the rate of an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleReport {
    /// Its name, and where it stands: `fashion_mnist.py:57`.
    pub name: String,
    pub place: String,
    /// The rates that it gives for the first epochs, from 0 on.
    pub rates: Vec<f64>,
}

/// One update of the weights, seen from inside of the optimizer: some of the numbers, from places that are the same on every
/// rank. A sample is empty where one of its numbers is not finite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdateReport {
    /// From 0 in each launch. Only the first and a few later ones are reported.
    pub update: usize,
    /// The optimizer that made it.
    pub optimizer: String,
    /// The rate that it really used.
    #[serde(deserialize_with = "number")]
    pub lr: f64,
    /// Gradients of this rank's own images.
    pub own: Vec<f32>,
    /// Gradients that were applied.
    pub applied: Vec<f32>,
    /// Weights before and after.
    pub before: Vec<f32>,
    pub after: Vec<f32>,
    /// For each number the length of what was applied to its whole tensor, which some rules divide by. Older libraries send none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub norms: Vec<f32>,
}

/// Whether the update or image batch with this number is reported: the first ones and a few later.
pub fn is_told(number: usize) -> bool {
    number < 4 || number.is_power_of_two()
}

impl Bounded for Observation {
    fn out_of_bounds(&self) -> Option<String> {
        match self {
            Observation::Update(report) => first([
                count("update", report.update, MAX_COUNT),
                figure("learning rate", report.lr),
                [&report.own, &report.applied, &report.before, &report.after, &report.norms]
                    .into_iter()
                    .find_map(|sample| count("numbers in a sample", sample.len(), MOST)),
            ]),
            Observation::Wrapped { times } => count("optimizers around an optimizer", *times, MOST),
            Observation::Picks { batch, images } => {
                first([count("batch", *batch, MAX_COUNT), count("images in a sample", images.len(), MOST)])
            }
            Observation::Counted { updates } => count("updates", *updates, MAX_COUNT),
            Observation::Board | Observation::NoSchedule => None,
            Observation::Decision { accuracy, .. } => figure("accuracy", *accuracy),
            Observation::Saved { epoch } | Observation::Heading { epoch, .. } => count("epoch", *epoch, MAX_EPOCHS),
            Observation::Instead(Instead { flag, asked, used }) => {
                [flag, asked, used].into_iter().find_map(|text| count("letters of a flag", text.len(), MOST))
            }
            Observation::Schedule(ScheduleReport { name, place, rates }) => first([
                count("letters of a name", name.len().max(place.len()), MOST),
                count("rates of a schedule", rates.len(), MOST),
                rates.iter().find_map(|rate| figure("learning rate", *rate)),
            ]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_and_a_few_later_are_told() {
        assert_eq!((0..40).filter(|number| is_told(*number)).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 8, 16, 32]);
    }
}
