//! `progress.json` in the lab's home, and the copy of it for the class.
//!
//! Never loses a word of it: the file is replaced as a whole, and one that cannot be read is set aside.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::progress::VERSION;
use super::{Progress, Share};
use crate::domain::bounds::Bounded;
use crate::host::access;
use crate::runs::{self, StoreError};

/// `progress.json` in a home folder. It is read again before every change, because two labs may be open.
#[derive(Clone, Debug)]
pub struct ProgressFile {
    path: PathBuf,
}

/// The content of the file, with a note for the user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    pub progress: Progress,
    /// The file was damaged, and where it is now; or it could not be shared.
    pub note: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ProgressError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{} is of a newer hvd-lab (format {version}, this one knows {VERSION}): use that one", path.display())]
    Newer { path: PathBuf, version: u32 },
}

impl ProgressError {
    /// Whether what the user asked for is at fault (exit code 2), rather than the system (1).
    pub fn is_bad_input(&self) -> bool {
        match self {
            ProgressError::Store(error) => error.is_bad_input(),
            ProgressError::Newer { .. } => true,
        }
    }

    /// What to tell a user whose work goes on all the same.
    pub fn not_kept(&self) -> String {
        format!("progress could not be kept: {self}")
    }
}

#[derive(Deserialize)]
struct Header {
    version: u32,
}

impl Bounded for Header {
    fn out_of_bounds(&self) -> Option<String> {
        None
    }
}

impl ProgressFile {
    pub fn of(home: &Path) -> ProgressFile {
        ProgressFile { path: home.join("progress.json") }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Nothing done where there is no file. Of one that is damaged the reading says so, as it does where the class does not see it. The
    /// file stays as it is: whoever reads may have nobody to tell.
    ///
    /// # Errors
    /// A file that cannot be read, or is of a newer lab.
    pub fn read(&self) -> Result<Reading, ProgressError> {
        let (mut reading, damage) = self.content()?;
        let damaged = damage.map(|cause| {
            format!(
                "{} is damaged ({cause}): what was in it does not count, and the next change sets it aside",
                self.path.display()
            )
        });
        reading.note = together([damaged, Share::of(self.home()).err()]);
        Ok(reading)
    }

    /// Whether the file is damaged.
    pub fn is_damaged(&self) -> bool {
        self.content().is_ok_and(|(_, damage)| damage.is_some())
    }

    fn home(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// The second is what is wrong with a damaged file.
    fn content(&self) -> Result<(Reading, Option<String>), ProgressError> {
        let newer = runs::read_json::<Header>(&self.path).ok().filter(|header| header.version > VERSION);
        if let Some(Header { version }) = newer {
            return Err(ProgressError::Newer { path: self.path.clone(), version });
        }
        match runs::read_json_if_any(&self.path) {
            Ok(progress) => Ok((Reading { progress: progress.unwrap_or_default(), note: None }, None)),
            Err(StoreError::Damaged { cause, .. }) => Ok((Reading::default(), Some(cause))),
            Err(error) => Err(error.into()),
        }
    }

    /// As [`ProgressFile::update`], where an error is no reason to stop. Returns what the user should be told, if anything.
    pub fn note(&self, change: impl FnOnce(&mut Progress)) -> Option<String> {
        self.update(change).map_or_else(|error| Some(error.not_kept()), |((), reading)| reading.note)
    }

    /// Read, change, write. A damaged file is renamed before, and the reading says so.
    ///
    /// # Errors
    /// As [`ProgressFile::read`], and a file that cannot be set aside or written.
    pub fn update<T>(&self, change: impl FnOnce(&mut Progress) -> T) -> Result<(T, Reading), ProgressError> {
        let home = self.home();
        access::make_folder(home).map_err(StoreError::io(StoreError::MAKE_FOLDER, home))?;
        let _lock = runs::lock(home)?;
        let (mut reading, damage) = self.content()?;
        let damaged = damage.map(|cause| self.set_aside(&cause)).transpose()?;
        let changed = change(&mut reading.progress);
        runs::write_json(&self.path, &reading.progress)?;
        // Nothing that is wrong with a folder of the class may stand in a learner's way.
        let shared = Share::of(home).and_then(|share| share.map_or(Ok(()), |share| share.copy(home, &reading.progress)));
        reading.note = together([damaged, shared.err()]);
        Ok((changed, reading))
    }

    fn set_aside(&self, cause: &str) -> Result<String, StoreError> {
        let name = |number: usize| self.path.with_file_name(format!("progress.damaged-{number}.json"));
        let free = (1..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(0));
        fs::rename(&self.path, &free).map_err(StoreError::io("cannot set aside", &self.path))?;
        Ok(format!("{} was damaged ({cause}) and is kept as {}", self.path.display(), free.display()))
    }
}

fn together(notes: [Option<String>; 2]) -> Option<String> {
    notes.into_iter().flatten().reduce(|one, other| format!("{one}; {other}"))
}
