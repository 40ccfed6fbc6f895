//! Checkpoints of a training: what goes into one, and how training resumes from it.
//!
//! Batch norm statistics are each rank's own (as in Horovod, they are not averaged), so a checkpoint holds those of all
//! ranks: with the root's alone, a resumed run would validate a little differently than one that never stopped.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tch::Tensor;
use zerocopy::IntoBytes as _;

use super::checkpoint::{self, Checkpoint, Reason};
use super::config::Config;
use super::evidence;
use super::model::Model;
use super::optimizer::Optimizer;
use super::params::{FlatTensors, Segment, set, to_vec};
use super::report::Reporter;
use crate::comm::{CommError, Communicator, allgather_json, allgather_numbers, from_bytes, launched_index};
use crate::domain::bounds::MAX_RANKS;
use crate::domain::event::{CheckpointReport, EpochReport, Event, Observation, ProcessEpoch};
use crate::domain::step::StepSet;
use crate::domain::topology::{ROOT_RANK, Topology};

/// Batch norm statistics of every rank, one row a rank: the one tensor whose shape depends on the number of ranks.
const STATISTICS: &str = "statistics.all_ranks";
/// Metadata: epochs in a row, up to this one, that met the target accuracy.
const EPOCHS_AT_TARGET: &str = "epochs_at_target";
/// Metadata: what each rank reported of the last epochs, and is going to report of this one. What is killed right after the file
/// is written never does.
const REPORTS: &str = "reports";
/// Epochs whose reports a checkpoint holds: more than ranks can train before they notice that nobody reads them any more.
const REPORTED_EPOCHS: usize = 16;
/// Metadata of a commit: how far its epoch had come.
const COMMIT: &str = "commit";
/// Before the names of settings in the metadata.
const SETTING: &str = "setting.";

/// How far training has come: what a checkpoint held, or is about to hold.
#[derive(Default)]
pub struct ResumeState {
    /// Epochs already trained; 0 for a fresh start.
    pub epoch: usize,
    /// Batch norm statistics, one row a rank.
    pub statistics: Vec<Vec<f32>>,
    pub reports: EpochReports,
    /// Where it was written within the next epoch.
    pub commit: Option<MidEpoch>,
    /// What it was trained with, setting by setting, where its program says so. Only the root knows those of a file.
    pub settings: BTreeMap<String, String>,
}

/// How far an epoch had come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MidEpoch {
    /// Images of the epoch that all ranks together have trained.
    pub images: usize,
    /// Seconds of training since the epoch began.
    pub seconds: f64,
    /// Numbers that each rank had drawn: for the augmentation, and for dropout.
    pub drawn: Vec<[u64; 2]>,
}

/// What is known of the last epochs, in this run and those that it resumed from: what every rank reported, and what came of it.
#[derive(Clone, Default)]
pub struct EpochReports {
    /// The epoch that this run resumed from.
    since: usize,
    /// Oldest epoch first.
    all: Vec<ProcessEpoch>,
    /// Epochs in a row that met the target accuracy, up to the last one.
    pub epochs_at_target: usize,
}

impl EpochReports {
    /// How far training has come at the end of this epoch, as the checkpoint of it holds it.
    ///
    /// # Collective
    /// Every rank calls it, before the root alone writes.
    ///
    /// # Errors
    /// As for every collective, see [`Communicator`].
    pub fn gather(
        &mut self,
        comm: &dyn Communicator,
        model: &dyn Model,
        ended: &EpochReport,
        epochs_at_target: usize,
    ) -> Result<ResumeState, CommError> {
        let statistics = gather_statistics(comm, model)?;
        self.take(comm, ended)?;
        self.epochs_at_target = epochs_at_target;
        Ok(ResumeState { epoch: ended.epoch, statistics, reports: self.clone(), ..ResumeState::default() })
    }

    /// Take what every rank is going to report of the epoch that has just ended.
    fn take(&mut self, comm: &dyn Communicator, report: &EpochReport) -> Result<(), CommError> {
        let own = ProcessEpoch { process: launched_index(), since: Some(self.since), report: report.clone() };
        let ended = allgather_json(comm, &own)?;
        self.all.retain(|known| known.report.epoch + REPORTED_EPOCHS > report.epoch);
        self.all.extend(ended.into_iter().flatten());
        Ok(())
    }

    /// Those of a checkpoint. Older trainers wrote none.
    fn of(loaded: &Checkpoint) -> EpochReports {
        let all = loaded.metadata.get(REPORTS).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let at_target: usize = loaded.metadata.get(EPOCHS_AT_TARGET).and_then(|count| count.parse().ok()).unwrap_or(0);
        EpochReports { since: loaded.epoch, all, epochs_at_target: at_target.min(loaded.epoch) }
    }

    /// Tell them again, epoch by epoch.
    fn tell(&self, report: &Reporter) {
        let of_an_epoch = self.all.chunk_by(|one, next| one.report.epoch == next.report.epoch);
        of_an_epoch.for_each(|epochs| report.event(Event::Restored { epochs: epochs.to_vec() }));
    }
}

impl ResumeState {
    /// The root's state, on every rank.
    ///
    /// # Horovod
    /// `resume_from_epoch = hvd.broadcast(resume_from_epoch, 0)`.
    ///
    /// # Collective
    /// Every rank calls it.
    ///
    /// # Errors
    /// As for every collective, see [`Communicator`].
    pub fn broadcast(self, comm: &dyn Communicator) -> Result<ResumeState, CommError> {
        let place = (self.epoch, self.reports.epochs_at_target, self.statistics.len(), &self.commit);
        // Numbers only: writing them cannot fail.
        let mut place = serde_json::to_vec(&place).unwrap_or_default();
        comm.broadcast_bytes(&mut place, ROOT_RANK)?;
        let mut rows = self.statistics.concat().as_bytes().to_vec();
        comm.broadcast_bytes(&mut rows, ROOT_RANK)?;
        let Ok((epoch, epochs_at_target, ranks, commit)) = serde_json::from_slice(&place) else { return Ok(self) };
        let reports = EpochReports { since: epoch, epochs_at_target, ..self.reports };
        Ok(ResumeState { epoch, statistics: split(&from_bytes(&rows), ranks), reports, commit, ..self })
    }

    /// What is trained with other settings than the checkpoint was, in one sentence. Older files name no settings.
    pub fn changed(&self, now: &BTreeMap<String, String>) -> Option<String> {
        let other = |(name, now): (&String, &String)| {
            let before = self.settings.get(name).filter(|before| *before != now)?;
            Some(format!("{name} was {before} and is {now} now"))
        };
        let changed: Vec<String> = now.iter().filter_map(other).collect();
        (!changed.is_empty()).then(|| format!("the checkpoint was trained otherwise: {}", changed.join("; ")))
    }

    /// Put this rank's own statistics back, where the checkpoint is of a run of the same size.
    pub fn restore_statistics(&self, topology: &Topology, model: &mut dyn Model) {
        let rows = &self.statistics;
        let same_size = rows.len() == topology.size.0;
        if let Some(row) = rows.get(topology.rank.0).filter(|row| same_size && row.len() == model.buffers().len()) {
            model.buffers_mut().set(row);
        }
    }
}

/// Load the newest usable checkpoint of at most `config.epochs` epochs into model and optimizer.
///
/// Refused files are reported by name, and the one before is taken. What a killed writer left behind is removed.
pub fn load_latest(config: &Config, report: &Reporter, model: &mut dyn Model, optimizer: &mut dyn Optimizer) -> ResumeState {
    load_from(&config.log_dir, config.epochs, report, model, optimizer)
}

/// The same of a folder and a number of epochs, or of steps where these are what the checkpoints in it count.
pub fn load_from(
    folder: &Path,
    up_to: usize,
    report: &Reporter,
    model: &mut dyn Model,
    optimizer: &mut dyn Optimizer,
) -> ResumeState {
    checkpoint::sweep(folder);
    let (loaded, refused) =
        checkpoint::latest(folder, up_to, most_bytes(model, optimizer), |loaded| fits(loaded, model, optimizer));
    refused.iter().for_each(|refused| report.checkpoint(refused.report()));
    let Some((loaded, file)) = loaded else {
        if !refused.is_empty() {
            report.warning(&format!("none of the checkpoints in {} can be used: training begins from scratch", folder.display()));
        }
        return ResumeState::default();
    };
    report.checkpoint(file);
    // It fits, so every tensor is there and of the right size.
    let line = |name: &str| Tensor::from_slice(&loaded.tensors[name].1);
    for (group, flat) in [("model", model.params()), ("buffer", model.buffers())] {
        for segment in &flat.segments {
            let dense = line(&format!("{group}.{}", segment.name)).view(&segment.shape[..]);
            tch::no_grad(|| segment.view(&flat.flat).copy_(&dense));
        }
    }
    for (name, state) in optimizer.state() {
        set(state, &loaded.tensors[&format!("optimizer.{name}")].1);
    }
    let statistics = loaded.tensors.get(STATISTICS).map(|(shape, values)| split(values, shape[0])).unwrap_or_default();
    let reports = EpochReports::of(&loaded);
    reports.tell(report);
    let commit = loaded.metadata.get(COMMIT).and_then(|text| serde_json::from_str(text).ok());
    let commit = commit.filter(|commit: &MidEpoch| loaded.images > 0 && commit.images == loaded.images);
    let setting = |(key, value): (&String, &String)| Some((key.strip_prefix(SETTING)?.to_owned(), value.clone()));
    let settings = loaded.metadata.iter().filter_map(setting).collect();
    ResumeState { epoch: loaded.epoch, statistics, reports, commit, settings }
}

/// More than any checkpoint of this training has: weights, optimizer, the statistics of as many ranks as there can be, and the
/// reports of each.
fn most_bytes(model: &dyn Model, optimizer: &mut dyn Optimizer) -> u64 {
    const BYTES_OF_A_REPORT: u64 = 4096;
    let state: usize = optimizer.state().iter().map(|(_, state)| state.numel()).sum();
    let ranks = MAX_RANKS as u64;
    let tensors = 4 * (model.params().len() + state) as u64 + 4 * ranks * model.buffers().len() as u64;
    2 * tensors + ranks * REPORTED_EPOCHS as u64 * BYTES_OF_A_REPORT
}

/// Every rank's batch norm statistics.
///
/// # Collective
/// Every rank calls it, before the root alone writes.
///
/// # Errors
/// As for every collective, see [`Communicator`].
pub(super) fn gather_statistics(comm: &dyn Communicator, model: &dyn Model) -> Result<Vec<Vec<f32>>, CommError> {
    allgather_numbers(comm, &model.buffers().to_vec())
}

/// Write the checkpoint of `so_far.epoch`: the state at the end of that epoch.
///
/// # Errors
/// If it cannot be written; earlier checkpoints are untouched.
pub fn save(
    config: &Config,
    so_far: ResumeState,
    model: &dyn Model,
    optimizer: &mut dyn Optimizer,
) -> Result<CheckpointReport, checkpoint::SaveError> {
    save_to(&config.log_dir, (config.steps, config.seed), so_far, model, optimizer)
}

/// The same into a folder; `by` is the steps and the seed that the file says it was trained with.
///
/// # Errors
/// If it cannot be written; earlier checkpoints are untouched.
pub fn save_to(
    folder: &Path,
    by: (StepSet, u64),
    so_far: ResumeState,
    model: &dyn Model,
    optimizer: &mut dyn Optimizer,
) -> Result<CheckpointReport, checkpoint::SaveError> {
    let written = checkpoint::save(folder, &contents(by, so_far, model, optimizer))?;
    evidence::tell(|| Observation::Saved { epoch: written.epoch });
    Ok(written)
}

/// A copy of the state that a file holds. `by` is as in [`save_to`].
pub(super) fn contents(by: (StepSet, u64), so_far: ResumeState, model: &dyn Model, optimizer: &mut dyn Optimizer) -> Checkpoint {
    let mut tensors = named("model", model.params());
    tensors.extend(named("buffer", model.buffers()));
    tensors.extend(
        optimizer.state().into_iter().map(|(name, state)| (format!("optimizer.{name}"), (vec![state.numel()], to_vec(state)))),
    );
    let ResumeState { statistics: rows, reports, settings, commit, .. } = so_far;
    tensors.insert(STATISTICS.to_owned(), (vec![rows.len(), model.buffers().len()], rows.concat()));
    let mut metadata = BTreeMap::from([(EPOCHS_AT_TARGET.to_owned(), reports.epochs_at_target.to_string())]);
    metadata.extend(settings.into_iter().map(|(name, value)| (format!("{SETTING}{name}"), value)));
    if !reports.all.is_empty() {
        metadata.insert(REPORTS.to_owned(), serde_json::to_string(&reports.all).unwrap_or_default());
    }
    if let Some(commit) = &commit {
        metadata.insert(COMMIT.to_owned(), serde_json::to_string(commit).unwrap_or_default());
    }
    Checkpoint {
        epoch: so_far.epoch,
        images: commit.map_or(0, |commit| commit.images),
        steps: by.0.to_string(),
        seed: by.1,
        model: model.name(),
        optimizer: optimizer.name().to_owned(),
        tensors,
        metadata,
    }
}

/// Step 7 off: what became of the one file that every rank wrote.
///
/// # Collective
/// Every rank calls it, so that all have written before any reads.
///
/// # Errors
/// As for every collective, see [`Communicator`].
pub fn inspect_shared_file(config: &Config, comm: &dyn Communicator, epoch: usize) -> Result<CheckpointReport, CommError> {
    comm.barrier()?;
    Ok(checkpoint::inspect(&config.log_dir, epoch))
}

/// Why training cannot resume from a whole checkpoint, if so.
fn fits(loaded: &Checkpoint, model: &dyn Model, optimizer: &mut dyn Optimizer) -> Result<(), Reason> {
    shapes_fit(loaded, model, optimizer).map_err(Reason::Mismatch)?;
    match loaded.tensors.iter().find(|(_, (_, values))| !values.iter().all(|value| value.is_finite())) {
        Some((name, _)) => Err(Reason::NoNumbers(name.clone())),
        None => Ok(()),
    }
}

fn shapes_fit(loaded: &Checkpoint, model: &dyn Model, optimizer: &mut dyn Optimizer) -> Result<(), String> {
    let names = [("model", &loaded.model, model.name()), ("optimizer", &loaded.optimizer, optimizer.name().to_owned())];
    for (what, theirs, ours) in names {
        if *theirs != ours {
            return Err(format!("it is of the {what} {theirs}, this run uses {ours}"));
        }
    }
    let mut wanted = BTreeMap::new();
    for (group, flat) in [("model", model.params()), ("buffer", model.buffers())] {
        wanted.extend(flat.segments.iter().map(|segment| (format!("{group}.{}", segment.name), segment.dims())));
    }
    wanted.extend(optimizer.state().into_iter().map(|(name, state)| (format!("optimizer.{name}"), vec![state.numel()])));
    for (name, shape) in &wanted {
        match loaded.tensors.get(name) {
            Some((found, _)) if found == shape => {}
            Some((found, _)) => return Err(format!("`{name}` has the shape {found:?}, not {shape:?}")),
            None => return Err(format!("it has no `{name}`")),
        }
    }
    // One row a rank, of however many; older files may have none.
    let columns = model.buffers().len();
    match loaded.tensors.get(STATISTICS) {
        Some((shape, _)) if !matches!(shape[..], [ranks, found] if ranks <= MAX_RANKS && found == columns) => {
            Err(format!("`{STATISTICS}` has the shape {shape:?}, not [ranks, {columns}]"))
        }
        _ => Ok(()),
    }
}

/// Shape and numbers of all tensors by full name, row-major whatever their order in memory.
fn named(group: &str, flat: &FlatTensors) -> BTreeMap<String, (Vec<usize>, Vec<f32>)> {
    let entry = |(segment, values): (&Segment, Vec<f32>)| (format!("{group}.{}", segment.name), (segment.dims(), values));
    flat.segments.iter().zip(flat.rows()).map(entry).collect()
}

fn split(values: &[f32], rows: usize) -> Vec<Vec<f32>> {
    values.chunks((values.len() / rows.max(1)).max(1)).map(<[f32]>::to_vec).collect()
}

#[cfg(test)]
mod tests;
