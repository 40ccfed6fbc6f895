//! The learner's copy of the trainer: made once, kept in the lab's home, reset with a backup.
//!
//! Never overwrites a word of the learner's without keeping it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::places;
use super::programs::EXERCISE;
use crate::domain::step::Step;
use crate::host::read;

/// No program that somebody wrote is longer.
const MOST_BYTES: u64 = 16 << 20;

/// The folder of the exercise in a home folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum ExerciseError {
    #[error("cannot {what} {}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is not there yet: `hvd-lab exercise start` makes it", path.display())]
    NotStarted { path: PathBuf },
    #[error(
        "step {step} has {there} of its {wanted} comments `TODO: Step {step}` or `Step {step}/10` in {}: put them back, or reset \
         the whole (`hvd-lab exercise reset`)",
        path.display()
    )]
    NoPlaces { step: usize, there: usize, wanted: usize, path: PathBuf },
    #[error(
        "the exercise is built from the source of hvd-lab, and there is none in {}: clone its repository, run `make setup` in it, \
         and point HVD_LAB_SOURCE at it",
        path.display()
    )]
    NoSource { path: PathBuf },
    #[error("cargo cannot be started ({0}): install Rust from https://rustup.rs, or point CARGO at it")]
    NoCargo(io::Error),
}

impl ExerciseError {
    pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ExerciseError {
        let path = path.to_owned();
        move |source| ExerciseError::Io { what, path, source }
    }
}

/// What a reset is of, in words.
pub fn part_named(step: Option<Step>) -> String {
    step.map_or("the whole program".to_owned(), |step| format!("step {}", step.number()))
}

impl Folder {
    pub fn of(home: &Path) -> Folder {
        Folder { path: home.join("exercise") }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The program to complete.
    pub fn program(&self) -> PathBuf {
        self.path.join("fashion_mnist.rs")
    }

    /// Make the learner's copy, unless there is one; whether there was none.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn start(&self) -> Result<bool, ExerciseError> {
        let program = self.program();
        if program.exists() {
            return Ok(false);
        }
        fs::create_dir_all(&self.path).map_err(ExerciseError::io("make", &self.path))?;
        fs::write(&program, EXERCISE).map_err(ExerciseError::io("write", &program))?;
        Ok(true)
    }

    /// # Errors
    /// A program that is not there or cannot be read.
    pub fn read(&self) -> Result<String, ExerciseError> {
        let program = self.program();
        match read::small_text(&program, MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ExerciseError::NotStarted { path: program }),
            read => read.map_err(ExerciseError::io("read", &program)),
        }
    }

    /// Put the places of a step back to what they were, or the whole program; where the old one is kept.
    ///
    /// # Errors
    /// A file that cannot be read or written, and a step whose places cannot be told.
    pub fn reset(&self, step: Option<Step>) -> Result<PathBuf, ExerciseError> {
        let text = self.read()?;
        let program = self.program();
        let fresh = match step {
            None => EXERCISE.to_owned(),
            Some(step) => places::without(&text, step).map_err(|(there, wanted)| ExerciseError::NoPlaces {
                step: step.number(),
                there,
                wanted,
                path: program.clone(),
            })?,
        };
        let backup = (1..).map(|number| self.path.join(format!("fashion_mnist.{number}.bak"))).find(|path| !path.exists());
        let backup = backup.unwrap_or_else(|| self.path.join("fashion_mnist.bak"));
        fs::write(&backup, text).map_err(ExerciseError::io("write", &backup))?;
        // Replaced as a whole: an editor or a build never sees half of it.
        let new = self.path.join("fashion_mnist.rs.new");
        fs::write(&new, fresh).and_then(|()| fs::rename(&new, &program)).map_err(ExerciseError::io("write", &program))?;
        Ok(backup)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_keeps_what_was_there_every_time() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::of(home.path());
        assert!(matches!(folder.read(), Err(ExerciseError::NotStarted { .. })));
        assert_eq!((folder.start().unwrap(), folder.start().unwrap()), (true, false));
        for text in ["one", "two"] {
            fs::write(folder.program(), text).unwrap();
            assert_eq!(fs::read_to_string(folder.reset(None).unwrap()).unwrap(), text);
        }
        assert_eq!(folder.read().unwrap(), EXERCISE);
        fs::write(folder.program(), "fn main() {}").unwrap();
        let error = folder.reset(Some(Step::Broadcast)).unwrap_err().to_string();
        assert!(error.contains("step 4 has 0 of its 1 comments"), "{error}");
        assert_eq!(folder.read().unwrap(), "fn main() {}");
    }
}
