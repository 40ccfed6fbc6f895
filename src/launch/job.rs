//! One launch of the ranks: `mpirun` from its start until nothing of it is left.
//!
//! Never writes the status of the run: it tells its owner. Everything that can go wrong ends in a verdict.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::Signal;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::signal::unix::Signal as Signals;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use super::journal::{Journal, JournalError};
use super::output::Line;
use super::pipe::read;
use super::verdict::{Verdict, judge};
use super::{CommandLine, Flavour};
use crate::domain::device::{RankPlace, TelemetrySample};
use crate::domain::event::{Event, TopologyReport};
use crate::domain::run::RunState;
use crate::domain::units;
use crate::host;
use crate::runs::{RunFolder, process};
use crate::telemetry::{self, Sampler};

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
/// For the rest of the job to end after one rank failed or vanished, before it is ended.
const FAILURE_GRACE: Duration = Duration::from_secs(3);
/// For any rank of a program that someone is working on to report anything, before it is taken for stuck. More than the
/// ranks themselves wait for each other, for they can say more.
pub(super) const PATIENCE: Duration = Duration::from_secs(16);
/// Between looks at whether the ranks are still there.
const LOOK_FOR_VANISHED_EVERY: Duration = Duration::from_secs(1);
/// For output still on its way when the launcher has ended.
const DRAIN: Duration = Duration::from_secs(1);
const FLUSH_EVERY: Duration = Duration::from_millis(100);
/// Between two rounds of SIGKILL, while something is left.
const ROUND: Duration = Duration::from_millis(50);
const ROUNDS: usize = 40;
/// Lines on their way from the pipes to the files; more make the ranks wait.
const LINES_IN_FLIGHT: usize = 4096;

/// The launcher with its ranks, going.
pub(super) struct Job {
    folder: RunFolder,
    /// Name of this host.
    host: String,
    np: usize,
    journal: Journal,
    child: Child,
    /// Pid of the launcher.
    launcher: u32,
    lines: mpsc::Receiver<Line>,
    readers: Vec<JoinHandle<()>>,
    samples: mpsc::UnboundedReceiver<TelemetrySample>,
    sampler: Sampler,
    /// The launcher's session files; goes with the job.
    _scratch: TempDir,
    /// When the job is to be ended because one rank reported a fatal error, or is gone.
    failed_at: Option<Instant>,
    vanished_at: Option<Instant>,
    /// How long the ranks may be silent, and since when they are.
    patience: Option<Duration>,
    quiet_since: Instant,
    /// When SIGKILL follows; set once the ranks are being ended.
    kill_at: Option<Instant>,
    asked_to_stop: bool,
    /// When its time limit ends it, and that limit in seconds.
    deadline: Option<(Instant, f64)>,
    out_of_time: bool,
    /// Why the ranks were taken for stuck.
    stuck: Option<String>,
    /// Why the supervisor itself cannot go on.
    broken: Option<String>,
}

/// How a job ended.
pub(super) struct End {
    pub verdict: Verdict,
    /// The launcher's, or 2 where the run folder could not be written.
    pub exit_code: Option<i32>,
    /// Library versions that the ranks reported.
    pub versions: BTreeSet<String>,
}

impl Job {
    /// # Errors
    /// The files of the run cannot be opened, or the launcher cannot be started.
    pub fn start(folder: RunFolder, np: usize, line: &CommandLine, flavour: Flavour) -> anyhow::Result<Job> {
        let mut journal = Journal::open(folder.clone(), np)?;
        journal.say(&format!("hvd-lab: {}", line.to_shell()))?;
        for note in &line.notes {
            journal.say(&format!("hvd-lab: {note}"))?;
        }
        // Open MPI names its session folder by pid alone, and refuses to start on the leftovers of a killed one with the
        // same pid: so each launch gets a folder of its own.
        let scratch = tempfile::Builder::new().prefix("hvd-lab-").tempdir().context("cannot make a temporary folder")?;
        let mut child = Command::new(&line.argv[0])
            .args(&line.argv[1..])
            .envs(line.env.iter().map(|(name, value)| (name, value)))
            .env(process::RUN_DIR_VARIABLE, folder.path())
            .env("TMPDIR", scratch.path())
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", line.argv[0]))?;
        let (sender, lines) = mpsc::channel(LINES_IN_FLIGHT);
        let out = child.stdout.take().map(|pipe| tokio::spawn(read(pipe, flavour, sender.clone())));
        let err = child.stderr.take().map(|pipe| tokio::spawn(read(pipe, flavour, sender)));
        let (sample_sender, samples) = mpsc::unbounded_channel();
        let sampler = Sampler::spawn(telemetry::probe(), move |sample| {
            // Nobody listens any more at the very end.
            let _ = sample_sender.send(sample);
        });
        Ok(Job {
            launcher: child.id().unwrap_or(0),
            folder,
            host: host::name(),
            np,
            journal,
            child,
            lines,
            readers: out.into_iter().chain(err).collect(),
            samples,
            sampler,
            _scratch: scratch,
            failed_at: None,
            vanished_at: None,
            patience: None,
            quiet_since: Instant::now(),
            kill_at: None,
            asked_to_stop: false,
            deadline: None,
            out_of_time: false,
            stuck: None,
            broken: None,
        })
    }

    /// Take the ranks for stuck, and end them, when none has reported anything for so long; never without.
    pub fn with_patience(self, patience: Option<Duration>) -> Job {
        Job { patience, ..self }
    }

    /// Stop it when it has run for so many seconds; never without.
    pub fn with_time_limit(self, limit_s: Option<f64>) -> Job {
        // A limit beyond all clocks is none.
        let end = |limit_s| Instant::now().checked_add(Duration::try_from_secs_f64(limit_s).ok()?);
        Job { deadline: limit_s.and_then(|limit_s| Some((end(limit_s)?, limit_s))), ..self }
    }

    /// Stay with it to its end, telling what it does on the way. `stop` is the user's wish to end it.
    pub async fn follow(&mut self, stop: &mut Signals, tell: &mut dyn FnMut(RunState, &str)) -> End {
        let (mut flush, mut look) = (ticks(FLUSH_EVERY), ticks(LOOK_FOR_VANISHED_EVERY));
        let exit = loop {
            tokio::select! {
                Some(line) = self.lines.recv() => if let Some(Event::Topology(_)) = self.take(line) {
                    self.rank_reported(tell);
                },
                Some(sample) = self.samples.recv() => {
                    let written = self.journal.telemetry(&sample);
                    self.fail_if_unwritten(written);
                }
                exit = self.child.wait() => break exit.ok(),
                _ = stop.recv() => {
                    self.asked_to_stop = true;
                    self.begin_end();
                    tell(RunState::Stopping, "stopping the ranks");
                }
                _ = flush.tick() => {
                    let written = self.journal.flush();
                    self.fail_if_unwritten(written);
                }
                _ = look.tick() => self.look_for_vanished(),
                () = at(self.patience.map(|patience| self.quiet_since + patience)), if self.kill_at.is_none() => self.give_up(),
                () = at(self.deadline.map(|(end, _)| end)), if self.kill_at.is_none() => {
                    (self.asked_to_stop, self.out_of_time) = (true, true);
                    self.begin_end();
                    tell(RunState::Stopping, "its time limit is over");
                }
                () = at(self.failed_at), if self.kill_at.is_none() => self.begin_end(),
                () = at(self.vanished_at), if self.kill_at.is_none() => self.begin_end(),
                () = at(self.kill_at) => {
                    self.kill_at = Some(Instant::now() + ROUND);
                    self.kill_round();
                }
            }
        };
        self.end_what_is_left().await;
        let written = self.journal.flush();
        self.fail_if_unwritten(written);
        let evidence = &self.journal.evidence;
        let broken = self.broken.take();
        let exit_code = if broken.is_some() { Some(2) } else { exit.and_then(|exit| exit.code()) };
        let mut verdict = judge(evidence, exit, self.asked_to_stop, broken.or(self.stuck.take()));
        if let Some((_, limit_s)) = self.deadline
            && self.out_of_time
            && verdict.state == RunState::Stopped
        {
            verdict.message += &format!(": its time limit of {} was over", units::clock(limit_s));
        }
        End { verdict, exit_code, versions: evidence.versions() }
    }

    fn take(&mut self, line: Line) -> Option<Event> {
        match self.journal.take(line) {
            Ok(event) => {
                // A rank that warns of waiting has not got on.
                if event.as_ref().is_some_and(|event| !matches!(event, Event::Warning { .. })) {
                    self.quiet_since = Instant::now();
                }
                if matches!(event, Some(Event::Fatal { .. })) {
                    self.failed_at.get_or_insert(Instant::now() + FAILURE_GRACE);
                }
                event
            }
            Err(error) => {
                self.fail_if_unwritten(Err(error));
                None
            }
        }
    }

    /// A rank has reported: look for its process on the devices, and say so when all are there.
    fn rank_reported(&mut self, tell: &mut dyn FnMut(RunState, &str)) {
        let evidence = &self.journal.evidence;
        let places: Vec<RankPlace> = evidence.on(&self.host).map(|(process, report)| report.place(process)).collect();
        self.sampler.watch(places);
        if evidence.introduced().count() == self.np && self.kill_at.is_none() {
            tell(RunState::Running, "training");
        }
    }

    /// A run that cannot be written down is ended: nobody could tell what it did.
    fn fail_if_unwritten(&mut self, written: Result<(), JournalError>) {
        if let Err(error) = written {
            self.broken.get_or_insert(error.to_string());
            self.begin_end();
        }
    }

    /// Nobody reports any more, and nobody says why.
    fn give_up(&mut self) {
        let seconds = self.patience.unwrap_or_default().as_secs();
        let place = |process: usize| match self.journal.evidence.step(process) {
            Some(step) => format!("process {process} after epoch {}, batch {}", step.epoch + 1, step.batch + 1),
            None => format!("process {process} before its first batch"),
        };
        let places: Vec<String> = (0..self.np.min(4)).map(place).collect();
        let cause = format!("no rank got on for {seconds} s, so it was ended: a loop that never ends? Last seen: ");
        self.stuck = Some(cause + &places.join(", "));
        self.begin_end();
    }

    fn look_for_vanished(&mut self) {
        let evidence = &mut self.journal.evidence;
        let is_gone = |pid| process::look_up(pid).is_none_or(|found| found.zombie);
        let missed = |(process, report): &(usize, &TopologyReport)| !evidence.has_finished(*process) && is_gone(report.pid);
        let vanished = evidence.on(&self.host).find(missed).map(|(process, _)| process);
        evidence.vanished = vanished;
        // Where nobody is missed any more, a final event was still on its way.
        let first_missed = self.vanished_at.or(Some(Instant::now() + FAILURE_GRACE));
        self.vanished_at = evidence.vanished.and(first_missed);
    }

    /// Ask the launcher to end the ranks; `kill_at` sees to it that they do.
    fn begin_end(&mut self) {
        if self.kill_at.is_none() {
            process::signal(self.launcher, Signal::SIGTERM);
            self.kill_at = Some(Instant::now() + GRACE);
        }
    }

    /// SIGKILL to every process that was started for this run; whether there was any. Ranks have process groups of
    /// their own, but share the session; the variable in their environment finds those that left even that.
    fn kill_round(&self) -> bool {
        let mut left = process::of_session(std::process::id());
        left.extend(process::of_run(self.folder.path()));
        left.iter().for_each(|pid| process::signal(*pid, Signal::SIGKILL));
        !left.is_empty()
    }

    /// End every process that is left, then take the output that is still on its way.
    async fn end_what_is_left(&mut self) {
        for _ in 0..ROUNDS {
            if !self.kill_round() {
                break;
            }
            sleep(ROUND).await;
        }
        // The pipes close with the last process that holds them, which is gone; but a stray must not hang the end.
        let drained = timeout(DRAIN, async {
            while let Some(line) = self.lines.recv().await {
                self.take(line);
            }
        });
        let _ = drained.await;
        self.readers.iter().for_each(JoinHandle::abort);
    }
}

fn ticks(period: Duration) -> Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Until this moment, or for ever.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
