//! Steps 8 and 9 in words.

use super::super::numbers::digits;
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

pub fn ramp_over(epochs: f64, wanted: f64) -> String {
    format!("the ramp takes {epochs} epochs, not {wanted}")
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
    format!("{who} trained {} at {}, and {root} at {}", place(one), digits(one.lr), digits(other.lr))
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
