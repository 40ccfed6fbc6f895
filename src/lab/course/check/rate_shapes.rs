//! How the rates of a run may have come about: as the formula has it, or in a known way to get it wrong.

use super::numbers::equal_rates as equal;
use crate::domain::history::TrainingStep;
use crate::domain::schedule::LearningRateSchedule;

/// How a rate may come about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateShape {
    /// What the base rate was multiplied by.
    pub scaled: Scaled,
    pub ramp: Ramp,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaled {
    /// By this power of the number of ranks.
    Power(f64),
    /// By another number of ranks.
    As(usize),
    /// By any other number.
    By(f64),
}

impl Scaled {
    pub fn times(self, np: usize) -> f64 {
        match self {
            Scaled::Power(power) => (np as f64).powf(power),
            Scaled::As(ranks) => ranks as f64,
            Scaled::By(times) => times,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ramp {
    /// As the formula has it.
    Right,
    None,
    /// Over so many epochs instead.
    Over(f64),
    /// Batches counted from 0.
    Late,
    /// From a rate of zero, with batches counted from 1 or from 0.
    FromZero,
    FromZeroLate,
    /// All batches of an epoch at the rate of its last.
    ByEpoch,
    /// As if each rank still did the whole epoch.
    Undivided,
    /// After the ramp the schedule, which contains the base rate, is multiplied to it once more.
    ThenTwice,
}

/// What a run was asked for, and how long its epochs were.
#[derive(Clone, Copy)]
pub struct RateSettings {
    pub base_lr: f64,
    pub np: usize,
    pub warmup_epochs: f64,
    pub steps_per_epoch: usize,
    /// Batches of an epoch that is not shared out.
    pub undivided: usize,
}

impl RateSettings {
    /// Shapes that explain every one of these steps, likely ones first.
    pub fn fits(&self, steps: &[TrainingStep]) -> Vec<RateShape> {
        let ramps = [
            Ramp::Right,
            Ramp::None,
            Ramp::Late,
            Ramp::FromZero,
            Ramp::FromZeroLate,
            Ramp::ByEpoch,
            Ramp::Undivided,
            Ramp::ThenTwice,
        ];
        let np = self.np;
        let powers = [1.0, 0.0, 2.0, 0.5, -1.0].map(Scaled::Power).into_iter();
        // A constant instead of the number of ranks, or one rank more.
        let others = (2..=np + 1).filter(move |ranks| *ranks != np).map(Scaled::As);
        let scales: Vec<Scaled> = powers.chain(others).collect();
        let known = self.those_that_fit(steps, &ramps, &scales);
        if !known.is_empty() {
            return known;
        }
        // Another length, another rate, or both.
        let line = self.line(steps);
        let ramps: Vec<Ramp> = ramps.into_iter().chain(line.map(|line| Ramp::Over(line.epochs))).collect();
        let full = line.map(|line| line.full).or(steps.first().map(|first| first.lr));
        let scales: Vec<Scaled> = scales.into_iter().chain(full.map(|full| Scaled::By(full / self.base_lr))).collect();
        self.those_that_fit(steps, &ramps, &scales)
    }

    fn those_that_fit(&self, steps: &[TrainingStep], ramps: &[Ramp], scales: &[Scaled]) -> Vec<RateShape> {
        let shapes = ramps.iter().flat_map(|ramp| scales.iter().map(|scaled| RateShape { scaled: *scaled, ramp: *ramp }));
        shapes.filter(|shape| steps.iter().all(|step| equal(step.lr, self.rate(*shape, step.epoch, step.batch)))).collect()
    }

    /// The rate of one step, with epoch and batch counted from 0, if it came about like this.
    pub fn rate(&self, shape: RateShape, epoch: usize, batch: usize) -> f64 {
        let (size, steps) = (self.np, self.steps_per_epoch.max(1));
        let asked = self.warmup_epochs.max(0.0);
        let schedule = LearningRateSchedule {
            initial_lr: self.base_lr * shape.scaled.times(size),
            size,
            warmup_epochs: match shape.ramp {
                Ramp::None => 0.0,
                Ramp::Over(epochs) => epochs.max(0.0),
                _ => asked,
            },
            steps_per_epoch: if shape.ramp == Ramp::Undivided { self.undivided } else { self.steps_per_epoch },
        };
        let is_warming = (epoch as f64) < asked;
        match (shape.ramp, epoch, batch) {
            (Ramp::Late, 0, 0) if is_warming => schedule.initial_lr / size as f64,
            (Ramp::Late, _, 0) if is_warming => schedule.lr(epoch - 1, steps - 1),
            (Ramp::Late, ..) if is_warming => schedule.lr(epoch, batch - 1),
            (Ramp::FromZero | Ramp::FromZeroLate, ..) if is_warming => {
                let done = batch + usize::from(shape.ramp == Ramp::FromZero);
                schedule.initial_lr * (epoch as f64 + done as f64 / steps as f64) / asked
            }
            (Ramp::ByEpoch, ..) if is_warming => schedule.lr(epoch, steps - 1),
            (Ramp::ThenTwice, ..) if !is_warming => schedule.lr(epoch, batch) * self.base_lr,
            _ => schedule.lr(epoch, batch),
        }
    }

    /// The ramp that goes through the first two of these steps, if they climb from the rate of a single rank.
    fn line(&self, steps: &[TrainingStep]) -> Option<Line> {
        let [first, second, ..] = steps else { return None };
        let [at, then] =
            [first, second].map(|step| step.epoch as f64 + (step.batch + 1) as f64 / self.steps_per_epoch.max(1) as f64);
        let slope = (second.lr - first.lr) / (then - at);
        let begin = first.lr - slope * at;
        // One from zero begins there but for rounding.
        let climbs = self.np > 1 && begin > 1e-6 * first.lr && slope > 0.0 && slope.is_finite() && !equal(first.lr, second.lr);
        climbs.then(|| Line { full: begin * self.np as f64, epochs: begin * (self.np - 1) as f64 / slope })
    }
}

/// A ramp as the formula has it, to another rate or over another time.
#[derive(Clone, Copy)]
struct Line {
    full: f64,
    epochs: f64,
}
