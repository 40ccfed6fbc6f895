//! Runs whose supervisor was killed: they are marked failed, and the ranks it left behind are ended.
//!
//! Never touches a process that is not proven to have been started for the run, nor a run that somebody has the lock of.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::lock::RunLock;
use super::supervision::{SILENCE_SECONDS, Supervision, silent_seconds, supervision};
use super::{RunFolder, RunId, RunRecord, StoreError, process, scratch};
use crate::domain::place::Place;
use crate::domain::run::{RunState, RunStatus};
use crate::host;

const GRACE: Duration = Duration::from_millis(500);

/// The run as it is in truth, and who supervises it: one that is marked as going without a supervisor has failed.
///
/// `record` is `None` where it cannot be read.
pub(super) fn reconcile(
    folder: &RunFolder,
    record: Option<&RunRecord>,
    status: RunStatus,
    here: &Place,
) -> (RunStatus, Supervision) {
    let now = supervision(folder, record, &status, here);
    if now != Supervision::Nobody {
        return (status, now);
    }
    // With the lock nobody begins to supervise it while it is marked, and what is read then is the last word of whoever did.
    // Where there can be none, on a disk that takes nothing, there is nobody who could begin.
    let lock = match RunLock::take(folder.path()) {
        Ok(None) => return (folder.read_status().unwrap_or(status), Supervision::Beginning),
        lock => lock,
    };
    let newest = folder.read_status().unwrap_or_else(|_| status.clone());
    if newest.state.is_over() {
        return (newest, Supervision::Over);
    }
    if newest.supervisor_pid != status.supervisor_pid || newest.supervisor_start_ticks != status.supervisor_start_ticks {
        // It was continued meanwhile, and whoever did is gone as well: the next look finds that out.
        return (newest, Supervision::Beginning);
    }
    // Whoever only looks ends no job of Slurm's, which may train on without its supervisor, on this host as well.
    let job = followed_job(folder.path());
    if job.is_none() {
        end_leftovers(folder);
        scratch::sweep();
    }
    let message = match (newest.supervisor_pid, &job) {
        (0, _) => "its supervisor did not start; launcher.log may say why".to_owned(),
        (pid, None) => format!("its supervisor (pid {pid}) was killed while it was {}; no rank is left", newest.state.name()),
        (pid, Some(job)) => format!(
            "its supervisor (pid {pid}) was killed while it was {}, and nobody follows job {} of Slurm any more, which may go on: stop or \
             continue the run, or delete it, and the job is cancelled",
            newest.state.name(),
            job.number
        ),
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
    let lock = match RunLock::take(folder.path())? {
        Some(lock) => Some(lock),
        // The file system has not noticed yet that its holder is gone.
        None => RunLock::seize(folder.path())?,
    };
    if lock.is_none() {
        return Err(StoreError::StillGoing { id });
    }
    let message = format!("given up: its supervisor ran {place}, and will not come back");
    let failed = failed(status, message);
    folder.write_status(&failed)?;
    Ok(failed)
}

/// The file in which a run that is a batch job keeps its number, and its last word while somebody follows the job.
pub const JOB_NUMBER: &str = "job.id";
pub const JOB_FOLLOWED: &str = "followed";

/// A job of Slurm, as sbatch names it: `17`, or `17;cluster`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmJob {
    pub number: u32,
    /// Where it is not the cluster of this machine.
    pub cluster: Option<String>,
}

impl SlurmJob {
    /// `None` of any other text.
    pub fn of(text: &str) -> Option<SlurmJob> {
        let (number, cluster) = text.split_once(';').map_or((text, None), |(number, cluster)| (number, Some(cluster.to_owned())));
        let is_name = |name: &String| !name.is_empty() && !name.starts_with('-') && !name.contains(char::is_whitespace);
        Some(SlurmJob { number: number.parse().ok()?, cluster: cluster.filter(is_name) })
    }

    /// A program of Slurm's about this job.
    pub fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(self.cluster.iter().flat_map(|cluster| ["-M", cluster])).args(words).arg(self.number.to_string());
        command
    }
}

impl std::fmt::Display for SlurmJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.cluster {
            Some(cluster) => write!(f, "{};{cluster}", self.number),
            None => write!(f, "{}", self.number),
        }
    }
}

/// The job of Slurm that a run is, or was when its supervisor was killed.
fn followed_job(folder: &Path) -> Option<SlurmJob> {
    let text = std::fs::read_to_string(folder.join(JOB_NUMBER)).ok()?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let [job, .., JOB_FOLLOWED] = words[..] else { return None };
    SlurmJob::of(job)
}

/// Cancel the job of Slurm that a run was, if its supervisor was killed while it followed the job; whether it is cancelled. Not for
/// whoever only looks at the run.
pub fn cancel_job(folder: &Path) -> bool {
    let Some(job) = followed_job(folder) else { return false };
    let cancelled = job.command("scancel", &[]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    // Where this is no machine of the cluster, another may yet do it.
    let is_cancelled = cancelled.is_ok_and(|status| status.success());
    if is_cancelled {
        let _ = std::fs::remove_file(folder.join(JOB_NUMBER));
    }
    is_cancelled
}

/// SIGTERM, a short grace, SIGKILL, to everything started for the run.
fn end_leftovers(folder: &RunFolder) {
    let mut left = process::signal_run(folder.path(), Signal::SIGTERM);
    let begin = Instant::now();
    while left && begin.elapsed() < GRACE * 2 {
        std::thread::sleep(Duration::from_millis(20));
        left = match begin.elapsed() < GRACE {
            true => !process::of_run(folder.path()).is_empty(),
            false => process::signal_run(folder.path(), Signal::SIGKILL),
        };
    }
}
