//! What can be wrong with a recording, each with what to do.

use std::io;
use std::path::PathBuf;

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
    #[error("{} is not a recording of a run: `hvd-lab record RUN --out FILE` makes one", path.display())]
    Foreign { path: PathBuf },
    #[error("{} ends in the middle: it was cut off, copy it again", path.display())]
    Truncated { path: PathBuf },
    #[error("{} is damaged: {cause}", path.display())]
    Damaged { path: PathBuf, cause: String },
    #[error("{} was recorded by a newer hvd-lab (format {format}, this one reads up to {FORMAT}): update this one", path.display())]
    Newer { path: PathBuf, format: u32 },
    #[error("run {run} is still running: record or replay it when it is over (`hvd-lab stop {run}` stops it)")]
    Going { run: RunId },
    #[error("{} is too large: a recording holds at most {}, this one {cause}", path.display(), units::bytes(MOST_BYTES))]
    TooLarge { path: PathBuf, cause: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RecordingError {
    /// Whether what the user asked for is at fault (exit code 2), rather than the system (1).
    pub fn is_bad_input(&self) -> bool {
        match self {
            RecordingError::Io { cause, .. } => !files::is_full(cause),
            RecordingError::Store(error) => error.is_bad_input(),
            _ => true,
        }
    }
}
