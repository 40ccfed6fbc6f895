//! Steps 8 and 9 in words.

use super::super::numbers::digits;
use crate::domain::event::ScheduleReport;
use crate::domain::history::TrainingStep;

pub const TOO_SHORT: &str = "the run is too short to tell how its rate came about";
pub const NO_WARMUP: &str = "the run asks for 0 warmup epochs: leave --warmup-epochs out, or give it more";
pub const LATE: &str = "the ramp is one batch late: e = epoch + (batch + 1) / steps, with both counted from 0";
pub const BY_EPOCH: &str =
    "the ramp climbs once an epoch: climb batch by batch, with e = epoch + (batch + 1) / steps, counted from 0";
pub const UNDIVIDED: &str = "the ramp counts the batches of a whole epoch: use this rank's steps per epoch (step 5)";

/// `epoch 1, batch 1`, of a step that is counted from 0.
fn place(step: &TrainingStep) -> String {
    format!("epoch {}, batch {}", step.epoch + 1, step.batch + 1)
}

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

pub fn warmup_is_over(epoch: usize) -> String {
    format!("training went on after epoch {epoch}, when the warmup was over: start a new run")
}

pub fn warmed_up(first: f64, last: f64, steps: usize) -> String {
    format!("the rate went from {} to {} in {steps} steps, each as the formula has it to 6 digits", digits(first), digits(last))
}

pub fn no_ramp(first: &TrainingStep, wanted: f64) -> String {
    let (place, lr) = (place(first), digits(first.lr));
    format!("there is no ramp: {place} already trained at {lr}; climb to it over {wanted} epochs")
}

/// In a run of so many ranks and epochs.
pub fn ramp_over(epochs: f64, wanted: f64, np: usize, of: usize) -> String {
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

pub fn climbs_elsewhere(full: f64, then: f64) -> String {
    let (full, then) = (digits(full), digits(then));
    format!(
        "the ramp climbs to {full}, and after it the rate is {then}: let it climb to the scaled rate (initial_lr=lr in Python)"
    )
}

/// `fashion_mnist.py:57: lr_schedule`.
fn called(own: &ScheduleReport) -> String {
    match own.place.as_str() {
        "" => own.name.clone(),
        place => format!("{place}: {}", own.name),
    }
}

pub fn schedule_of_another_rate(own: &ScheduleReport, wanted: f64) -> String {
    let (called, begins, wanted) = (called(own), digits(own.rates[0]), digits(wanted));
    format!("{called} gives {begins} in epoch 1, and the scaled rate is {wanted}: let it go by lr, which is scaled")
}

/// Of a rate that another ramp leads to.
pub fn scheduled_rate(own: &ScheduleReport, base: f64, np: usize) -> String {
    format!("{} gives the full rate of {base} x {np} ranks = {}", called(own), digits(base * np as f64))
}

/// In an epoch that is counted from 0.
pub fn falls_otherwise(own: &ScheduleReport, epoch: usize, rate: f64, wanted: f64) -> String {
    let (called, rate, wanted) = (called(own), digits(rate), digits(wanted));
    format!(
        "{called} gives {rate} in epoch {}, and {wanted} is right: the rate falls to a tenth after 15, after 25 and after 35 epochs, and \
         stays as it is in between",
        epoch + 1
    )
}

/// The rate is what `usual` makes, the value of the flag where nobody gives it.
pub fn usual_rate(full: f64, usual: f64, base: f64, np: usize) -> String {
    let full = digits(full);
    format!(
        "the full rate is {full}, as if --base-lr were {usual}: your program ignores --base-lr. Multiply {base}, which is args.base_lr, by {np}"
    )
}

pub fn from_zero(first: f64, base: f64) -> String {
    let (first, base) = (digits(first), digits(base));
    format!(
        "the ramp starts from zero: epoch 1, batch 1 trained at {first}. Start at a single rank's rate, {base}, and climb from there"
    )
}

pub fn multiplied_again(rate: f64) -> String {
    format!(
        "after the ramp the rate fell to {}: the schedule contains the base rate already, multiply by its factor only",
        digits(rate)
    )
}

/// Two ranks, each with its step.
pub fn differs(who: &str, one: &TrainingStep, root: &str, other: &TrainingStep) -> String {
    format!(
        "{who} trained {} at {}, and {root} at {}: every rank needs the same rate, by the number of all ranks (hvd.size() in Python), not of \
         those on its host",
        place(one),
        digits(one.lr),
        digits(other.lr)
    )
}

/// `ranks`: the number for which all rates would be right, where there is one.
pub fn not_by_formula(step: &TrainingStep, ranks: Option<usize>, wanted: f64) -> String {
    let as_if = ranks.map(|ranks| format!(", as if there were {ranks} ranks")).unwrap_or_default();
    format!("{} trained at {}{as_if}, and the formula gives {}", place(step), digits(step.lr), digits(wanted))
}

pub fn and_told_otherwise(why: &str, told: f64, used: f64) -> String {
    let (used, told) = (digits(used), digits(told));
    format!("{why}. The program reports a rate of {told} there, and the optimizer used {used}")
}
