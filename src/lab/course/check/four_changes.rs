//! The four changes of the MNIST program, each by the evidence of a run.
//!
//! What the changes have in common with steps of the trainer is judged by the same functions.

use super::group::{Group, because_strangers};
use super::verdict::{Finding, Shown, failed};
use super::words::four_changes::{self as words, Cause, Share};
use super::words::group as told;
use super::{alone, decided, identity, rate, together, work};
use crate::course::Evidence;
use crate::domain::step::Step;

type Find = fn(&Group) -> Finding;

/// What a run of the program shows of each change, in their order. Its epochs are what was asked of a single rank.
pub fn check_changes(evidence: &Evidence) -> Vec<Shown> {
    let changes: [Find; 4] = [identity::init_and_pin, scaled, together::gradients, one_model];
    let shown = |(index, find): (usize, Find)| {
        let (outcome, evidence) = if evidence.spec.resources.np < 2 { alone() } else { decided(evidence, change, find) };
        Shown { number: index + 1, outcome, evidence }
    };
    changes.into_iter().enumerate().map(shown).collect()
}

/// Which change does what a step of the trainer does.
fn change(step: Step) -> String {
    let number = match step {
        Step::InitAndPin => 1,
        Step::DistributedOptimizer => 3,
        Step::Broadcast | Step::CheckpointOnRoot => 4,
        _ => 2,
    };
    words::change(number)
}

/// Change 2: the rate is multiplied by the number of ranks, and the epochs are divided by it and rounded up.
fn scaled(group: &Group) -> Finding {
    let rate = rate::scaled(group)?;
    let (np, asked) = (group.np(), group.spec.workload.epochs);
    let wanted = asked.div_ceil(np);
    let share = Share { np, asked, wanted };
    let trained = group.all(told::END_OF_AN_EPOCH, |process| process.epochs.last().map(|report| report.epoch))?;
    if let Some((process, &epochs)) = trained.iter().enumerate().find(|(_, epochs)| **epochs != wanted) {
        let cause = match epochs {
            epochs if epochs == asked => Cause::AsOneRank,
            epochs if epochs == asked / np => Cause::RoundedDown,
            epochs if epochs == wanted.div_ceil(np) => Cause::DividedTwice,
            _ => Cause::Unknown,
        };
        let who = group.name(process);
        // One that is still training comes to more.
        if epochs > wanted || group.not_finished().is_none() {
            return failed(words::other_epochs(&who, epochs, cause, share, &because_strangers(group)));
        }
    }
    Ok(words::scaled(&rate, share))
}

/// Change 4: all ranks begin from the root's weights, and the root alone writes checkpoints.
fn one_model(group: &Group) -> Finding {
    let weights = together::weights(group)?;
    let files = work::checkpoint_on_root(group)?;
    Ok(words::one_model(&weights, &files))
}
