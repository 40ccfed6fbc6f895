//! What can go wrong with the run folders, each with the path and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use super::RunId;
use crate::domain::printable;
use crate::host::files;
use crate::process::LockError;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("no folder for the runs: set HVD_LAB_HOME or HOME to a folder you may write to")]
    NoHome,
    #[error("{what} has {length} characters, and {most} are the most that fit into a table: shorten it")]
    TooLong { what: &'static str, length: usize, most: usize },
    /// `cause` is part of the message, and so not the `source`, which would be printed a second time.
    #[error("{what} {}: {cause}{}", path.display(), remedy_of(what, cause))]
    Io { what: &'static str, path: PathBuf, cause: io::Error },
    #[error("the name of the folder {path:?} is not UTF-8 text, so a run cannot use it: set HVD_LAB_HOME to another one")]
    NotText { path: PathBuf },
    #[error(
        "cannot lock {}: {cause}. Without locks two supervisors could train one run at once: set HVD_LAB_HOME to a folder on a \
         file system that has them (an NFS mount needs its lock service)",
        path.display()
    )]
    NoLocks { path: PathBuf, cause: io::Error },
    #[error("{} is damaged: {cause}", path.display())]
    Damaged { path: PathBuf, cause: String },
    #[error("there is no run {id}: `hvd-lab runs` lists them")]
    NoRun { id: RunId },
    #[error(
        "the folder of run {id} is gone, or at least its run.json: `hvd-lab runs delete {id}` removes what is left, and what was \
         deleted is in `hvd-lab runs trash`"
    )]
    Gone { id: RunId },
    #[error("{} is a file, and the folder of run {id} would be there: move it to another place", path.display())]
    NotAFolder { id: RunId, path: PathBuf },
    #[error("run {id} is over: it has {state}, and there is nothing to give up")]
    Over { id: RunId, state: &'static str },
    #[error("run {id} ({workload}) measures no collectives: `hvd-lab runs` lists those that do")]
    NoCollectives { id: RunId, workload: String },
    #[error("run {id} is not a training that this version knows (`{workload}`), so it has no steps to judge")]
    NoTraining { id: RunId, workload: String },
    #[error("run {id} is still running: stop it before you delete it (`hvd-lab stop {id}`)")]
    StillGoing { id: RunId },
    #[error(
        "run {id} may still be running {place}: run `hvd-lab stop {id}` there. If that will never come back, \
         `hvd-lab stop {id} --gone` marks the run as failed here"
    )]
    Elsewhere { id: RunId, place: String },
    #[error("run {id} is alive {place}: something was written to its folder {ago_s:.0} s ago. Run `hvd-lab stop {id}` there")]
    AliveElsewhere { id: RunId, place: String, ago_s: f64 },
    #[error("run {id}: {why}. Then try again")]
    JobLeft { id: RunId, why: String },
    #[error("run {id} is {state} as far as the lab can tell: `--gone` is only for runs on hosts that are gone")]
    NotElsewhere { id: RunId, state: &'static str },
    #[error("no number is left for another run: move {} to another place", path.display())]
    NoNumberLeft { path: PathBuf },
    #[error("run {id} is not in the trash: `hvd-lab runs trash` lists what is")]
    NotDeleted { id: RunId },
    #[error("{} is there already: give another name", path.display())]
    Exists { path: PathBuf },
    #[error("the trash is empty: there is no run to bring back")]
    NothingDeleted,
    #[error("there is a run {id} already, so the deleted one stays in {}", path.display())]
    Taken { id: RunId, path: PathBuf },
}

impl StoreError {
    /// What was being done where a folder of the home could not be made.
    pub const MAKE_FOLDER: &str = "cannot make the folder";

    /// The cause may quote the file, which may be a stranger's: it is cut to one line that can be read.
    pub fn damaged(path: &Path, cause: &str) -> StoreError {
        StoreError::Damaged { path: path.to_owned(), cause: printable::excerpt(cause).into_owned() }
    }

    /// Whether what the user asked for is at fault (exit code 2), rather than the system (1).
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, StoreError::Io { cause, .. } if files::is_full(cause))
    }

    /// Whether a file or folder was not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, StoreError::Io { cause, .. } if cause.kind() == io::ErrorKind::NotFound)
    }

    /// For `map_err`, with what to do on a file system without locks.
    pub fn lock(LockError { what, path, cause }: LockError) -> StoreError {
        if what == LockError::NO_LOCKS { StoreError::NoLocks { path, cause } } else { StoreError::Io { what, path, cause } }
    }

    /// For `map_err`: what was being done (`cannot write`), and to which path.
    pub fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        move |cause| StoreError::Io { what, path: path.to_owned(), cause }
    }
}

fn remedy_of(what: &str, error: &io::Error) -> &'static str {
    match remedy(error) {
        // Only in the home are folders made.
        "" if what == StoreError::MAKE_FOLDER => ". Set HVD_LAB_HOME to a folder you may write to",
        remedy => remedy,
    }
}

/// What to do about an error of the operating system in the lab's home, where there is something to do.
pub fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ". Set HVD_LAB_HOME to a folder you may write to",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ". Free some space, or set HVD_LAB_HOME to a folder on another disk"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => ". Set HVD_LAB_HOME to another folder",
        _ => "",
    }
}
