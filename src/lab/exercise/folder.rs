//! The learner's copy of a program: made once, kept in the lab's home, reset with a backup.
//!
//! It never overwrites the learner's text without a backup.

use std::io;
use std::path::{Path, PathBuf};

use super::interpreter;
use super::language::Language;
use super::program::Program;
use super::programs::TEN_STEPS;
use super::track::Track;
use crate::host::installation::PYTHON_MODULE;
use crate::host::{access, files, read};
use crate::runs::remedy;

/// Largest size of a learner's program, and of a file beside it that is compared before it is written.
const MOST_BYTES: u64 = 16 << 20;
/// Name of the file with the chosen language, and its largest size.
const LANGUAGE_FILE: &str = "language";
const LANGUAGE_BYTES: u64 = 64;

/// The folder of the exercise in a home folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
    track: Track,
}

#[derive(Debug, thiserror::Error)]
pub enum ExerciseError {
    #[error("cannot {what} {}: {cause}{}", path.display(), remedy(cause))]
    Io { what: &'static str, path: PathBuf, cause: io::Error },
    #[error("{} is not there yet: `{start}` makes it", path.display())]
    NotStarted { path: PathBuf, start: String },
    #[error(
        "{noun} {number} has {there} of its {wanted} comments `TODO: {mark} {number}` or `{mark} {number}/{count}` in {}: put them \
         back, or reset the whole (`{reset}`)",
        path.display(), noun = program.noun, mark = program.mark, count = program.count, reset = Track::Program(program).command("reset"),
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
    #[error(
        "the native module for Python is not in {}: run `make build` in the checkout of hvd-lab, point HVD_LAB_PYTHON_MODULE at \
         {PYTHON_MODULE}, or write your program in Rust (`hvd-lab exercise start --language rust`)",
        path.display()
    )]
    NoModule { path: PathBuf },
    #[error("the native module for Python is still being built: try again in a minute")]
    ModuleBeingBuilt,
    #[error("{python} cannot be used ({cause}): install Python 3.8 or newer, or set HVD_LAB_PYTHON to one")]
    NoPython { python: String, cause: String },
    #[error(
        "this exercise runs on your own PyTorch, and {python} has none: `{python} -m pip install torch`, or set HVD_LAB_PYTHON to a Python that has it"
    )]
    NoTorch { python: String },
    #[error(transparent)]
    Images(#[from] crate::dataset::DatasetError),
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

/// Writes a file, and its folder, unless it is there as it should be: ranks of another run may be reading it. Whether it was written.
pub(super) fn write_changed(path: &Path, bytes: &[u8]) -> Result<bool, ExerciseError> {
    if let Some(folder) = path.parent() {
        access::make_folder(folder).map_err(ExerciseError::io("make", folder))?;
    }
    if read::small_file(path, MOST_BYTES).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    files::write(path, bytes).map(|()| true).map_err(ExerciseError::io("write", path))
}

impl Folder {
    /// The folder of the trainer with its ten steps, in the learner's language.
    pub fn of(home: &Path) -> Folder {
        Folder::of_track(home, Track::Program(TEN_STEPS.in_language(Language::of(home)).unwrap_or(&TEN_STEPS)))
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

    pub fn track(&self) -> Track {
        self.track
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
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes);
            let is_bad = match &text {
                Ok(text) => text.find('\0').map(|at| (at, "a NUL byte, which no program holds")),
                Err(error) => Some((error.utf8_error().valid_up_to(), "a byte that is not UTF-8: save the file as UTF-8")),
            };
            let bytes = text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            let Some((at, what)) = is_bad else { return Ok(bytes) };
            let line = 1 + bytes.bytes().take(at).filter(|byte| *byte == b'\n').count();
            Err(io::Error::new(io::ErrorKind::InvalidData, format!("line {line} has {what}")))
        };
        match read::small_file(&program, MOST_BYTES).and_then(text) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && program.is_symlink() => {
                let to = std::fs::read_link(&program).unwrap_or_default();
                let cause =
                    format!("it is a link to {}, which is not there: put that file back, or remove the link", to.display());
                Err(ExerciseError::io("read", &program)(io::Error::new(io::ErrorKind::InvalidData, cause)))
            }
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
        let fresh = match (number, self.track) {
            (None, track) => track.text().to_owned(),
            (Some(number), Track::Program(of)) => of.without(&text, number).map_err(|(there, wanted)| {
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

impl Language {
    /// The language that the learner writes the ten steps in.
    pub fn of(home: &Path) -> Language {
        Language::of_program(home, &TEN_STEPS)
    }

    /// The language that the learner writes a program in: the one chosen last, but never away from the only one that is there; else
    /// that of the ten steps; else Python where it can be run.
    pub fn of_program(home: &Path, program: &Program) -> Language {
        let first = || if interpreter::is_there() { Language::Python } else { Language::Rust };
        Language::known(home, program).unwrap_or_else(first)
    }

    /// The language of a program as far as the learner has said: `None` where nothing was chosen or begun yet.
    pub fn known(home: &Path, program: &Program) -> Option<Language> {
        let folder = home.join("exercise");
        let chosen = read::small_text(&folder.join(LANGUAGE_FILE), LANGUAGE_BYTES).ok().and_then(|name| name.trim().parse().ok());
        let has = |of: &Program, language| of.in_language(language).is_some_and(|program| folder.join(program.file).exists());
        let there = |of: &Program| match (has(of, Language::Python), has(of, Language::Rust)) {
            (true, false) => Some(Language::Python),
            (false, true) => Some(Language::Rust),
            (true, true) => Some(chosen.unwrap_or(Language::Python)),
            (false, false) => None,
        };
        there(program).or(chosen).or_else(|| there(&TEN_STEPS))
    }

    /// Remembers this language as the one that the learner writes in.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn choose(self, home: &Path) -> Result<(), ExerciseError> {
        write_changed(&home.join("exercise").join(LANGUAGE_FILE), format!("{}\n", self.name()).as_bytes()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_reset_keeps_what_was_there_every_time() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::of_track(home.path(), Track::default());
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

    #[test]
    fn what_was_chosen_last_counts_and_else_the_program_that_is_there() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("exercise");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("fashion_mnist.rs"), "").unwrap();
        assert_eq!(Language::of(home.path()), Language::Rust, "of a lab that knew no other");
        std::fs::write(folder.join("fashion_mnist.py"), "").unwrap();
        assert_eq!(Language::of(home.path()), Language::Python);
        for language in Language::ALL {
            language.choose(home.path()).unwrap();
            assert_eq!(Language::of(home.path()), language);
        }
        // A damaged file chooses nothing.
        std::fs::write(folder.join(LANGUAGE_FILE), "cobol\n").unwrap();
        assert_eq!(Language::of(home.path()), Language::Python);
    }
}
