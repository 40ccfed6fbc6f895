//! The process behind a run: prepares the images, starts `mpirun`, writes the run folder, ends what is left.
//!
//! Never draws, never prints: its words go to `launcher.log` and `status.json`. It leads a session of its own, so that
//! closing the terminal, losing ssh or a crash of the screen does not reach it.
//!
//! In order: lead a session - take over the folder's lock from whoever started it - fetch the images - start the launcher - sort its lines until it
//! ends, or has to - end every process that is left - judge. Nothing that it started outlives it, unless it is killed
//! itself; then the next look at the run does the same (`runs::orphans`).

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::signal::Signal;
use nix::unistd::{getpid, getsid, setsid};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::mpsc;

use super::discovery::{self, Wish};
use super::elastic::Elastic;
use super::excess::Bounds;
use super::job::{self, Job};
use super::leased;
use super::output::Tags;
use super::own::{self, OwnProgram};
use super::preflight;
use super::prepare::{self, Images};
use super::silence::PATIENCE;
use super::slurm;
use super::verdict::Verdict;
use super::work::Work;
use super::{CommandLine, LaunchError, Setup, command_line};
use crate::domain::bounds::MAX_VERSIONS;
use crate::domain::job::{ELASTIC_TIMEOUT_S, Resources, RunSpec};
use crate::domain::run::{RunState, RunStatus};
use crate::domain::units;
use crate::host;
use crate::lease::Lease;
use crate::runs::{Attempt, Identity, RunFolder, RunLock, RunRecord, StoreError, process};

/// What is done with a run before anybody is told that it has ended, and how.
pub type BeforeEnd = fn(&RunFolder, RunState);

/// Supervise the run of this folder to its end.
///
/// # Errors
/// Where it cannot even begin; from then on errors end up in the run's status.
pub fn supervise(path: &Path, before_end: BeforeEnd) -> anyhow::Result<ExitCode> {
    lead_session()?;
    let folder = RunFolder::new(path.canonicalize().with_context(|| format!("no run folder {}", path.display()))?);
    let Some(lock) = RunLock::take_over(folder.path())? else { bail!(LaunchError::Supervised) };
    if folder.read_status()?.state.is_over() {
        bail!(LaunchError::Over);
    }
    let record = folder.read_record()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(Supervisor::new(folder, record, lock.identity()?, before_end).run());
    // A download that goes on in the background must not hold the end up.
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
    let _ = rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1));
    Ok(())
}

struct Supervisor {
    folder: RunFolder,
    record: RunRecord,
    status: RunStatus,
    lock: Identity,
    before_end: BeforeEnd,
}

impl Supervisor {
    fn new(folder: RunFolder, record: RunRecord, lock: Identity, before_end: BeforeEnd) -> Supervisor {
        let me = process::look_up(std::process::id());
        let work = Work::of(&record.spec.workload);
        let status = RunStatus {
            supervisor_pid: std::process::id(),
            supervisor_start_ticks: me.map_or(0, |me| me.start_ticks),
            supervisor_place: Some(host::place()),
            ..RunStatus::new(RunState::Preparing, work.preparing(), host::now_s())
        };
        Supervisor { folder, record, status, lock, before_end }
    }

    fn set(&mut self, state: RunState, message: impl Into<String>) -> Result<(), StoreError> {
        self.status.state = state;
        self.status.message = message.into();
        // What is at its path now is another run's folder, or the run was given up: neither is ours to write to.
        match self.lock.is_in_place() {
            true => self.folder.write_status(&self.status),
            false => Ok(()),
        }
    }

    fn end(&mut self, verdict: Verdict, exit_code: Option<i32>) -> anyhow::Result<()> {
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
        // Handled rather than ignored: programs that are started inherit what is ignored. A closed terminal, Ctrl-C in
        // it and a file that may not grow are survived.
        let _survived = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), file_size_signal()].map(signal);
        let mut terminate = signal(SignalKind::terminate())?;
        self.set(RunState::Preparing, Work::of(&self.record.spec.workload).preparing())?;
        // Whoever started it has seen to that; a lab of another version may not have.
        let _ = self.folder.reserve_status();
        let lock = self.lock.clone();
        let prepared = async {
            let notes = self.look_at_hosts().await?;
            let images = self.prepare().await.map_err(|message| (message, Vec::new()))?;
            // Last, so that nobody waits for devices on which nothing runs yet.
            let lease = self.get_devices().await.map_err(|error| (error.to_string(), Vec::new()))?;
            Ok((notes, images, lease))
        };
        let prepared = tokio::select! {
            prepared = prepared => prepared,
            () = gone(lock) => return Ok(()),
            _ = terminate.recv() => {
                // Whatever was asking another host goes as well.
                process::signal_own_session(Signal::SIGKILL);
                let message = Work::of(&self.record.spec.workload).stopped_early().into();
                return self.end(Verdict::plain(RunState::Stopped, message), None);
            }
        };
        match prepared {
            Ok((notes, images, lease)) => self.attempts(&images, notes, lease, &mut terminate).await,
            Err((message, lines)) => self.fail(message, lines),
        }
    }

    /// One launch; of an elastic run that loses ranks, one after the other.
    async fn attempts(
        mut self,
        images: &Images,
        mut notes: Vec<String>,
        mut lease: Option<Lease>,
        stop: &mut Signals,
    ) -> anyhow::Result<()> {
        let (mut elastic, begin) = (Elastic::new(&self.record.spec.resources), Instant::now());
        let mut why = None::<String>;
        loop {
            match self.gather(&mut elastic, stop).await {
                Ok(true) => {}
                Ok(false) => {
                    let message = Work::of(&self.record.spec.workload).stopped_early().into();
                    return self.end(Verdict::plain(RunState::Stopped, message), None);
                }
                Err(message) => return self.fail(message, Vec::new()),
            }
            let going_on = why.take().map(|why| format!("{why}; {}", elastic.going_on()));
            notes.extend(going_on.clone());
            // Stays until the ranks have started: a status that is replaced at once is seen by nobody.
            let starting = going_on.unwrap_or_else(|| elastic.starting());
            let (line, tags) = match self.command(elastic.resources(), images, std::mem::take(&mut notes), lease.as_ref()) {
                Ok(command) => command,
                Err(message) => return self.fail(message, Vec::new()),
            };
            let wish = elastic.wish();
            let (mut end, kept) = match self.launch(&line, tags, lease, (begin.elapsed(), starting, wish), stop).await {
                Ok(ended) => ended,
                Err(error) => return self.fail(format!("{error:#}"), Vec::new()),
            };
            if end.is_requeued || end.is_resized {
                let requeued = "Slurm has put the job back into the queue";
                why = Some(if end.is_requeued { requeued } else { "there are other hosts now" }.to_owned());
                lease = kept;
                continue;
            }
            match elastic.reset(&end.verdict) {
                Ok(Some(said)) => {
                    why = Some(said);
                    lease = kept;
                }
                Ok(None) => {
                    end.verdict.message += &elastic.in_words();
                    return self.end(end.verdict, end.exit_code);
                }
                Err(why) => {
                    end.verdict.message += &format!("; {why}");
                    return self.end(end.verdict, end.exit_code);
                }
            }
        }
    }

    /// Take the hosts that there are, where somebody discovers them, and wait for enough. Whether the run is still wanted.
    async fn gather(&mut self, elastic: &mut Elastic, stop: &mut Signals) -> Result<bool, String> {
        let limit_s = self.record.spec.resources.elastic_timeout_s.unwrap_or(ELASTIC_TIMEOUT_S);
        let begin = Instant::now();
        while let Some(discovery) = elastic.discovery().cloned() {
            let asked = tokio::task::spawn_blocking(move || discovery.hosts()).await;
            let hosts = asked.map_err(|error| error.to_string())?;
            let Err(why) = hosts.and_then(|hosts| elastic.take(&hosts)) else { break };
            if begin.elapsed().as_secs_f64() >= limit_s {
                return Err(format!("{why}; waited for {} (--elastic-timeout)", units::clock(limit_s)));
            }
            self.set(RunState::Preparing, format!("waiting for hosts: {why}")).map_err(|error| error.to_string())?;
            tokio::select! {
                _ = stop.recv() => return Ok(false),
                () = gone(self.lock.clone()) => return Ok(false),
                () = tokio::time::sleep(discovery::EVERY) => {}
            }
        }
        Ok(true)
    }

    /// Look at the other hosts of the run, if it has any: what is odd about them, or why none of them gets a rank, in a sentence and
    /// in lines.
    async fn look_at_hosts(&mut self) -> Result<Vec<String>, (String, Vec<String>)> {
        let plain = |message: String| (message, Vec::new());
        if !self.record.spec.resources.names_hosts() {
            return Ok(Vec::new());
        }
        self.set(RunState::Preparing, "looking at the hosts").map_err(|error| plain(error.to_string()))?;
        let (record, folder) = (self.record.clone(), self.folder.path().to_owned());
        let looking = tokio::task::spawn_blocking(move || preflight::before_run(&record, &folder));
        let outlook = looking.await.map_err(|error| plain(format!("looking at the hosts failed: {error}")))?.map_err(plain)?;
        outlook.refusal.map_or(Ok(outlook.notes), Err)
    }

    /// Fetch the images if need be, telling the status how far that is.
    async fn prepare(&mut self) -> Result<Images, String> {
        let (sender, mut said) = mpsc::unbounded_channel();
        let record = self.record.clone();
        let Some(source) = record.training().map(|training| training.data.clone()) else {
            return prepare::named(&record.spec.workload).map_err(|error| error.to_string());
        };
        let mut fetching = tokio::task::spawn_blocking(move || {
            let mut progress = |message: String| {
                // The receiver lives as long as anyone wants to know.
                let _ = sender.send(message);
            };
            prepare::images(&source, record.data_dir.as_deref(), record.offline, &mut progress)
        });
        loop {
            tokio::select! {
                Some(message) = said.recv() => self.set(RunState::Preparing, message).map_err(|error| error.to_string())?,
                done = &mut fetching => {
                    let images = done.map_err(|error| format!("fetching the images failed: {error}"))?;
                    let images = images.map_err(|error| error.to_string())?;
                    return Ok(images);
                }
            }
        }
    }

    /// Wait for devices of a machine that is shared, telling the status how that is going; none of one that is not.
    async fn get_devices(&mut self) -> Result<Option<Lease>, LaunchError> {
        let Some(wanted) = leased::wanted(&self.record.spec, self.record.force)? else { return Ok(None) };
        let run = self.record.id;
        let lease = wanted.get(run, |message| {
            // One that cannot be written now is written at the next change.
            let _ = self.set(RunState::Preparing, message);
        });
        Ok(Some(lease.await?))
    }

    /// The command line of this attempt with what is to be noted beside it, entered into the record.
    fn command(
        &mut self,
        resources: &Resources,
        images: &Images,
        notes: Vec<String>,
        lease: Option<&Lease>,
    ) -> Result<(CommandLine, Tags), String> {
        // Before the machine is looked at: of its cores only those count that this run may use.
        let settled = lease.map(leased::settle);
        let setup = Setup::detect(&self.record.spec, self.record.program.as_deref()).map_err(|error| error.to_string())?;
        let (record, log_dir) = (&self.record, self.folder.log_dir());
        // An elastic run may go on with fewer ranks than it began with.
        let spec = RunSpec { resources: resources.clone(), workload: record.spec.workload.clone() };
        let mut line = command_line(&spec, &record.preset, &setup, &images.argument, &log_dir, record.force)
            .map_err(|error| error.to_string())?;
        line.notes.extend(notes.into_iter().chain(images.in_words()));
        if let Some((env, note)) = settled {
            line.env.extend(env);
            line.notes.push(note);
        }
        let attempt = Attempt {
            argv: line.argv.clone(),
            env: line.env.clone(),
            started_s: host::now_s(),
            np: Some(resources.np),
            epochs: record.training().map_or(0, |training| training.epochs),
            ..Attempt::default()
        };
        // Only what is the supervisor's to say: the run may have been given a name since it began.
        let changed = self.folder.change_record(|record| {
            record.data_label = images.label.clone();
            record.attempts.push(attempt);
        });
        self.record = changed.map_err(|error| error.to_string())?;
        if resources.slurm {
            let run = self.record.id.0 as usize;
            line = slurm::submission(resources, line, self.folder.path(), run).map_err(|error| error.to_string())?;
        }
        let Some(command) = self.record.spec.command() else { return Ok((line, Tags::Of(setup.flavour))) };
        own::write_module(&self.folder.log_dir())?;
        Ok((line, own::tags(command, self.record.spec.starts_alone(), setup.flavour)))
    }

    /// Start the launcher and stay with it to its end.
    async fn launch(
        &mut self,
        line: &CommandLine,
        tags: Tags,
        lease: Option<Lease>,
        (elapsed, starting, wish): (Duration, String, Option<Wish>),
        stop: &mut Signals,
    ) -> anyhow::Result<(job::End, Option<Lease>)> {
        self.set(RunState::Running, starting)?;
        let np = self.record.np();
        let folder = self.folder.clone();
        let patience = self.record.program.is_some().then_some(PATIENCE);
        let epochs = self.record.training().map(|training| training.epochs);
        let bounds = Bounds { is_own: self.record.program.is_some(), epochs };
        let own = self.record.spec.command().map(|command| OwnProgram::new(&self.record.spec, command));
        let own = own.transpose().map_err(anyhow::Error::msg)?;
        let time_limit = leased::time_limit(&self.record.spec)?;
        let handed_on = lease.as_ref().map(Lease::handed_on);
        let job = Job::start(folder, np, line, tags, bounds)?;
        drop(handed_on);
        let mut job = job
            .with_lease(lease)
            .with_own_program(own)
            .with_work(Work::of(&self.record.spec.workload))
            .with_lock(self.lock.clone())
            .with_patience(patience)
            .with_wish(wish)
            .with_elastic(self.record.spec.resources.min_np.is_some())
            .with_batch(self.record.spec.resources.slurm)
            .with_start_timeout(self.record.spec.resources.start_patience_s())
            .with_link(self.record.spec.link_bits())
            .with_time_limit(time_limit, elapsed);
        let end = job
            .follow(stop, &mut |state, message| {
                // A status that cannot be written now is written at the next change, or its error told at the end.
                let _ = self.set(state, message);
            })
            .await;
        self.remember(&end);
        Ok((end, job.take_lease()))
    }

    /// What the record is to tell of an attempt that has ended.
    fn remember(&mut self, end: &job::End) {
        let new = |known: &[String]| end.versions.iter().filter(|version| !known.contains(version)).cloned().collect::<Vec<_>>();
        let is_told = !new(&self.record.versions).is_empty() || end.others_cpu.is_some();
        if is_told && self.lock.is_in_place() {
            // Good to know, but no reason for a run to fail.
            let _ = self.folder.change_record(|record| {
                let room = MAX_VERSIONS.saturating_sub(record.versions.len());
                record.versions.extend(new(&record.versions).into_iter().take(room));
                if let Some(attempt) = record.attempts.last_mut() {
                    // Further digits say nothing.
                    attempt.others_cpu = end.others_cpu.map(|part| (part * 1000.0).round() / 1000.0);
                }
            });
        }
    }
}

/// Until the folder is not ours any more: removed, moved, or given up by another host.
async fn gone(lock: Identity) {
    while lock.is_in_place() {
        tokio::time::sleep(job::LOOK_EVERY).await;
    }
}

/// SIGXFSZ: by default it kills whoever writes beyond the allowed size of a file.
fn file_size_signal() -> SignalKind {
    SignalKind::from_raw(Signal::SIGXFSZ as i32)
}
