//! The evidence of a run, which the checks judge: its history, its settings, and the epochs that it printed.
//!
//! Never judges. It takes what the screen gets anyway (events and log lines), or reads a run folder.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::bounds::MAX_EPOCHS;
use crate::domain::event::{Event, EventLine, Observation};
use crate::domain::history::{History, Keep};
use crate::domain::job::{Job, Resources};
use crate::domain::nvcnn::NvcnnSpec;
use crate::domain::training::TrainingSpec;
use crate::host::read::{self, LONGEST_LINE};
use crate::runs::{RunFolder, RunRecord, StoreError};

/// All evidence of one run: its history, with what was asked for and what was printed. A run of the trainer has `TrainingSpec` for its
/// settings.
#[derive(Clone, Debug)]
pub struct Evidence<W = TrainingSpec> {
    /// The settings: number of ranks, base rate, warmup, steps.
    pub spec: Job<W>,
    pub history: History,
    /// Ranks of each attempt, where the record says so.
    np_of_attempts: Vec<usize>,
    /// Epoch, counted from 1, to the processes that printed its heading, as the library tells or a log shows. `None` where no log could
    /// be read.
    pub printed: Option<BTreeMap<usize, BTreeSet<usize>>>,
}

/// The evidence of a training on photos.
pub type PhotoEvidence = Evidence<NvcnnSpec>;

impl Evidence {
    /// Everything in the folder of a run of the trainer so far.
    ///
    /// # Errors
    /// [`StoreError::NoTraining`]: only what trains has steps to show.
    pub fn of(folder: &RunFolder, record: &RunRecord) -> Result<Evidence, StoreError> {
        Evidence::read(folder, record, record.request.spec.training())
    }
}

impl<W: Clone> Evidence<W> {
    pub fn new(spec: Job<W>) -> Evidence<W> {
        Evidence { spec, history: History::new(Keep::Everything), np_of_attempts: Vec::new(), printed: None }
    }

    /// Everything in the folder of a run so far.
    ///
    /// # Errors
    /// [`StoreError::NoTraining`]: it is another kind of run, and has no such workload.
    pub fn read(folder: &RunFolder, record: &RunRecord, workload: Option<&W>) -> Result<Evidence<W>, StoreError> {
        let none = || StoreError::NoTraining { id: record.id, workload: record.request.spec.workload.title() };
        let workload = workload.ok_or_else(none)?.clone();
        // Of several attempts, the last one says how many ranks there are.
        let resources = Resources { np: record.np(), ..record.request.spec.resources.clone() };
        let mut evidence = Evidence::new(Job { resources, workload });
        evidence.np_of_attempts = record.np_of_attempts().collect();
        folder.events().for_each(|line| evidence.take(&line));
        if !evidence.history.attempts.is_empty() {
            // A process that has printed nothing has no log.
            evidence.printed.get_or_insert_default();
        }
        for process in folder.rank_logs() {
            // Line by line: a log may be larger than all that the screen needs otherwise.
            log_lines(folder, process, LONGEST_LINE).for_each(|line| evidence.take_line(process, &line));
        }
        Ok(evidence)
    }

    /// Ranks that an attempt started, by its place; those asked for where nothing else is known.
    pub fn np_of(&self, attempt: usize) -> usize {
        self.np_of_attempts.get(attempt).copied().unwrap_or(self.spec.resources.np)
    }

    /// The next event, in order of arrival.
    pub fn take(&mut self, line: &EventLine) {
        self.history.take(line);
        if let Event::Observed(Observation::Heading { epoch, is_printed: true }) = line.event {
            self.printed.get_or_insert_default().entry(epoch).or_default().insert(line.process);
        }
    }

    /// The next line that a process printed for people: only there does it show who speaks.
    pub fn take_line(&mut self, process: usize, line: &str) {
        let printed = self.printed.get_or_insert_default();
        if let Some(epoch) = epoch_heading(line) {
            printed.entry(epoch).or_default().insert(process);
        }
    }
}

/// The lines of a process's log up to the first that cannot be read, each cut at `most` bytes.
pub(super) fn log_lines(folder: &RunFolder, process: usize, most: usize) -> impl Iterator<Item = String> {
    let log = read::open(&folder.rank_log(process)).into_iter();
    log.flat_map(move |log| read::lines(log, most)).map_while(Result::ok)
}

/// 1 for `Epoch 1/3`.
fn epoch_heading(line: &str) -> Option<usize> {
    let (epoch, epochs) = line.trim_end().strip_prefix("Epoch ")?.split_once('/')?;
    epochs.parse::<usize>().ok()?;
    // Anything may be printed: a number that no training has is no heading.
    epoch.parse().ok().filter(|epoch| *epoch <= MAX_EPOCHS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headings_of_epochs_count() {
        let lines = ["Epoch 12/40", "Epoch 5: finished gradual learning rate warmup to 0.04.", "Epoch 1/", " Epoch 1/3", "Epoch"];
        assert_eq!(lines.map(epoch_heading), [Some(12), None, None, None, None]);
    }
}
