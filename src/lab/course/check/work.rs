//! Steps 5, 7 and 10: how much every rank trains, who writes, and with which optimizer.
//!
//! Never opens a checkpoint: who wrote and read is in the events.

use std::collections::BTreeSet;

use super::group::{Group, because_strangers};
use super::seen;
use super::verdict::{Finding, Objection, failed, unclear};
use super::words::group as told;
use super::words::work::{self as words, Cause, Share};
use crate::domain::event::CheckpointAction;
use crate::domain::schedule::{steps_per_epoch, validation_steps};

/// Step 5: the epoch is shared out, so that all ranks together see about as many images as there are.
pub fn fewer_steps(group: &Group) -> Finding {
    let np = group.np();
    let configs = group.configs()?;
    let root = group.root();
    seen::goes_by(group, &["--epochs", "--batch-size"])?;
    // Ranks that train different numbers of batches wait for each other for ever, and come to no epoch's end.
    let planned: Vec<usize> = configs.iter().map(|config| config.steps_per_epoch).collect();
    if let Some(&apart) = group.differing(&planned).first() {
        return failed(words::other_plan(&group.name(apart), planned[apart], &group.name(root), planned[root]));
    }
    let epochs = group.epochs()?;
    ended_last(group, &epochs)?;
    let (images, batch_size) = (configs[root].train_images, configs[root].local_batch_size);
    let whole = steps_per_epoch(images, batch_size, 1);
    let wanted = steps_per_epoch(images, batch_size, np);
    let share = Share { np, whole, wanted };
    let whole_epoch = wanted;
    for &epoch in &epochs {
        // The steps of an epoch that went on from a commit were in part those of the attempt before.
        let before = if epoch == configs[root].resume_epoch + 1 { configs[root].resume_step } else { 0 };
        let wanted = whole_epoch.saturating_sub(before);
        let reports = group.all(told::AN_EPOCH, |process| process.epoch(epoch))?;
        if let Some((process, report)) = reports.iter().enumerate().find(|(_, report)| report.batches != wanted) {
            let cause = match report.batches {
                batches if batches == whole => Cause::Whole,
                batches if batches == whole.div_ceil(np) => Cause::RoundedUp,
                batches if batches == (whole / np / np).max(1) => Cause::DividedTwice,
                _ => Cause::Unknown,
            };
            let (who, strangers) = (group.name(process), because_strangers(group));
            return failed(words::other_batches(&who, (report.batches, epoch), cause, share, &strangers));
        }
        let trained =
            |process: usize| group.attempt.processes[&process].steps.iter().filter(|step| step.epoch + 1 == epoch).count();
        if let Some(process) = (0..np).find(|process| trained(*process) != wanted) {
            return failed(words::reported_more(&group.name(process), wanted, epoch, trained(process)));
        }
        let together: usize = reports.iter().map(|report| report.images).sum();
        let most = whole.max(np) * batch_size;
        if together > most {
            return failed(words::too_many_images(together, epoch, images));
        }
    }
    // From equal weights equal images give equal losses, and different ones never do all along.
    let losses =
        group.all(told::A_STEP, |process| Some(process.steps.iter().map(|step| step.loss.to_bits()).collect::<Vec<_>>()))?;
    if let Some(twin) = group.others().find(|process| !losses[root].is_empty() && losses[*process] == losses[root]) {
        return failed(words::same_losses(&group.names(&[root, twin])));
    }
    if let Some(twins) = seen::twins(group) {
        return failed(words::same_images(&group.names(&twins)));
    }
    validated(group)?;
    // An epoch of which a commit had a part is none to show.
    let is_whole = |epoch: &&usize| configs[root].resume_step == 0 || **epoch != configs[root].resume_epoch + 1;
    let shown = epochs.iter().find(is_whole).or(epochs.first()).copied().unwrap_or(1);
    let reports = group.all(told::AN_EPOCH, |process| process.epoch(shown))?;
    let together: usize = reports.iter().map(|report| report.images).sum();
    Ok(words::shared(share, together, images))
}

/// Nobody ends before the last epoch, but where the target is reached.
fn ended_last(group: &Group, epochs: &BTreeSet<usize>) -> Result<(), Objection> {
    let root = group.root();
    let stops = group.attempt.processes.values().any(|process| process.early_stop.is_some());
    let (last, wanted) = (epochs.last().copied().unwrap_or(0), group.configs()?[root].epochs);
    match last < wanted && !stops && group.not_finished().is_none() {
        true => failed(words::fewer_epochs(&group.name(root), last, wanted)),
        false => Ok(()),
    }
}

/// The validation is shared out too, three times over. How many images there are is known once they are tested on.
fn validated(group: &Group) -> Result<(), Objection> {
    let configs = group.configs()?;
    let np = group.np();
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
        steps if steps == whole => Cause::Once,
        steps if steps == (3 * whole).div_ceil(np) => Cause::RoundedUp,
        steps if steps == whole / np => Cause::Third,
        _ => Cause::Unknown,
    };
    failed(words::other_validation(&group.name(process), config.validation_steps, cause, Share { np, whole, wanted }))
}

/// Step 7: the root alone writes and looks for checkpoints, and all go on from the same epoch.
pub fn checkpoint_on_root(group: &Group) -> Finding {
    if !group.spec.workload.checkpointing {
        return unclear(words::NO_CHECKPOINTS);
    }
    let configs = group.configs()?;
    let root = group.root();
    let files = |process: usize, action| {
        let of = group.attempt.processes.get(&process);
        of.into_iter().flat_map(move |process| process.checkpoints.iter().filter(move |file| file.action == action))
    };
    let writers: Vec<usize> =
        group.others().filter(|process| files(*process, CheckpointAction::Written).next().is_some()).collect();
    if let Some(file) = writers.first().and_then(|process| files(*process, CheckpointAction::Written).next()) {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let root_too = files(root, CheckpointAction::Written).next().is_some();
        return failed(words::wrote(&group.names(&writers), name, root_too, &because_strangers(group)));
    }
    let watched = |process: usize| group.attempt.processes.get(&process).map(|process| process.watched.saved.as_slice());
    if let Some(process) = group.others().find(|process| watched(*process).is_some_and(|saved| !saved.is_empty())) {
        return failed(words::wrote_in_secret(&group.name(process)));
    }
    let has_board = |process: &usize| group.attempt.processes.get(process).is_some_and(|process| process.watched.has_board);
    let boards: Vec<usize> = group.others().filter(has_board).collect();
    if !boards.is_empty() {
        return failed(words::wrote_for_tensorboard(&group.names(&boards)));
    }
    let resumed: Vec<usize> = configs.iter().map(|config| config.resume_epoch).collect();
    if let Some(&apart) = group.differing(&resumed).first() {
        let (who, from) = (group.name(apart), resumed[apart]);
        return failed(words::went_on_from_another(&who, from, &group.name(root), resumed[root]));
    }
    let readers: Vec<usize> =
        group.others().filter(|process| files(*process, CheckpointAction::Loaded).next().is_some()).collect();
    if !readers.is_empty() {
        return failed(words::looked_by_itself(&group.names(&readers), readers.len() == 1));
    }
    let epochs = group.epochs()?;
    goes_on(group, resumed[root])?;
    seen::goes_by(group, &["--log-dir"])?;
    match files(root, CheckpointAction::Written).count() {
        // It is written after the epoch's end is reported.
        0 if epochs.len() == 1 && group.not_finished().is_some() => unclear(words::NOT_WRITTEN_YET),
        0 => failed(words::nobody_wrote(epochs.len())),
        written if group.topologies()?[root].is_watched && watched(root).is_none_or(<[usize]>::is_empty) => {
            failed(words::reported_and_not_written(&group.name(root), written))
        }
        written => Ok(words::root_alone_wrote(written, resumed[root])),
    }
}

/// Training goes on from the checkpoint that the root found, and the root looks for one.
fn goes_on(group: &Group, resumed: usize) -> Result<(), Objection> {
    let root = group.root();
    let found = group.attempt.processes.get(&root).into_iter().flat_map(|process| &process.checkpoints);
    // What is loaded later may be for the test.
    let found: Vec<_> = found.take_while(|file| file.action != CheckpointAction::Written).collect();
    let of = |action| found.iter().rfind(|file| file.action == action);
    let loaded = of(CheckpointAction::Loaded);
    if let Some(loaded) = loaded.filter(|loaded| loaded.epoch != resumed) {
        return failed(words::went_on_elsewhere(&group.name(root), loaded.epoch, resumed));
    }
    let written = group.before.iter().flat_map(|attempt| attempt.processes.values()).flat_map(|process| &process.checkpoints);
    let written = written.filter(|file| file.action == CheckpointAction::Written).map(|file| file.epoch).max();
    match written {
        Some(written) if resumed == 0 && loaded.is_none() && of(CheckpointAction::Refused).is_none() => {
            failed(words::never_looked(written))
        }
        _ => Ok(()),
    }
}

/// Step 10: every rank uses NovoGrad.
pub fn novograd(group: &Group) -> Finding {
    let configs = group.configs()?;
    if let Some(process) = (0..group.np()).find(|process| !configs[*process].optimizer.eq_ignore_ascii_case("novograd")) {
        return failed(words::another_optimizer(&group.name(process), &configs[process].optimizer));
    }
    seen::novograd(group)?;
    group.epochs()?;
    Ok(words::all_with_novograd(group.np()))
}
