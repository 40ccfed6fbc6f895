//! The four changes of the MNIST program, each by the evidence of a run.
//!
//! What the changes have in common with steps of the trainer is judged by the same functions.

use super::group::{Group, because_strangers};
use super::verdict::{Finding, Verdict, failed};
use super::{alone, decided, numbered, terms};
use crate::course::Evidence;
use crate::course::step::{broadcast, checkpoint_on_root, distributed_optimizer, init_and_pin, scale_learning_rate};
use crate::domain::step::Step;
use crate::domain::units;

/// What a run of the program shows of each change, in their order. Its epochs are what was asked of a single rank.
pub fn check_changes(evidence: &Evidence) -> Vec<Verdict> {
    let changes: [fn(&Group) -> Finding; 4] = [init_and_pin::check, scaled, distributed_optimizer::check, one_model];
    numbered(changes.map(|find| if evidence.spec.resources.np < 2 { alone() } else { decided(evidence, change, find) }))
}

/// Which change does what a step of the trainer does.
fn change(step: Step) -> String {
    let number = match step {
        Step::InitAndPin => 1,
        Step::DistributedOptimizer => 3,
        Step::Broadcast | Step::CheckpointOnRoot => 4,
        _ => 2,
    };
    format!("change {number}")
}

/// Change 2: the rate is multiplied by the number of ranks, and the epochs are divided by it and rounded up.
fn scaled(group: &Group) -> Finding {
    let rate = scale_learning_rate::scaled(group)?;
    let (np, asked) = (group.np, group.spec.workload.epochs);
    let wanted = asked.div_ceil(np);
    let trained = group.all(terms::END_OF_AN_EPOCH, |process| process.epochs.last().map(|report| report.epoch))?;
    if let Some((process, &epochs)) = trained.iter().enumerate().find(|(_, epochs)| **epochs != wanted) {
        let cause = match epochs {
            epochs if epochs == asked => ", as many as a single rank",
            epochs if epochs == asked / np => ", rounded down",
            epochs if epochs == wanted.div_ceil(np) => ", divided twice",
            _ => "",
        };
        // A process that is still training will reach more epochs.
        if epochs > wanted || group.not_finished().is_none() {
            let (who, epochs, strangers) = (group.name(process), units::counted(epochs, "epoch"), because_strangers(group));
            return failed(format!(
                "{who} trained {epochs}{cause}: {np} ranks share {asked}, and {asked} / {np} rounded up is {wanted}{strangers}"
            ));
        }
    }
    Ok(format!("{rate}, and every rank trained {asked} / {np} rounded up = {}", units::counted(wanted, "epoch")))
}

/// Change 4: all ranks begin from the root's weights, and the root alone writes checkpoints.
fn one_model(group: &Group) -> Finding {
    let weights = broadcast::check(group)?;
    let files = checkpoint_on_root::check(group)?;
    Ok(format!("{weights}; {files}"))
}
