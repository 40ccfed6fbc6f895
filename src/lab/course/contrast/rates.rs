//! The learning rates and first losses of two runs, for steps 8, 9 and 10.

use super::fact::Contrast;
use super::side::{Side, small};
use crate::course::check::numbers::digits;
use crate::course::check::terms::list;
use crate::domain::history::TrainingStep;

/// The steps of the root.
pub fn steps<'a>(side: &Side<'a>) -> &'a [TrainingStep] {
    side.root().map(|root| root.steps.as_slice()).unwrap_or_default()
}

/// The rate of the last batch of every epoch.
fn ends(side: &Side) -> Vec<f64> {
    let steps = steps(side);
    let last = |(index, step): (usize, &TrainingStep)| steps.get(index + 1).is_none_or(|next| next.epoch != step.epoch);
    steps.iter().enumerate().filter(|(index, step)| last((*index, step))).map(|(_, step)| step.lr).collect()
}

pub fn facts(pair: [&Side; 2], found: &mut Contrast) {
    found.fact("first batch", pair.map(|side| steps(side).first().map_or(String::new(), |step| digits(step.lr))));
    found.fact("epoch ends", pair.map(|side| list(ends(side).into_iter().map(digits))));
    found.fact("loss, first batches", losses(pair));
}

/// The one rate of all batches.
pub fn constant(side: &Side) -> Option<f64> {
    let first = steps(side).first()?.lr;
    steps(side).iter().all(|step| step.lr == first).then_some(first)
}

/// The first update is the first that the rate tells in: the loss after it, where the loss before was the same.
pub fn second_loss(pair: [&Side; 2], found: &mut Contrast) {
    let loss = |batch: usize| pair.map(|side| steps(side).get(batch).map(|step| step.loss));
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

/// The first three losses of the root.
pub fn losses(pair: [&Side; 2]) -> [String; 2] {
    pair.map(|side| list(steps(side).iter().take(3).map(|step| format!("{:.2}", step.loss))))
}
