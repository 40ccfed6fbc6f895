//! Steps 3, 4 and 6: gradients, weights and metrics are the same on every rank, and for the right reason.
//!
//! Never compares numbers that a digest stands for: equal digests are equal bits.

use super::group::{Group, because_strangers, short};
use super::verdict::{Finding, Objection, failed, unclear};
use crate::domain::event::{DigestMoment, EpochReport, Metrics};
use crate::domain::step::Step;

/// Relative difference that a mean taken in another order may have.
const ROUNDING: f64 = 1e-9;
/// Relative difference of sampled gradients: they may have travelled in 16 bits.
const SAMPLED: f64 = 0.02;

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
    let (Some(own), Some(applied)) = (own, of(group.root(), DigestMoment::FirstGradients)) else { return Ok(()) };
    let mean = |place: usize| own.iter().filter_map(|own| own.get(place)).map(|g| f64::from(*g)).sum::<f64>() / group.np() as f64;
    let mean: Vec<f64> = (0..applied.len()).map(mean).collect();
    let applied: Vec<f64> = applied.iter().copied().map(f64::from).collect();
    let longest = own.iter().copied().flatten().fold(0.0, |longest, g| f64::max(longest, f64::from(g.abs())));
    let is = |wanted: &dyn Fn(usize) -> f64, scale: f64| {
        applied.iter().enumerate().all(|(place, g)| (g - wanted(place)).abs() <= SAMPLED * longest * scale)
    };
    if is(&|place| mean[place], 1.0) {
        return Ok(());
    }
    if let Some(whose) =
        (0..group.np()).find(|process| is(&|place| own[*process].get(place).copied().map_or(0.0, f64::from), 1.0))
    {
        return failed(format!(
            "all ranks applied {}'s own gradients in the first step: average them, so that every rank's images count",
            group.name(whose)
        ));
    }
    let times =
        applied.iter().zip(&mean).map(|(g, mean)| g * mean).sum::<f64>() / mean.iter().map(|mean| mean * mean).sum::<f64>();
    if (times - group.np() as f64).abs() < 0.01 && is(&|place| times * mean[place], times.abs()) {
        return failed(format!(
            "all ranks applied the sum of their gradients in the first step, not the mean: divide by {}, the number of ranks",
            group.np()
        ));
    }
    match times.is_finite() && is(&|place| times * mean[place], times.abs()) {
        true => {
            failed(format!("all ranks applied {times:.3} times the mean of their gradients in the first step: apply the mean"))
        }
        false => failed("all ranks applied the same gradients in the first step, but not the mean of their own: average them"),
    }
}

/// Step 4: all ranks start from the root's weights, and hold the same ones at the end of every epoch.
pub fn weights(group: &Group) -> Finding {
    let root = group.root();
    let of = |moment, what: &str| group.all(what, |process| process.digests_of(moment).first().copied());
    let start = of(DigestMoment::StartParameters, "the weights that it starts from")?;
    let drawn = of(DigestMoment::InitialParameters, "the weights that it drew")?;
    let apart = group.differing(&start);
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

/// The first epoch at whose end some held other weights than the root, though all started from the same ones, and who.
fn drifted(group: &Group) -> Result<Option<(usize, Vec<usize>)>, Objection> {
    let start = group
        .all("the weights that it starts from", |process| process.digests_of(DigestMoment::StartParameters).first().copied())?;
    if !group.differing(&start).is_empty() {
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
        let mean =
            |pick: fn(&Metrics) -> f64| reports.iter().map(|report| pick(&report.validation)).sum::<f64>() / group.np() as f64;
        let wanted = Metrics { loss: mean(|metrics| metrics.loss), accuracy: mean(|metrics| metrics.accuracy) };
        for (process, report) in reports.iter().enumerate() {
            let found = report.judged();
            type Pick = fn(&Metrics) -> f64;
            let pairs: [(&str, Pick); 2] = [("loss", |metrics| metrics.loss), ("accuracy", |metrics| metrics.accuracy)];
            if let Some((name, pick)) = pairs.into_iter().find(|(_, pick)| !equal(pick(&found), pick(&wanted))) {
                let (found, wanted) = (pick(&found), pick(&wanted));
                let is_own = |of: usize, by: &EpochReport| near(pick(&by.judged()), pick(&reports[of].validation));
                let whose = (0..group.np()).find(|of| reports.iter().all(|by| is_own(*of, by)));
                let cause = match whose {
                    _ if near(found, wanted * group.np() as f64) => " but the sum: divide by the number of ranks".to_owned(),
                    Some(whose) => format!(" but {}'s own, on every rank: average instead of a broadcast", group.name(whose)),
                    None if is_own(process, report) => " but its own: average every metric".to_owned(),
                    None => String::new(),
                };
                return failed(format!(
                    "{} judged epoch {epoch} by a validation {name} of {found:.4}, which is not the mean over the ranks, \
                     {wanted:.4}{}",
                    group.name(process),
                    cause,
                ));
            }
        }
    }
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

fn equal(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * a.abs().max(b.abs())
}

/// The same number, though it may have travelled as an f32.
fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}
