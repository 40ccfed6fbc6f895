//! Deleted runs: moved aside within the home, brought back by number or the last one first.
//!
//! Never removes a run that is going, and never loses one by itself: only [`RunStore::empty_trash`] does, when asked.
//!
//! A folder's new name says all there is to know of it (`0007-1700000000123`: run 7, Unix time in milliseconds), so that
//! deleting is one rename: it happens as a whole or not at all, on a full disk too.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{RunFolder, RunId, RunStore, StoreError, orphans, process};
use crate::host::{self, access, files};

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
        let name = RunFolder::new(&path).read_record().ok().and_then(|record| record.name);
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
    /// [`StoreError::NoRun`], [`StoreError::StillGoing`], [`StoreError::Io`]; the run is where it was then.
    pub fn delete(&self, id: RunId) -> Result<Deleted, StoreError> {
        let folder = self.folder(id);
        if !folder.path().is_dir() {
            return Err(StoreError::NoRun { id });
        }
        if self.is_going(&folder) {
            return Err(StoreError::StillGoing { id });
        }
        let trash = self.trash();
        access::make_folder(&trash).map_err(StoreError::io("cannot make the folder", &trash))?;
        let millis = (host::now_s() * 1000.0) as u64;
        let path = trash.join(format!("{:04}-{millis}", id.0));
        fs::rename(folder.path(), &path).map_err(StoreError::io("cannot move to the trash the folder", folder.path()))?;
        // Another lab may have continued it between the look and the move.
        if self.is_going(&RunFolder::new(&path)) {
            fs::rename(&path, folder.path()).map_err(StoreError::io("cannot move back from the trash the folder", &path))?;
            return Err(StoreError::StillGoing { id });
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

    /// The highest number that a run which is not in the list has or had.
    pub(super) fn highest_deleted(&self) -> u32 {
        let in_trash = fs::read_dir(self.trash()).into_iter().flatten().flatten().filter_map(|entry| {
            let name = entry.file_name();
            Some(name.to_str()?.split_once('-')?.0.parse::<RunId>().ok()?.0)
        });
        in_trash.max().unwrap_or(0).max(self.highest_emptied())
    }

    fn highest_emptied(&self) -> u32 {
        fs::read_to_string(self.trash().join(HIGHEST)).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    fn trash(&self) -> PathBuf {
        self.root().with_file_name("trash")
    }

    /// Whether anything still writes into the folder, as far as can be told: its files may be damaged.
    fn is_going(&self, folder: &RunFolder) -> bool {
        let has_processes = || !process::of_run(folder.path()).is_empty();
        match (folder.read_record(), folder.read_status()) {
            (Ok(record), Ok(status)) => !orphans::reconcile(folder, status, self.is_here(&record)).state.is_over(),
            (Err(_), Ok(status)) if !status.state.is_over() => {
                process::is_alive(status.supervisor_pid, status.supervisor_start_ticks) || has_processes()
            }
            _ => has_processes(),
        }
    }
}

#[cfg(test)]
mod tests;
