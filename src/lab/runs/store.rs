//! All runs of a home folder: make, find and list them.
//!
//! Never starts one. A folder that cannot be read becomes a row with the reason, never an error.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::records::{read_json, write_json};
use super::running_totals::RunningTotals;
use super::supervision::Supervision;
use super::{RunFolder, RunId, RunRecord, RunSummary, StoreError, Tally, orphans};
use crate::domain::printable;
use crate::domain::process_location::ProcessLocation;
use crate::domain::run::{RunState, RunStatus};
use crate::host::{self, access};
use crate::process::RunLock;

/// The runs under one home folder.
#[derive(Clone, Debug)]
pub struct RunStore {
    /// Absolute, with `runs` at its end.
    root: PathBuf,
    /// Where this program runs.
    pub(super) here: ProcessLocation,
    running: RunningTotals,
}

/// How long [`RunStore::claim`] waits for a lab that only looks, or has just begun.
const CLAIM_PATIENCE: Duration = Duration::from_secs(2);

impl RunStore {
    /// Open the store under `home`, making the folders that are missing.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the folder cannot be made or written to, [`StoreError::NotText`] where ranks could not be told of it.
    pub fn open(home: &Path) -> Result<RunStore, StoreError> {
        let root = home.join("runs");
        access::make_folder(&root).map_err(StoreError::io(StoreError::MAKE_FOLDER, &root))?;
        let root = root.canonicalize().map_err(StoreError::io("cannot open the folder", &root))?;
        if root.to_str().is_none() {
            return Err(StoreError::NotText { path: home.to_owned() });
        }
        Ok(RunStore { root, here: host::place(), running: RunningTotals::default() })
    }

    /// [`host::home_dir`].
    ///
    /// # Errors
    /// [`StoreError::NoHome`].
    pub fn default_home() -> Result<PathBuf, StoreError> {
        host::home_dir().map_err(|_| StoreError::NoHome)
    }

    /// [`RunStore::open`] at [`RunStore::default_home`].
    ///
    /// # Errors
    /// As those two.
    pub fn open_default() -> Result<RunStore, StoreError> {
        RunStore::open(&RunStore::default_home()?)
    }

    /// The same where there are runs already: to look at them must not create the folder.
    pub fn open_existing() -> Option<RunStore> {
        let home = RunStore::default_home().ok().filter(|home| home.join("runs").is_dir())?;
        RunStore::open(&home).ok()
    }

    /// The folder of all run folders.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a run, whether it is there or not.
    pub fn folder(&self, id: RunId) -> RunFolder {
        RunFolder::new(self.root.join(format!("{:04}", id.0)))
    }

    /// The runs there are, oldest first.
    pub fn ids(&self) -> Vec<RunId> {
        let Ok(entries) = fs::read_dir(&self.root) else { return Vec::new() };
        let is_folder = |entry: &fs::DirEntry| match entry.file_type() {
            Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
            kind => kind.is_ok_and(|kind| kind.is_dir()),
        };
        let folders = entries.flatten().filter(is_folder);
        let mut ids: Vec<RunId> = folders.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The number that the next run gets, unless another lab takes it first: never that of a run that was deleted.
    pub fn next_id(&self) -> RunId {
        let mut used: Vec<u32> = self.ids().into_iter().map(|id| id.0).chain(self.deleted_numbers()).collect();
        used.sort_unstable();
        // One more than the highest; below a folder with a number that has none after it, one more than the next highest.
        let free = |number: &u32| Some(number.checked_add(1)?).filter(|next| used.binary_search(next).is_err());
        let mut next = RunId(used.iter().rev().find_map(free).unwrap_or(1));
        // Something else may have the name.
        while let Some(number) = next.0.checked_add(1)
            && self.folder(next).path().symlink_metadata().is_ok()
        {
            next = RunId(number);
        }
        next
    }

    /// Make the folder of a new run and write its record and status; `record.id` is set to its number.
    ///
    /// # Errors
    /// As [`RunStore::create_claimed`].
    pub fn create(&self, record: RunRecord, status: &RunStatus) -> Result<RunRecord, StoreError> {
        self.create_claimed(record, status).map(|(record, _)| record)
    }

    /// As [`RunStore::create`], and with the lock of the new folder, for its supervisor.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::NoLocks`], [`StoreError::NoNumberLeft`]; nothing is left behind then.
    pub fn create_claimed(&self, mut record: RunRecord, status: &RunStatus) -> Result<(RunRecord, RunLock), StoreError> {
        let mut id = self.next_id();
        let folder = loop {
            let folder = self.folder(id);
            match access::new_folder(folder.path()) {
                Ok(()) => break folder,
                // Another lab was faster with this number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let next = id.0.checked_add(1).ok_or(StoreError::NoNumberLeft { path: folder.path().to_owned() })?;
                    id = self.next_id().max(RunId(next));
                }
                Err(error) => return Err(StoreError::io(StoreError::MAKE_FOLDER, folder.path())(error)),
            }
        };
        record.id = id;
        // The lock first: a status without a supervisor is taken for that of one that was killed.
        let fill = || {
            let lock = RunLock::take(folder.path()).map_err(StoreError::lock)?.ok_or(StoreError::StillGoing { id })?;
            access::new_folder(&folder.log_dir()).map_err(StoreError::io(StoreError::MAKE_FOLDER, &folder.log_dir()))?;
            folder.reserve_status()?;
            folder.write_record(&record)?;
            folder.write_status(status)?;
            Ok(lock)
        };
        let lock = fill().inspect_err(|_| _ = fs::remove_dir_all(folder.path()))?;
        Ok((record, lock))
    }

    /// The lock of a run that is over: until it is dropped, or handed to a supervisor, nobody else starts, continues or
    /// deletes the run.
    ///
    /// # Errors
    /// [`StoreError::NoRun`], [`StoreError::StillGoing`], [`StoreError::Elsewhere`], [`StoreError::NoLocks`],
    /// [`StoreError::Io`], [`StoreError::Damaged`].
    pub fn claim(&self, id: RunId) -> Result<RunLock, StoreError> {
        let folder = self.folder(id);
        let begin = Instant::now();
        loop {
            self.supervision(id)?.1.refuse_unless_over(id)?;
            let lock = RunLock::take(folder.path()).map_err(|error| self.or_gone(id, StoreError::lock(error)))?;
            if lock.is_some() && folder.read_status().map_err(|error| self.or_gone(id, error))?.state.is_over() {
                return lock.ok_or(StoreError::StillGoing { id });
            }
            if begin.elapsed() > CLAIM_PATIENCE {
                return Err(StoreError::StillGoing { id });
            }
            // A lab that only looks holds it for a moment; one that continues the run soon says so in its status.
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The folder of a run that should be there.
    pub(super) fn folder_of(&self, id: RunId) -> Result<RunFolder, StoreError> {
        let folder = self.folder(id);
        match fs::metadata(folder.path()) {
            Ok(found) if found.is_dir() => Ok(folder),
            Ok(_) => Err(StoreError::NotAFolder { id, path: folder.path().to_owned() }),
            Err(_) => Err(StoreError::NoRun { id }),
        }
    }

    /// What an error means where another lab, or its user, may have removed the run meanwhile, or is just doing so.
    pub(super) fn or_gone(&self, id: RunId, error: StoreError) -> StoreError {
        if error.is_not_found() { self.folder_of(id).err().unwrap_or(StoreError::Gone { id }) } else { error }
    }

    /// Every run, newest last.
    pub fn list(&self) -> Vec<RunSummary> {
        // What was removed since is no run that failed.
        let is_there = |row: &RunSummary| row.record.is_some() || self.folder(row.id).path().is_dir();
        self.ids().into_iter().map(|id| self.summarise(id)).filter(is_there).collect()
    }

    /// The runs that are going, oldest first. Those whose supervisor was killed are marked failed on the way.
    pub fn going(&self) -> Vec<RunId> {
        let is_going = |id: &RunId| {
            // The file first: it is cheap to read, and nearly all runs are over.
            let is_told_to = self.folder(*id).read_status().is_ok_and(|status| !status.state.is_over());
            is_told_to && self.status(*id).is_ok_and(|status| !status.state.is_over())
        };
        self.ids().into_iter().filter(is_going).collect()
    }

    /// One run.
    ///
    /// # Errors
    /// [`StoreError::NoRun`].
    pub fn summary(&self, id: RunId) -> Result<RunSummary, StoreError> {
        self.folder_of(id).map(|_| self.summarise(id))
    }

    /// The record of a run.
    ///
    /// # Errors
    /// [`StoreError::NoRun`], [`StoreError::NotAFolder`], [`StoreError::Gone`], [`StoreError::Io`], [`StoreError::Damaged`].
    pub fn record(&self, id: RunId) -> Result<RunRecord, StoreError> {
        self.folder_of(id)?.read_record().map_err(|error| self.or_gone(id, error))
    }

    /// How a run is going; one whose supervisor was killed is marked failed on the way, and what is left of it ended.
    ///
    /// # Errors
    /// [`StoreError::NoRun`], [`StoreError::Io`], [`StoreError::Damaged`].
    pub fn status(&self, id: RunId) -> Result<RunStatus, StoreError> {
        self.supervision(id).map(|(status, _)| status)
    }

    /// As [`RunStore::status`], and who supervises the run.
    ///
    /// # Errors
    /// As [`RunStore::status`].
    pub fn supervision(&self, id: RunId) -> Result<(RunStatus, Supervision), StoreError> {
        let record = self.record(id)?;
        let status = self.folder(id).read_status().map_err(|error| self.or_gone(id, error))?;
        Ok(orphans::reconcile(&self.folder(id), Some(&record), status, &self.here))
    }

    /// Mark a run as failed because its user says that the place where it runs will never come back.
    ///
    /// # Errors
    /// As [`RunStore::status`], [`StoreError::NotElsewhere`], and [`StoreError::AliveElsewhere`] where it was heard of just now.
    pub fn give_up(&self, id: RunId) -> Result<RunStatus, StoreError> {
        match self.supervision(id)? {
            (status, Supervision::Elsewhere(place)) => orphans::give_up(id, &self.folder(id), status, place),
            (status, Supervision::Over) => Err(StoreError::Over { id, state: status.state.name() }),
            (status, _) => Err(StoreError::NotElsewhere { id, state: status.state.name() }),
        }
    }

    /// Cancel the job of Slurm that a run which is over has left behind, as its user says; whether there was one.
    ///
    /// # Errors
    /// [`StoreError::JobLeft`], [`StoreError::Io`].
    pub fn stop_left_job(&self, id: RunId) -> Result<bool, StoreError> {
        orphans::stop_left_job(id, &self.folder(id))
    }

    /// Name a run; a text without a word takes the name away.
    ///
    /// # Errors
    /// As [`RunStore::record`], and [`StoreError::TooLong`].
    pub fn set_name(&self, id: RunId, name: &str) -> Result<(), StoreError> {
        let name = one_line(name, "the name", NAME)?;
        self.change_record(id, |record| record.request.name = name)
    }

    /// Write a note to a run; a text without a word takes it away.
    ///
    /// # Errors
    /// As [`RunStore::record`], and [`StoreError::TooLong`].
    pub fn set_note(&self, id: RunId, note: &str) -> Result<(), StoreError> {
        let note = one_line(note, "the note", NOTE)?;
        self.change_record(id, |record| record.request.note = note)
    }

    fn change_record(&self, id: RunId, change: impl FnOnce(&mut RunRecord)) -> Result<(), StoreError> {
        self.folder_of(id)?.change_record(change).map_err(|error| self.or_gone(id, error))?;
        self.forget_summary(id);
        Ok(())
    }

    /// The cached summary is made again at the next look.
    pub fn forget_summary(&self, id: RunId) {
        // It may not be there.
        let _ = fs::remove_file(self.folder(id).summary_file());
    }

    fn summarise(&self, id: RunId) -> RunSummary {
        let folder = self.folder(id);
        if let Some(cached) = cached(&folder, id) {
            return cached;
        }
        let record = match folder.read_record() {
            Ok(record) => record,
            Err(error) => {
                let error = self.or_gone(id, error);
                return RunSummary { id, record: None, status: damaged(&error), tally: Tally::default(), elsewhere: None };
            }
        };
        let (status, now, unread) = match folder.read_status() {
            Ok(status) => {
                let (status, now) = orphans::reconcile(&folder, Some(&record), status, &self.here);
                (status, now, None)
            }
            Err(error) => (damaged(&error), Supervision::Over, Some(error.to_string())),
        };
        // Behind the status: all events of a run that is over are there by then.
        let mut tally = self.running.tally(id, &folder, &record, status.state.is_over());
        tally.damaged = unread.or(tally.damaged);
        let elsewhere = if let Supervision::Elsewhere(place) = now { Some(place) } else { None };
        let row = RunSummary { id, record: Some(record), status, tally, elsewhere };
        if row.status.state.is_over() {
            // Only a cache: where it cannot be written the next look costs more.
            let _ = write_json(&folder.summary_file(), &row);
        }
        row
    }
}

/// The most characters of a name and of a note.
const NAME: usize = 100;
const NOTE: usize = 10_000;

/// As it can stand in a table: words with single spaces, and nothing that moves a cursor or colours what follows.
fn one_line(text: &str, what: &'static str, most: usize) -> Result<Option<String>, StoreError> {
    let plain = printable::line(text);
    let words: Vec<&str> = plain.split_whitespace().collect();
    let line = words.join(" ");
    match line.chars().count() {
        0 => Ok(None),
        length if length > most => Err(StoreError::TooLong { what, length, most }),
        _ => Ok(Some(line)),
    }
}

/// The cached summary, unless the run was continued or its record changed after it was made.
fn cached(folder: &RunFolder, id: RunId) -> Option<RunSummary> {
    // File times are coarse: a summary of the same tick may be older than the status, and is made again.
    let modified = |path: PathBuf| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let made = modified(folder.summary_file())?;
    let has_other_events = modified(folder.events_file()).is_some_and(|events| made <= events);
    if made <= modified(folder.status_file())? || made <= modified(folder.record_file())? || has_other_events {
        return None;
    }
    let row: RunSummary = read_json(&folder.summary_file()).ok()?;
    (row.id == id && row.status.state.is_over()).then_some(row)
}

/// The status of a run whose files cannot be read.
fn damaged(error: &StoreError) -> RunStatus {
    RunStatus::new(RunState::Failed, error.to_string(), 0.0)
}
