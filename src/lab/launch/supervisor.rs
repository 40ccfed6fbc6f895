//! The process behind a run: prepares the images, starts `mpirun`, writes the run folder, and ends remaining processes.
//!
//! Its words go to `launcher.log` and `status.json`. It leads a session of its own, so that
//! closing the terminal, losing ssh or a crash of the screen does not reach it.
//!
//! In order: lead a session - take over the folder's lock from whoever started it - wait for a program that is still being built - check the other
//! hosts - fetch the images - wait for devices of a shared machine - launch the ranks, again if need be (`launches`) - end every process that is
//! left - judge. Nothing that it started outlives it, unless it is killed
//! itself; then the next look at the run does the same (`runs::orphans`).

mod launches;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use nix::sys::signal::Signal;
use nix::unistd::{getpid, getsid, setsid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::LaunchError;
use super::job;
use super::leased;
use super::preflight::{self, Refusal};
use super::prepare::{self, Images};
use super::remedies::others_here;
use super::setup::unbuilt;
use super::slurm;
use super::verdict::Verdict;
use super::work::Work;
use crate::domain::run::{RunState, RunStatus};
use crate::host;
use crate::lease::Lease;
use crate::process::{self, LockIdentity, RunLock};
use crate::runs::batch_job::cancel_job;
use crate::runs::{RunFolder, RunRecord, StoreError};

/// Called with how a run has ended, before its status says so.
pub type BeforeEnd = fn(&RunFolder, RunState);

/// Supervise the run of this folder to its end.
///
/// # Errors
/// Where it cannot even begin; from then on errors end up in the run's status.
pub fn supervise(path: &Path, before_end: BeforeEnd) -> anyhow::Result<ExitCode> {
    lead_session()?;
    let folder = RunFolder::new(path.canonicalize().with_context(|| format!("no run folder {}", path.display()))?);
    let Some(lock) = RunLock::take_over(folder.path()).map_err(StoreError::lock)? else {
        bail!(LaunchError::Spec("the run has a supervisor already, and can have only one".into()));
    };
    let status = folder.read_status()?;
    if status.state.is_over() {
        let text = "`supervise` is started by hvd-lab itself, and this run is over: use `hvd-lab run --continue`";
        bail!(LaunchError::Spec(text.into()));
    }
    let record = folder.read_record()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let supervisor = Supervisor::new(folder, record, &status, lock.identity().map_err(StoreError::lock)?, before_end);
    let result = runtime.block_on(supervisor.run());
    // Nor may a host discovery script that was being asked stay behind.
    process::signal_own_session(Signal::SIGKILL);
    // A download in the background must not delay the end.
    runtime.shutdown_background();
    result.map(|()| ExitCode::SUCCESS)
}

/// Ending leftovers goes by session, so a session shared with a shell would be deadly for the shell.
fn lead_session() -> anyhow::Result<()> {
    if setsid().is_err() && getsid(None).ok() != Some(getpid()) {
        bail!("`supervise` is started by hvd-lab itself: use `hvd-lab run`");
    }
    // Whatever ranks leave behind becomes a child of this process, and is ended with the run. Where the system does not know
    // how, what they leave is still found by its session and its environment.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1));
    Ok(())
}

struct Supervisor {
    folder: RunFolder,
    record: RunRecord,
    status: RunStatus,
    lock: LockIdentity,
    before_end: BeforeEnd,
    /// Its next launch is a job of Slurm that is there already.
    is_resumed: bool,
}

impl Supervisor {
    fn new(folder: RunFolder, record: RunRecord, before: &RunStatus, lock: LockIdentity, before_end: BeforeEnd) -> Supervisor {
        let me = process::look_up(std::process::id());
        let work = Work::of(&record.request.spec.workload);
        // Whoever starts or continues a run leaves the number out: there was a supervisor before this one.
        let is_resumed = before.supervisor_pid != 0 && slurm::is_left(&folder);
        let started_s = if is_resumed { before.started_s } else { host::now_s() };
        let status = RunStatus {
            supervisor_pid: std::process::id(),
            supervisor_start_ticks: me.map_or(0, |me| me.start_ticks),
            supervisor_place: Some(host::place()),
            ..RunStatus::new(RunState::Preparing, work.preparing(), started_s)
        };
        Supervisor { folder, record, status, lock, before_end, is_resumed }
    }

    fn set(&mut self, state: RunState, message: impl Into<String>) -> Result<(), StoreError> {
        self.status.state = state;
        self.status.message = message.into();
        // Otherwise another run's folder is at its path, or the run was given up: then it must not be written to.
        if self.lock.is_in_place() { self.folder.write_status(&self.status) } else { Ok(()) }
    }

    fn end(&mut self, mut verdict: Verdict, exit_code: Option<i32>) -> anyhow::Result<()> {
        // Whatever ended the run, and before its follower could.
        if self.lock.is_in_place()
            && let Err(why) = cancel_job(self.folder.path())
        {
            verdict = Verdict { state: RunState::Failed, message: format!("{}; {why}", verdict.message), ..verdict };
        }
        verdict.add_remedy(|| others_here(&self.folder, self.record.id));
        // The clock may have been set back meanwhile.
        self.status.ended_s = Some(host::now_s().max(self.status.started_s));
        self.status.exit_code = exit_code;
        self.status.failed_process = verdict.failed_process;
        self.status.last_lines = verdict.last_lines;
        if self.lock.is_in_place() {
            (self.before_end)(&self.folder, verdict.state);
        }
        self.set(verdict.state, verdict.message)?;
        Ok(())
    }

    fn fail(&mut self, message: String, last_lines: Vec<String>) -> anyhow::Result<()> {
        self.end(Verdict { last_lines, ..Verdict::plain(RunState::Failed, message) }, None)
    }

    async fn run(mut self) -> anyhow::Result<()> {
        // Handled rather than ignored: programs that are started inherit what is ignored. A closed terminal and Ctrl-C in it are
        // survived.
        let _survived = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit()].map(signal);
        let mut terminate = signal(SignalKind::terminate())?;
        self.set(RunState::Preparing, Work::of(&self.record.request.spec.workload).preparing())?;
        // Whoever started it has seen to that; a lab of another version may not have.
        let _ = self.folder.reserve_status();
        if !self.is_resumed && cancel_job(self.folder.path()).is_err() {
            return self.fail("nothing was started, for two jobs would train in one folder".into(), Vec::new());
        }
        let (lock, is_resumed) = (self.lock.clone(), self.is_resumed);
        let prepared = async {
            self.wait_for_build().await.map_err(plain)?;
            let notes = self.look_at_hosts().await?;
            let images = self.prepare().await.map_err(plain)?;
            // Last, so that no run waits for devices on which nothing runs yet.
            let lease = self.get_devices().await.map_err(|error| plain(error.recorded()))?;
            Ok((notes, images, lease))
        };
        let prepared = tokio::select! {
            prepared = prepared => prepared,
            () = gone(lock) => return Ok(()),
            // Of a job that is there already its follower has to hear.
            _ = terminate.recv(), if !is_resumed => {
                // Whatever was asking another host goes as well.
                process::signal_own_session(Signal::SIGKILL);
                let message = Work::of(&self.record.request.spec.workload).stopped_early();
                return self.end(Verdict::plain(RunState::Stopped, message), None);
            }
        };
        match prepared {
            Ok((notes, images, lease)) => self.launch_until_over(&images, notes, lease, &mut terminate).await,
            Err((message, lines)) => self.fail(message, lines),
        }
    }

    /// Wait for the program of the ranks if it is still being built, and say so in the status. If it is missing then, the launch fails.
    async fn wait_for_build(&mut self) -> Result<(), StoreError> {
        while let Some(message) = unbuilt(&self.record.request.spec, self.record.request.program.as_deref()) {
            if self.status.message != message {
                self.set(RunState::Preparing, message)?;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Ok(())
    }

    /// Look at the other hosts of the run, if it has any: what is odd about them, or why none of them gets a rank, in a sentence and
    /// in lines.
    async fn look_at_hosts(&mut self) -> Result<Vec<String>, Refusal> {
        if !self.record.request.spec.resources.names_hosts() {
            return Ok(Vec::new());
        }
        self.set(RunState::Preparing, "looking at the hosts").map_err(plain)?;
        let (record, folder) = (self.record.clone(), self.folder.path().to_owned());
        let looking = tokio::task::spawn_blocking(move || preflight::before_run(&record, &folder));
        looking.await.map_err(|error| plain(format!("looking at the hosts failed: {error}")))?
    }

    /// Fetch the images if need be, telling the status how far that is.
    async fn prepare(&mut self) -> Result<Images, LaunchError> {
        let (sender, mut said) = mpsc::unbounded_channel();
        let record = self.record.clone();
        let Some(source) = record.training().map(|training| training.data) else {
            return prepare::named(&record.request.spec.workload);
        };
        let mut fetching = tokio::task::spawn_blocking(move || {
            let mut progress = |message: String| {
                // The receiver lives as long as anyone wants to know.
                let _ = sender.send(message);
            };
            prepare::images(&source, record.request.data_dir.as_deref(), record.request.offline, &mut progress)
        });
        loop {
            tokio::select! {
                Some(message) = said.recv() => self.set(RunState::Preparing, message)?,
                done = &mut fetching => {
                    return done.map_err(|error| LaunchError::Failed(format!("fetching the images failed: {error}")))?;
                }
            }
        }
    }

    /// Wait for devices of a machine that is shared, telling the status how that is going; none of one that is not.
    async fn get_devices(&mut self) -> Result<Option<Lease>, LaunchError> {
        let Some(wanted) = leased::wanted(&self.record.request.spec, self.record.request.force)? else { return Ok(None) };
        let run = self.record.id;
        let lease = wanted.get(run, |message| {
            // One that cannot be written now is written at the next change.
            let _ = self.set(RunState::Preparing, message);
        });
        Ok(Some(lease.await?))
    }
}

fn plain(error: impl ToString) -> Refusal {
    (error.to_string(), Vec::new())
}

/// Until the folder is not ours any more: removed, moved, or given up by another host.
async fn gone(lock: LockIdentity) {
    while lock.is_in_place() {
        tokio::time::sleep(job::LOOK_EVERY).await;
    }
}
