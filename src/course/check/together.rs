//! Steps 3, 4 and 6: gradients, weights and metrics are the same on every rank, and for the right reason.
//!
//! Never compares numbers that a digest stands for: equal digests are equal bits.

use super::group::{Group, because_strangers, short};
use super::numbers::{apart as told_apart, near};
use super::seen::{self, is_mean};
use super::verdict::{Finding, Objection, failed, unclear};
use crate::domain::event::{CheckpointAction, DigestMoment, EpochReport, Metrics};
use crate::domain::step::Step;

/// Step 3: all ranks applied the same gradients in the first step.
pub fn gradients(group: &Group) -> Finding {
    let digests = group.all("its first gradients", |process| {
        Some(process.digests_of(DigestMoment::FirstGradients)).filter(|digests| !digests.is_empty())
    })?;
    let root = group.root();
    let apart = group.differing(&digests);
    if let Some(&first) = apart.first() {
        return failed(format!(
            "{} applied other gradients in the first step than {} ({}, not {}): average them over all ranks before the \
             update{}",
            group.names(&apart),
            group.name(root),
            short(digests[first][0]),
            short(digests[root][0]),
            because_strangers(group),
        ));
    }
    averaged(group)?;
    seen::first_update(group)?;
    let losses = group.all("its first step", |process| process.steps.first().map(|step| step.loss.to_bits()))?;
    if group.differing(&losses).is_empty() {
        return unclear("all ranks had the same loss in the first step: equal gradients of equal batches prove no average");
    }
    if let Some((epoch, apart)) = drifted(group)? {
        let who = group.names(&apart);
        let step = if has_one_rate(group)? { None } else { Some(Step::ScaleLearningRate) };
        let step = step.or((!has_one_optimizer(group)?).then_some(Step::NovoGrad));
        return match step {
            Some(step) => unclear(format!("{who} drifted away by the end of epoch {epoch}: fix {} first", (group.part)(step))),
            None => failed(format!(
                "{who} held other weights than {} at the end of epoch {epoch}, after an equal start and equal first gradients: \
                 average the gradients of every step",
                group.name(root)
            )),
        };
    }
    // Where ranks start from other weights, step 4 says so: a late broadcast changes weights between two updates.
    if starts_equal(group)? {
        seen::later_updates(group)?;
    }
    Ok(format!(
        "all {} ranks applied the same gradients in the first step, the mean of their own ({})",
        group.np(),
        short(digests[root][0])
    ))
}

/// What all ranks applied is the mean of what each had of its own, wherever they were sampled. Older trainers tell nothing
/// of their own gradients.
fn averaged(group: &Group) -> Result<(), Objection> {
    let of = |process: usize, moment| group.attempt.processes.get(&process).and_then(|process| process.first_sample(moment));
    let own: Option<Vec<&[f32]>> = (0..group.np()).map(|process| of(process, DigestMoment::OwnGradients)).collect();
    match (own, of(group.root(), DigestMoment::FirstGradients)) {
        (Some(own), Some(applied)) => is_mean(group, &own, applied, "the first step"),
        _ => Ok(()),
    }
}

/// Step 4: all ranks start from the root's weights, and hold the same ones at the end of every epoch.
pub fn weights(group: &Group) -> Finding {
    let root = group.root();
    let of = |moment, what: &str| group.all(what, |process| process.digests_of(moment).first().copied());
    let start = of(DigestMoment::StartParameters, "the weights that it starts from")?;
    let drawn = of(DigestMoment::InitialParameters, "the weights that it drew")?;
    let apart = group.differing(&start);
    if let Some(&first) = apart.first().filter(|_| seen::were_shared(group) && goes_on(group)) {
        return failed(format!(
            "{} started from other weights than {}, which loaded a checkpoint after the broadcast: load it first, then broadcast",
            group.name(first),
            group.name(root),
        ));
    }
    if let Some(&first) = apart.first() {
        return failed(format!(
            "{} started from other weights than {} ({}, not {}): broadcast the root's after they are drawn and before training{}",
            group.names(&apart),
            group.name(root),
            short(start[first]),
            short(start[root]),
            because_strangers(group),
        ));
    }
    if start[root] != drawn[root] {
        let whose = group.others().find(|process| drawn[*process] == start[root]);
        let whose = whose.map_or("of none of them".to_owned(), |process| format!("those of {}", group.name(process)));
        return failed(format!("all ranks started from the same weights, but {whose}, not of rank 0: broadcast from rank 0"));
    }
    if group.differing(&drawn).is_empty() {
        return unclear("all ranks drew the same weights, so that they start alike proves no broadcast");
    }
    let epochs = group.epochs()?;
    if let Some((epoch, apart)) = drifted(group)? {
        return unclear(format!(
            "all ranks started from the same weights ({}), but {} drifted away by the end of epoch {epoch}: see {}",
            short(start[root]),
            group.names(&apart),
            (group.part)(Step::DistributedOptimizer)
        ));
    }
    let until = epochs.last().copied().unwrap_or(0);
    Ok(format!(
        "all {} ranks started from rank 0's weights ({}) and were still equal after epoch {until}",
        group.np(),
        short(start[root])
    ))
}

/// Whether the root goes on from a checkpoint.
fn goes_on(group: &Group) -> bool {
    let root = group.attempt.processes.get(&group.root());
    root.is_some_and(|root| root.checkpoints.iter().any(|file| file.action == CheckpointAction::Loaded))
}

fn starts_equal(group: &Group) -> Result<bool, Objection> {
    let start = group
        .all("the weights that it starts from", |process| process.digests_of(DigestMoment::StartParameters).first().copied())?;
    Ok(group.differing(&start).is_empty())
}

/// The first epoch at whose end some held other weights than the root, though all started from the same ones, and who.
fn drifted(group: &Group) -> Result<Option<(usize, Vec<usize>)>, Objection> {
    if !starts_equal(group)? {
        return Ok(None);
    }
    for epoch in group.epochs()? {
        let held =
            group.all("its weights at the end of an epoch", |process| process.digest(DigestMoment::EpochParameters, epoch))?;
        let apart = group.differing(&held);
        if !apart.is_empty() {
            return Ok(Some((epoch, apart)));
        }
    }
    Ok(None)
}

fn has_one_rate(group: &Group) -> Result<bool, Objection> {
    let rates = group.all("a step", |process| Some(process.steps.iter().map(|step| step.lr.to_bits()).collect::<Vec<_>>()))?;
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
        let reports = group.all("an epoch", |process| process.epoch(epoch))?;
        let own = |process: usize| format!("{:.4}", reports[process].judged().accuracy);
        let averaged: Vec<usize> = (0..group.np()).filter(|process| reports[*process].averaged.is_some()).collect();
        if averaged.len() < group.np() {
            let alone: Vec<usize> = (0..group.np()).filter(|process| !averaged.contains(process)).collect();
            // The accuracies of two who disagree say more than a missing average.
            let shown: Vec<String> = alone.iter().take(4).map(|process| own(*process)).collect();
            return failed(format!(
                "{} judged epoch {epoch} by {} own validation accuracy ({}): average the metrics on every rank{}",
                group.names(&alone),
                if alone.len() == 1 { "its" } else { "their" },
                shown.join(", "),
                because_strangers(group),
            ));
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
            let pairs: [(&str, Pick); 2] = [("loss", |metrics| metrics.loss), ("accuracy", |metrics| metrics.accuracy)];
            if let Some((name, pick)) = pairs.into_iter().find(|(_, pick)| !equal(pick(&found), pick(&wanted), group.np())) {
                let (found, wanted, trained) = (pick(&found), pick(&wanted), pick(&trained));
                let is_own = |of: usize, by: &EpochReport| near(pick(&by.judged()), pick(&reports[of].validation));
                let whose = (0..group.np()).find(|of| reports.iter().all(|by| is_own(*of, by)));
                let cause = match whose {
                    _ if near(found, wanted * group.np() as f64) => " but the sum: divide by the number of ranks".to_owned(),
                    Some(whose) => format!(" but {}'s own, on every rank: average instead of a broadcast", group.name(whose)),
                    None if is_own(process, report) => " but its own: average every metric".to_owned(),
                    None if near(found, trained) => {
                        " but the mean over the training images: average what was measured on the validation images".to_owned()
                    }
                    None => String::new(),
                };
                let [found, wanted] = told_apart(found, wanted);
                return failed(format!(
                    "{} judged epoch {epoch} by a validation {name} of {found}, which is not the mean over the ranks, \
                     {wanted}{}",
                    group.name(process),
                    cause,
                ));
            }
        }
    }
    seen::decisions(group)?;
    seen::stops_at_target(group)?;
    seen::tested(group)?;
    let last = epochs.last().copied().unwrap_or(0);
    let reports = group.all("an epoch", |process| process.epoch(last))?;
    let some: Vec<String> = reports.iter().take(4).map(|report| format!("{:.4}", report.validation.accuracy)).collect();
    Ok(format!(
        "all {} ranks judged epoch {last} by the mean accuracy {:.4} (of {}{})",
        group.np(),
        reports[group.root()].judged().accuracy,
        some.join(", "),
        if group.np() > 4 { ", ..." } else { "" }
    ))
}

/// The same mean of as many numbers. A program may well average float32, where each number and each sum is rounded.
fn equal(a: f64, b: f64, numbers: usize) -> bool {
    (a - b).abs() <= numbers.max(4) as f64 * f64::from(f32::EPSILON) * a.abs().max(b.abs())
}
