//! The rules of nvcnn as formulas: how many steps there are, and what the learning rate of each is.

use crate::domain::benchmark::choices::choices;
use crate::domain::model::ModelSpec;

/// Of Nesterov's momentum.
pub const MOMENTUM: f64 = 0.9;
/// Half of this times the sum of all squared weights is a part of the loss. It counts biases and batch norm too, as in nvcnn.
pub const WEIGHT_DECAY: f64 = 1e-4;
/// The first steps do not count for the throughput: memory is taken, and the pipeline fills.
pub const BURN_IN_STEPS: usize = 20;
/// nvcnn's eta where LARC is switched on by its mode alone.
const LARC_ETA: f64 = 0.003;
/// How much of the loss so far the moving average keeps at each step.
const KEPT: f64 = 0.9;

choices! {
    /// What LARC does with the rate that it finds for a tensor.
    #[derive(Default)]
    LarcMode("a mode of LARC") {
        /// It is used where it is below the rate of the schedule.
        #[default]
        Clip = "clip",
        /// It multiplies the rate of the schedule.
        Scale = "scale",
    }
}

/// Layer-wise adaptive rates (You et al. 2017, arXiv 1708.03888), as nvcnn has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Larc {
    pub eta: f64,
    pub mode: LarcMode,
}

impl Larc {
    /// Off where neither is given.
    pub fn asked(eta: Option<f64>, mode: Option<LarcMode>) -> Option<Larc> {
        let is_on = eta.is_some() || mode.is_some();
        is_on.then(|| Larc { eta: eta.unwrap_or(LARC_ETA), mode: mode.unwrap_or(LarcMode::Clip) })
    }
}

/// The rate where none is given. `batch_size` is of one rank.
pub fn default_rate(model: ModelSpec, batch_size: usize, ranks: usize) -> f64 {
    match model.to_string().as_str() {
        "alexnet" => 0.03,
        "vgg16" => 0.02,
        "inception3" => 0.2,
        "resnet50" | "resnet101" => (batch_size * ranks) as f64 / 1024.0,
        _ => 0.001,
    }
}

/// How many steps a training has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Full batches of all ranks in one pass over the images, 1 at least.
    pub steps_per_epoch: usize,
    /// Steps in all.
    pub steps: usize,
}

impl Schedule {
    /// `steps_per_epoch` is `None` of synthetic images: all of them are one epoch.
    pub fn new(steps_per_epoch: Option<usize>, batches: usize, epochs: Option<usize>) -> Schedule {
        let steps_per_epoch = steps_per_epoch.unwrap_or(batches).max(1);
        Schedule { steps_per_epoch, steps: epochs.map_or(batches, |epochs| epochs.saturating_mul(steps_per_epoch)) }
    }

    /// The last one may be cut short.
    pub fn epochs(&self) -> usize {
        self.steps.div_ceil(self.steps_per_epoch)
    }

    /// The decay reaches 0 at the end of the last whole epoch, or at the last step where that is later: nvcnn's own would be 0
    /// for all steps behind the last whole epoch.
    pub fn decay(&self, initial: f64) -> PolynomialDecay {
        let whole = self.steps / self.steps_per_epoch;
        PolynomialDecay { initial, steps: (whole.max(1) * self.steps_per_epoch).max(self.steps) }
    }
}

/// rate(step) = initial * (1 - step / steps)^2, and 0 from `steps` on.
///
/// # TensorFlow
/// `tf.train.polynomial_decay` with an end of 0 and a power of 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolynomialDecay {
    pub initial: f64,
    pub steps: usize,
}

impl PolynomialDecay {
    /// `step` counts from 0.
    pub fn rate(&self, step: usize) -> f64 {
        let left = 1.0 - step.min(self.steps) as f64 / self.steps.max(1) as f64;
        self.initial * left * left
    }
}

/// The loss that the table shows: each step counts 0.9 times as much as the one after it.
///
/// # TensorFlow
/// `tf.train.ExponentialMovingAverage(0.9, zero_debias=True)`.
#[derive(Clone, Copy, Debug, Default)]
pub struct MovingAverage {
    sum: f64,
    weight: f64,
}

impl MovingAverage {
    /// Takes a step's loss, and gives the average with it.
    pub fn take(&mut self, loss: f64) -> f64 {
        self.sum = KEPT * self.sum + (1.0 - KEPT) * loss;
        self.weight = KEPT * self.weight + (1.0 - KEPT);
        self.sum / self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tf.train.polynomial_decay(0.09375, step, 40, 0.0, 2.0), in double precision.
    #[test]
    fn the_rate_is_that_of_polynomial_decay() {
        let decay = PolynomialDecay { initial: 96.0 / 1024.0, steps: 40 };
        for (step, expected) in [(0, 0.09375), (1, 0.0891211), (10, 0.052734375), (20, 0.0234375), (39, 5.859375e-5)] {
            assert!((decay.rate(step) - expected).abs() < 1e-7, "{step}: {}", decay.rate(step));
        }
        assert_eq!((decay.rate(40), decay.rate(1000)), (0.0, 0.0));
        assert_eq!(PolynomialDecay { initial: 1.0, steps: 0 }.rate(0), 1.0);
    }

    #[test]
    fn the_rate_is_above_0_until_the_last_step() {
        for (images, batches, epochs) in
            [(Some(10), 50, None), (Some(13_000), 50, None), (None, 50, None), (Some(10), 50, Some(3))]
        {
            let schedule = Schedule::new(images, batches, epochs);
            assert!(schedule.decay(1.0).rate(schedule.steps - 1) > 0.0, "{schedule:?}");
        }
        assert_eq!(Schedule::new(Some(10), 50, Some(3)), Schedule { steps_per_epoch: 10, steps: 30 });
        let cut_off = Schedule::new(Some(13_000), 50, None);
        assert_eq!((cut_off.epochs(), cut_off.decay(1.0).steps), (1, 13_000), "as nvcnn: of a whole epoch");
        assert_eq!(Schedule::new(Some(30), 50, None).decay(1.0).steps, 50, "nvcnn's would be 0 from step 30 on");
    }

    #[test]
    fn rates_that_nobody_gave_are_those_of_nvcnn() {
        let rate = |model: &str| default_rate(model.parse().unwrap(), 48, 2);
        assert_eq!([rate("alexnet"), rate("resnet50"), rate("trivial")], [0.03, 96.0 / 1024.0, 0.001]);
    }

    #[test]
    fn the_average_of_one_loss_is_that_loss_and_old_ones_fade() {
        let mut average = MovingAverage::default();
        assert!((average.take(7.0) - 7.0).abs() < 1e-12);
        // (0.09 * 7 + 0.1 * 5) / 0.19
        assert!((average.take(5.0) - (0.09 * 7.0 + 0.1 * 5.0) / 0.19).abs() < 1e-12);
        (0..500).for_each(|_| _ = average.take(1.0));
        assert!((average.take(1.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn larc_is_off_until_one_of_its_flags_asks_for_it() {
        assert_eq!(Larc::asked(None, None), None);
        assert_eq!(Larc::asked(None, Some(LarcMode::Scale)), Some(Larc { eta: 0.003, mode: LarcMode::Scale }));
        assert_eq!(Larc::asked(Some(0.01), None), Some(Larc { eta: 0.01, mode: LarcMode::Clip }));
    }
}
