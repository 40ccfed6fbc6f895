//! The run on the screen, put together from what it has written so far.
//!
//! Files are read elsewhere; updates come in as messages.

use crate::tui::shared::Curves;
use std::collections::BTreeMap;

use crate::domain::command::CommandSpec;
use crate::domain::device::{DeviceKind, TelemetrySample};
use crate::domain::event::{ConfigReport, EpochReport, Event, EventLine, TopologyReport};
use crate::domain::history::{Attempt, Commits, History, HostRanks, Keep, Process, TrainingStep};
use crate::domain::pipeline::PipelineReport;
use crate::domain::run::{RunState, RunStatus};
use crate::domain::settings::without_flags;
use crate::domain::user_metrics::LoggedSoFar;
use crate::inspect::{Inspected, Inspection};
use crate::runs::{RunId, RunUpdate, busy_host};
use crate::tui::shared::phases::{EPOCHS, Phases};

/// Samples from which on a mean of them says something.
const SAMPLES: usize = 4;

/// A run that is being followed, or was.
#[derive(Clone, Debug)]
pub struct Watched {
    pub id: RunId,
    pub status: Option<RunStatus>,
    pub curves: Curves,
    history: History,
    inspection: Inspection,
    /// What the inspector has found in it; `None` where it has not looked.
    pub inspected: Option<Inspected>,
    /// The findings are older than the reports.
    has_reports: bool,
    /// The part of the cores that other programs used while it trained: the sum over the samples, and how many.
    others_cpu: (f64, usize),
}

impl Watched {
    pub fn new(id: RunId) -> Watched {
        let history = History::new(Keep::Epochs(EPOCHS));
        Watched {
            id,
            status: None,
            curves: Curves::default(),
            history,
            inspection: Inspection::default(),
            inspected: None,
            has_reports: false,
            others_cpu: (0.0, 0),
        }
    }

    pub fn state(&self) -> Option<RunState> {
        self.status.as_ref().map(|status| status.state)
    }

    pub fn is_going(&self) -> bool {
        self.state().is_some_and(|state| !state.is_over())
    }

    pub fn absorb(&mut self, update: RunUpdate) {
        match update {
            RunUpdate::Status(status) => {
                let message = without_flags(&status.message);
                self.has_reports |= !self.inspection.is_empty();
                self.status = Some(RunStatus { message, ..status });
            }
            RunUpdate::Event(line) => self.event(&line),
            // Lines are read where they are shown; the devices pane shows what is measured now, not what was recorded.
            RunUpdate::Log { .. } | RunUpdate::Launcher { .. } | RunUpdate::Telemetry(_) => {}
        }
    }

    fn event(&mut self, line: &EventLine) {
        self.has_reports |= matches!(line.event, Event::Inspected(_));
        self.inspection.take(line);
        self.history.take(line);
        self.curves.absorb(&self.history, line);
    }

    /// Whether any rank has reported to the inspector.
    pub fn is_inspected(&self) -> bool {
        !self.inspection.is_empty()
    }

    /// Judges what the inspector has reported since the last time. `program` is what the run has started.
    pub fn judge(&mut self, program: Option<&CommandSpec>) {
        if let Some(program) = program.filter(|_| std::mem::take(&mut self.has_reports)) {
            let is_over = self.state().is_some_and(RunState::is_over);
            self.inspected = Some(Inspected::of(&self.inspection, program, is_over));
        }
    }

    /// Counts what other programs use of the cores while it trains, as its record will say at its end.
    pub fn measured(&mut self, sample: &TelemetrySample) {
        // First, for it comes with each sample, and the run of hundreds of ranks may be long over.
        if self.state() != Some(RunState::Running) || self.step().is_none() {
            return;
        }
        let is_here = self.topology().values().all(|report| report.host == sample.host);
        let Some(cpu) = sample.devices.iter().find(|device| is_here && device.kind == DeviceKind::Cpu) else { return };
        let own = cpu.processes.iter().map(|process| process.utilization_percent.value().copied()).sum::<Option<f64>>();
        // Without each rank's share the ranks themselves would be the others.
        let Some(own) = own.filter(|_| cpu.processes.len() == self.topology().len()) else { return };
        if let Some(busy) = cpu.utilization_percent.value() {
            let others = (busy - own / cpu.core_percent.len().max(1) as f64) / 100.0;
            self.others_cpu = (self.others_cpu.0 + others.clamp(0.0, 1.0), self.others_cpu.1 + 1);
        }
    }

    /// The part of the cores that other programs have used so far. `None` where that is not worth a word.
    pub fn disturbed(&self) -> Option<f64> {
        let (sum, samples) = self.others_cpu;
        let part = sum / samples.max(1) as f64;
        (samples >= SAMPLES && part >= busy_host::NOTICEABLE).then_some(part)
    }

    /// Where the time of every process went.
    pub fn phases(&self) -> Phases<'_> {
        Phases(&self.history)
    }

    /// Process 0: the root, where there is one.
    pub fn root(&self) -> Option<&Process> {
        self.history.process(0)
    }

    /// Where the processes of the newest attempt compute, by process.
    pub fn topology(&self) -> BTreeMap<usize, &TopologyReport> {
        let processes = self.history.attempt().into_iter().flat_map(|attempt| &attempt.processes);
        processes.filter_map(|(index, process)| Some((*index, process.topology.as_ref()?))).collect()
    }

    /// How often processes have introduced themselves: attempts, and processes of the newest one.
    pub fn introduced(&self) -> (usize, usize) {
        let of = |attempt: &Attempt| attempt.processes.values().filter(|process| process.topology.is_some()).count();
        (self.history.attempts.len(), self.history.attempt().map_or(0, of))
    }

    /// Processes that have reported in any attempt; the highest index counts.
    pub fn processes(&self) -> usize {
        let last = |attempt: &Attempt| attempt.processes.keys().last().map_or(0, |last| last + 1);
        self.history.attempts.iter().map(last).max().unwrap_or(0)
    }

    pub fn config(&self) -> Option<&ConfigReport> {
        self.root()?.config.as_ref()
    }

    /// The last step of process 0.
    pub fn step(&self) -> Option<TrainingStep> {
        self.root()?.step
    }

    /// What a user program has reported so far.
    pub fn logged(&self) -> Option<&LoggedSoFar> {
        let all = self.history.attempt()?.processes.values().map(|process| &process.logged);
        all.into_iter().find(|logged| !logged.by.is_empty())
    }

    /// The last epoch that process 0 has ended.
    pub fn last_epoch(&self) -> Option<&EpochReport> {
        self.history.epochs(0).next_back()
    }

    /// `epoch 2/3`, or `testing` while the test at the end is going on. `None` before the run has said how many epochs it trains.
    pub fn place(&self) -> Option<String> {
        let (root, epochs) = (self.root()?, self.config()?.epochs);
        let is_trained = root.early_stop.is_some() || self.history.epochs_done(0) >= epochs;
        let is_testing = is_trained && root.test.is_none() && !root.has_finished;
        Some(if is_testing { "testing".to_owned() } else { format!("epoch {}/{epochs}", self.epoch().max(1)) })
    }

    /// The processes that failed, the first to do so first.
    pub fn failed(&self) -> Vec<usize> {
        let blamed = self.status.as_ref().and_then(|status| status.failed_process);
        self.history.attempt().map_or_else(|| blamed.into_iter().collect(), |attempt| attempt.failed(blamed))
    }

    /// The host of a process.
    pub fn host(&self, process: usize) -> Option<&str> {
        self.history.attempt()?.host(process)
    }

    /// The ranks host by host, those in trouble first.
    pub fn by_host(&self) -> Vec<HostRanks<'_>> {
        let failed = self.failed();
        self.history.attempt().map(|attempt| attempt.by_host(&failed)).unwrap_or_default()
    }

    pub fn has_several_hosts(&self) -> bool {
        let processes = self.history.attempt().into_iter().flat_map(|attempt| attempt.processes.values());
        let mut hosts = processes.filter_map(|process| Some(&process.topology.as_ref()?.host));
        let first = hosts.next();
        hosts.any(|host| Some(host) != first)
    }

    /// The digests of the weights of `np` ranks, with the newest epoch for which all have reported them; 0 is the start.
    pub fn weights(&self, np: usize) -> Option<(usize, Vec<&str>)> {
        let processes = &self.history.attempt()?.processes;
        let newest = processes.get(&0)?.digests.iter().rev().filter(|(moment, ..)| moment.is_of_weights());
        let of = |moment, epoch| processes.values().filter_map(move |process| process.digest(moment, epoch));
        let mut held = newest.map(|(moment, epoch, _)| (*epoch, of(*moment, *epoch).collect::<Vec<&str>>()));
        held.find(|(_, held)| held.len() == np)
    }

    /// The cause that a process gave before it ended.
    pub fn fatal(&self, process: usize) -> Option<String> {
        let last_words = self.history.attempt()?.fatal.iter().find(|fatal| fatal.process == process)?;
        Some(format!("{} (during {})", last_words.cause, last_words.during))
    }

    /// The report of the image pipeline of each process.
    pub fn pipelines(&self) -> impl Iterator<Item = (usize, &PipelineReport)> {
        let processes = self.history.attempt().into_iter().flat_map(|attempt| &attempt.processes);
        processes.filter_map(|(index, process)| Some((*index, process.pipeline.as_ref()?)))
    }

    /// The commits of all attempts.
    pub fn commits(&self) -> Commits {
        let roots = self.history.attempts.iter().filter_map(|attempt| attempt.processes.get(&0));
        roots.fold(Commits::default(), |all, root| Commits {
            count: all.count + root.commits.count,
            stopped_s: all.stopped_s + root.commits.stopped_s,
        })
    }

    /// Each once.
    pub fn warnings(&self) -> Vec<&str> {
        let mut warnings: Vec<&str> = Vec::new();
        for warning in self.history.attempts.iter().flat_map(|attempt| &attempt.warnings) {
            if !warnings.contains(&warning.as_str()) {
                warnings.push(warning);
            }
        }
        warnings
    }

    /// Part of the training that is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        let Some(config) = self.config() else { return 0.0 };
        let by_epoch = self.history.epochs_done(0) as f64;
        let done =
            |step: TrainingStep| step.epoch as f64 + (step.batch + 1) as f64 / config.steps_per_epoch.max(step.batch + 1) as f64;
        (by_epoch.max(self.step().map_or(0.0, done)) / config.epochs.max(1) as f64).clamp(0.0, 1.0)
    }

    /// The epoch in progress or the last one, counted from 1.
    pub fn epoch(&self) -> usize {
        let by_step = self.step().map_or(0, |step| step.epoch + 1);
        by_step.max(self.last_epoch().map_or(0, |report| report.epoch))
    }
}
