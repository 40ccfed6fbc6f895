//! Step 8: the rate is the base rate times the number of ranks, whatever its ramp.

use crate::course::check::group::Group;
use crate::course::check::numbers::equal_rates as equal;
use crate::course::check::rates::{Rates, words as of_rates};
use crate::course::check::shape::{Ramp, Scaled, Shape};
use crate::course::check::verdict::{Finding, Objection, failed, unclear};
use crate::course::contrast::rate;
use crate::course::contrast::rates::{constant, facts, second_loss};
use crate::course::contrast::{Contrast, Pair, Side};

pub fn check(group: &Group) -> Finding {
    let found = scaled(group)?;
    schedule(group)?;
    Ok(found)
}

/// The rate is the base rate times the number of ranks, whatever its ramp.
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
        return unclear(of_rates::TOO_SHORT);
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

/// `--base-lr` where nobody gives it, in both exercises: what a program is likely to have instead of the flag.
const USUAL_RATES: [f64; 2] = [0.01, 1.0];

pub fn contrast(pair: &[Side; 2], found: &mut Contrast) {
    facts(pair, found);
    let np = pair[1].np();
    if let [Some(before), Some(after)] = pair.each(constant)
        && before != after
    {
        let times = after / before;
        found.say(format!(
            "Learning rate {} in every batch against {}: {}.",
            rate(before),
            rate(after),
            if (times - np as f64).abs() < 1e-6 {
                format!("{np} times, once for each of the {np} ranks whose images make up one step")
            } else {
                format!("{} times", rate(times))
            }
        ));
    }
    second_loss(pair, found);
}

/// Something can lower the rate after some epochs.
pub fn schedule(group: &Group) -> Result<(), Objection> {
    let has_none = |process: &usize| group.attempt.processes.get(process).is_some_and(|process| process.watched.has_no_schedule);
    match (0..group.np()).find(has_none) {
        None => Ok(()),
        Some(process) => failed(words::no_schedule(&group.name(process))),
    }
}

mod words {
    use crate::course::check::numbers::digits;
    use crate::course::check::rates::words::{called, place};
    use crate::domain::event::ScheduleReport;
    use crate::domain::history::TrainingStep;

    pub fn full_rate(steps: usize, base: f64, np: usize) -> String {
        format!("the rates of all {steps} steps are those of a full rate of {base} x {np} ranks = {}", digits(base * np as f64))
    }

    /// Multiplied by this power of the number of ranks, which is not 1. Where the rate climbs, to `full`, its first step says little.
    pub fn scaled_otherwise(power: f64, (first, full): (&TrainingStep, Option<f64>), base: f64, np: usize) -> String {
        let said = match power {
            0.0 => "the rate was never scaled".to_owned(),
            0.5 => "the rate was multiplied by the square root of the number of ranks".to_owned(),
            -1.0 => "the rate was divided by the number of ranks, not multiplied".to_owned(),
            times => format!("the rate was multiplied by the number of ranks {times} times, not once"),
        };
        let shown = match full {
            Some(full) => format!("it climbs to {}", digits(full)),
            None => format!("{} trained at {}", place(first), digits(first.lr)),
        };
        format!("{said}: {shown}; multiply {base} by {np}, the number of ranks")
    }

    pub fn schedule_of_another_rate(own: &ScheduleReport, wanted: f64) -> String {
        let (called, begins, wanted) = (called(own), digits(own.rates[0]), digits(wanted));
        format!("{called} gives {begins} in epoch 1, and the scaled rate is {wanted}: let it go by lr, which is scaled")
    }

    /// Of a rate that another ramp leads to.
    pub fn scheduled_rate(own: &ScheduleReport, base: f64, np: usize) -> String {
        format!("{} gives the full rate of {base} x {np} ranks = {}", called(own), digits(base * np as f64))
    }

    /// The rate is what `usual` makes, the value of the flag where nobody gives it.
    pub fn usual_rate(full: f64, usual: f64, base: f64, np: usize) -> String {
        let full = digits(full);
        format!(
            "the full rate is {full}, as if --base-lr were {usual}: your program ignores --base-lr. Multiply {base}, which is args.base_lr, by {np}"
        )
    }

    pub fn no_schedule(who: &str) -> String {
        format!(
            "the rate of {who} would never fall: keep LearningRateScheduler(lr_schedule) as the first callback, which lowers it after 15, 25 \
             and 35 epochs"
        )
    }
}
