//! Steps 8 and 9: the learning rate that was applied, batch by batch.
//!
//! Never believes what a run says it is going to do.

use super::fact::Contrast;
use super::side::{Pair, Side, list, rate, small};
use super::work::losses;
use crate::domain::history::TrainingStep;

/// The steps of the root.
fn steps<'a>(side: &Side<'a>) -> &'a [TrainingStep] {
    side.root().map(|root| root.steps.as_slice()).unwrap_or_default()
}

/// The rate of the last batch of every epoch.
fn ends(side: &Side) -> Vec<f64> {
    let steps = steps(side);
    let last = |(index, step): (usize, &TrainingStep)| steps.get(index + 1).is_none_or(|next| next.epoch != step.epoch);
    steps.iter().enumerate().filter(|(index, step)| last((*index, step))).map(|(_, step)| step.lr).collect()
}

fn facts(pair: &[Side; 2], found: &mut Contrast) {
    found.fact("first batch", pair.each(|side| steps(side).first().map_or(String::new(), |step| rate(step.lr))));
    found.fact("epoch ends", pair.each(|side| list(&ends(side).into_iter().map(rate).collect::<Vec<_>>())));
    found.fact("loss, first batches", losses(pair));
}

/// The one rate of all batches.
fn constant(side: &Side) -> Option<f64> {
    let first = steps(side).first()?.lr;
    steps(side).iter().all(|step| step.lr == first).then_some(first)
}

pub fn scaled(pair: &[Side; 2], found: &mut Contrast) {
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

pub fn warmed_up(pair: &[Side; 2], found: &mut Contrast) {
    facts(pair, found);
    if let (Some(full), Some(first), Some(last)) = (constant(&pair[0]), steps(&pair[1]).first(), steps(&pair[1]).last())
        && first.lr < last.lr
    {
        let until = match last.lr < full * (1.0 - 1e-6) {
            true => format!("; the full rate comes at the end of epoch {}", pair[1].evidence.spec.workload.warmup_epochs),
            false => ", the full rate".into(),
        };
        found.say(format!(
            "Before, the full rate {} from the first batch on. After, a ramp: {} in the first batch, {} after {} epochs{until}.",
            rate(full),
            rate(first.lr),
            rate(last.lr),
            last.epoch + 1
        ));
    }
    second_loss(pair, found);
}

/// The first update is the first that the rate tells in: the loss after it, where the loss before was the same.
fn second_loss(pair: &[Side; 2], found: &mut Contrast) {
    let loss = |batch: usize| pair.each(|side| steps(side).get(batch).map(|step| step.loss));
    if let ([Some(one), Some(same)], [Some(before), Some(after)]) = (loss(0), loss(1))
        && one == same
    {
        found.say(format!(
            "Both began with a loss of {} on rank 0. After the first update it was {} before and {} after: only the length of that \
             update differs.",
            small(one),
            small(before),
            small(after)
        ));
    }
}
