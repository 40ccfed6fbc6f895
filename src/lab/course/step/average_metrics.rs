//! Step 6: every rank judges by the mean over the ranks.

use crate::course::check::group::{Group, because_strangers};
use crate::course::check::numbers::{apart, near};
use crate::course::check::terms::{self, list};
use crate::course::check::verdict::{Finding, Objection, failed};
use crate::course::check::watched;
use crate::course::contrast::{Contrast, Side};
use crate::domain::event::{EpochReport, Metrics};
use crate::domain::history::Process;

/// Step 6: every rank judges by the mean over the ranks.
pub fn check(group: &Group) -> Finding {
    stop_together(group)?;
    let epochs = group.epochs()?;
    for &epoch in &epochs {
        let reports = group.all(terms::AN_EPOCH, |process| process.epoch(epoch))?;
        let averaged: Vec<usize> = (0..group.np).filter(|process| reports[*process].averaged.is_some()).collect();
        if averaged.len() < group.np {
            let alone: Vec<usize> = (0..group.np).filter(|process| !averaged.contains(process)).collect();
            // The accuracies of two who disagree say more than a missing average.
            let own: Vec<f64> = alone.iter().map(|process| reports[*process].judged().accuracy).collect();
            let its = if own.len() == 1 { "its" } else { "their" };
            let own: Vec<String> = own.iter().take(4).map(|accuracy| format!("{accuracy:.4}")).collect();
            return failed(format!(
                "{} judged epoch {epoch} by {its} own validation accuracy ({}): average the metrics on every rank{}",
                group.names(&alone),
                own.join(", "),
                because_strangers(group)
            ));
        }
        let mean = |of: fn(&EpochReport) -> Metrics| {
            let mean = |pick: fn(&Metrics) -> f64| reports.iter().map(|report| pick(&of(report))).sum::<f64>() / group.np as f64;
            Metrics { loss: mean(|metrics| metrics.loss), accuracy: mean(|metrics| metrics.accuracy) }
        };
        let (wanted, trained) = (mean(|report| report.validation), mean(|report| report.train));
        for (process, report) in reports.iter().enumerate() {
            let found = report.judged();
            type Pick = fn(&Metrics) -> f64;
            let pairs: [(&str, Pick); 2] = [("loss", |metrics| metrics.loss), ("accuracy", |metrics| metrics.accuracy)];
            if let Some((metric, pick)) = pairs.into_iter().find(|(_, pick)| !equal(pick(&found), pick(&wanted), group.np)) {
                let (found, wanted, trained) = (pick(&found), pick(&wanted), pick(&trained));
                let is_own = |of: usize, by: &EpochReport| near(pick(&by.judged()), pick(&reports[of].validation));
                let whose = (0..group.np).find(|of| reports.iter().all(|by| is_own(*of, by)));
                let cause = match whose {
                    _ if near(found, wanted * group.np as f64) => " but the sum: divide by the number of ranks",
                    Some(whose) => {
                        let whose = group.name(whose);
                        &format!(" but {whose}'s own, on every rank: average instead of a broadcast")
                    }
                    None if is_own(process, report) => " but its own: average every metric",
                    None if near(found, trained) => {
                        " but the mean over the training images: average what was measured on the validation images"
                    }
                    None => "",
                };
                let (who, [found, wanted]) = (group.name(process), apart(found, wanted));
                return failed(format!(
                    "{who} judged epoch {epoch} by a validation {metric} of {found}, which is not the mean over the ranks, \
                     {wanted}{cause}"
                ));
            }
        }
    }
    decisions(group)?;
    watched::goes_by(group, &["--target-accuracy", "--patience"])?;
    stops_at_target(group)?;
    tested(group)?;
    let last = epochs.last().copied().unwrap_or(0);
    let reports = group.all(terms::AN_EPOCH, |process| process.epoch(last))?;
    let own: Vec<f64> = reports.iter().map(|report| report.validation.accuracy).collect();
    Ok(format!(
        "all {np} ranks judged epoch {last} by the mean accuracy {mean:.4} (of {some})",
        np = own.len(),
        mean = reports[group.root()].judged().accuracy,
        some = list(own.iter().map(|accuracy| format!("{accuracy:.4}")))
    ))
}

/// The same mean of as many numbers. A program may well average float32, where each number and each sum is rounded.
fn equal(a: f64, b: f64, numbers: usize) -> bool {
    (a - b).abs() <= numbers.max(4) as f64 * f64::from(f32::EPSILON) * a.abs().max(b.abs())
}

pub fn contrast(pair: [&Side; 2], found: &mut Contrast) {
    let Some(epoch) = pair[0].last_epoch().min(pair[1].last_epoch()) else { return };
    let all = |pick: fn(&crate::domain::event::EpochReport) -> f64| {
        pair.map(|side| side.reports(epoch).into_iter().map(pick).collect::<Vec<f64>>())
    };
    let (own, judged) = (all(|report| report.validation.accuracy), all(|report| report.judged().accuracy));
    let words = |accuracies: &[f64]| list(accuracies.iter().map(|accuracy| format!("{accuracy:.4}")));
    found.fact("measured by each", [words(&own[0]), words(&own[1])]);
    found.fact("decided on", [words(&judged[0]), words(&judged[1])]);
    let spread = |accuracies: &[f64]| {
        accuracies.iter().copied().fold(f64::MIN, f64::max) - accuracies.iter().copied().fold(f64::MAX, f64::min)
    };
    let averaged = pair.map(|side| side.reports(epoch).iter().filter(|report| report.averaged.is_some()).count());
    if let ([_, _, ..], [mean, ..]) = (judged[0].as_slice(), judged[1].as_slice())
        && averaged == [0, pair[1].np()]
    {
        let apart = spread(&judged[0]);
        found.say(format!(
            "Before, each rank decides on its own result of epoch {epoch} ({}){}. After, all decide on {mean:.4}, the mean over the \
             ranks.",
            words(&judged[0]),
            if apart > 0.0 { format!(": they are {apart:.4} apart, and a target between them would stop one rank alone") } else { String::new() },
        ));
    }
    let weights = pair.map(|side| side.last_weights());
    if !weights[0].is_empty() && weights[0] == weights[1] {
        found.say("The weights are the same in both runs: this step changes what is measured, and not the training.".into());
    }
}

/// Every decision to stop early or to go on was taken on the mean over the ranks.
pub fn decisions(group: &Group) -> Result<(), Objection> {
    for (process, of) in group.processes() {
        for (report, (accuracy, _)) in of.epochs.iter().zip(&of.observed.decisions) {
            let Some(mean) = report.averaged else { continue };
            let own = report.validation.accuracy;
            if near(*accuracy, own) && !near(own, mean.accuracy) {
                let (who, epoch, [own, mean]) = (group.name(process), report.epoch, apart(own, mean.accuracy));
                return failed(format!(
                    "{who} decided after epoch {epoch} by its own validation accuracy of {own} whether to stop, not by the mean of \
                     {mean}: average first, then decide"
                ));
            }
        }
    }
    Ok(())
}

/// No rank trained on after the mean accuracy had been above the target for long enough.
pub fn stops_at_target(group: &Group) -> Result<(), Objection> {
    let asked = &group.spec.workload;
    for (process, of) in group.processes() {
        let mut above = 0;
        for pair in of.epochs.windows(2) {
            let [report, next] = pair else { continue };
            let Some(mean) = report.averaged else { break };
            above = if mean.accuracy > asked.target_accuracy { above + 1 } else { 0 };
            if above >= asked.patience.max(1) {
                let [mean, target] = apart(mean.accuracy, asked.target_accuracy);
                let again = if above > 1 { format!(" for the {above}th time") } else { String::new() };
                return failed(format!(
                    "after epoch {} the mean accuracy of {mean} was above the target of {target}{again}, and {} trained epoch {} all \
                     the same: stop at the target (StopAtAccuracy in Python, EarlyStop in Rust), behind the average",
                    report.epoch,
                    group.name(process),
                    next.epoch
                ));
            }
        }
    }
    Ok(())
}

/// Every process that ended well has tested its model.
pub fn tested(group: &Group) -> Result<(), Objection> {
    match group.processes().find(|(_, process)| process.has_finished && process.test.is_none()) {
        None => Ok(()),
        Some((process, _)) => failed(format!(
            "{who} ended without a test on the test images: keep the test at the end of the program \
             (model.evaluate in Python, final_test in Rust)",
            who = group.name(process)
        )),
    }
}

/// All ranks stopped early after the same epoch, or none did.
pub fn stop_together(group: &Group) -> Result<(), Objection> {
    let stopped = group.processes().find_map(|(index, process)| Some((index, process.early_stop?)));
    let Some((process, epoch)) = stopped else { return Ok(()) };
    // While a run is going on, the word of another rank may be on its way.
    let is_told = |other: &Process| {
        let has_begun_another = other.steps.last().is_some_and(|step| step.epoch >= epoch);
        has_begun_another || other.has_finished || !group.attempt.fatal.is_empty()
    };
    let goes_on = |other: &Process| other.epoch(epoch).is_some() && other.early_stop != Some(epoch) && is_told(other);
    match group.processes().find(|(_, other)| goes_on(other)) {
        None => Ok(()),
        Some((other, _)) => failed(format!(
            "{who} stopped early after epoch {epoch}, and {other} went on, so each decided alone: average the \
             metrics first, then decide once for all ranks with `EarlyStop::agreed`",
            who = group.name(process),
            other = group.name(other)
        )),
    }
}
