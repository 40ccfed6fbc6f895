//! What a run has reported so far: its attempts, the processes of each attempt, and their reports.
//!
//! Never reads a file or a clock: events in, facts out. Everything that shows or judges a run reads it from here, so that
//! an event means the same to all of them, and a continued run adds up the same way everywhere.
//!
//! # A continued run
//!
//! An attempt begins where the lab launches the processes. Older labs did not say so: there it begins when a process introduces
//! itself that the last attempt knows already. It continues from the checkpoint that its processes name (`resume_epoch`). Epochs
//! after that checkpoint were lost with the attempt that trained them, and their time with them; the time up to the checkpoint
//! counts. Attempts may have different numbers of processes.
//!
//! Ranks may be killed between the checkpoint of an epoch and their report of it, or outlive the supervisor that writes their
//! reports down: then even the beginning of an attempt may be missing. The checkpoint also holds the last reports, and the
//! process that loads it sends them again: missing reports are put in their place, and known ones count once.

mod hosts;
mod observed;
mod process;

use std::collections::BTreeMap;

use super::benchmark::Iterations;
use super::bounds::{MAX_ATTEMPTS, MAX_RANKS};
use super::event::{EpochReport, Event, EventLine, ProcessEpoch};
pub use hosts::HostRanks;
pub use observed::{Observed, Update};
use process::Spent;
pub use process::{Commits, Continuation, Keep, Process, Test, TrainingStep};

/// Epochs that are kept of all processes of an attempt but the first, with which every figure of a run can be had: of many
/// processes the newest of each are.
const EPOCHS_OF_OTHERS: usize = 16_384;
/// Epochs of each of them that are kept in any case.
const LEAST_EPOCHS: usize = 4;

/// Warnings that are kept of an attempt: a rank may warn in every step.
const WARNINGS: usize = 50;

/// What a run has reported so far.
#[derive(Clone, Debug, Default)]
pub struct History {
    keep: Keep,
    /// In their order; the last one may still run. An attempt without events appears once a later one has an event.
    pub attempts: Vec<Attempt>,
    /// Launches since the last attempt whose processes have not reported yet.
    launches: usize,
}

/// One launch of the ranks.
#[derive(Clone, Debug, Default)]
pub struct Attempt {
    /// By index as they were launched: with step 1 off several call themselves rank 0.
    pub processes: BTreeMap<usize, Process>,
    /// In order of arrival.
    pub fatal: Vec<Fatal>,
    /// Each once, at most 50.
    pub warnings: Vec<String>,
}

/// Last words of a process that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fatal {
    pub process: usize,
    pub during: String,
    pub cause: String,
}

impl Attempt {
    /// The iterations of a benchmark that every process has ended.
    pub fn iterations(&self) -> Iterations {
        let of_each = || self.processes.values().map(|process| &process.iterations);
        let ended = of_each().map(Vec::len).min().unwrap_or(0);
        let images = of_each().find_map(|all| Some(all.first()?.images)).unwrap_or(0);
        Iterations { images, seconds: (0..ended).map(|at| of_each().map(|all| all[at].seconds).collect()).collect() }
    }

    /// Whether this event begins another attempt: a process introduces itself, and says what it is going to do, once in each.
    fn is_over_with(&self, line: &EventLine) -> bool {
        // Most events are steps: only these two need a look at the process.
        let known = |is_known: fn(&Process) -> bool| self.processes.get(&line.process).is_some_and(is_known);
        match line.event {
            Event::Topology(_) => known(|process| process.topology.is_some()),
            Event::Config(_) => known(|process| process.config.is_some()),
            _ => false,
        }
    }

    /// The epoch from whose end this attempt went on, as far as its processes came to say.
    fn resume_epoch(&self) -> Option<usize> {
        self.processes.values().find_map(|process| Some(process.config.as_ref()?.resume_epoch))
    }

    fn take(&mut self, line: &EventLine, keep: Keep) {
        match &line.event {
            Event::Fatal { during, cause } if self.fatal.len() < MAX_RANKS => {
                self.fatal.push(Fatal { process: line.process, during: during.clone(), cause: cause.clone() });
            }
            Event::Warning { message } if self.warnings.len() < WARNINGS && !self.warnings.contains(message) => {
                self.warnings.push(message.clone());
            }
            _ => {}
        }
        let keep = self.share(line.process, keep);
        self.processes.entry(line.process).or_default().take(line, keep);
    }

    /// How much to keep of a process, so that the memory needed does not grow with the number of processes.
    fn share(&self, process: usize, keep: Keep) -> Keep {
        match keep {
            Keep::Epochs(most) if process > 0 => {
                Keep::Epochs(most.min((EPOCHS_OF_OTHERS / self.processes.len().max(1)).max(LEAST_EPOCHS)))
            }
            keep => keep,
        }
    }
}

impl History {
    pub fn new(keep: Keep) -> History {
        History { keep, attempts: Vec::new(), launches: 0 }
    }

    /// The next event, in order of arrival.
    pub fn take(&mut self, line: &EventLine) {
        if let Event::Launched { .. } = line.event {
            self.launches = (self.launches + 1).min(MAX_ATTEMPTS);
            return;
        }
        let is_new = self.attempts.last().is_none_or(|attempt| attempt.is_over_with(line));
        let begun = std::mem::take(&mut self.launches).max(usize::from(is_new));
        self.attempts.resize_with((self.attempts.len() + begun).min(MAX_ATTEMPTS), Attempt::default);
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.take(line, self.keep);
        }
        match &line.event {
            Event::Config(config) => self.go_on(self.attempts.len() - 1, line.process, config.resume_epoch),
            Event::Restored { epochs } => epochs.iter().for_each(|of| self.restore(of)),
            _ => {}
        }
    }

    /// Put an epoch that the attempts before did not come to report in its place.
    fn restore(&mut self, ProcessEpoch { process, since, report }: &ProcessEpoch) {
        let Some((_, before)) = self.attempts.split_last() else { return };
        let is_it = |began: usize| since.map_or(began < report.epoch, |since| began == since);
        let began = |attempt: &Attempt| attempt.resume_epoch().is_some_and(is_it);
        // An attempt that was killed before it said where it began: the checkpoint knows.
        let silent = |attempt: &Attempt| since.is_some() && attempt.resume_epoch().is_none();
        let Some(place) = before.iter().rposition(began).or_else(|| before.iter().rposition(silent)) else { return };
        let resume_epoch = before[place].resume_epoch().or(*since).unwrap_or_default();
        if before[place].processes.get(process).is_none_or(|known| known.config.is_none()) {
            self.attempts[place].processes.entry(*process).or_default();
            self.go_on(place, *process, resume_epoch);
        }
        if self.epochs(*process).any(|kept| kept.epoch == report.epoch) {
            return;
        }
        let keep = self.attempts[place].share(*process, self.keep);
        if let Some(trained) = self.attempts[place].processes.get_mut(process) {
            trained.restore(report, keep);
        }
        // What came after it had begun too early.
        for place in place + 1..self.attempts.len() {
            let processes = &self.attempts[place].processes;
            let began = processes.iter().filter_map(|(index, known)| Some((*index, known.config.as_ref()?.resume_epoch)));
            for (process, resume_epoch) in began.collect::<Vec<_>>() {
                self.go_on(place, process, resume_epoch);
            }
        }
    }

    /// The attempt at this index continues from the end of this epoch, as this process says.
    fn go_on(&mut self, place: usize, process: usize, resume_epoch: usize) {
        let Some((attempt, before)) = self.attempts[..=place].split_last_mut() else { return };
        // A process that earlier attempts did not have continues from where the others were.
        let spent = |of: &dyn Fn(usize) -> bool| {
            let all = before.iter().rev().flat_map(|attempt| &attempt.processes).filter(|(index, _)| of(**index));
            all.filter_map(|(_, process)| process.spent_until(resume_epoch)).next()
        };
        let spent: Option<Spent> = spent(&|index| index == process).or_else(|| spent(&|_| true));
        // Processes that take no part in this attempt lost their epochs just the same.
        for (index, other) in before.iter_mut().flat_map(|attempt| &mut attempt.processes) {
            if *index == process || !attempt.processes.contains_key(index) {
                other.lose_after(resume_epoch);
            }
        }
        if let Some(process) = attempt.processes.get_mut(&process) {
            process.go_on_from(spent.unwrap_or_default());
        }
    }

    /// The newest attempt: the one that runs, if any does.
    pub fn attempt(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    /// A process as it is now: in the newest attempt in which it has said what it is going to do, else in its first.
    pub fn process(&self, process: usize) -> Option<&Process> {
        let all = || self.attempts.iter().filter_map(|attempt| attempt.processes.get(&process));
        all().rfind(|process| process.config.is_some()).or_else(|| all().next_back())
    }

    /// The epochs of a process that the run holds, oldest first.
    pub fn epochs(&self, process: usize) -> impl DoubleEndedIterator<Item = &EpochReport> {
        self.attempts.iter().filter_map(move |attempt| attempt.processes.get(&process)).flat_map(Process::kept)
    }

    /// All epochs that the run holds, attempt by attempt and process by process, with the attempt and the process.
    pub fn all_epochs(&self) -> impl Iterator<Item = (&Attempt, usize, &EpochReport)> {
        self.attempts.iter().flat_map(|attempt| {
            attempt.processes.iter().flat_map(move |(index, process)| process.kept().map(move |report| (attempt, *index, report)))
        })
    }

    /// The last epoch that a process has ended, in the newest attempt or before it; 0 before the first.
    pub fn epochs_done(&self, process: usize) -> usize {
        let began = || self.process(process)?.config.as_ref().map(|config| config.resume_epoch);
        self.epochs(process).next_back().map(|report| report.epoch).or_else(began).unwrap_or(0)
    }

    /// The newest attempt that trained an epoch which the run holds.
    pub fn trained(&self) -> Option<&Attempt> {
        self.attempts.iter().rfind(|attempt| attempt.processes.values().any(|process| process.kept().next().is_some()))
    }
}

#[cfg(test)]
mod tests;
