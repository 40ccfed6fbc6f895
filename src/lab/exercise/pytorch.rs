//! A learner's program in plain PyTorch: read by their own Python, and started by torchrun with the inspector in its ranks.
//!
//! Needs nothing of the lab's trainer. The images are the first ones of those that the lab's own runs would use, in files of the kind
//! in which Fashion-MNIST is published.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::built::Built;
use super::folder::{ExerciseError, Folder, write_changed};
use super::interpreter::{interpreter, on_path};
use super::program::Program;
use super::programs::pytorch::{BASE_LR, FLAGS};
use super::python::{nothing_to_run, read_by_python};
use crate::dataset::{self, SplitKind};
use crate::domain::command::CommandSpec;
use crate::domain::training::DataSource;
use crate::host::access;
use crate::process::probe_command::ask;

/// Images for training and for the test: a run takes a few seconds.
const IMAGES: [(SplitKind, usize); 2] = [(SplitKind::Train, 1600), (SplitKind::Test, 500)];
/// Beside the program: the images, and what its runs leave.
const IMAGES_FOLDER: &str = "images";
const RUN_FOLDER: &str = "pytorch";
const MODULE: &str = "torch.distributed.run";
/// Python finds a package without loading it, and so at once.
const LOOK: &str = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)";
const PATIENCE: Duration = Duration::from_secs(20);

/// Read the program, and put images beside it.
///
/// # Errors
/// No Python with PyTorch, files that cannot be read or written.
pub(super) fn prepare(folder: &Folder, of: &Program, text: &str) -> Result<Built, ExerciseError> {
    if let Some(built) = nothing_to_run(of, text, "torch") {
        return Ok(built);
    }
    let python = match read_by_python(folder, of, text)? {
        Ok(python) => python,
        Err(built) => return Ok(built),
    };
    let found = ask(Command::new(&python).args(["-c", LOOK]), PATIENCE);
    if !found.is_ok_and(|answer| answer.status.success()) {
        return Err(ExerciseError::NoTorch { python: python.display().to_string() });
    }
    write_images(&folder.path().join(IMAGES_FOLDER))?;
    // A checkpoint of the last attempt would be gone on from.
    let left = folder.path().join(RUN_FOLDER);
    match fs::remove_dir_all(&left) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(ExerciseError::io("empty", &left)(error)),
        _ => access::make_folder(&left).map_err(ExerciseError::io("make", &left))?,
    }
    Ok(Built::Program(folder.program()))
}

/// Completes the words for the program that was read.
pub(super) fn complete(command: &mut CommandSpec, program: &Path) {
    let python = on_path(&interpreter()).unwrap_or_else(|| PathBuf::from(interpreter()));
    let folder = program.parent().unwrap_or(Path::new("/"));
    let path = |path: &Path| path.display().to_string();
    let beside = |name: &str| path(&folder.join(name));
    let start = [&path(&python), "-m", MODULE, "--standalone", "--nproc_per_node", "2", &path(program)].map(str::to_owned);
    let files = ["--data-dir".to_owned(), beside(IMAGES_FOLDER), "--log-dir".to_owned(), beside(RUN_FOLDER)];
    let rate = ["--base-lr".to_owned(), BASE_LR.to_string()];
    command.argv = start.into_iter().chain(files).chain(rate).chain(FLAGS.map(str::to_owned)).collect();
    command.directory = path(folder);
}

fn write_images(folder: &Path) -> Result<(), ExerciseError> {
    let located = dataset::locate(DataSource::Auto, None, true)?;
    for (kind, count) in IMAGES {
        for (name, bytes) in dataset::files_of(kind, &located.load(kind, Some(count))?) {
            write_changed(&folder.join(name), &bytes)?;
        }
    }
    Ok(())
}
