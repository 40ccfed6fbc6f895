//! Steps 8 and 9: the learning rate of every step, explained by the formula or by a known way to get it wrong.
//!
//! Never believes what a run says it is going to do: only rates that were applied count. Where the optimizer used others than
//! the program reports, those of the optimizer are judged.

use std::borrow::Cow;

use super::group::Group;
use super::numbers::equal_rates as equal;
use super::seen;
use super::verdict::{Finding, Objection, failed, unclear};
use super::words::group as told;
use super::words::rate as words;
use crate::domain::history::TrainingStep;
use crate::domain::schedule::{LearningRateSchedule, steps_per_epoch};

/// How a rate may come about.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    /// What the base rate was multiplied by.
    scaled: Scaled,
    ramp: Ramp,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scaled {
    /// By this power of the number of ranks.
    Power(f64),
    /// By another number of ranks.
    As(usize),
}

impl Scaled {
    fn times(self, np: usize) -> f64 {
        match self {
            Scaled::Power(power) => (np as f64).powf(power),
            Scaled::As(ranks) => ranks as f64,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ramp {
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

/// Step 8: the rate is the base rate times the number of ranks, whatever its ramp.
pub fn scaled(group: &Group) -> Finding {
    let rates = Rates::of(group)?;
    find_scaled(&rates).map_err(|objection| rates.as_told(objection))
}

fn find_scaled(rates: &Rates) -> Finding {
    let group = rates.group;
    let fits = rates.fits();
    let first = rates.steps[0];
    let Some(shape) = fits.first() else { return rates.nothing_fits() };
    let times = |shape: &Shape| shape.scaled.times(group.np());
    if fits.iter().any(|other| !equal(times(other), times(shape))) {
        return unclear(words::TOO_SHORT);
    }
    let (base, np) = (group.spec.workload.base_lr, group.np());
    match shape.scaled {
        Scaled::Power(1.0) => Ok(words::full_rate(rates.steps.len(), base, np)),
        Scaled::Power(power) => {
            let full = base * times(shape);
            failed(words::scaled_otherwise(power, (&first, (!equal(first.lr, full)).then_some(full)), base, np))
        }
        Scaled::As(_) => rates.as_if(Shape { scaled: Scaled::Power(1.0), ..*shape }),
    }
}

/// Step 9: the rate climbs from a single rank's to the full one, batch by batch.
pub fn warmed_up(group: &Group) -> Finding {
    let rates = Rates::of(group)?;
    find_ramp(&rates).map_err(|objection| rates.as_told(objection))
}

fn find_ramp(rates: &Rates) -> Finding {
    let wanted = rates.group.spec.workload.warmup_epochs;
    if wanted <= 0.0 {
        return unclear(words::NO_WARMUP);
    }
    let fits = rates.fits();
    let has = |ramp: Ramp| fits.iter().any(|shape| shape.ramp == ramp);
    let (first, last) = (rates.steps[0], rates.steps[rates.steps.len() - 1]);
    match fits.first().map(|shape| shape.ramp) {
        None => rates.nothing_fits(),
        Some(_) if has(Ramp::Right) && has(Ramp::None) => unclear(words::warmup_is_over(first.epoch)),
        Some(Ramp::Right) => Ok(words::warmed_up(first.lr, last.lr, rates.steps.len())),
        Some(Ramp::None) => failed(words::no_ramp(&first, wanted)),
        Some(Ramp::Over(epochs)) => failed(words::ramp_over(epochs, wanted)),
        Some(Ramp::FromZero | Ramp::FromZeroLate) => failed(words::from_zero(first.lr, rates.group.spec.workload.base_lr)),
        Some(Ramp::Late) => failed(words::LATE),
        Some(Ramp::ByEpoch) => failed(words::BY_EPOCH),
        Some(Ramp::Undivided) => failed(words::UNDIVIDED),
        Some(Ramp::ThenTwice) => {
            let after = rates.steps.iter().find(|step| step.epoch as f64 >= wanted).map_or(last.lr, |step| step.lr);
            failed(words::multiplied_again(after))
        }
    }
}

/// The rates of a run, equal on all ranks.
struct Rates<'a> {
    group: &'a Group<'a>,
    /// All steps; those alone whose updates were told where the program reports other rates than the optimizer used.
    steps: Cow<'a, [TrainingStep]>,
    /// What the program reports of the first of these, where that is another rate.
    told: Option<f64>,
    steps_per_epoch: usize,
    /// Batches of an epoch that is not shared out.
    undivided: usize,
    /// The run says that it warms up.
    is_warming: bool,
}

impl<'a> Rates<'a> {
    fn of(group: &'a Group) -> Result<Rates<'a>, Objection> {
        let configs = group.configs()?;
        group.epochs()?;
        let reported = group.all(told::A_STEP, |process| Some(process.steps.as_slice()).filter(|steps| !steps.is_empty()))?;
        let root = group.root();
        let used = seen::used_rates(group)?;
        let is_used = used.is_some();
        let steps: Vec<Cow<[TrainingStep]>> = match used {
            Some(used) => used.into_iter().map(Cow::Owned).collect(),
            None => reported.iter().map(|steps| Cow::Borrowed(*steps)).collect(),
        };
        for process in group.others() {
            let pairs = steps[process].iter().zip(steps[root].iter());
            let mut same_place = pairs.filter(|(one, other)| (one.epoch, one.batch) == (other.epoch, other.batch));
            if let Some((one, other)) = same_place.find(|(one, other)| !equal(one.lr, other.lr)) {
                return failed(words::differs(&group.name(process), one, &group.name(root), other));
            }
        }
        let config = configs[root];
        let steps = steps[root].clone();
        let first = |told: &&TrainingStep| (told.epoch, told.batch) == (steps[0].epoch, steps[0].batch);
        Ok(Rates {
            group,
            told: reported[root].iter().find(first).filter(|_| is_used).map(|told| told.lr),
            steps,
            steps_per_epoch: trained_per_epoch(reported[root]),
            undivided: steps_per_epoch(config.train_images, config.local_batch_size, 1),
            is_warming: config.warmup_epochs > 0.0,
        })
    }

    /// Shapes that explain every step, likely ones first.
    fn fits(&self) -> Vec<Shape> {
        let asked = self.group.spec.workload.warmup_epochs;
        let ramps = [
            Ramp::Right,
            Ramp::None,
            Ramp::Over(asked + 1.0),
            Ramp::Over(asked - 1.0),
            Ramp::Late,
            Ramp::FromZero,
            Ramp::FromZeroLate,
            Ramp::ByEpoch,
            Ramp::Undivided,
            Ramp::ThenTwice,
        ];
        let np = self.group.np();
        let powers = [1.0, 0.0, 2.0, 0.5, -1.0].map(Scaled::Power).into_iter();
        // A constant instead of the number of ranks, or one rank more.
        let others = (2..=np + 1).filter(move |ranks| *ranks != np).map(Scaled::As);
        let scales: Vec<Scaled> = powers.chain(others).collect();
        let shapes = ramps.into_iter().flat_map(|ramp| scales.iter().map(move |scaled| Shape { scaled: *scaled, ramp }));
        shapes.filter(|shape| self.steps.iter().all(|step| equal(step.lr, self.rate(*shape, step.epoch, step.batch)))).collect()
    }

    /// The rate of one step, with epoch and batch counted from 0, if it came about like this.
    fn rate(&self, shape: Shape, epoch: usize, batch: usize) -> f64 {
        let (spec, size) = (self.group.spec, self.group.np());
        let asked = spec.workload.warmup_epochs.max(0.0);
        let schedule = LearningRateSchedule {
            initial_lr: spec.workload.base_lr * shape.scaled.times(size),
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
            (Ramp::Late, _, 0) if is_warming => schedule.lr(epoch - 1, self.steps_per_epoch.max(1) - 1),
            (Ramp::Late, ..) if is_warming => schedule.lr(epoch, batch - 1),
            (Ramp::FromZero | Ramp::FromZeroLate, ..) if is_warming => {
                let done = batch + usize::from(shape.ramp == Ramp::FromZero);
                schedule.initial_lr * (epoch as f64 + done as f64 / self.steps_per_epoch.max(1) as f64) / asked
            }
            (Ramp::ByEpoch, ..) if is_warming => schedule.lr(epoch, self.steps_per_epoch.max(1) - 1),
            (Ramp::ThenTwice, ..) if !is_warming => schedule.lr(epoch, batch) * spec.workload.base_lr,
            _ => schedule.lr(epoch, batch),
        }
    }

    /// The first step that is not as the formula has it.
    fn nothing_fits(&self) -> Finding {
        self.as_if(Shape { scaled: Scaled::Power(1.0), ramp: if self.is_warming { Ramp::Right } else { Ramp::None } })
    }

    /// The first step that is not as this shape has it.
    fn as_if(&self, shape: Shape) -> Finding {
        let wanted = |step: &TrainingStep| self.rate(shape, step.epoch, step.batch);
        match self.steps.iter().find(|step| !equal(step.lr, wanted(step))) {
            None => unclear(words::TOO_SHORT),
            Some(step) => failed(words::not_by_formula(step, self.as_of_others(wanted), wanted(step))),
        }
    }

    /// The number of ranks, another than there are, for which all rates would be right.
    fn as_of_others(&self, wanted: impl Fn(&TrainingStep) -> f64) -> Option<usize> {
        let np = self.group.np() as f64;
        let first = self.steps.first()?;
        let ranks = (first.lr / wanted(first) * np).round();
        let fits = |step: &TrainingStep| equal(step.lr, wanted(step) / np * ranks);
        (ranks >= 1.0 && ranks != np && self.steps.iter().all(fits)).then_some(ranks as usize)
    }

    /// What is wrong with a rate that the program reports as another one, with what it reports.
    fn as_told(&self, objection: Objection) -> Objection {
        match (objection, self.told) {
            (Objection::Failed(why), Some(told)) => Objection::Failed(words::and_told_otherwise(&why, told, self.steps[0].lr)),
            (objection, _) => objection,
        }
    }
}

/// What the steps of the longest epoch come to, for the last one may be going on.
fn trained_per_epoch(steps: &[TrainingStep]) -> usize {
    steps.iter().map(|step| step.batch + 1).max().unwrap_or(0)
}
