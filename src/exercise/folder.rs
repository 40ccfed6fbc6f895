//! The learner's copy of a program: made once, kept in the lab's home, reset with a backup.
//!
//! Never overwrites a word of the learner's without keeping it.

use std::io;
use std::path::{Path, PathBuf};

use super::program::Program;
use super::track::Track;
use crate::host::{access, files, read};

/// No program that somebody wrote is longer.
const MOST_BYTES: u64 = 16 << 20;

/// The folder of the exercise in a home folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
    track: Track,
}

#[derive(Debug, thiserror::Error)]
pub enum ExerciseError {
    #[error("cannot {what} {}: {cause}", path.display())]
    Io { what: &'static str, path: PathBuf, cause: io::Error },
    #[error("{} is not there yet: `{start}` makes it", path.display())]
    NotStarted { path: PathBuf, start: String },
    #[error(
        "{noun} {number} has {there} of its {wanted} comments `TODO: {mark} {number}` or `{mark} {number}/{count}` in {}: put them \
         back, or reset the whole (`{reset}`)",
        path.display(), noun = program.noun, mark = program.mark, count = program.count, reset = Track::Rust(program).command("reset"),
    )]
    NoPlaces { program: &'static Program, number: usize, there: usize, wanted: usize, path: PathBuf },
    #[error("the exercise {} has no places with numbers", track.name())]
    NoNumbers { track: Track },
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
    /// Whether what the user asked for is at fault (exit code 2), rather than the system (1).
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, ExerciseError::Io { cause, .. } if files::is_full(cause))
    }

    pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ExerciseError {
        let path = path.to_owned();
        move |cause| ExerciseError::Io { what, path, cause }
    }
}

impl Folder {
    /// Of the trainer with its ten steps.
    pub fn of(home: &Path) -> Folder {
        Folder::of_track(home, Track::default())
    }

    pub fn of_track(home: &Path, track: Track) -> Folder {
        Folder { path: home.join("exercise"), track }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The program to complete.
    pub fn program(&self) -> PathBuf {
        self.path.join(self.track.file())
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
        access::make_folder(&self.path).map_err(ExerciseError::io("make", &self.path))?;
        match files::write_new(&program, self.track.text().as_bytes()) {
            Ok(()) => Ok(true),
            // Another lab was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(ExerciseError::io("write", &program)(error)),
        }
    }

    /// # Errors
    /// A program that is not there or cannot be read.
    pub fn read(&self) -> Result<String, ExerciseError> {
        let program = self.program();
        match read::small_text(&program, MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(ExerciseError::NotStarted { path: program, start: self.track.command("start") })
            }
            read => read.map_err(ExerciseError::io("read", &program)),
        }
    }

    /// Put the places of a number back to what they were, or the whole program; where the old one is kept.
    ///
    /// # Errors
    /// A file that cannot be read or written, and a number whose places cannot be told.
    pub fn reset(&self, number: Option<usize>) -> Result<PathBuf, ExerciseError> {
        let text = self.read()?;
        let program = self.program();
        let fresh =
            match (number, self.track) {
                (None, track) => track.text().to_owned(),
                (Some(number), Track::Rust(of)) => of.without(&text, number).map_err(|(there, wanted)| {
                    ExerciseError::NoPlaces { program: of, number, there, wanted, path: program.clone() }
                })?,
                (Some(_), track) => return Err(ExerciseError::NoNumbers { track }),
            };
        let backup = self.keep(&text)?;
        // Replaced as a whole: an editor or a build never sees half of it.
        files::write(&program, fresh.as_bytes()).map_err(ExerciseError::io("write", &program))?;
        Ok(backup)
    }

    /// Write a text to a file that was not there before.
    fn keep(&self, text: &str) -> Result<PathBuf, ExerciseError> {
        let mut number = 1;
        loop {
            let backup = self.program().with_extension(format!("{number}.bak"));
            match files::write_new(&backup, text.as_bytes()) {
                Ok(()) => return Ok(backup),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(ExerciseError::io("write", &backup)(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        assert_eq!(folder.read().unwrap(), Track::default().text());
        fs::write(folder.program(), "fn main() {}").unwrap();
        let error = folder.reset(Some(4)).unwrap_err().to_string();
        assert!(error.contains("step 4 has 0 of its 1 comments"), "{error}");
        assert_eq!(folder.read().unwrap(), "fn main() {}");
    }
}
