//! What can be wrong with a recording, each with what to do.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use crate::domain::units;
use crate::host::files;
use crate::runs::{RunId, StoreError};

/// Raised when older labs could not read a recording any more.
pub(super) const FORMAT: u32 = 1;

/// Of all parts of a recording together, unpacked: a run of a day that logs every step stays below it.
pub(super) const MOST_BYTES: u64 = 512 << 20;

/// What is wrong with a recording, or with making one.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("{}: {cause}", path.display())]
    Io { path: PathBuf, cause: io::Error },
    #[error("{} {problem}", path.display())]
    Bad { path: PathBuf, problem: String },
    #[error("run {run} is still running: record or replay it when it is over (`hvd-lab stop {run}` stops it)")]
    Going { run: RunId },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RecordingError {
    /// `problem` continues the sentence that begins with the path.
    pub(super) fn bad(path: &Path, problem: impl Into<String>) -> RecordingError {
        RecordingError::Bad { path: path.to_owned(), problem: problem.into() }
    }

    pub(super) fn damaged(path: &Path, cause: impl Display) -> RecordingError {
        RecordingError::bad(path, format!("is damaged: {cause}"))
    }

    pub(super) fn too_large(path: &Path, cause: &str) -> RecordingError {
        let most = units::bytes(MOST_BYTES);
        RecordingError::bad(path, format!("is too large: a recording holds at most {most}, this one {cause}"))
    }

    /// Whether what the user asked for is at fault (exit code 2), rather than the system (1).
    pub fn is_bad_input(&self) -> bool {
        match self {
            RecordingError::Io { cause, .. } => !files::is_full(cause),
            RecordingError::Store(error) => error.is_bad_input(),
            _ => true,
        }
    }
}
