//! Runs whose supervisor was killed: they are marked failed, and the ranks it left behind are ended. A job of Slurm continues, and
//! gets another supervisor.
//!
//! Never touches a process that is not proven to have been started for the run, nor a run whose lock is held.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::batch_job::{cancel_job, job_file};
use super::supervision::{SILENCE_SECONDS, Supervision, silent_seconds, supervision};
use super::{RunFolder, RunId, RunRecord, StoreError};
use crate::domain::process_location::ProcessLocation;
use crate::domain::run::{RunState, RunStatus};
use crate::host;
use crate::process::{self, RunLock, scratch, this_program};

const GRACE: Duration = Duration::from_millis(500);

/// The run as it is in truth, and who supervises it: one that is marked as going without a supervisor has failed.
///
/// `record` is `None` where it cannot be read.
pub(super) fn reconcile(
    folder: &RunFolder,
    record: Option<&RunRecord>,
    status: RunStatus,
    here: &ProcessLocation,
) -> (RunStatus, Supervision) {
    let now = supervision(folder, record, &status, here);
    if now != Supervision::Nobody {
        return (status, now);
    }
    // With the lock nobody begins to supervise it while it is marked, and what is read then is the last word of whoever did.
    // On a disk that cannot be written there is no lock, and no supervisor can start either.
    let lock = match RunLock::take(folder.path()) {
        Ok(None) => return (folder.read_status().unwrap_or(status), Supervision::Beginning),
        lock => lock,
    };
    let newest = folder.read_status().unwrap_or_else(|_| status.clone());
    if newest.state.is_over() {
        return (newest, Supervision::Over);
    }
    if newest.supervisor_pid != status.supervisor_pid || newest.supervisor_start_ticks != status.supervisor_start_ticks {
        // It was continued meanwhile, and that supervisor is gone as well: the next look finds that out.
        return (newest, Supervision::Beginning);
    }
    if job_file(folder.path()).exists() {
        // Its job belongs to Slurm, and is still training or has ended by itself: looking at it must not end it.
        if let Ok(Some(lock)) = lock
            && this_program::is_lab()
        {
            let _ = this_program::supervise(folder.path(), &folder.launcher_log(), lock);
        }
        return (newest, Supervision::Beginning);
    }
    end_leftovers(folder);
    scratch::sweep();
    let message = match newest.supervisor_pid {
        0 => "its supervisor did not start; launcher.log may say why".to_owned(),
        pid => format!("its supervisor (pid {pid}) was killed while it was {}; no rank is left", newest.state.name()),
    };
    let failed = failed(newest, message);
    // On a disk that takes nothing the next reader comes to the same result.
    let _ = folder.write_status(&failed);
    drop(lock);
    (failed, Supervision::Over)
}

fn failed(status: RunStatus, message: String) -> RunStatus {
    // The clock may have been set back since.
    let ended_s = Some(host::now_s().max(status.started_s));
    RunStatus { state: RunState::Failed, message, ended_s, ..status }
}

/// Mark a run as failed whose supervisor is out of reach for good, as the user says: its host is gone, or its container.
pub(super) fn give_up(id: RunId, folder: &RunFolder, status: RunStatus, place: String) -> Result<RunStatus, StoreError> {
    let ago_s = silent_seconds(folder);
    if ago_s < SILENCE_SECONDS {
        return Err(StoreError::AliveElsewhere { id, place, ago_s });
    }
    let lock = match RunLock::take(folder.path()).map_err(StoreError::lock)? {
        Some(lock) => Some(lock),
        // The file system has not noticed yet that its holder is gone.
        None => RunLock::seize(folder.path()).map_err(StoreError::lock)?,
    };
    if lock.is_none() {
        return Err(StoreError::StillGoing { id });
    }
    let mut message = format!("given up: its supervisor ran {place}, and will not come back");
    if let Err(why) = cancel_job(folder.path()) {
        message += &format!("; {why}");
    }
    let failed = failed(status, message);
    folder.write_status(&failed)?;
    Ok(failed)
}

/// Cancel the job of Slurm that a run which is over has left behind, as somebody says who has it stop; whether there was one.
pub(super) fn stop_left_job(id: RunId, folder: &RunFolder) -> Result<bool, StoreError> {
    // One that is about to be continued has it cancelled as well.
    let Some(_lock) = RunLock::take(folder.path()).map_err(StoreError::lock)? else { return Ok(false) };
    let is_cancelled = cancel_job(folder.path()).map_err(|why| StoreError::JobLeft { id, why })?;
    if is_cancelled {
        let status = folder.read_status()?;
        let message = "its job of Slurm, which had been left behind, was cancelled".to_owned();
        folder.write_status(&RunStatus { state: RunState::Stopped, message, ..status })?;
    }
    Ok(is_cancelled)
}

/// SIGTERM, a short grace, SIGKILL, to everything started for the run.
fn end_leftovers(folder: &RunFolder) {
    let mut left = process::signal_run(folder.path(), Signal::SIGTERM);
    let begin = Instant::now();
    while left && begin.elapsed() < GRACE * 2 {
        std::thread::sleep(Duration::from_millis(20));
        let may_end = begin.elapsed() < GRACE;
        left = if may_end {
            !process::of_run(folder.path()).is_empty()
        } else {
            process::signal_run(folder.path(), Signal::SIGKILL)
        };
    }
}
