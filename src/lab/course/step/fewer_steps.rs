//! Step 5: the ranks share the batches of an epoch.

use crate::course::check::group::{Group, because_strangers};
use crate::course::check::verdict::{Finding, Objection, failed};
use crate::course::check::{terms, watched};
use crate::course::contrast::{Contrast, Side};
use crate::domain::phase::Phase;
use crate::domain::schedule::{steps_per_epoch, validation_steps};
use crate::domain::units;
use std::collections::BTreeSet;

/// Step 5: the epoch is shared out, so that all ranks together see about as many images as there are.
pub fn check(group: &Group) -> Finding {
    let np = group.np;
    let configs = group.configs()?;
    let root = group.root();
    watched::goes_by(group, &["--epochs", "--batch-size"])?;
    // Ranks that train different numbers of batches wait for each other for ever, and come to no epoch's end.
    let planned: Vec<usize> = configs.iter().map(|config| config.steps_per_epoch).collect();
    if let Some(&apart) = group.differing(&planned).first() {
        return failed(format!(
            "{who} trains {batches} batches an epoch, and {root} {of_root}: divide by the number of all ranks, the \
             same on each, not by that of one host",
            who = group.name(apart),
            batches = planned[apart],
            root = group.name(root),
            of_root = planned[root]
        ));
    }
    let epochs = group.epochs()?;
    ended_last(group, &epochs)?;
    let (images, batch_size) = (configs[root].train_images, configs[root].local_batch_size);
    let whole = steps_per_epoch(images, batch_size, 1);
    let wanted = steps_per_epoch(images, batch_size, np);
    for &epoch in &epochs {
        // The steps of an epoch that went on from a commit were in part those of the attempt before.
        let before = if epoch == configs[root].resume_epoch + 1 { configs[root].resume_step } else { 0 };
        let expected = wanted.saturating_sub(before);
        let reports = group.all(terms::AN_EPOCH, |process| process.epoch(epoch))?;
        if let Some((process, report)) = reports.iter().enumerate().find(|(_, report)| report.batches != expected) {
            let cause = match report.batches {
                batches if batches == whole => ", the whole epoch",
                batches if batches == whole.div_ceil(np) => ", rounded up",
                batches if batches == (whole / np / np).max(1) => ", divided twice",
                _ => "",
            };
            let (who, batches, strangers) = (group.name(process), report.batches, because_strangers(group));
            return failed(format!(
                "{who} trained {batches} batches in epoch {epoch}{cause}: {np} ranks share {whole}, and {whole} / {np} rounded down \
                 is {wanted}{strangers}"
            ));
        }
        let trained =
            |process: usize| group.attempt.processes[&process].steps.iter().filter(|step| step.epoch + 1 == epoch).count();
        if let Some(process) = (0..np).find(|process| trained(*process) != expected) {
            return failed(format!(
                "{who} reports {expected} batches in epoch {epoch}, and trained {trained}",
                who = group.name(process),
                trained = trained(process)
            ));
        }
        let together: usize = reports.iter().map(|report| report.images).sum();
        let most = whole.max(np) * batch_size;
        if together > most {
            return failed(format!("all ranks together trained {together} images in epoch {epoch}, of {images}"));
        }
    }
    // From equal weights equal images give equal losses, and different ones never do all along.
    let losses =
        group.all(terms::A_STEP, |process| Some(process.steps.iter().map(|step| step.loss.to_bits()).collect::<Vec<_>>()))?;
    if let Some(twin) = group.others().find(|process| !losses[root].is_empty() && losses[*process] == losses[root]) {
        return failed(format!(
            "{who} had the same loss in every step: they trained on the same images, and nobody on the rest",
            who = group.names(&[root, twin])
        ));
    }
    if let Some(twins) = watched::twins(group) {
        return failed(format!(
            "{who} took the same images in every batch, and only their augmentation differs: give each rank its \
             own share, by its rank among all ranks",
            who = group.names(&twins)
        ));
    }
    validated(group)?;
    // An epoch of which a commit had a part is none to show.
    let is_whole = |epoch: &&usize| configs[root].resume_step == 0 || **epoch != configs[root].resume_epoch + 1;
    let shown = epochs.iter().find(is_whole).or(epochs.first()).copied().unwrap_or(1);
    let reports = group.all(terms::AN_EPOCH, |process| process.epoch(shown))?;
    let together: usize = reports.iter().map(|report| report.images).sum();
    Ok(format!("every rank trained {whole} / {np} = {wanted} batches an epoch, together {together} of {images} images"))
}

/// All ranks train to the last epoch, unless the target is reached.
fn ended_last(group: &Group, epochs: &BTreeSet<usize>) -> Result<(), Objection> {
    let root = group.root();
    let stops = group.attempt.processes.values().any(|process| process.early_stop.is_some());
    let (last, wanted) = (epochs.last().copied().unwrap_or(0), group.configs()?[root].epochs);
    if last < wanted && !stops && group.not_finished().is_none() {
        let (who, last) = (group.name(root), units::counted(last, "epoch"));
        return failed(format!(
            "{who} ended after {last}, and {wanted} were asked for: ranks share the batches of an epoch, and train all epochs"
        ));
    }
    Ok(())
}

/// The validation is shared out too, three times over. How many images there are is known once they are tested on.
fn validated(group: &Group) -> Result<(), Objection> {
    let configs = group.configs()?;
    let np = group.np;
    let tested = group.attempt.processes.values().filter_map(|process| process.test).map(|test| test.images).max();
    let Some(tested) = tested else { return Ok(()) };
    let images = group.spec.workload.validation_images.map_or(tested, |limit| limit.min(tested));
    let batch_size = configs[group.root()].local_batch_size;
    let whole = validation_steps(images, batch_size, None);
    let wanted = validation_steps(images, batch_size, Some(np));
    let Some((process, config)) = configs.iter().enumerate().find(|(_, config)| config.validation_steps != wanted) else {
        return Ok(());
    };
    let cause = match config.validation_steps {
        steps if steps == whole => ", the whole set once",
        steps if steps == (3 * whole).div_ceil(np) => ", rounded up",
        steps if steps == whole / np => ", a third of them",
        _ => "",
    };
    let (who, steps) = (group.name(process), config.validation_steps);
    failed(format!(
        "{who} validates on {steps} batches after each epoch{cause}: {np} ranks share three times {whole}, and 3 * {whole} / {np} \
         rounded down is {wanted}"
    ))
}

pub fn contrast(pair: [&Side; 2], found: &mut Contrast) {
    let batches = pair.map(|side| side.reports(1).first().map_or(0, |report| report.batches));
    let each = pair.map(|side| side.reports(1).first().map_or(0, |report| report.images));
    let together = pair.map(|side| side.reports(1).iter().map(|report| report.images).sum::<usize>());
    found.fact("batches an epoch", batches.map(|batches| batches.to_string()));
    found.fact("images, each rank", each.map(units::count));
    found.fact("images, together", together.map(units::count));
    if let [Some(before), Some(after)] = pair.map(|side| side.config().map(|config| config.validation_steps)) {
        found.fact("validation batches", [before, after].map(|steps| steps.to_string()));
    }
    let rates = pair.map(|side| {
        side.reports(1)
            .iter()
            .map(|report| report.images as f64 / report.phases[Phase::Training])
            .filter(|rate| rate.is_finite())
            .sum::<f64>()
    });
    found.fact("img/s, together", rates.map(units::rate));
    if together[0] > 0 && together[1] > 0 {
        let images = pair[1].config().map_or(0, |config| config.train_images);
        found.say(format!(
            "{} images per epoch against {}, of {} that there are: {}.",
            units::count(together[0]),
            units::count(together[1]),
            units::count(images),
            part(together[1] as f64 / together[0] as f64)
        ));
    }
    if let [Some(before), Some(after)] = pair.map(Side::training_seconds)
        && batches[0] > batches[1]
    {
        let ([before, after], [rate, rate_after]) = ([before, after].map(units::seconds), rates.map(units::rate));
        let [many, few] = batches;
        found.say(format!(
            "So training took {after} instead of {before}, at about the same images/s ({rate} and {rate_after}): no rank got faster, \
             each has less to do. There were also fewer updates, {few} an epoch instead of {many}, which costs accuracy until the \
             learning rate is scaled."
        ));
    }
}

/// `half the work`, `0.40 times the work`.
fn part(ratio: f64) -> String {
    let near = |whole: f64| (ratio * whole - 1.0).abs() < 0.05;
    match () {
        () if near(1.0) => "the same work".into(),
        () if near(2.0) => "half the work".into(),
        () if near(3.0) => "a third of the work".into(),
        () if near(4.0) => "a quarter of the work".into(),
        () => format!("{ratio:.2} times the work"),
    }
}
