//! The trainer: whether it is there and starts, and what it was built with.
//!
//! Never trains: `hvd-train --build-info` only says what it is.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::check::Check;
use crate::exercise;
use crate::host::installation::{Installation, PYTHON_MODULE, set_up_command};
use crate::launch::{self, LaunchError, libraries};
use crate::process::probe_command::{Answer, TRAINER_PATIENCE, ask};

/// What `hvd-train --build-info` prints.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BuildInfo {
    pub libtorch: String,
    /// The MPI library's own words.
    pub mpi: String,
    pub mpi_standard: String,
    pub cuda: bool,
    pub cuda_reason: Option<String>,
    pub nccl: Option<String>,
    pub nccl_reason: Option<String>,
}

/// A trainer that answers.
pub(super) struct Trainer {
    pub path: PathBuf,
    pub info: BuildInfo,
}

/// Adds the checks of the trainer; `None` where it does not answer.
pub(super) fn examine(gpus: usize, checks: &mut Vec<Check>) -> Option<Trainer> {
    let path = match launch::find_trainer() {
        Ok(path) => path,
        Err(error) => {
            let (cause, remedy) = match error {
                LaunchError::NoProgramFound { beside, .. } => {
                    (format!("not found beside {} or on PATH", beside.display()), "run `make build`, or point HVD_TRAIN at it")
                }
                LaunchError::VariableIsNoProgram { path, .. } => {
                    (format!("HVD_TRAIN is {}, and there is no program", path.display()), "point it at hvd-train, or unset it")
                }
                LaunchError::BeingBuilt { progress, .. } => {
                    checks.push(Check::warn("hvd-train", format!("still being built: {progress}"), "runs wait for it"));
                    return None;
                }
                LaunchError::NotBuilt { log, .. } => {
                    (format!("was not built: {} says how the last try ended", log.display()), "run `make build`")
                }
                other => (other.to_string(), "run `make build`"),
            };
            checks.push(Check::fail("hvd-train", cause, remedy));
            return None;
        }
    };
    let remarks = libraries::remarks().into_iter();
    checks.extend(remarks.map(|(found, remedy)| Check::ok_if(remedy.is_empty(), "libraries", found, remedy)));
    let info = match answer(libraries::command(&path).arg("--build-info")) {
        Ok(info) => info,
        Err((cause, remedy)) => {
            let usual = match Installation::here() {
                Some(_) => "run `hvd-lab setup`, which fetches its libraries, or `pip install` the lab again",
                None => "build it again with `make build`; if libraries moved, run `make setup` first",
            };
            let remedy = remedy.unwrap_or_else(|| usual.to_owned());
            checks.push(Check::fail("hvd-train", format!("{} does not answer: {cause}", path.display()), remedy));
            return None;
        }
    };
    checks.push(Check::ok("hvd-train", path.display().to_string()));
    checks.push(measure());
    checks.push(Check::ok("libtorch", info.libtorch.clone()));
    checks.push(cuda(&info, gpus));
    checks.push(nccl(&info, gpus));
    checks.push(python());
    Some(Trainer { path, info })
}

/// Whether the exercise can be written in Python.
fn python() -> Check {
    match exercise::find_module() {
        Ok(path) => Check::ok("Python", format!("the exercise can be written in it: {}", path.display())),
        Err(path) => Check::warn(
            "Python",
            format!("{} is not there, so the exercise can be written in Rust only", path.display()),
            format!("run `make build`, or point HVD_LAB_PYTHON_MODULE at {PYTHON_MODULE}"),
        ),
    }
}

/// The other program of the ranks, which three verbs start.
fn measure() -> Check {
    match launch::find_measure() {
        Ok(_) => Check::ok("programs", "`hvd-lab collectives`, `hvd-lab bench` and `hvd-lab nvcnn` can start theirs"),
        Err(_) => Check::warn("programs", "not found: hvd-measure", "run `make build`; `hvd-lab run` works without"),
    }
}

fn cuda(info: &BuildInfo, gpus: usize) -> Check {
    match (info.cuda, gpus) {
        (true, _) => Check::ok("CUDA", "in use by the trainer"),
        (false, 0) => Check::ok("CUDA", "not needed: there is no GPU, and ranks train on CPU cores"),
        (false, _) => Check::warn(
            "CUDA",
            format!("the trainer does not use the GPU: {}", or_unknown(&info.cuda_reason)),
            format!(
                "run {} again: it adds the CUDA libraries where it sees an NVIDIA driver; runs use CPU cores until then",
                set_up_command()
            ),
        ),
    }
}

fn nccl(info: &BuildInfo, gpus: usize) -> Check {
    match (&info.nccl, gpus) {
        (Some(version), _) => Check::ok("NCCL", version.clone()),
        (None, 0) => Check::ok("NCCL", "not needed: without GPUs, gradients go over MPI"),
        (None, 1) => Check::ok("NCCL", "not needed: with one GPU no gradient travels between GPUs"),
        (None, _) => Check::warn(
            "NCCL",
            format!("not found: {}", or_unknown(&info.nccl_reason)),
            format!("run {} again; until then gradients go over MPI, through host memory, which is slower", set_up_command()),
        ),
    }
}

fn or_unknown(reason: &Option<String>) -> &str {
    reason.as_deref().unwrap_or("it does not say why")
}

/// The build information in a program's output, among whatever a launcher may add; else the cause, and the remedy if it is not the
/// usual one.
pub(super) fn answer(question: &mut Command) -> Result<BuildInfo, (String, Option<String>)> {
    let output = ask(question, TRAINER_PATIENCE).map_err(|error| (error.to_string(), None))?;
    let found = output.stdout.lines().find_map(|line| serde_json::from_str(line.get(line.find('{')?..)?).ok());
    match found {
        Some(info) if output.status.success() => Ok(info),
        _ => Err(match libraries::blame(&output.stderr) {
            Some((what, remedy)) => (format!("{}. {what}", failure(&output)), Some(remedy)),
            None => (failure(&output), None),
        }),
    }
}

fn failure(output: &Answer) -> String {
    // Launchers draw rules around what they say; the dynamic linker has one line.
    let is_word = |line: &&str| line.chars().any(char::is_alphanumeric) && !libraries::is_remark(line);
    let said = output.stderr.lines().map(str::trim).filter(is_word).take(3);
    let said = said.collect::<Vec<_>>().join(" ");
    format!("{}{}", output.status, if said.is_empty() { " and no word".into() } else { format!(", {said}") })
}

/// The program alone, for messages.
pub(super) fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
