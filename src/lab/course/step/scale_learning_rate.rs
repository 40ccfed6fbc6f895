//! Step 8: the rate is the base rate times the number of ranks, whatever its ramp.

use crate::course::check::group::Group;
use crate::course::check::numbers::{digits, equal_rates as equal};
use crate::course::check::rate_shapes::{Ramp, RateShape, Scaled};
use crate::course::check::rates::{self, Rates, called, place};
use crate::course::check::verdict::{Finding, Objection, failed, unclear};
use crate::course::contrast::rates::{constant, facts, second_loss};
use crate::course::contrast::{Contrast, Side};

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
    let times = |shape: &RateShape| shape.scaled.times(group.np);
    if fits.iter().any(|other| !equal(times(other), times(shape))) {
        return unclear(rates::TOO_SHORT);
    }
    let (base, np) = (group.spec.workload.base_lr, group.np);
    let (full, wanted) = (base * times(shape), base * np as f64);
    let own = rates.schedule.map(|own| (own, own.rates[0]));
    let usual = USUAL_RATES.into_iter().find(|usual| equal(full, usual * np as f64) || equal(full, *usual));
    match (shape.scaled, own, usual) {
        (_, Some((own, begins)), _) if equal(full, wanted) && !equal(begins, wanted) => {
            return failed(format!(
                "{called} gives {begins} in epoch 1, and the scaled rate is {wanted}: let it go by lr, which is scaled",
                called = called(own),
                begins = digits(own.rates[0]),
                wanted = digits(wanted)
            ));
        }
        _ if equal(full, wanted) => {}
        // What the rate climbs to is the warmup's: step 9.
        (_, Some((own, begins)), _) if equal(begins, wanted) && shape.ramp != Ramp::None => {
            rates.falls()?;
            return Ok(format!("{} gives the full rate of {base} x {np} ranks = {}", called(own), digits(base * np as f64)));
        }
        (Scaled::Power(power), ..) => {
            let scaled = match power {
                0.0 => "the rate was never scaled",
                0.5 => "the rate was multiplied by the square root of the number of ranks",
                -1.0 => "the rate was divided by the number of ranks, not multiplied",
                times => &format!("the rate was multiplied by the number of ranks {times} times, not once"),
            };
            // The first step of a rate that climbs says little.
            let shown = if equal(first.lr, full) {
                format!("{} trained at {}", place(&first), digits(first.lr))
            } else {
                format!("it climbs to {}", digits(full))
            };
            return failed(format!("{scaled}: {shown}; multiply {base} by {np}, the number of ranks"));
        }
        (Scaled::By(_), _, Some(usual)) => {
            return failed(format!(
                "the full rate is {full}, as if --base-lr were {usual}: your program ignores --base-lr. Multiply \
             {base}, which is args.base_lr, by {np}",
                full = digits(full)
            ));
        }
        _ => return rates.as_if(RateShape { scaled: Scaled::Power(1.0), ..*shape }),
    }
    rates.falls()?;
    rates.falls_as_applied(*shape)?;
    Ok(format!(
        "the rates of all {steps} steps are those of a full rate of {base} x {np} ranks = {}",
        digits(base * np as f64),
        steps = rates.steps.len()
    ))
}

/// `--base-lr` where nobody gives it, in both exercises: what a program is likely to have instead of the flag.
const USUAL_RATES: [f64; 2] = [0.01, 1.0];

pub fn contrast(pair: [&Side; 2], found: &mut Contrast) {
    facts(pair, found);
    let np = pair[1].np();
    if let [Some(before), Some(after)] = pair.map(constant)
        && before != after
    {
        let times = after / before;
        found.say(format!(
            "Learning rate {} in every batch against {}: {}.",
            digits(before),
            digits(after),
            if (times - np as f64).abs() < 1e-6 {
                format!("{np} times, once for each of the {np} ranks whose images make up one step")
            } else {
                format!("{} times", digits(times))
            }
        ));
    }
    second_loss(pair, found);
}

/// Something can lower the rate after some epochs.
pub fn schedule(group: &Group) -> Result<(), Objection> {
    match group.processes().find(|(_, process)| process.observed.has_no_schedule) {
        None => Ok(()),
        Some((process, _)) => failed(format!(
            "the rate of {who} would never fall: keep LearningRateScheduler(lr_schedule) as the first callback, \
             which lowers it after 15, 25 and 35 epochs",
            who = group.name(process)
        )),
    }
}
