//! From the evidence of a run to a verdict on each of the ten steps.
//!
//! Never reads source text or a file, and never asks which steps were switched on: what a run did is what counts.

mod collectives;
mod four_changes;
pub(super) mod group;
pub(super) mod numbers;
mod photos;
pub(super) mod rates;
mod rule;
pub(super) mod seen;
pub(super) mod shape;
pub(super) mod terms;
pub(super) mod verdict;

use super::evidence::Evidence;
use super::step;
use crate::domain::step::Step;
pub use collectives::{Claim, check_collectives};
pub use four_changes::check_changes;
use group::Group;
pub use photos::check_photos;
use verdict::{Finding, Objection, unclear};
pub use verdict::{Outcome, Shown, Verdict};

/// The verdicts on all ten steps, in their order.
pub fn check_all(evidence: &Evidence) -> Vec<Verdict> {
    Step::ALL.into_iter().map(|step| check(evidence, step)).collect()
}

/// The verdict on one step.
pub fn check(evidence: &Evidence, step: Step) -> Verdict {
    // An elastic run may have had more ranks before, or have them again.
    let most = (0..evidence.attempts.len()).map(|attempt| evidence.np_of(attempt)).fold(evidence.spec.resources.np, usize::max);
    let (outcome, evidence) = match most < 2 && step != Step::NovoGrad {
        true => alone(),
        false => decided(
            evidence,
            |step| terms::step(step.number()),
            |group| {
                let is_alone = group.np() < 2 && step != Step::NovoGrad;
                if is_alone { unclear(terms::ONE_RANK) } else { (step::rules(step).check)(group) }
            },
        ),
    };
    Verdict { step, outcome, evidence }
}

fn alone() -> (Outcome, String) {
    (Outcome::CannotTell, terms::ONE_RANK.into())
}

/// What a check finds. Of several attempts a failed one decides, then one that passed.
fn decided(evidence: &Evidence, part: fn(Step) -> String, find: impl Fn(&Group) -> Finding) -> (Outcome, String) {
    let judged: Vec<_> = evidence
        .attempts
        .iter()
        .enumerate()
        // Of one whose processes told nothing there is nothing to judge.
        .filter(|(_, attempt)| !attempt.processes.is_empty())
        .map(|(place, attempt)| {
            let before = &evidence.attempts[..place];
            judge(
                &Group {
                    spec: &evidence.spec,
                    attempt,
                    before,
                    np: evidence.np_of(place),
                    part,
                    printed: evidence.printed.as_ref(),
                },
                &find,
            )
        })
        .collect();
    let of = |wanted: Outcome| judged.iter().rev().find(|(outcome, _)| *outcome == wanted).cloned();
    let decides = of(Outcome::Failed).or_else(|| of(Outcome::Passed)).or_else(|| of(Outcome::CannotTell));
    decides.unwrap_or((Outcome::CannotTell, terms::NOTHING_YET.into()))
}

fn judge(group: &Group, find: &impl Fn(&Group) -> Finding) -> (Outcome, String) {
    if let Some((process, of)) = group.attempt.processes.iter().find(|(_, of)| of.lost_events > 0) {
        return (Outcome::CannotTell, terms::lost(&group.name(*process), of.lost_events));
    }
    match find(group) {
        Ok(sentence) => match group.not_finished() {
            None => (Outcome::Passed, sentence),
            Some(who) => (Outcome::CannotTell, terms::so_far(&sentence, &who)),
        },
        Err(Objection::Failed(sentence)) => (Outcome::Failed, sentence),
        Err(Objection::Unclear(sentence)) => (Outcome::CannotTell, sentence),
    }
}
