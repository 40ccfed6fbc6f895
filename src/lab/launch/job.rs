//! One launch of the ranks: `mpirun` from its start until nothing of it is left.
//!
//! The supervisor writes the status of the run; the job calls it back. Everything that can go wrong ends in a verdict.

mod ending;
mod launcher;
mod options;
mod own;
mod state;
mod watch;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use tokio::process::{Child, Command};
use tokio::signal::unix::Signal as Signals;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use super::CommandLine;
use super::event_socket::EventSocket;
use super::fault::Faults;
use super::line_file::WriteError;
use super::link_monitor::{Hub, LinkMonitor};
use super::no_progress::NoProgress;
use super::observations::Observations;
use super::output::Tags;
use super::piece::Line;
use super::pipe::read;
use super::run_writer::RunWriter;
use super::slurm;
use super::stopped_ranks::StoppedRanks;
use super::verdict::judge;
use crate::domain::device::{RankPlace, TelemetrySample};
use crate::domain::event::{Event, SECRET_VARIABLE, SOCKET_VARIABLE, TopologyReport};
use crate::domain::run::{RunState, UNKEPT};
use crate::domain::units;
use crate::host::access;
use crate::host::load::Load;
use crate::process::{self, Scratch, scratch};
use crate::telemetry::{self, SAMPLE_PERIOD, Sampler};
pub(super) use options::JobOptions;
pub(super) use state::End;
use state::JobState;

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
/// For the rest of the job to end after one rank failed or vanished, before it is ended.
const FAILURE_GRACE: Duration = Duration::from_secs(3);
/// Between looks at whether the ranks and the run folder are still there.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(1);
/// For output still on its way when the launcher has ended.
const DRAIN: Duration = Duration::from_secs(1);
const FLUSH_EVERY: Duration = Duration::from_millis(100);
/// Between two rounds of SIGKILL, while something is left.
const ROUND: Duration = Duration::from_millis(50);
const ROUNDS: usize = 40;
/// Bytes printed by processes of which none gets on: more than a program prints that is merely stuck.
const A_LOT: u64 = 64 << 10;
/// Lines on their way from the pipes to the files; more make the ranks wait.
const LINES_IN_FLIGHT: usize = 4096;

/// The launcher with its ranks, going.
pub(super) struct Launch {
    /// With the lease, which the next launch gets once nothing of this one is left.
    pub options: JobOptions,
    /// When the launcher was started.
    since: Instant,
    writer: RunWriter,
    child: Child,
    lines: mpsc::Receiver<Line>,
    readers: Vec<JoinHandle<()>>,
    /// Where ranks of this host send their events; `None` if the system gives no socket, and all ranks print them.
    events: Option<EventSocket>,
    samples: mpsc::UnboundedReceiver<TelemetrySample>,
    sampler: Sampler,
    /// The launcher's session files; goes with the job.
    scratch: Scratch,
    no_progress: NoProgress,
    stopped_ranks: StoppedRanks,
    /// Where its ranks have networks of their own.
    link_monitor: Option<LinkMonitor>,
    faults: Faults,
    state: JobState,
}

impl Launch {
    /// # Errors
    /// The files of the run cannot be opened, or the launcher cannot be started.
    pub fn start(line: &CommandLine, options: JobOptions, observations: Observations) -> anyhow::Result<Launch> {
        let (folder, secret) = (options.folder.clone(), options.secret.clone());
        let mut writer = RunWriter::open(folder.clone(), options.np, secret, options.limits.log_bytes(), observations)?;
        writer.say(&format!("hvd-lab: {}", line.to_shell()))?;
        for note in &line.notes {
            writer.say(&format!("hvd-lab: {note}"))?;
        }
        // Open MPI names its session folder by pid alone, and refuses to start on the leftovers of a killed one with the
        // same pid: so each launch gets a folder of its own.
        scratch::sweep();
        let scratch = Scratch::new().with_context(|| format!("cannot make a folder in {}", std::env::temp_dir().display()))?;
        if !scratch.path().starts_with(std::env::temp_dir()) {
            let named = std::env::temp_dir();
            writer.say(&format!("hvd-lab: TMPDIR is `{}`, and no folder can be made there: /tmp is used", named.display()))?;
        }
        let (sender, lines) = mpsc::channel(LINES_IN_FLIGHT);
        let events = EventSocket::listen(&scratch, &options.secret, sender.clone());
        if let Err(error) = &events {
            writer.say(&format!("hvd-lab: no socket for events ({error}): the ranks print them"))?;
        }
        let events = events.ok();
        let mut launcher = Command::new(&line.argv[0]);
        launcher
            .args(&line.argv[1..])
            .envs(line.env.iter().map(|(name, value)| (name, value)))
            .env(process::RUN_DIR_VARIABLE, folder.path())
            .env(SECRET_VARIABLE, &options.secret)
            .env(SOCKET_VARIABLE, events.as_ref().map_or(Path::new(""), |events| &events.path))
            .current_dir(line.directory.as_deref().unwrap_or(folder.path()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Only MPI needs it: what a program keeps in the folder of temporary files, such as compiled kernels, is there at its next run.
        if matches!(options.tags, Tags::Of(_)) {
            launcher.env("TMPDIR", scratch.path());
        }
        options.lease.iter().for_each(|lease| lease.hand_on(true));
        let started = access::as_user(|| launcher.spawn());
        options.lease.iter().for_each(|lease| lease.hand_on(false));
        let mut child = started.with_context(|| format!("cannot start {}", line.argv[0]))?;
        let out = child.stdout.take().map(|pipe| tokio::spawn(read(pipe, options.tags.clone(), sender.clone())));
        let err = child.stderr.take().map(|pipe| tokio::spawn(read(pipe, options.tags.clone(), sender)));
        let (sample_sender, samples) = mpsc::unbounded_channel();
        let sampler = Sampler::spawn(SAMPLE_PERIOD, telemetry::probe(), move |sample| {
            // Nobody listens any more at the very end.
            let _ = sample_sender.send(sample);
        });
        let hub = options.link_bits.zip(child.id()).and_then(|(bits, launcher)| Hub::of(launcher, bits));
        Ok(Launch {
            faults: Faults::new(folder, hub.clone()),
            stopped_ranks: StoppedRanks::default(),
            link_monitor: hub.map(LinkMonitor::new),
            no_progress: NoProgress::new(options.patience),
            options,
            since: Instant::now(),
            writer,
            child,
            lines,
            readers: out.into_iter().chain(err).collect(),
            events,
            samples,
            sampler,
            scratch,
            state: JobState::default(),
        })
    }

    /// Stay with it to its end, telling what it does on the way. `stop` is the user's wish to end it.
    pub async fn follow(&mut self, stop: &mut Signals, tell: &mut dyn FnMut(RunState, &str)) -> End {
        let (mut flush, mut look) = (ticks(FLUSH_EVERY), ticks(LOOK_EVERY));
        // Every later message about a running program repeats that its output is being lost, since it replaces the message that said so.
        let unwritten = self.state.unwritten.clone();
        let tell: &mut dyn FnMut(RunState, &str) = &mut |state, words| match unwritten.get() {
            Some(why) if state == RunState::Running => {
                tell(state, &format!("{words}; {UNKEPT}: {why}: free some space there"));
            }
            _ => tell(state, words),
        };
        let exit = loop {
            tokio::select! {
                Some(line) = self.lines.recv() => {
                    if let Some(news) = slurm::news(&line) {
                        self.slurm_says(news, tell);
                    }
                    if let Some(Event::Topology(report)) = self.enter(line) {
                        self.rank_reported(&report, tell);
                    }
                },
                Some(sample) = self.samples.recv() => self.write(|writer| writer.telemetry(&sample)),
                exit = self.child.wait(), if self.state.behind.is_none() => {
                    self.state.behind = exit.as_ref().ok().and_then(|exit| self.left_behind(*exit));
                    if self.state.behind.is_none() {
                        break exit.ok();
                    }
                }
                _ = stop.recv() => {
                    let is_first = !std::mem::replace(&mut self.state.asked_to_stop, true);
                    self.begin_end();
                    if is_first {
                        tell(RunState::Stopping, "stopping the ranks");
                    }
                }
                _ = flush.tick() => {
                    self.look_at_ranks();
                    self.write(RunWriter::flush);
                    self.tell_what_is_unwritten(tell);
                }
                _ = look.tick() => {
                    if let Some(exit) = self.look_behind(tell) {
                        break Some(exit);
                    }
                    for report in self.look_at_own_program() {
                        self.rank_reported(&report, tell);
                    }
                    self.look_for_faults();
                    self.look_at_launcher();
                    self.look_for_vanished();
                    self.look_for_folder();
                    self.look_at_lease();
                    self.no_progress.look();
                    if self.state.began.is_some() && self.state.kill_at.is_none() {
                        let observations = &self.writer.observations;
                        match self.no_progress.news() {
                            Some(Some(silent)) => tell(RunState::Running, &format!("{silent}: {}", observations.last_seen(self.options.np))),
                            Some(None) => tell(RunState::Running, observations.work.going()),
                            None => {}
                        }
                    }
                }
                () = at(self.faults.turn_at().map(Instant::from_std)) => self.faults.turn(),
                () = at(self.no_progress.ends_at()), if self.state.kill_at.is_none() => self.give_up(),
                () = at(self.options.deadline.map(|(end, _)| end)), if self.state.kill_at.is_none() => {
                    (self.state.asked_to_stop, self.state.out_of_time) = (true, true);
                    self.begin_end();
                    tell(RunState::Stopping, "its time limit is over");
                }
                () = at(self.options.start.map(|(end, _)| end)), if self.state.kill_at.is_none() => self.judge_start(),
                () = at(self.state.end_after_failure_at.into_iter().chain(self.state.end_after_vanishing_at).min()), if self.state.kill_at.is_none() => self.begin_end(),
                () = at(self.state.kill_at) => self.end_by_force(),
            }
        };
        let now = Load::of_session(std::process::id());
        // The ranks of a batch job are no part of this session.
        let began = self.state.began.filter(|_| !self.options.is_batch);
        let others_cpu = began.zip(now).and_then(|(began, now)| now.others_since(&began));
        self.end_what_is_left().await;
        self.tell_what_is_lost();
        self.finish_own_program(exit);
        self.write(RunWriter::flush);
        let observations = &self.writer.observations;
        let broken = self.state.broken.take();
        let is_broken = broken.is_some() || self.state.stuck.is_some();
        // The system is at fault, whatever the launcher says of being ended.
        let exit_code = if broken.is_some() { Some(1) } else { exit.and_then(|exit| exit.code()) };
        let mut verdict = judge(observations, exit, self.state.asked_to_stop, broken.or(self.state.stuck.take()));
        verdict.trace_libraries(observations);
        if let Some(why) = self.state.unwritten.get()
            && self.writer.unkept() > 0
        {
            let lines = units::count(self.writer.unkept());
            verdict.message += &format!("; a part of what it printed ({lines} lines) is neither kept nor shown: {why}");
        }
        if let Some((_, limit_s)) = self.options.deadline
            && self.state.out_of_time
            && verdict.state == RunState::Stopped
        {
            verdict.message += &format!(": its time limit of {} was over", units::clock(limit_s));
        }
        let versions = observations.versions();
        let np =
            self.options.own.as_ref().and_then(|_| observations.introduced().map(|(_, report)| report.topology.size.0).max());
        self.judged(&verdict);
        let is_requeued =
            !self.state.asked_to_stop && slurm::ended(self.writer.observations.launcher.iter()) == Some(slurm::Ended::Requeued);
        let is_over = self.state.asked_to_stop || is_requeued || is_broken;
        let is_left = self.options.is_batch && !is_over && slurm::is_left(&self.options.folder);
        let is_resized = self.state.is_resized && verdict.state == RunState::Failed;
        End { verdict, exit_code, versions, np, others_cpu, is_requeued, is_left, is_resized }
    }

    fn enter(&mut self, line: Line) -> Option<Event> {
        let process = line.process().unwrap_or(0);
        let last = self.writer.observations.step(process);
        self.read_own_program(&line);
        match self.writer.write(line) {
            Ok(event) => {
                let observations = &self.writer.observations;
                let excess = |event| self.options.limits.excess(process, event, last, observations.config(process));
                let flood = || self.options.limits.flood(observations.flooding?, observations.printed);
                if let Some(why) = event.as_ref().and_then(excess).or_else(flood).filter(|_| self.state.stuck.is_none()) {
                    self.state.stuck = Some(why);
                    self.begin_end();
                }
                event.iter().for_each(|event| self.heard(process, event));
                // A rank that warns of waiting has not got on.
                if event.as_ref().is_some_and(|event| !matches!(event, Event::Warning { .. })) {
                    self.no_progress.progressed();
                    self.writer.observations.printed = 0;
                }
                if matches!(event, Some(Event::Fatal { .. })) && !self.options.is_batch {
                    self.state.end_after_failure_at.get_or_insert(Instant::now() + FAILURE_GRACE);
                }
                event
            }
            Err(error) => {
                self.write(|_| Err(error));
                None
            }
        }
    }

    /// A rank has reported: look for its process on the devices, and say so when all are there.
    fn rank_reported(&mut self, report: &TopologyReport, tell: &mut dyn FnMut(RunState, &str)) {
        // Its number is what a program printed: only one of this session is a rank.
        if process::look_up(report.pid).is_some_and(|found| found.session == std::process::id()) {
            self.scratch.adopt_shared_memory(report.pid);
        }
        let observations = &self.writer.observations;
        let places: Vec<RankPlace> = observations.here().map(|(process, report)| report.place(process)).collect();
        self.sampler.watch(places);
        if observations.introduced().count() == self.options.np && self.state.kill_at.is_none() {
            self.state.began = self.state.began.or_else(|| Load::of_session(std::process::id()));
            tell(RunState::Running, observations.work.going());
        }
    }

    /// Write to the files of the run. A run that cannot be recorded is ended, since its result would be unknown. A program of the user's
    /// own keeps running: a log is no reason to end a training.
    fn write(&mut self, write: impl FnOnce(&mut RunWriter) -> Result<(), WriteError>) {
        if let Err(error) = write(&mut self.writer) {
            if self.options.own.is_some() {
                self.state.unwritten.get_or_init(|| error.to_string());
                return;
            }
            self.state.broken.get_or_insert(error.to_string());
            self.begin_end();
        }
    }

    /// No rank reports any more, and none has said why.
    fn give_up(&mut self) {
        let observations = &self.writer.observations;
        // On a busy machine it takes longer to print too much than to be taken for stuck.
        let question = if observations.printed > A_LOT { "is there a print in a loop?" } else { "a loop that never ends?" };
        let cause = format!("{}, so it was ended: {question} Last seen: ", self.no_progress.in_words());
        self.state.stuck = Some(cause + &observations.last_seen(self.options.np));
        self.begin_end();
    }
}

/// Every so often; what was missed is not made up for.
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

/// The moment that is `limit_s` after `begin`, and `limit_s`; `None` beyond what the clock can hold.
pub(super) fn limit_from(begin: Instant, limit_s: f64) -> Option<(Instant, f64)> {
    Some((begin.checked_add(Duration::try_from_secs_f64(limit_s).ok()?)?, limit_s))
}
