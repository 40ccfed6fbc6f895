//! Deleted runs: moved aside within the home, brought back by number or the last one first.
//!
//! Never removes a run that is going, and never loses one by itself: only [`RunStore::empty_trash`] does, when asked.
//!
//! A folder's new name says all there is to know of it (`0007-1700000000123`: run 7, Unix time in milliseconds), so that
//! deleting is one rename: it happens as a whole or not at all, on a full disk too.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::batch_job::cancel_job;
use super::{RunFolder, RunId, RunStore, StoreError, Supervision, orphans};
use crate::host::{self, access, files};
use crate::process::{self, RunLock};

/// Remembers the highest number ever emptied: numbers are not used again, since notes and progress name them.
const HIGHEST: &str = "highest-number";

/// A run in the trash.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deleted {
    pub id: RunId,
    pub name: Option<String>,
    /// Unix time in seconds.
    pub deleted_s: f64,
    pub path: PathBuf,
}

impl Deleted {
    fn read(path: PathBuf) -> Option<Deleted> {
        let (number, millis) = path.file_name()?.to_str()?.split_once('-')?;
        let (id, millis) = (number.parse().ok()?, millis.parse::<u64>().ok()?);
        let name = RunFolder::new(&path).read_record().ok().and_then(|record| record.request.name);
        Some(Deleted { id, name, deleted_s: millis as f64 / 1000.0, path })
    }

    /// What removing it would free.
    pub fn bytes(&self) -> u64 {
        size(&self.path)
    }
}

fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => size(&entry.path()),
            _ => entry.metadata().map_or(0, |metadata| metadata.len()),
        })
        .sum()
}

impl RunStore {
    /// Move a run to the trash.
    ///
    /// # Errors
    /// [`StoreError::NoRun`], [`StoreError::StillGoing`], [`StoreError::Elsewhere`], [`StoreError::Io`]; the run is where it
    /// was then.
    pub fn delete(&self, id: RunId) -> Result<Deleted, StoreError> {
        let folder = self.folder_of(id)?;
        self.refuse_if_going(id, &folder)?;
        let lock = match RunLock::take(folder.path()) {
            Ok(None) => return Err(StoreError::StillGoing { id }),
            // On a disk that takes no lock no run can begin either.
            lock => lock.ok(),
        };
        // Another lab may have continued it between the look and the lock.
        if folder.read_status().is_ok_and(|status| !status.state.is_over()) {
            return Err(StoreError::StillGoing { id });
        }
        // A job of Slurm would write into a folder that is gone.
        cancel_job(folder.path()).map_err(|why| StoreError::JobLeft { id, why })?;
        let trash = self.trash();
        access::make_folder(&trash).map_err(StoreError::io(StoreError::MAKE_FOLDER, &trash))?;
        let millis = (host::now_s() * 1000.0) as u64;
        let path = trash.join(format!("{:04}-{millis}", id.0));
        let failed = StoreError::io("cannot move to the trash the folder", folder.path());
        fs::rename(folder.path(), &path).map_err(|error| self.or_gone(id, failed(error)))?;
        if lock.is_none()
            && let Err(error) = self.refuse_if_going(id, &RunFolder::new(&path))
        {
            fs::rename(&path, folder.path()).map_err(StoreError::io("cannot move back from the trash the folder", &path))?;
            return Err(error);
        }
        Deleted::read(path).ok_or(StoreError::NoRun { id })
    }

    /// Bring a run back from the trash; without a number the one that was deleted last.
    ///
    /// # Errors
    /// [`StoreError::NotDeleted`], [`StoreError::NothingDeleted`], [`StoreError::Io`].
    pub fn restore(&self, id: Option<RunId>) -> Result<RunId, StoreError> {
        let found = self.deleted().into_iter().rfind(|deleted| id.is_none_or(|id| id == deleted.id));
        let Some(deleted) = found else {
            return Err(id.map_or(StoreError::NothingDeleted, |id| StoreError::NotDeleted { id }));
        };
        let place = self.folder(deleted.id);
        if place.path().exists() {
            return Err(StoreError::Taken { id: deleted.id, path: deleted.path });
        }
        fs::rename(&deleted.path, place.path()).map_err(StoreError::io("cannot bring back the folder", &deleted.path))?;
        Ok(deleted.id)
    }

    /// The runs in the trash, the one deleted last at the end.
    pub fn deleted(&self) -> Vec<Deleted> {
        let Ok(entries) = fs::read_dir(self.trash()) else { return Vec::new() };
        let mut deleted: Vec<Deleted> = entries.flatten().filter_map(|entry| Deleted::read(entry.path())).collect();
        deleted.sort_by(|a, b| a.deleted_s.total_cmp(&b.deleted_s).then(a.id.cmp(&b.id)));
        deleted
    }

    /// Remove these for good.
    ///
    /// # Errors
    /// [`StoreError::Io`] with the first that could not be removed.
    pub fn empty_trash(&self, deleted: &[Deleted]) -> Result<(), StoreError> {
        let Some(highest) = deleted.iter().map(|deleted| deleted.id.0).max() else { return Ok(()) };
        let mark = self.trash().join(HIGHEST);
        let highest = highest.max(self.highest_emptied());
        files::write(&mark, highest.to_string().as_bytes()).map_err(StoreError::io("cannot write", &mark))?;
        for run in deleted {
            fs::remove_dir_all(&run.path).map_err(StoreError::io("cannot remove", &run.path))?;
        }
        Ok(())
    }

    /// The numbers of the runs in the trash, and the highest that was ever emptied from it.
    pub(super) fn deleted_numbers(&self) -> impl Iterator<Item = u32> {
        let number = |name: String| Some(name.split_once('-')?.0.parse::<RunId>().ok()?.0);
        files::names_in(&self.trash()).filter_map(number).chain([self.highest_emptied()])
    }

    fn highest_emptied(&self) -> u32 {
        fs::read_to_string(self.trash().join(HIGHEST)).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    fn trash(&self) -> PathBuf {
        self.root().with_file_name("trash")
    }

    /// Whether anything still writes into the folder, as far as can be told: its files may be damaged.
    fn refuse_if_going(&self, id: RunId, folder: &RunFolder) -> Result<(), StoreError> {
        let record = folder.read_record().ok();
        let status = folder.read_status();
        let is_damaged = record.is_none() || status.is_err();
        let now = status.map_or(Supervision::Over, |status| orphans::reconcile(folder, record.as_ref(), status, &self.here).1);
        now.refuse_unless_over(id)?;
        if is_damaged && !process::of_run(folder.path()).is_empty() { Err(StoreError::StillGoing { id }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
