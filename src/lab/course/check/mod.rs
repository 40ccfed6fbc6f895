//! From the evidence of a run to a verdict on each of the ten steps.
//!
//! Never reads source text or a file, and never asks which steps were switched on: what a run did is what counts.

mod collectives;
mod four_changes;
pub(super) mod group;
pub(super) mod numbers;
mod optimizer_rules;
mod photos;
pub(super) mod rate_shapes;
pub(super) mod rates;
pub(super) mod terms;
pub(super) mod verdict;
pub(super) mod watched;

use super::evidence::Evidence;
use super::step;
use crate::domain::history::Attempt;
use crate::domain::step::Step;
pub use collectives::{Claim, check_collectives};
pub use four_changes::check_changes;
use group::Group;
pub use photos::check_photos;
pub use verdict::{Finding, Outcome, Verdict, concluded, failed, unclear};

/// The verdicts on all ten steps, in their order.
pub fn check_all(evidence: &Evidence) -> Vec<Verdict> {
    Step::ALL.into_iter().map(|step| check(evidence, step)).collect()
}

/// The verdict on one step.
pub fn check(evidence: &Evidence, step: Step) -> Verdict {
    // An elastic run may have had more ranks before, or have them again.
    let ranks = (0..evidence.history.attempts.len()).map(|attempt| evidence.np_of(attempt));
    let most = ranks.fold(evidence.spec.resources.np, usize::max);
    let (outcome, evidence) = if most < 2 && step != Step::NovoGrad {
        alone()
    } else {
        let find = |group: &Group| {
            let is_alone = group.np < 2 && step != Step::NovoGrad;
            if is_alone { unclear(terms::ONE_RANK) } else { (step::rules(step).check)(group) }
        };
        decided(evidence, |step| format!("step {}", step.number()), find)
    };
    Verdict { number: step.number(), outcome, evidence }
}

/// The verdicts on numbered places, by what was found at each, in their order.
pub fn numbered(found: impl IntoIterator<Item = (Outcome, String)>) -> Vec<Verdict> {
    (1..).zip(found).map(|(number, (outcome, evidence))| Verdict { number, outcome, evidence }).collect()
}

fn alone() -> (Outcome, String) {
    (Outcome::CannotTell, terms::ONE_RANK.into())
}

/// What a check finds. Of several attempts a failed one decides, then one that passed.
fn decided(evidence: &Evidence, part: fn(Step) -> String, find: impl Fn(&Group) -> Finding) -> (Outcome, String) {
    let attempts = &evidence.history.attempts;
    // An attempt without events cannot be judged.
    let told = attempts.iter().enumerate().filter(|(_, attempt)| !attempt.processes.is_empty());
    let judge = |(place, attempt): (usize, &Attempt)| {
        let (before, printed) = (&attempts[..place], evidence.printed.as_ref());
        let group = Group { spec: &evidence.spec, attempt, before, np: evidence.np_of(place), part, printed };
        match attempt.processes.iter().find(|(_, process)| process.lost_events > 0) {
            Some((index, process)) => (Outcome::CannotTell, terms::lost(&group.name(*index), process.lost_events)),
            None => concluded(find(&group), group.not_finished()),
        }
    };
    let judged: Vec<(Outcome, String)> = told.map(judge).collect();
    let of = |wanted: Outcome| judged.iter().rev().find(|(outcome, _)| *outcome == wanted).cloned();
    let decides = of(Outcome::Failed).or_else(|| of(Outcome::Passed)).or_else(|| of(Outcome::CannotTell));
    decides.unwrap_or((Outcome::CannotTell, terms::NOTHING_YET.into()))
}
