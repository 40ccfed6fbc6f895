//! Why a run could not be started, continued or stopped, with what to do about it.

use std::path::{Path, PathBuf};

use crate::dataset::DatasetError;
use crate::host::installation::set_up_command;
use crate::lease::LeaseError;
use crate::runs::{RunId, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The request itself makes no sense, or asks for more than the machine has.
    #[error("{0}")]
    Spec(String),
    /// It asks for more than the machine has room for, and starts only if the user insists.
    #[error("{why}: {advice}")]
    Crowded { why: String, advice: String },
    /// The request is sound, and the run or this machine cannot do it now.
    #[error("{0}")]
    Failed(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Lease(#[from] LeaseError),
    #[error(transparent)]
    Data(#[from] DatasetError),
    #[error("{name} was not found beside {} or on PATH: run `make build`, or point {variable} at it", beside.display())]
    NoProgramFound { name: &'static str, variable: &'static str, beside: PathBuf },
    #[error("{name} is still being built ({progress}): try again in a minute")]
    BeingBuilt { name: &'static str, path: PathBuf, progress: String },
    #[error("{name} was not built: run `make build` (how the last try ended: {})", log.display())]
    NotBuilt { name: &'static str, log: PathBuf },
    #[error("{variable} is {}, and there is no program: point it at {name}, or unset it", path.display())]
    VariableIsNoProgram { name: &'static str, variable: &'static str, path: PathBuf },
    #[error("mpirun was not found: run {}, install Open MPI or MPICH, or point HVD_LAB_MPIRUN at it", set_up_command())]
    NoLauncher,
    #[error("{} does not work as a launcher: {cause}. Point HVD_LAB_MPIRUN at the mpirun of Open MPI 4 or 5, or of MPICH", path.display())]
    BadLauncher { path: PathBuf, cause: String },
    #[error("{} does not start: {what}. To do: {remedy}", path.display())]
    Foreign { path: PathBuf, what: String, remedy: String },
    #[error("run {id} is not running: it has {state}")]
    NotGoing { id: RunId, state: &'static str },
    #[error(
        "run {id} cannot go on: none of its checkpoints is left in {}. Put one back, or start a new run with `hvd-lab run`",
        folder.display()
    )]
    CheckpointsGone { id: RunId, folder: PathBuf },
}

impl LaunchError {
    /// The sentence that says why a request makes no sense, if there is one, as an error.
    pub(super) fn refuse_if(problem: Option<String>) -> Result<(), LaunchError> {
        problem.map_or(Ok(()), |problem| Err(LaunchError::Spec(problem)))
    }

    /// A path as a word of a recorded command line.
    pub(super) fn text(path: &Path) -> Result<String, LaunchError> {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            let advice = "so a command line cannot be recorded with it: rename it or a folder above it";
            LaunchError::Spec(format!("the name of {path:?} is not UTF-8 text, {advice}"))
        })
    }

    /// A program that the environment keeps from starting: what does, and the remedy.
    pub(super) fn foreign(path: &Path, (what, remedy): (String, String)) -> LaunchError {
        LaunchError::Foreign { path: path.to_owned(), what, remedy }
    }

    /// Why the run would start only if the user insists, without the flags that a verb would be given.
    pub fn crowded(&self) -> Option<&str> {
        if let LaunchError::Crowded { why, .. } = self { Some(why) } else { None }
    }

    /// As the record of a run keeps it, for verbs and the screen alike.
    pub(super) fn recorded(&self) -> String {
        self.crowded().map_or_else(|| self.to_string(), str::to_owned)
    }

    /// Whether what the user asked for is at fault (exit code 2), rather than the run (1).
    pub fn is_bad_input(&self) -> bool {
        match self {
            LaunchError::Failed(_) => false,
            LaunchError::Store(error) => error.is_bad_input(),
            _ => true,
        }
    }
}
