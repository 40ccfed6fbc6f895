//! Steps 3, 4 and 6: gradients, weights and metrics are the same on every rank, and for the right reason.
//!
//! Never compares numbers that a digest stands for: equal digests are equal bits.

use super::group::{Group, because_strangers};
use super::numbers::near;
use super::seen::{self, is_mean};
use super::verdict::{Finding, Objection, failed, unclear};
use super::words::group as told;
use super::words::seen::FIRST_STEP;
use super::words::together::{self as words, Metric, NotMean};
use crate::domain::event::{CheckpointAction, DigestMoment, EpochReport, Metrics};
use crate::domain::step::Step;

/// Step 3: all ranks applied the same gradients in the first step.
pub fn gradients(group: &Group) -> Finding {
    let digests = group.all(told::FIRST_GRADIENTS, |process| {
        Some(process.digests_of(DigestMoment::FirstGradients)).filter(|digests| !digests.is_empty())
    })?;
    let root = group.root();
    let apart = group.differing(&digests);
    if let Some(&first) = apart.first() {
        let (who, of_root) = (group.names(&apart), group.name(root));
        return failed(words::other_gradients(&who, &of_root, [digests[first][0], digests[root][0]], &because_strangers(group)));
    }
    averaged(group)?;
    seen::first_update(group)?;
    let losses = group.all(told::FIRST_STEP, |process| process.steps.first().map(|step| step.loss.to_bits()))?;
    if group.differing(&losses).is_empty() {
        return unclear(words::EQUAL_LOSSES);
    }
    if let Some((epoch, apart)) = drifted(group)? {
        let who = group.names(&apart);
        let step = if has_one_rate(group)? { None } else { Some(Step::ScaleLearningRate) };
        let step = step.or((!has_one_optimizer(group)?).then_some(Step::NovoGrad));
        return match step {
            Some(step) => unclear(words::drifted_for_another_reason(&who, epoch, &(group.part)(step))),
            None => failed(words::drifted(&who, &group.name(root), epoch)),
        };
    }
    // Where ranks start from other weights, step 4 says so: a late broadcast changes weights between two updates.
    if starts_equal(group)? {
        seen::later_updates(group)?;
    }
    seen::goes_by(group, &["--momentum", "--wd"])?;
    Ok(words::same_gradients(group.np(), digests[root][0]))
}

/// What all ranks applied is the mean of what each had of its own, wherever they were sampled. Older trainers tell nothing
/// of their own gradients.
fn averaged(group: &Group) -> Result<(), Objection> {
    let of = |process: usize, moment| group.attempt.processes.get(&process).and_then(|process| process.first_sample(moment));
    let own: Option<Vec<&[f32]>> = (0..group.np()).map(|process| of(process, DigestMoment::OwnGradients)).collect();
    match (own, of(group.root(), DigestMoment::FirstGradients)) {
        (Some(own), Some(applied)) => is_mean(group, &own, applied, FIRST_STEP),
        _ => Ok(()),
    }
}

/// Step 4: all ranks start from the root's weights, and hold the same ones at the end of every epoch.
pub fn weights(group: &Group) -> Finding {
    let root = group.root();
    let of = |moment, what: &str| group.all(what, |process| process.digests_of(moment).first().copied());
    let start = of(DigestMoment::StartParameters, told::WEIGHTS_AT_START)?;
    let drawn = of(DigestMoment::InitialParameters, told::WEIGHTS_DRAWN)?;
    let apart = group.differing(&start);
    if let Some(&first) = apart.first().filter(|_| seen::were_shared(group) && goes_on(group)) {
        return failed(words::loaded_after_broadcast(&group.name(first), &group.name(root)));
    }
    if let Some(&first) = apart.first() {
        let (who, of_root) = (group.names(&apart), group.name(root));
        return failed(words::other_weights(&who, &of_root, [start[first], start[root]], &because_strangers(group)));
    }
    if start[root] != drawn[root] {
        let whose = group.others().find(|process| drawn[*process] == start[root]);
        return failed(words::not_of_root(whose.map(|process| group.name(process)).as_deref()));
    }
    if group.differing(&drawn).is_empty() {
        return unclear(words::EQUAL_DRAWN);
    }
    let epochs = group.epochs()?;
    if let Some((epoch, apart)) = drifted(group)? {
        let part = (group.part)(Step::DistributedOptimizer);
        return unclear(words::drifted_later(start[root], &group.names(&apart), epoch, &part));
    }
    let until = epochs.last().copied().unwrap_or(0);
    Ok(words::same_weights(group.np(), start[root], until))
}

/// Whether the root goes on from a checkpoint.
fn goes_on(group: &Group) -> bool {
    let root = group.attempt.processes.get(&group.root());
    root.is_some_and(|root| root.checkpoints.iter().any(|file| file.action == CheckpointAction::Loaded))
}

fn starts_equal(group: &Group) -> Result<bool, Objection> {
    let start =
        group.all(told::WEIGHTS_AT_START, |process| process.digests_of(DigestMoment::StartParameters).first().copied())?;
    Ok(group.differing(&start).is_empty())
}

/// The first epoch at whose end some held other weights than the root, though all started from the same ones, and who.
fn drifted(group: &Group) -> Result<Option<(usize, Vec<usize>)>, Objection> {
    if !starts_equal(group)? {
        return Ok(None);
    }
    for epoch in group.epochs()? {
        let held = group.all(told::WEIGHTS_AT_END, |process| process.digest(DigestMoment::EpochParameters, epoch))?;
        let apart = group.differing(&held);
        if !apart.is_empty() {
            return Ok(Some((epoch, apart)));
        }
    }
    Ok(None)
}

fn has_one_rate(group: &Group) -> Result<bool, Objection> {
    let rates =
        group.all(told::A_STEP, |process| Some(process.steps.iter().map(|step| step.lr.to_bits()).collect::<Vec<_>>()))?;
    Ok(group.differing(&rates).is_empty())
}

fn has_one_optimizer(group: &Group) -> Result<bool, Objection> {
    let names: Vec<&str> = group.configs()?.iter().map(|config| config.optimizer.as_str()).collect();
    Ok(group.differing(&names).is_empty())
}

/// Step 6: every rank judges by the mean over the ranks.
pub fn metrics(group: &Group) -> Finding {
    seen::stop_together(group)?;
    let epochs = group.epochs()?;
    for &epoch in &epochs {
        let reports = group.all(told::AN_EPOCH, |process| process.epoch(epoch))?;
        let averaged: Vec<usize> = (0..group.np()).filter(|process| reports[*process].averaged.is_some()).collect();
        if averaged.len() < group.np() {
            let alone: Vec<usize> = (0..group.np()).filter(|process| !averaged.contains(process)).collect();
            // The accuracies of two who disagree say more than a missing average.
            let own: Vec<f64> = alone.iter().map(|process| reports[*process].judged().accuracy).collect();
            return failed(words::judged_alone(&group.names(&alone), epoch, &own, &because_strangers(group)));
        }
        type Of = fn(&EpochReport) -> Metrics;
        let mean = |of: Of| {
            let mean =
                |pick: fn(&Metrics) -> f64| reports.iter().map(|report| pick(&of(report))).sum::<f64>() / group.np() as f64;
            Metrics { loss: mean(|metrics| metrics.loss), accuracy: mean(|metrics| metrics.accuracy) }
        };
        let (wanted, trained) = (mean(|report| report.validation), mean(|report| report.train));
        for (process, report) in reports.iter().enumerate() {
            let found = report.judged();
            type Pick = fn(&Metrics) -> f64;
            let pairs: [(Metric, Pick); 2] =
                [(Metric::Loss, |metrics| metrics.loss), (Metric::Accuracy, |metrics| metrics.accuracy)];
            if let Some((metric, pick)) = pairs.into_iter().find(|(_, pick)| !equal(pick(&found), pick(&wanted), group.np())) {
                let (found, wanted, trained) = (pick(&found), pick(&wanted), pick(&trained));
                let is_own = |of: usize, by: &EpochReport| near(pick(&by.judged()), pick(&reports[of].validation));
                let whose = (0..group.np()).find(|of| reports.iter().all(|by| is_own(*of, by)));
                let cause = match whose {
                    _ if near(found, wanted * group.np() as f64) => NotMean::Sum,
                    Some(whose) => NotMean::OfOne(group.name(whose)),
                    None if is_own(process, report) => NotMean::Own,
                    None if near(found, trained) => NotMean::OfTraining,
                    None => NotMean::Unknown,
                };
                return failed(words::not_the_mean(&group.name(process), epoch, metric, (found, wanted), cause));
            }
        }
    }
    seen::decisions(group)?;
    seen::goes_by(group, &["--target-accuracy", "--patience"])?;
    seen::stops_at_target(group)?;
    seen::tested(group)?;
    let last = epochs.last().copied().unwrap_or(0);
    let reports = group.all(told::AN_EPOCH, |process| process.epoch(last))?;
    let own: Vec<f64> = reports.iter().map(|report| report.validation.accuracy).collect();
    Ok(words::judged_by_mean(last, reports[group.root()].judged().accuracy, &own))
}

/// The same mean of as many numbers. A program may well average float32, where each number and each sum is rounded.
fn equal(a: f64, b: f64, numbers: usize) -> bool {
    (a - b).abs() <= numbers.max(4) as f64 * f64::from(f32::EPSILON) * a.abs().max(b.abs())
}
