//! Checkpoints of a training: what goes into one, and how training goes on from it.
//!
//! Batch norm statistics are each rank's own (as in Horovod, they are not averaged), so a checkpoint holds those of all
//! ranks: with the root's alone, a resumed run would validate a little differently than one that never stopped.

use std::collections::BTreeMap;

use tch::Tensor;

use super::checkpoint::{self, Checkpoint};
use super::config::Config;
use super::model::Model;
use super::optimizer::Optimizer;
use super::params::{FlatTensors, Segment, set, to_vec};
use super::report::Reporter;
use crate::comm::{CommError, Communicator};
use crate::domain::event::{CheckpointAction, CheckpointReport};
use crate::domain::topology::{ROOT_RANK, Topology};

/// Batch norm statistics of every rank, one row a rank: the one tensor whose shape depends on the number of ranks.
const STATISTICS: &str = "statistics.all_ranks";
/// Metadata: epochs in a row, up to this one, that met the target accuracy.
const EPOCHS_AT_TARGET: &str = "epochs_at_target";

/// How far training has come: what a checkpoint held, or is about to hold.
#[derive(Default)]
pub struct ResumeState {
    /// Epochs already trained; 0 for a fresh start.
    pub epoch: usize,
    /// Epochs in a row that met the target accuracy so far.
    pub epochs_at_target: usize,
    /// Batch norm statistics of all ranks, one row a rank.
    pub statistics: Vec<Vec<f32>>,
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
        let numbers = [self.epoch, self.epochs_at_target, self.statistics.len()];
        let mut message: Vec<u8> = numbers.iter().flat_map(|&number| (number as u64).to_le_bytes()).collect();
        comm.broadcast_bytes(&mut message, ROOT_RANK)?;
        let numbers: Vec<usize> = message
            .chunks_exact(8)
            .map(|bytes| bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
            .collect();
        let mut rows = bytes(&self.statistics.concat());
        comm.broadcast_bytes(&mut rows, ROOT_RANK)?;
        Ok(match numbers[..] {
            [epoch, epochs_at_target, ranks] => ResumeState { epoch, epochs_at_target, statistics: split(&floats(&rows), ranks) },
            _ => self,
        })
    }

    /// Put this rank's own statistics back, where the checkpoint is of a run of the same size.
    pub fn restore_statistics(&self, topology: &Topology, model: &mut dyn Model) {
        let same_size = self.statistics.len() == topology.size.0;
        if let Some(row) = self.statistics.get(topology.rank.0).filter(|row| same_size && row.len() == model.buffers().len()) {
            model.buffers_mut().set(row);
        }
    }
}

/// Load the newest usable checkpoint of at most `config.epochs` epochs into model and optimizer.
///
/// Refused files are reported by name, and the one before is taken.
pub fn load_latest(config: &Config, report: &Reporter, model: &mut dyn Model, optimizer: &mut dyn Optimizer) -> ResumeState {
    let (loaded, refused) = checkpoint::latest(&config.log_dir, config.epochs, |loaded| fits(loaded, model, optimizer));
    refused.iter().for_each(|refused| report.checkpoint(refused.report()));
    let Some((loaded, file)) = loaded else { return ResumeState::default() };
    report.checkpoint(file.report(CheckpointAction::Loaded));
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
    let epochs_at_target = loaded.metadata.get(EPOCHS_AT_TARGET).and_then(|count| count.parse().ok()).unwrap_or(0);
    ResumeState { epoch: loaded.epoch, epochs_at_target, statistics }
}

/// Every rank's batch norm statistics.
///
/// # Collective
/// Every rank calls it, before the root alone writes.
///
/// # Errors
/// As for every collective, see [`Communicator`].
pub fn gather_statistics(comm: &dyn Communicator, model: &dyn Model) -> Result<Vec<Vec<f32>>, CommError> {
    Ok(comm.allgather(&bytes(&model.buffers().to_vec()))?.iter().map(|row| floats(row)).collect())
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
    let mut tensors = named("model", model.params());
    tensors.extend(named("buffer", model.buffers()));
    tensors.extend(
        optimizer.state().into_iter().map(|(name, state)| (format!("optimizer.{name}"), (vec![state.numel()], to_vec(state)))),
    );
    let shape = vec![so_far.statistics.len(), model.buffers().len()];
    tensors.insert(STATISTICS.to_owned(), (shape, so_far.statistics.concat()));
    let written = checkpoint::save(
        &config.log_dir,
        &Checkpoint {
            epoch: so_far.epoch,
            steps: config.steps.to_string(),
            seed: config.seed,
            model: model.name(),
            optimizer: optimizer.name().to_owned(),
            tensors,
            metadata: BTreeMap::from([(EPOCHS_AT_TARGET.to_owned(), so_far.epochs_at_target.to_string())]),
        },
    )?;
    Ok(written.report(CheckpointAction::Written))
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

/// Why training cannot go on from a whole checkpoint, if so.
fn fits(loaded: &Checkpoint, model: &dyn Model, optimizer: &mut dyn Optimizer) -> Result<(), String> {
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
    Ok(())
}

/// Shape and numbers of all tensors by full name, row-major whatever their order in memory.
fn named(group: &str, flat: &FlatTensors) -> BTreeMap<String, (Vec<usize>, Vec<f32>)> {
    let entry = |(segment, values): (&Segment, Vec<f32>)| (format!("{group}.{}", segment.name), (segment.dims(), values));
    flat.segments.iter().zip(flat.rows()).map(entry).collect()
}

fn split(values: &[f32], rows: usize) -> Vec<Vec<f32>> {
    match rows {
        0 => Vec::new(),
        rows => values.chunks((values.len() / rows).max(1)).map(<[f32]>::to_vec).collect(),
    }
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}
