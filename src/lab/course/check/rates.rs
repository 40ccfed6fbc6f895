//! The learning rates that a run applied, beside the shapes that explain them: steps 8 and 9.
//!
//! Never believes what a run says it is going to do: only rates that were applied count. Where the optimizer used others than
//! the program reports, those of the optimizer are judged.

use super::group::Group;
use super::numbers::{digits, equal_rates as equal};
use super::rate_shapes::{Ramp, RateSettings, RateShape, Scaled};
use super::verdict::{Finding, Objection, Outcome, failed, unclear};
use super::{terms, watched};
use crate::domain::event::ScheduleReport;
use crate::domain::history::TrainingStep;
use crate::domain::schedule::{decay, steps_per_epoch};
use std::borrow::Cow;

/// The rates of a run, equal on all ranks.
pub struct Rates<'a> {
    pub group: &'a Group<'a>,
    /// All steps; only those with reported updates if the program reports other rates than the optimizer used.
    pub steps: Cow<'a, [TrainingStep]>,
    /// The rate that the program reports for the first of these, if it is another one.
    pub told: Option<f64>,
    pub asked: RateSettings,
    /// The program's own schedule of its rate, if the library could ask for it.
    pub schedule: Option<&'a ScheduleReport>,
    /// The run says that it warms up.
    pub is_warming: bool,
}

impl<'a> Rates<'a> {
    pub fn of(group: &'a Group) -> Result<Rates<'a>, Objection> {
        let configs = group.configs()?;
        group.epochs()?;
        let reported = group.all(terms::A_STEP, |process| Some(process.steps.as_slice()).filter(|steps| !steps.is_empty()))?;
        let root = group.root();
        let used = watched::used_rates(group)?;
        let is_used = used.is_some();
        let steps: Vec<Cow<[TrainingStep]>> = match used {
            Some(used) => used.into_iter().map(Cow::Owned).collect(),
            None => reported.iter().map(|steps| Cow::Borrowed(*steps)).collect(),
        };
        for process in group.others() {
            let pairs = steps[process].iter().zip(steps[root].iter());
            let mut same_place = pairs.filter(|(one, other)| (one.epoch, one.batch) == (other.epoch, other.batch));
            if let Some((one, other)) = same_place.find(|(one, other)| !equal(one.lr, other.lr)) {
                return failed(format!(
                    "{} trained {} at {}, and {} at {}: every rank needs the same rate, by the number of all ranks (hvd.size() in \
                     Python), not of those on its host",
                    group.name(process),
                    place(one),
                    digits(one.lr),
                    group.name(root),
                    digits(other.lr)
                ));
            }
        }
        let config = configs[root];
        let steps = steps[root].clone();
        let first = |told: &&TrainingStep| (told.epoch, told.batch) == (steps[0].epoch, steps[0].batch);
        Ok(Rates {
            group,
            told: reported[root].iter().find(first).filter(|_| is_used).map(|told| told.lr),
            steps,
            asked: RateSettings {
                base_lr: group.spec.workload.base_lr,
                np: group.np,
                warmup_epochs: group.spec.workload.warmup_epochs,
                steps_per_epoch: trained_per_epoch(reported[root]),
                undivided: steps_per_epoch(config.train_images, config.local_batch_size, 1),
            },
            schedule: watched::own_schedule(group),
            is_warming: config.warmup_epochs > 0.0,
        })
    }

    /// Shapes that explain the ramp: what comes after it is the schedule's. Without a step in it they explain all steps.
    pub fn fits(&self) -> Vec<RateShape> {
        let within = self.steps.iter().take_while(|step| (step.epoch as f64) < self.asked.warmup_epochs).count();
        self.asked.fits(if within > 0 { &self.steps[..within] } else { &self.steps })
    }

    /// The rate of one step, if it came about like this.
    pub fn rate(&self, shape: RateShape, step: &TrainingStep) -> f64 {
        self.asked.rate(shape, step.epoch, step.batch)
    }

    /// Steps behind a ramp of this shape.
    pub fn after(&self, shape: RateShape) -> impl Iterator<Item = &TrainingStep> {
        let over = if let Ramp::Over(epochs) = shape.ramp { epochs } else { 0.0 };
        self.steps.iter().filter(move |step| step.epoch as f64 >= self.asked.warmup_epochs.max(over))
    }

    /// The schedule lowers the rate when it should, also in epochs that this run does not come to.
    pub fn falls(&self) -> Result<(), Objection> {
        let Some(own) = self.schedule else { return Ok(()) };
        let wanted = |epoch: usize| own.rates[0] * decay(epoch);
        match own.rates.iter().enumerate().find(|(epoch, rate)| !equal(**rate, wanted(*epoch))) {
            None => Ok(()),
            Some((epoch, rate)) => failed(format!(
                "{called} gives {rate} in epoch {}, and {wanted} is right: the rate falls to a tenth after 15, \
                 after 25 and after 35 epochs, and stays as it is in between",
                epoch + 1,
                called = called(own),
                rate = digits(*rate),
                wanted = digits(wanted(epoch))
            )),
        }
    }

    /// The rates that were applied fall like the schedule.
    pub fn falls_as_applied(&self, shape: RateShape) -> Result<(), Objection> {
        let right = RateShape { scaled: Scaled::Power(1.0), ramp: Ramp::None };
        let is_once = !self.is_multiplied_again(shape);
        match self.after(shape).find(|step| is_once && !equal(step.lr, self.rate(right, step))) {
            None => Ok(()),
            Some(step) => failed(not_by_formula(step, None, self.rate(right, step))),
        }
    }

    /// The schedule contains the base rate, and the rates after the ramp were multiplied by it once more.
    pub fn is_multiplied_again(&self, shape: RateShape) -> bool {
        let again = RateShape { ramp: Ramp::ThenTwice, ..shape };
        self.after(shape).next().is_some() && self.after(shape).all(|step| equal(step.lr, self.rate(again, step)))
    }

    /// A ramp that is right in itself climbs to the rate that comes after it.
    pub fn goes_on_after(&self, shape: RateShape) -> Result<(), Objection> {
        let first = self.after(shape).next();
        if let Some(first) = first.filter(|_| self.is_multiplied_again(shape)) {
            return failed(multiplied_again(first.lr));
        }
        let np = self.asked.np;
        let [full, scaled] = [shape.scaled.times(np), np as f64].map(|times| self.asked.base_lr * times);
        let applied = first.filter(|step| decay(step.epoch) == 1.0).map(|step| step.lr);
        match self.schedule.map(|own| own.rates[0]).or(applied) {
            Some(then) if !equal(full, scaled) && !equal(full, then) => failed(format!(
                "the ramp climbs to {full}, and after it the rate is {then}: let it climb to the scaled rate \
                 (initial_lr=lr in Python)",
                full = digits(full),
                then = digits(then)
            )),
            _ => Ok(()),
        }
    }

    /// The first step that is not as the formula has it.
    pub fn nothing_fits(&self) -> Finding {
        self.as_if(RateShape { scaled: Scaled::Power(1.0), ramp: if self.is_warming { Ramp::Right } else { Ramp::None } })
    }

    /// The first step that is not as this shape has it.
    pub fn as_if(&self, shape: RateShape) -> Finding {
        let wanted = |step: &TrainingStep| self.rate(shape, step);
        match self.steps.iter().find(|step| !equal(step.lr, wanted(step))) {
            None => unclear(TOO_SHORT),
            Some(step) => failed(not_by_formula(step, self.as_of_others(wanted), wanted(step))),
        }
    }

    /// The number of ranks, another than there are, for which all rates would be right.
    pub fn as_of_others(&self, wanted: impl Fn(&TrainingStep) -> f64) -> Option<usize> {
        let np = self.group.np as f64;
        let first = self.steps.first()?;
        let ranks = (first.lr / wanted(first) * np).round();
        let fits = |step: &TrainingStep| equal(step.lr, wanted(step) / np * ranks);
        (ranks >= 1.0 && ranks != np && self.steps.iter().all(fits)).then_some(ranks as usize)
    }

    /// What is wrong with a rate that the program reports as another one, with what it reports.
    pub fn as_told(&self, objection: Objection) -> Objection {
        match (objection, self.told) {
            (Objection(Outcome::Failed, why), Some(told)) => Objection(
                Outcome::Failed,
                format!(
                    "{why}. The program reports a rate of {told} there, and the optimizer used {used}",
                    told = digits(told),
                    used = digits(self.steps[0].lr)
                ),
            ),
            (objection, _) => objection,
        }
    }
}

/// Steps of the longest epoch, because the last one may be incomplete.
fn trained_per_epoch(steps: &[TrainingStep]) -> usize {
    steps.iter().map(|step| step.batch + 1).max().unwrap_or(0)
}

pub const TOO_SHORT: &str = "the run is too short to tell how its rate came about";

/// `epoch 1, batch 1`, of a step that is counted from 0.
pub fn place(step: &TrainingStep) -> String {
    format!("epoch {}, batch {}", step.epoch + 1, step.batch + 1)
}

/// `fashion_mnist.py:57: lr_schedule`.
pub fn called(own: &ScheduleReport) -> String {
    match own.place.as_str() {
        "" => own.name.clone(),
        place => format!("{place}: {}", own.name),
    }
}

pub fn multiplied_again(rate: f64) -> String {
    format!(
        "after the ramp the rate fell to {}: the schedule contains the base rate already, multiply by its factor only",
        digits(rate)
    )
}

/// `ranks`: the number for which all rates would be right, where there is one.
fn not_by_formula(step: &TrainingStep, ranks: Option<usize>, wanted: f64) -> String {
    let as_if = ranks.map(|ranks| format!(", as if there were {ranks} ranks")).unwrap_or_default();
    format!("{} trained at {}{as_if}, and the formula gives {}", place(step), digits(step.lr), digits(wanted))
}
