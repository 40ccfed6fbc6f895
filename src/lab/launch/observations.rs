//! What the verdict on an attempt needs to know of its processes: what they reported, and their last lines.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::notice::Aborts;
use super::printed_errors::PrintedErrors;
use super::work::Work;
use crate::domain::bounds::MAX_VERSIONS;
use crate::domain::event::{ConfigReport, TopologyReport};
use crate::domain::history::{Fatal, History, Process, TrainingStep};
use crate::host;

/// Last lines of each process that are kept for a verdict.
const TAIL_LINES: usize = 10;
const LAUNCHER_LINES: usize = 60;

/// What is known about the processes of one attempt.
#[derive(Clone, Debug, Default)]
pub struct Observations {
    pub work: Work,
    /// Epochs that a training has its checkpoint of from launches before this one.
    pub epochs_before: usize,
    /// What they reported, in this attempt only.
    pub(super) history: History,
    /// A process of this host that is gone without a final event, where the launcher has not noticed.
    pub vanished: Option<usize>,
    /// Processes that the supervisor ended since they were stopped for too long.
    pub given_up: BTreeSet<usize>,
    /// Last lines of each process.
    pub tails: BTreeMap<usize, VecDeque<String>>,
    /// Errors that processes printed, as far as they may have ended them.
    pub errors: PrintedErrors,
    /// Calls of MPI_Abort; the last lines of these processes are complete.
    pub aborts: Aborts,
    /// It is a program of the user's own without other ranks.
    pub is_alone: bool,
    /// What people call the program that started the ranks.
    pub launcher_name: &'static str,
    /// What the launcher says comes among the lines of process 0.
    pub is_untagged: bool,
    pub launcher: VecDeque<String>,
    /// Processes that printed lines which look like events and do not come from the library.
    pub imitating: BTreeSet<usize>,
    /// The first process that printed more than its log may hold.
    pub flooding: Option<usize>,
    /// Bytes that processes printed since one of them got on.
    pub printed: u64,
    /// Lines that could not be written to a log.
    pub unkept: usize,
    /// Lines that came so far.
    pub lines: u64,
}

impl Observations {
    /// The processes that have introduced themselves, with what they said.
    pub fn introduced(&self) -> impl Iterator<Item = (usize, &TopologyReport)> {
        let processes = self.history.attempt().into_iter().flat_map(|attempt| &attempt.processes);
        processes.filter_map(|(index, process)| Some((*index, process.topology.as_ref()?)))
    }

    /// Those of them on this host: the pids of others mean nothing here.
    pub fn here(&self) -> impl Iterator<Item = (usize, &TopologyReport)> {
        let host = host::name();
        self.introduced().filter(move |(_, report)| report.host == host)
    }

    pub fn has_finished(&self, process: usize) -> bool {
        self.history.process(process).is_some_and(|process| process.has_finished)
    }

    /// Whether there are ranks, and all of them have come to their end.
    pub fn all_finished(&self) -> bool {
        self.introduced().next().is_some() && self.introduced().all(|(process, _)| self.has_finished(process))
    }

    /// How far the run is: the last epoch that process 0 has ended, in this attempt or before it, or its steps, or the rows of
    /// its table, or its iterations.
    pub fn done(&self) -> usize {
        match self.work {
            Work::Training => self.history.epochs_done(0).max(self.epochs_before),
            Work::Photos => self.history.process(0).map_or(0, Process::steps_done),
            Work::Test => self.history.process(0).and_then(|root| root.test).map_or(0, |test| test.images),
            Work::Benchmark => self.history.process(0).map_or(0, |root| root.iterations.len()),
            Work::Collectives => self.history.process(0).map_or(0, |root| root.allreduces.len()),
            Work::Program => 0,
        }
    }

    /// What a process is going to do.
    pub fn config(&self, process: usize) -> Option<&ConfigReport> {
        self.history.process(process)?.config.as_ref()
    }

    /// The last step that a process reported, in this launch.
    pub fn step(&self, process: usize) -> Option<TrainingStep> {
        self.history.process(process)?.step
    }

    /// How far the first processes have come: `rank 0 after epoch 1, batch 3, rank 1 before its first batch`.
    pub fn last_seen(&self, np: usize) -> String {
        let place = |process: usize| match self.step(process) {
            Some(step) => format!("rank {process} after epoch {}, batch {}", step.epoch + 1, step.batch + 1),
            None => format!("rank {process} before its first batch"),
        };
        (0..np.min(4)).map(place).collect::<Vec<_>>().join(", ")
    }

    /// The fatal events, in the order in which they came.
    pub fn fatal(&self) -> &[Fatal] {
        self.history.attempt().map_or(&[], |attempt| &attempt.fatal)
    }

    /// What a process itself reported about its failure; others may have reported theirs before it.
    pub fn fatal_of(&self, process: usize) -> Option<&Fatal> {
        self.fatal().iter().find(|fatal| fatal.process == process)
    }

    /// Library versions that ranks reported, each once: a bounded number, whatever a program of the learner's says.
    pub fn versions(&self) -> BTreeSet<String> {
        let all: BTreeSet<&String> = self.introduced().flat_map(|(_, report)| &report.versions).collect();
        all.into_iter().take(MAX_VERSIONS).cloned().collect()
    }

    /// Keep the launcher's last lines.
    pub(super) fn remember_launcher(&mut self, text: String) {
        keep(&mut self.launcher, text, LAUNCHER_LINES);
    }

    /// Keep a process's last lines, up to where MPI announces its abort: what follows says nothing of the cause.
    pub(super) fn remember(&mut self, process: usize, text: String) {
        self.errors.read(process, self.is_untagged, &text);
        if self.is_untagged && process == 0 {
            self.remember_launcher(text.clone());
        }
        let tail = self.tails.entry(process).or_default();
        if !self.aborts.read(process, &text) {
            keep(tail, text, TAIL_LINES);
        } else if tail.back().is_some_and(|line| line.starts_with("-----")) {
            // The rule above it.
            tail.pop_back();
        }
    }
}

fn keep(tail: &mut VecDeque<String>, line: String, most: usize) {
    if tail.len() == most {
        tail.pop_front();
    }
    tail.push_back(line);
}
