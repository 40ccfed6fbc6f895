//! Step 9: the rate climbs from a single rank's to the full one, batch by batch.

use crate::course::check::group::Group;
use crate::course::check::numbers::digits;
use crate::course::check::rate_shapes::Ramp;
use crate::course::check::rates::{Rates, multiplied_again, place};
use crate::course::check::verdict::{Finding, failed, unclear};
use crate::course::contrast::rates::{constant, facts, second_loss, steps};
use crate::course::contrast::{Contrast, Side};

/// Step 9: the rate climbs from a single rank's to the full one, batch by batch.
pub fn check(group: &Group) -> Finding {
    let rates = Rates::of(group)?;
    find_ramp(&rates).map_err(|objection| rates.as_told(objection))
}

fn find_ramp(rates: &Rates) -> Finding {
    let wanted = rates.group.spec.workload.warmup_epochs;
    if wanted <= 0.0 {
        return unclear("the run asks for 0 warmup epochs: leave --warmup-epochs out, or give it more");
    }
    let fits = rates.fits();
    let has = |ramp: Ramp| fits.iter().any(|shape| shape.ramp == ramp);
    let (first, last) = (rates.steps[0], rates.steps[rates.steps.len() - 1]);
    let workload = &rates.group.spec.workload;
    match fits.first() {
        None => rates.nothing_fits(),
        Some(_) if has(Ramp::Right) && has(Ramp::None) => unclear(format!(
            "training went on after epoch {epoch}, when the warmup was over: start a new run",
            epoch = first.epoch
        )),
        Some(shape) => match shape.ramp {
            Ramp::Right => {
                rates.goes_on_after(*shape)?;
                Ok(format!(
                    "the rate went from {} to {}, and each of {steps} steps has the rate of the formula, to 6 digits",
                    digits(first.lr),
                    digits(last.lr),
                    steps = rates.steps.len()
                ))
            }
            Ramp::None => failed(format!(
                "there is no ramp: {place} already trained at {lr}; climb to it over {wanted} epochs",
                place = place(&first),
                lr = digits(first.lr)
            )),
            Ramp::Over(epochs) => failed(ramp_over(epochs, wanted, rates.group.np, workload.epochs)),
            Ramp::FromZero | Ramp::FromZeroLate => failed(format!(
                "the ramp starts from zero: epoch 1, batch 1 trained at {first}. Start at a single rank's rate, \
                 {base}, and climb from there",
                first = digits(first.lr),
                base = digits(workload.base_lr)
            )),
            Ramp::Late => failed("the ramp is one batch late: e = epoch + (batch + 1) / steps, with both counted from 0"),
            Ramp::ByEpoch => failed(
                "the ramp climbs once an epoch: climb batch by batch, with e = epoch + (batch + 1) / steps, counted from 0",
            ),
            Ramp::Undivided => failed("the ramp counts the batches of a whole epoch: use this rank's steps per epoch (step 5)"),
            Ramp::ThenTwice => failed(multiplied_again(last.lr)),
        },
    }
}

pub fn contrast(pair: [&Side; 2], found: &mut Contrast) {
    facts(pair, found);
    if let (Some(full), Some(first), Some(last)) = (constant(pair[0]), steps(pair[1]).first(), steps(pair[1]).last())
        && first.lr < last.lr
    {
        let until = if last.lr < full * (1.0 - 1e-6) {
            format!("; the full rate comes at the end of epoch {}", pair[1].evidence.spec.workload.warmup_epochs)
        } else {
            ", the full rate".into()
        };
        found.say(format!(
            "Before, the full rate {} from the first batch on. After, a ramp: {} in the first batch, {} after {} epochs{until}.",
            digits(full),
            digits(first.lr),
            digits(last.lr),
            last.epoch + 1
        ));
    }
    second_loss(pair, found);
}

/// In a run of so many ranks and epochs.
fn ramp_over(epochs: f64, wanted: f64, np: usize, of: usize) -> String {
    let is = |other: f64| (epochs - other).abs() < 1e-6 * other;
    let np = np as f64;
    let cause = match epochs {
        _ if is(wanted * np) => "it was multiplied by the number of ranks. Give the callback args.warmup_epochs as it is",
        _ if is(wanted / np) || is((wanted / np).floor()) => {
            "it was divided by the number of ranks. Give the callback args.warmup_epochs as it is"
        }
        _ if is(of as f64) => "it was cut to the epochs of this run, and a warmup may be longer than that",
        _ if (epochs - wanted).abs() < 2.5 => "give the callback args.warmup_epochs as it is",
        _ => "your program ignores --warmup-epochs",
    };
    format!("the ramp takes {} epochs, not {wanted}: {cause}", digits(epochs))
}
