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
    #[error(
        "the name of {path:?} is not UTF-8 text, so a command line cannot be recorded with it: rename it or a folder above it"
    )]
    NotText { path: PathBuf },
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
    #[error("the program {} is not there any more: build it again with `hvd-lab exercise run`", path.display())]
    NoProgram { path: PathBuf },
    #[error("{}", no_own_program(name, directory, *is_script))]
    NoOwnProgram { name: String, directory: String, is_script: bool },
    #[error("mpirun was not found: run {}, install Open MPI or MPICH, or point HVD_LAB_MPIRUN at it", set_up_command())]
    NoLauncher,
    #[error("the libraries of the trainer are not here yet: `hvd-lab setup` fetches them, once")]
    NotSetUp,
    #[error("{} does not work as a launcher: {cause}. Point HVD_LAB_MPIRUN at the mpirun of Open MPI 4 or 5, or of MPICH", path.display())]
    BadLauncher { path: PathBuf, cause: String },
    #[error("{} does not work as the trainer: {cause}. See `hvd-lab doctor`, or point HVD_TRAIN at another hvd-train", path.display())]
    BadTrainer { path: PathBuf, cause: String },
    #[error("{} does not start: {what}. To do: {remedy}", path.display())]
    Foreign { path: PathBuf, what: String, remedy: String },
    #[error("cannot start the supervisor {}: {cause}", path.display())]
    Supervisor { path: PathBuf, cause: std::io::Error },
    #[error("run {id} is not running: it has {state}")]
    NotGoing { id: RunId, state: &'static str },
    #[error("run {id} is still {state}: try again in a few seconds")]
    NotYet { id: RunId, state: &'static str },
    #[error("another fault was just asked of run {id}: try again in a moment")]
    FaultIsAsked { id: RunId },
    #[error("run {id}: {why}")]
    FaultRefused { id: RunId, why: String },
    #[error("run {id} does not answer: its supervisor is busy, or of a version that makes no faults")]
    FaultNotTaken { id: RunId },
    #[error("run {id} is still running: stop it first (`hvd-lab stop {id}`), or wait for its end")]
    StillGoing { id: RunId },
    #[error(
        "run {id} has been starting for {seconds} s and does not answer: launcher.log in its folder may say why; try again later"
    )]
    NoAnswer { id: RunId, seconds: u64 },
    #[error(
        "run {id} was asked to stop, but its supervisor (process {pid}) is suspended and cannot hear it: wake it with \
         `kill -CONT {pid}`, then it stops the run"
    )]
    Suspended { id: RunId, pid: u32 },
    #[error("the run has a supervisor already, and can have only one")]
    Supervised,
    #[error("`supervise` is started by hvd-lab itself, and this run is over: use `hvd-lab run --continue`")]
    Over,
    #[error("run {id} has trained {done} epochs already: ask for more than that in total, such as {}", done + 3)]
    NothingToContinue { id: RunId, done: usize },
    #[error("this machine cannot make slow links: {cause}; {remedy}")]
    NoLinks { cause: String, remedy: String },
    #[error("run {id} belongs to the exercise {exercise}, whose program always starts from scratch: run it again instead")]
    BeginsAnew { id: RunId, exercise: String },
    #[error("run {id} trains nothing ({title}), so there are no epochs to go on with: start another one")]
    NothingTrained { id: RunId, title: String },
    #[error(
        "run {id} is a program of your own ({title}), which the lab cannot go on with: start it anew, with its own flag for that"
    )]
    OwnGoesOn { id: RunId, title: String },
    #[error("run {id} kept no checkpoints, so it cannot go on: start a new one with checkpointing on")]
    NoCheckpoints { id: RunId },
    #[error(
        "run {id} cannot go on: none of its checkpoints is left in {}. Put one back, or start a new run with `hvd-lab run`",
        folder.display()
    )]
    CheckpointsGone { id: RunId, folder: PathBuf },
}

/// A file that is there, and may not be run, was meant for an interpreter.
fn no_own_program(name: &str, directory: &str, is_script: bool) -> String {
    match is_script {
        true => format!(
            "{name} is not a program that can be run: write what runs it, such as `hvd-lab run -- python3 {name}`, or use `chmod +x`"
        ),
        false => format!(
            "there is no program `{name}` on PATH or in {directory}: the words behind -- begin with a program, such as `python3 train.py`"
        ),
    }
}

impl LaunchError {
    /// A path as a word of a recorded command line.
    pub(super) fn text(path: &Path) -> Result<String, LaunchError> {
        path.to_str().map(str::to_owned).ok_or_else(|| LaunchError::NotText { path: path.to_owned() })
    }

    /// A program that the environment keeps from starting: what does, and the remedy.
    pub(super) fn foreign(path: &Path, (what, remedy): (String, String)) -> LaunchError {
        LaunchError::Foreign { path: path.to_owned(), what, remedy }
    }

    /// Whether what the user asked for is at fault (exit code 2), rather than the run (1).
    pub fn is_bad_input(&self) -> bool {
        match self {
            LaunchError::FaultRefused { .. } | LaunchError::FaultNotTaken { .. } => false,
            LaunchError::Supervisor { .. } | LaunchError::NoAnswer { .. } | LaunchError::Suspended { .. } => false,
            LaunchError::Store(error) => error.is_bad_input(),
            _ => true,
        }
    }
}
