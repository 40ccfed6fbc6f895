//! Steps 5, 7 and 10: how much every rank trains, who writes, and with which optimizer.
//!
//! Never opens a checkpoint: who wrote and read is in the events.

use super::group::{Group, because_strangers};
use super::seen;
use super::verdict::{Finding, Objection, failed, unclear};
use crate::domain::event::CheckpointAction;
use crate::domain::schedule::{steps_per_epoch, validation_steps};
use crate::domain::units;

/// Step 5: the epoch is shared out, so that all ranks together see about as many images as there are.
pub fn fewer_steps(group: &Group) -> Finding {
    let np = group.np();
    let configs = group.configs()?;
    let epochs = group.epochs()?;
    let root = group.root();
    let (images, batch_size) = (configs[root].train_images, configs[root].local_batch_size);
    let whole = steps_per_epoch(images, batch_size, 1);
    let wanted = steps_per_epoch(images, batch_size, np);
    for &epoch in &epochs {
        let reports = group.all("an epoch", |process| process.epoch(epoch))?;
        if let Some((process, report)) = reports.iter().enumerate().find(|(_, report)| report.batches != wanted) {
            let cause = match report.batches {
                batches if batches == whole => ", the whole epoch".to_owned(),
                batches if batches == whole.div_ceil(np) => ", rounded up".to_owned(),
                batches if batches == (whole / np / np).max(1) => ", divided twice".to_owned(),
                _ => String::new(),
            };
            return failed(format!(
                "{} trained {} batches in epoch {epoch}{cause}: {np} ranks share {whole}, and {whole} / {np} rounded down is \
                 {wanted}{}",
                group.name(process),
                report.batches,
                because_strangers(group),
            ));
        }
        let trained =
            |process: usize| group.attempt.processes[&process].steps.iter().filter(|step| step.epoch + 1 == epoch).count();
        if let Some(process) = (0..np).find(|process| trained(*process) != wanted) {
            return failed(format!(
                "{} reports {wanted} batches in epoch {epoch}, and trained {}",
                group.name(process),
                trained(process)
            ));
        }
        let together: usize = reports.iter().map(|report| report.images).sum();
        let most = whole.max(np) * batch_size;
        if together > most {
            return failed(format!("all ranks together trained {together} images in epoch {epoch}, of {images}"));
        }
    }
    // From equal weights equal images give equal losses, and different ones never do all along.
    let losses = group.all("a step", |process| Some(process.steps.iter().map(|step| step.loss.to_bits()).collect::<Vec<_>>()))?;
    if let Some(twin) = group.others().find(|process| !losses[root].is_empty() && losses[*process] == losses[root]) {
        return failed(format!(
            "{} had the same loss in every step: they trained on the same images, and nobody on the rest",
            group.names(&[root, twin])
        ));
    }
    if let Some(twins) = seen::twins(group) {
        return failed(format!(
            "{} took the same images in every batch, and only their augmentation differs: give each rank its own share, by its rank \
             among all ranks",
            group.names(&twins)
        ));
    }
    validated(group)?;
    let first = epochs.first().copied().unwrap_or(1);
    let reports = group.all("an epoch", |process| process.epoch(first))?;
    let together: usize = reports.iter().map(|report| report.images).sum();
    Ok(format!("every rank trained {whole} / {np} = {wanted} batches an epoch, together {together} of {images} images"))
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
        steps if steps == whole => ", the whole set once",
        steps if steps == (3 * whole).div_ceil(np) => ", rounded up",
        steps if steps == whole / np => ", a third of them",
        _ => "",
    };
    failed(format!(
        "{} validates on {} batches after each epoch{cause}: {np} ranks share three times {whole}, and 3 * {whole} / {np} rounded \
         down is {wanted}",
        group.name(process),
        config.validation_steps,
    ))
}

/// Step 7: the root alone writes and looks for checkpoints, and all go on from the same epoch.
pub fn checkpoint_on_root(group: &Group) -> Finding {
    if !group.spec.workload.checkpointing {
        return unclear("the run keeps no checkpoints: run it with --checkpointing");
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
        let too = if files(root, CheckpointAction::Written).next().is_some() { " too" } else { ", and rank 0 did not" };
        return failed(format!("{} wrote {name}{too}: write on rank 0 only{}", group.names(&writers), because_strangers(group)));
    }
    let watched = |process: usize| group.attempt.processes.get(&process).map(|process| process.watched.saved.as_slice());
    if let Some(process) = group.others().find(|process| watched(*process).is_some_and(|saved| !saved.is_empty())) {
        return failed(format!("{} wrote a checkpoint and did not report it: write on rank 0 only", group.name(process)));
    }
    let has_board = |process: &usize| group.attempt.processes.get(process).is_some_and(|process| process.watched.has_board);
    let boards: Vec<usize> = group.others().filter(has_board).collect();
    if !boards.is_empty() {
        return failed(format!(
            "{} wrote a file for TensorBoard too, and TensorBoard would mix it with that of rank 0: append TensorBoard on rank 0 only",
            group.names(&boards)
        ));
    }
    let resumed: Vec<usize> = configs.iter().map(|config| config.resume_epoch).collect();
    if let Some(&apart) = group.differing(&resumed).first() {
        return failed(format!(
            "{} went on from epoch {}, {} from epoch {}: broadcast the root's resume epoch",
            group.name(apart),
            resumed[apart],
            group.name(root),
            resumed[root]
        ));
    }
    let readers: Vec<usize> =
        group.others().filter(|process| files(*process, CheckpointAction::Loaded).next().is_some()).collect();
    if !readers.is_empty() {
        return failed(format!(
            "{} looked for a checkpoint by {}: let rank 0 look, and broadcast what it found",
            group.names(&readers),
            if readers.len() == 1 { "itself" } else { "themselves" }
        ));
    }
    let epochs = group.epochs()?;
    match files(root, CheckpointAction::Written).count() {
        // It is written after the epoch's end is reported.
        0 if epochs.len() == 1 && group.not_finished().is_some() => unclear("the first checkpoint is not written yet"),
        0 => failed(format!("nobody wrote a checkpoint in {} epochs: rank 0 has to", epochs.len())),
        written if group.topologies()?[root].is_watched && watched(root).is_none_or(<[usize]>::is_empty) => failed(format!(
            "{} reports {}, and the library wrote none: write with `resume::save`",
            group.name(root),
            units::counted(written, "checkpoint")
        )),
        written => Ok(format!(
            "rank 0 alone wrote {}, and all ranks {}",
            units::counted(written, "checkpoint"),
            match resumed[root] {
                0 => "began from the start".to_owned(),
                epoch => format!("went on after epoch {epoch}"),
            }
        )),
    }
}

/// Step 10: every rank uses NovoGrad.
pub fn novograd(group: &Group) -> Finding {
    let configs = group.configs()?;
    if let Some(process) = (0..group.np()).find(|process| !configs[*process].optimizer.eq_ignore_ascii_case("novograd")) {
        return failed(format!("{} trains with {}, not NovoGrad", group.name(process), configs[process].optimizer));
    }
    seen::novograd(group)?;
    group.epochs()?;
    Ok(match group.np() {
        1 => "the one rank trained with NovoGrad".into(),
        np => format!("all {np} ranks trained with NovoGrad"),
    })
}
