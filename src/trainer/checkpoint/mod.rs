//! Checkpoints: all that training needs to go on as if it had never stopped, one file an epoch.
//!
//! Never names a tensor library: a checkpoint is names, shapes and numbers. Never deletes a checkpoint.
//!
//! `LOGDIR/checkpoint-{epoch}.safetensors`, readable by every program that reads safetensors. Weights are named
//! `model.*`, batch norm statistics `buffer.*`, optimizer state `optimizer.*`; the rest is in the file's metadata, with
//! a SHA-256 over everything. A file is complete or not there ([`save`]); a file that is not what it should be is
//! refused with its reason, and the one before it is taken ([`latest`]).

mod file;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

pub use file::{SaveError, load, save};

use super::digest::Digester;
use crate::domain::event::{CheckpointAction, CheckpointReport};

/// The state at the end of an epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Epochs trained so far.
    pub epoch: usize,
    /// The step list, as `--steps` takes it.
    pub steps: String,
    pub seed: u64,
    /// `wrn-10-1`.
    pub model: String,
    /// `sgd`, `novograd`: their states differ, so one cannot go on from the other.
    pub optimizer: String,
    /// Shape and values in row-major order by full name (`model.stem.weight`), thus in the order of the names.
    pub tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
    /// Whatever else training wants back.
    pub metadata: BTreeMap<String, String>,
}

/// A file that is complete: it was written or read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub path: PathBuf,
    pub epoch: usize,
    pub bytes: u64,
    /// [`Checkpoint::parameters_digest`].
    pub digest: String,
}

/// A file that is not taken, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub path: PathBuf,
    pub reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("unreadable: {0}")]
    Unreadable(String),
    #[error("truncated: its {0} bytes are not what its header announces")]
    Truncated(u64),
    #[error("corrupt: {0}")]
    Corrupt(String),
    #[error("foreign: {0}")]
    Foreign(String),
    #[error("of another training: {0}")]
    Mismatch(String),
}

impl Checkpoint {
    /// Digest of the weights alone (`model.*`, in the order of their names): tells whose weights a file holds.
    pub fn parameters_digest(&self) -> String {
        let mut digester = Digester::default();
        let weights = self.tensors.iter().filter(|(name, _)| name.starts_with("model."));
        weights.for_each(|(_, (_, values))| digester.add(values));
        digester.short()
    }
}

impl Written {
    /// As an event: `action` says whether it was written or loaded.
    pub fn report(&self, action: CheckpointAction) -> CheckpointReport {
        CheckpointReport {
            action,
            path: self.path.display().to_string(),
            epoch: self.epoch,
            bytes: Some(self.bytes),
            digest: Some(self.digest.clone()),
            note: None,
        }
    }
}

impl Refused {
    pub fn report(&self) -> CheckpointReport {
        CheckpointReport {
            action: CheckpointAction::Refused,
            path: self.path.display().to_string(),
            epoch: epoch_of(&self.path).unwrap_or_default(),
            bytes: None,
            digest: None,
            note: Some(self.to_string()),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}", self.path.display(), self.reason)
    }
}

/// Where the checkpoint of an epoch (counted from 1) is.
pub fn path(folder: &Path, epoch: usize) -> PathBuf {
    folder.join(format!("checkpoint-{epoch}.safetensors"))
}

/// The inverse of [`path`].
fn epoch_of(path: &Path) -> Option<usize> {
    let name = path.file_name()?.to_str()?;
    let epoch = name.strip_prefix("checkpoint-")?.strip_suffix(".safetensors")?.parse().ok()?;
    // `checkpoint-03` and `checkpoint-+3` are no names of ours.
    (name == format!("checkpoint-{epoch}.safetensors")).then_some(epoch)
}

/// The newest checkpoint of at most `up_to_epoch` epochs that `fits`, and every newer one that was refused on the way.
///
/// `fits` says what makes a whole checkpoint unfit for the training at hand, such as another model, optimizer or shape.
/// Other files in the folder do not matter, nor what a dead process left of a file it was writing. No folder, no
/// checkpoint.
///
/// # Collective
/// None. With step 7 only root calls this and broadcasts the epoch; ranks that each look for themselves may find
/// different answers while another rank writes.
pub fn latest(
    folder: &Path,
    up_to_epoch: usize,
    mut fits: impl FnMut(&Checkpoint) -> Result<(), String>,
) -> (Option<(Checkpoint, Written)>, Vec<Refused>) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (None, Vec::new()),
        Err(error) => {
            return (None, vec![Refused { path: folder.into(), reason: Reason::Unreadable(error.to_string()) }]);
        }
    };
    let epochs = entries.flatten().filter_map(|entry| epoch_of(&entry.path()));
    let mut epochs: Vec<usize> = epochs.filter(|epoch| (1..=up_to_epoch).contains(epoch)).collect();
    epochs.sort_unstable();
    let mut refused = Vec::new();
    for epoch in epochs.into_iter().rev() {
        let path = path(folder, epoch);
        let attempt = load(&path).and_then(|found| match found.0.epoch == epoch {
            true => fits(&found.0).map(|()| found).map_err(Reason::Mismatch),
            false => Err(Reason::Mismatch(format!("it holds epoch {}, not {epoch}", found.0.epoch))),
        });
        match attempt {
            Ok(found) => return (Some(found), refused),
            Err(reason) => refused.push(Refused { path, reason }),
        }
    }
    (None, refused)
}

/// What a checkpoint is like after several ranks have written it (step 7 off).
///
/// Each writer has a temporary file of its own and renames it, so the file is never a mixture: it is whole, and one
/// rank's; the others' work is gone. `digest` tells whose it is.
pub fn inspect(folder: &Path, epoch: usize) -> CheckpointReport {
    let path = path(folder, epoch);
    match load(&path) {
        Ok((_, written)) => {
            let note = format!("whole, with the weights {}: the last rank to rename its file won", written.digest);
            CheckpointReport { note: Some(note), ..written.report(CheckpointAction::Inspected) }
        }
        Err(reason) => CheckpointReport { action: CheckpointAction::Inspected, epoch, ..Refused { path, reason }.report() },
    }
}
