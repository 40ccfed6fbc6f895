//! Steps 8 and 9: the learning rate of every step, explained by the formula or by a known way to get it wrong.
//!
//! Never believes what a run says it is going to do: only rates that were applied count. Where the optimizer used others than
//! the program reports, those of the optimizer are judged.

use std::borrow::Cow;

use super::group::Group;
use super::numbers::equal_rates as equal;
use super::seen;
use super::shape::{Asked, Ramp, Scaled, Shape};
use super::verdict::{Finding, Objection, failed, unclear};
use super::words::group as told;
use super::words::rate as words;
use crate::domain::event::ScheduleReport;
use crate::domain::history::TrainingStep;
use crate::domain::schedule::{decay, steps_per_epoch};

/// `--base-lr` where nobody gives it, in both exercises: what a program is likely to have instead of the flag.
const USUAL_RATES: [f64; 2] = [0.01, 1.0];

/// Step 8: the rate is the base rate times the number of ranks, whatever its ramp.
pub fn scaled(group: &Group) -> Finding {
    let rates = Rates::of(group)?;
    find_scaled(&rates).map_err(|objection| rates.as_told(objection))
}

fn find_scaled(rates: &Rates) -> Finding {
    let group = rates.group;
    let fits = rates.fits();
    let first = rates.steps[0];
    let Some(shape) = fits.first() else {
        rates.falls()?;
        return rates.nothing_fits();
    };
    let times = |shape: &Shape| shape.scaled.times(group.np());
    if fits.iter().any(|other| !equal(times(other), times(shape))) {
        return unclear(words::TOO_SHORT);
    }
    let (base, np) = (group.spec.workload.base_lr, group.np());
    let (full, wanted) = (base * times(shape), base * np as f64);
    let own = rates.schedule.map(|own| (own, own.rates[0]));
    let usual = USUAL_RATES.into_iter().find(|usual| equal(full, usual * np as f64) || equal(full, *usual));
    match (shape.scaled, own, usual) {
        (_, Some((own, begins)), _) if equal(full, wanted) && !equal(begins, wanted) => {
            return failed(words::schedule_of_another_rate(own, wanted));
        }
        _ if equal(full, wanted) => {}
        // What the rate climbs to is the warmup's: step 9.
        (_, Some((own, begins)), _) if equal(begins, wanted) && shape.ramp != Ramp::None => {
            rates.falls()?;
            return Ok(words::scheduled_rate(own, base, np));
        }
        (Scaled::Power(power), ..) => {
            return failed(words::scaled_otherwise(power, (&first, (!equal(first.lr, full)).then_some(full)), base, np));
        }
        (Scaled::By(_), _, Some(usual)) => return failed(words::usual_rate(full, usual, base, np)),
        _ => return rates.as_if(Shape { scaled: Scaled::Power(1.0), ..*shape }),
    }
    rates.falls()?;
    rates.falls_as_applied(*shape)?;
    Ok(words::full_rate(rates.steps.len(), base, np))
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
    let workload = &rates.group.spec.workload;
    match fits.first() {
        None => rates.nothing_fits(),
        Some(_) if has(Ramp::Right) && has(Ramp::None) => unclear(words::warmup_is_over(first.epoch)),
        Some(shape) => match shape.ramp {
            Ramp::Right => {
                rates.goes_on_after(*shape)?;
                Ok(words::warmed_up(first.lr, last.lr, rates.steps.len()))
            }
            Ramp::None => failed(words::no_ramp(&first, wanted)),
            Ramp::Over(epochs) => failed(words::ramp_over(epochs, wanted, rates.group.np(), workload.epochs)),
            Ramp::FromZero | Ramp::FromZeroLate => failed(words::from_zero(first.lr, workload.base_lr)),
            Ramp::Late => failed(words::LATE),
            Ramp::ByEpoch => failed(words::BY_EPOCH),
            Ramp::Undivided => failed(words::UNDIVIDED),
            Ramp::ThenTwice => failed(words::multiplied_again(last.lr)),
        },
    }
}

/// The rates of a run, equal on all ranks.
struct Rates<'a> {
    group: &'a Group<'a>,
    /// All steps; those alone whose updates were told where the program reports other rates than the optimizer used.
    steps: Cow<'a, [TrainingStep]>,
    /// What the program reports of the first of these, where that is another rate.
    told: Option<f64>,
    asked: Asked,
    /// The program's own schedule of its rate, where it has told it.
    schedule: Option<&'a ScheduleReport>,
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
            asked: Asked {
                base_lr: group.spec.workload.base_lr,
                np: group.np(),
                warmup_epochs: group.spec.workload.warmup_epochs,
                steps_per_epoch: trained_per_epoch(reported[root]),
                undivided: steps_per_epoch(config.train_images, config.local_batch_size, 1),
            },
            schedule: seen::own_schedule(group),
            is_warming: config.warmup_epochs > 0.0,
        })
    }

    /// Shapes that explain the ramp: what comes after it is the schedule's. Without a step in it they explain all steps.
    fn fits(&self) -> Vec<Shape> {
        let within = self.steps.iter().take_while(|step| (step.epoch as f64) < self.asked.warmup_epochs).count();
        self.asked.fits(if within > 0 { &self.steps[..within] } else { &self.steps })
    }

    /// The rate of one step, if it came about like this.
    fn rate(&self, shape: Shape, step: &TrainingStep) -> f64 {
        self.asked.rate(shape, step.epoch, step.batch)
    }

    /// Steps behind a ramp of this shape.
    fn after(&self, shape: Shape) -> impl Iterator<Item = &TrainingStep> {
        let over = if let Ramp::Over(epochs) = shape.ramp { epochs } else { 0.0 };
        self.steps.iter().filter(move |step| step.epoch as f64 >= self.asked.warmup_epochs.max(over))
    }

    /// The schedule lowers the rate when it should, also in epochs that this run does not come to.
    fn falls(&self) -> Result<(), Objection> {
        let Some(own) = self.schedule else { return Ok(()) };
        let wanted = |epoch: usize| own.rates[0] * decay(epoch);
        match own.rates.iter().enumerate().find(|(epoch, rate)| !equal(**rate, wanted(*epoch))) {
            None => Ok(()),
            Some((epoch, rate)) => failed(words::falls_otherwise(own, epoch, *rate, wanted(epoch))),
        }
    }

    /// So do the rates that were applied.
    fn falls_as_applied(&self, shape: Shape) -> Result<(), Objection> {
        let right = Shape { scaled: Scaled::Power(1.0), ramp: Ramp::None };
        let is_once = !self.is_multiplied_again(shape);
        match self.after(shape).find(|step| is_once && !equal(step.lr, self.rate(right, step))) {
            None => Ok(()),
            Some(step) => failed(words::not_by_formula(step, None, self.rate(right, step))),
        }
    }

    /// The schedule contains the base rate, and the rates after the ramp were multiplied by it once more.
    fn is_multiplied_again(&self, shape: Shape) -> bool {
        let again = Shape { ramp: Ramp::ThenTwice, ..shape };
        self.after(shape).next().is_some() && self.after(shape).all(|step| equal(step.lr, self.rate(again, step)))
    }

    /// A ramp that is right in itself climbs to the rate that comes after it.
    fn goes_on_after(&self, shape: Shape) -> Result<(), Objection> {
        let first = self.after(shape).next();
        if let Some(first) = first.filter(|_| self.is_multiplied_again(shape)) {
            return failed(words::multiplied_again(first.lr));
        }
        let np = self.asked.np;
        let [full, scaled] = [shape.scaled.times(np), np as f64].map(|times| self.asked.base_lr * times);
        let applied = first.filter(|step| decay(step.epoch) == 1.0).map(|step| step.lr);
        match self.schedule.map(|own| own.rates[0]).or(applied) {
            Some(then) if !equal(full, scaled) && !equal(full, then) => failed(words::climbs_elsewhere(full, then)),
            _ => Ok(()),
        }
    }

    /// The first step that is not as the formula has it.
    fn nothing_fits(&self) -> Finding {
        self.as_if(Shape { scaled: Scaled::Power(1.0), ramp: if self.is_warming { Ramp::Right } else { Ramp::None } })
    }

    /// The first step that is not as this shape has it.
    fn as_if(&self, shape: Shape) -> Finding {
        let wanted = |step: &TrainingStep| self.rate(shape, step);
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
