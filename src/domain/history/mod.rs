//! What a run has told so far: its attempts, in each its processes, and what they reported.
//!
//! Never reads a file or a clock: events in, facts out. Everything that shows or judges a run reads it from here, so that
//! an event means the same to all of them, and a continued run adds up the same way everywhere.
//!
//! # A continued run
//!
//! An attempt begins when a process introduces itself that the last attempt knows already. It goes on from the checkpoint
//! that its processes name (`resume_epoch`). Epochs after that checkpoint were lost with the attempt that trained them, and
//! their time with them; the time up to the checkpoint counts. Attempts may have different numbers of processes.
//!
//! Ranks may be killed between the checkpoint of an epoch and their report of it. The checkpoint holds that report as well,
//! and whoever loads it tells it again: where it is missing, it is put in its place; where it is there, it counts once.

mod process;

use std::collections::BTreeMap;

use super::bounds::{MAX_ATTEMPTS, MAX_RANKS};
use super::event::{EpochReport, Event, EventLine, ProcessEpoch};
use process::Spent;
pub use process::{Continuation, Keep, Process, Test, TrainingStep};

/// Warnings that are kept of an attempt: a rank may warn in every step.
const WARNINGS: usize = 50;

/// What a run has told so far.
#[derive(Clone, Debug)]
pub struct History {
    keep: Keep,
    /// In their order; the last one may be going on.
    pub attempts: Vec<Attempt>,
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
        self.processes.entry(line.process).or_default().take(line, keep);
    }
}

impl History {
    pub fn new(keep: Keep) -> History {
        History { keep, attempts: Vec::new() }
    }

    /// The next event, in order of arrival.
    pub fn take(&mut self, line: &EventLine) {
        let is_new = self.attempts.last().is_none_or(|attempt| attempt.is_over_with(line));
        if is_new && self.attempts.len() < MAX_ATTEMPTS {
            self.attempts.push(Attempt::default());
        }
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.take(line, self.keep);
        }
        match &line.event {
            Event::Config(config) => self.go_on(line.process, config.resume_epoch),
            Event::Restored { epochs } => self.restore(epochs),
            _ => {}
        }
    }

    /// Put the epochs that the attempts before did not come to report in their places.
    fn restore(&mut self, epochs: &[ProcessEpoch]) {
        let Some((attempt, before)) = self.attempts.split_last_mut() else { return };
        for ProcessEpoch { process, report } in epochs {
            let of_process = || before.iter().filter_map(|attempt| attempt.processes.get(process));
            if of_process().any(|known| known.kept().any(|kept| kept.epoch == report.epoch)) {
                continue;
            }
            let mut newest_first = before.iter_mut().rev().filter_map(|attempt| attempt.processes.get_mut(process));
            if let Some(trained) = newest_first.find(|known| known.began_before(report.epoch)) {
                trained.restore(report, self.keep);
            }
        }
        // Another rank's word from where it goes on may have come first.
        let began = attempt.processes.iter().filter_map(|(index, known)| Some((*index, known.config.as_ref()?.resume_epoch)));
        for (process, resume_epoch) in began.collect::<Vec<_>>() {
            self.go_on(process, resume_epoch);
        }
    }

    /// The newest attempt goes on from the end of this epoch, as this process says.
    fn go_on(&mut self, process: usize, resume_epoch: usize) {
        let Some((attempt, before)) = self.attempts.split_last_mut() else { return };
        // A process that the attempts before did not have goes on from where the others were.
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

    /// The newest attempt: the one that is going on, if any is.
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

    /// The newest attempt that trained an epoch which the run holds.
    pub fn trained(&self) -> Option<&Attempt> {
        self.attempts.iter().rfind(|attempt| attempt.processes.values().any(|process| process.kept().next().is_some()))
    }
}

#[cfg(test)]
mod tests;
