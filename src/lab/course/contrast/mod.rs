//! Two runs of a lesson side by side: what differs, and why, in words, from the evidence of both.
//!
//! It describes and does not judge. What a run did not report is left out.

mod fact;
pub(super) mod rates;
mod side;

use super::evidence::Evidence;
use super::step;
use crate::domain::step::Step;
use crate::domain::units;
pub use fact::{Contrast, Fact};
pub(super) use side::{Side, alike, distinct, named, small};

/// What `step` changed between two runs of which only the second has it on.
pub fn contrast(step: Step, before: &Evidence, after: &Evidence) -> Contrast {
    let mut found = Contrast::default();
    let (Some(before), Some(after)) = (Side::of(before), Side::of(after)) else {
        found.say("One of the runs reported nothing, so there is nothing to compare.".into());
        return found;
    };
    let pair = [&before, &after];
    for (name, side) in ["before", "after"].into_iter().zip(pair) {
        if let Some(who) = side.not_finished() {
            found.say(format!("The run {name} is not complete ({who} has not finished), so this describes only a part of it."));
        }
    }
    (step::rules(step).contrast)(pair, &mut found);
    results(pair, &mut found);
    found
}

/// What every pair of runs is compared by.
fn results(pair: [&Side; 2], found: &mut Contrast) {
    let seconds = pair.map(Side::training_seconds);
    if let [Some(before), Some(after)] = seconds {
        found.fact("training", [before, after].map(units::seconds));
    }
    if let [Some(before), Some(after)] = pair.map(Side::accuracies) {
        found.fact("test accuracy", [before, after]);
    }
}
