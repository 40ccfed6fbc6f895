//! The paths inside one run folder, reading and writing its two small files, and reading its events.

use std::path::{Path, PathBuf};

use super::records::{self, read_json};
use super::{Events, RunRecord, StoreError};
use crate::domain::checkpoint::Progress;
use crate::domain::job::MAX_RANKS;
use crate::domain::run::RunStatus;
use crate::host::{files, reserve};

/// One run's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    pub fn new(path: impl Into<PathBuf>) -> RunFolder {
        RunFolder { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn record_file(&self) -> PathBuf {
        self.path.join("run.json")
    }

    pub fn status_file(&self) -> PathBuf {
        self.path.join("status.json")
    }

    pub fn summary_file(&self) -> PathBuf {
        self.path.join("summary.json")
    }

    pub fn events_file(&self) -> PathBuf {
        self.path.join("events.jsonl")
    }

    pub fn telemetry_file(&self) -> PathBuf {
        self.path.join("telemetry.jsonl")
    }

    /// Human lines of one process, both streams.
    pub fn rank_log(&self, process: usize) -> PathBuf {
        self.path.join(format!("rank-{process}.log"))
    }

    /// The processes that have a log, in their order: what is there, however many ranks the record names.
    pub fn rank_logs(&self) -> Vec<usize> {
        let number = |name: String| name.strip_prefix("rank-")?.strip_suffix(".log")?.parse().ok();
        let processes = files::names_in(&self.path).filter_map(number).filter(|process| *process < MAX_RANKS);
        let mut processes: Vec<usize> = processes.collect();
        processes.sort_unstable();
        processes
    }

    pub fn launcher_log(&self) -> PathBuf {
        self.path.join("launcher.log")
    }

    /// When the lines of the logs came: see [`super::Arrival`].
    pub fn arrivals_file(&self) -> PathBuf {
        self.path.join("arrivals.txt")
    }

    /// The trainer's `--log-dir`: checkpoints and TensorBoard files.
    pub fn log_dir(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// How far the newest of its checkpoints has come, by its name.
    pub fn last_checkpoint(&self) -> Option<Progress> {
        let logs = self.log_dir();
        let names = files::names_in(&logs).filter(|name| logs.join(name).is_file());
        names.filter_map(|name| Progress::from_file_name(&name)).max()
    }

    /// The request to the supervisor to cause a fault.
    pub fn fault_file(&self) -> PathBuf {
        self.path.join("fault.json")
    }

    /// All events so far, in order of arrival; none without a file. Lines that cannot be read are skipped.
    pub fn events(&self) -> Events {
        Events::of(self.events_file())
    }

    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Damaged`].
    pub fn read_record(&self) -> Result<RunRecord, StoreError> {
        read_json(&self.record_file())
    }

    /// # Errors
    /// [`StoreError::Io`].
    pub fn write_record(&self, record: &RunRecord) -> Result<(), StoreError> {
        records::write_json(&self.record_file(), record)
    }

    /// Change the record as it is now; the new one is returned.
    ///
    /// A supervisor and several labs may do so at once: each waits for the other, so that no change is lost.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Damaged`].
    pub fn change_record(&self, change: impl FnOnce(&mut RunRecord)) -> Result<RunRecord, StoreError> {
        // A file system without locks: as good as it gets there.
        let _lock = records::lock(&self.path).ok();
        let mut record = self.read_record()?;
        change(&mut record);
        self.write_record(&record)?;
        Ok(record)
    }

    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Damaged`].
    pub fn read_status(&self) -> Result<RunStatus, StoreError> {
        read_json(&self.status_file())
    }

    /// # Errors
    /// [`StoreError::Io`].
    pub fn write_status(&self, status: &RunStatus) -> Result<(), StoreError> {
        let path = self.status_file();
        let json = records::json(&path, status)?;
        let written = if status.state.is_over() {
            // There may be no reserve, and it is only room.
            let _ = reserve::release(&self.notice_file());
            reserve::write(&path, &json).map(|()| drop(reserve::release(&path)))
        } else {
            match files::write(&path, &json) {
                Err(error) if files::is_full(&error) => {
                    let notice = self.notice_file();
                    // What the old status took is kept for the next one, and as much more as there is room for.
                    reserve::exchange(&path, &notice, &json).map(|()| drop(reserve::keep(&notice)))
                }
                done => done,
            }
        };
        written.map_err(StoreError::io("cannot write", &path))
    }

    /// The name under which room is kept for the status of a run that goes on when the disk is full, so that it can say that its lines
    /// are not kept.
    fn notice_file(&self) -> PathBuf {
        self.path.join("notice.json")
    }

    /// Keep some room on the disk until the run is over: one that fails for want of space must still be able to say so, and so must one
    /// that goes on.
    ///
    /// # Errors
    /// [`StoreError::Io`]: there is none.
    pub fn reserve_status(&self) -> Result<(), StoreError> {
        let path = self.status_file();
        let reserved = reserve::keep(&path).and_then(|()| reserve::keep(&self.notice_file()));
        reserved.map_err(StoreError::io("cannot write", &path))
    }
}
