//! What a checkpoint holds, how its file is called, and why a file is refused.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::domain::checkpoint::{self, Progress};
use crate::domain::event::{CheckpointAction, CheckpointReport};
use crate::domain::units;
use crate::trainer::digest::Digester;

/// The state at the end of an epoch, or within one.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Epochs trained so far.
    pub epoch: usize,
    /// Images of the next epoch that all ranks together have trained; 0 at the end of an epoch.
    pub images: usize,
    /// The step list, as `--steps` takes it.
    pub steps: String,
    pub seed: u64,
    /// `wrn-10-1`.
    pub model: String,
    /// `sgd`, `novograd`: their states differ, so one cannot go on from the other.
    pub optimizer: String,
    /// Shape and values in row-major order by full name (`model.stem.weight`), in the order of the names.
    pub tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
    /// Whatever else training wants back.
    pub metadata: BTreeMap<String, String>,
}

/// A file that is not taken, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub path: PathBuf,
    pub reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("a folder, not a file: move it away or remove it")]
    Folder,
    #[error("unreadable: {0}")]
    Unreadable(String),
    #[error("truncated: its {0} bytes are not what its header announces")]
    Truncated(u64),
    #[error("too large: it has {}, and this training needs at most {}", units::bytes(*bytes), units::bytes(*most_bytes))]
    TooLarge { bytes: u64, most_bytes: u64 },
    #[error("corrupt: {0}")]
    Corrupt(String),
    #[error("foreign: {0}")]
    Foreign(String),
    #[error("of another training: {0}")]
    Mismatch(String),
    #[error("useless: `{0}` holds NaN or infinity, so the training had failed by then")]
    NoNumbers(String),
}

impl Checkpoint {
    pub fn place(&self) -> Progress {
        Progress { epoch: self.epoch, images: self.images }
    }

    /// Digest of the weights alone (`model.*`, in the order of their names): tells whose weights a file holds.
    pub fn parameters_digest(&self) -> String {
        let mut digester = Digester::default();
        let weights = self.tensors.iter().filter(|(name, _)| name.starts_with("model."));
        weights.for_each(|(_, (_, values))| digester.add(values));
        digester.short()
    }

    /// Of a file with so many bytes that is complete: it was written or read to its end.
    pub(super) fn report(&self, action: CheckpointAction, path: &Path, bytes: u64) -> CheckpointReport {
        CheckpointReport {
            action,
            path: path.display().to_string(),
            epoch: self.epoch,
            images: self.images,
            bytes: Some(bytes),
            digest: Some(self.parameters_digest()),
            note: None,
            stopped_seconds: None,
        }
    }
}

impl Refused {
    pub fn report(&self) -> CheckpointReport {
        let place = place_of(&self.path).unwrap_or_default();
        CheckpointReport {
            action: CheckpointAction::Refused,
            path: self.path.display().to_string(),
            epoch: place.epoch,
            images: place.images,
            bytes: None,
            digest: None,
            note: Some(self.to_string()),
            stopped_seconds: None,
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
    folder.join(checkpoint::file_name(epoch))
}

/// What the name of a checkpoint or a commit says.
pub(super) fn place_of(path: &Path) -> Option<Progress> {
    Progress::from_file_name(path.file_name()?.to_str()?)
}
