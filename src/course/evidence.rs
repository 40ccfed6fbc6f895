//! What a run left behind, sorted by attempt and process, for the checks to judge.
//!
//! Never judges. It takes what the screen gets anyway (events and log lines), or reads a run folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};

use crate::domain::event::{CheckpointReport, ConfigReport, DigestMoment, EpochReport, Event, EventLine, TopologyReport};
use crate::domain::run::RunSpec;
use crate::runs::{RunFolder, RunRecord};

/// All evidence of one run.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// What was asked for: number of ranks, base rate, warmup, steps.
    pub spec: RunSpec,
    /// In their order; the last one may be going on.
    pub attempts: Vec<Attempt>,
    /// Epoch, counted from 1, to the processes that printed its heading. `None` where no log could be read.
    pub printed: Option<BTreeMap<usize, BTreeSet<usize>>>,
}

/// One launch of the ranks.
#[derive(Clone, Debug, Default)]
pub struct Attempt {
    pub processes: BTreeMap<usize, Process>,
}

/// What one process reported.
#[derive(Clone, Debug, Default)]
pub struct Process {
    pub topology: Option<TopologyReport>,
    pub config: Option<ConfigReport>,
    /// With the epoch: counted from 0 at the first gradients, else the last epoch trained.
    pub digests: Vec<(DigestMoment, usize, String)>,
    /// Some of the numbers behind each digest, with moment and epoch.
    pub samples: Vec<(DigestMoment, usize, Vec<f32>)>,
    pub steps: Vec<Step>,
    pub epochs: Vec<EpochReport>,
    pub checkpoints: Vec<CheckpointReport>,
    /// On the test set: of this rank's own, or of all ranks together.
    pub test: Option<Test>,
    pub has_finished: bool,
}

/// One optimizer step; epoch and batch count from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub epoch: usize,
    pub batch: usize,
    pub lr: f64,
    pub loss: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    pub accuracy: f64,
    pub images: usize,
}

impl Evidence {
    pub fn new(spec: RunSpec) -> Evidence {
        Evidence { spec, attempts: Vec::new(), printed: None }
    }

    /// Everything in a run folder so far.
    pub fn of(folder: &RunFolder, record: &RunRecord) -> Evidence {
        let mut evidence = Evidence::new(record.spec.clone());
        folder.events().for_each(|line| evidence.take(&line));
        if !evidence.attempts.is_empty() {
            // A process that has printed nothing has no log.
            evidence.printed = Some(BTreeMap::new());
        }
        for process in 0..record.spec.np {
            if let Ok(log) = File::open(folder.rank_log(process)) {
                // Line by line: a log may be larger than all that the screen needs otherwise.
                let lines = BufReader::new(log).split(b'\n').map_while(Result::ok);
                lines.for_each(|line| evidence.take_line(process, &String::from_utf8_lossy(&line)));
            }
        }
        evidence
    }

    /// The next event, in order of arrival.
    pub fn take(&mut self, line: &EventLine) {
        // A process introduces itself once in every attempt.
        let known = |attempt: &Attempt| attempt.processes.get(&line.process).is_some_and(|process| process.topology.is_some());
        let begins = matches!(line.event, Event::Topology(_)) && self.attempts.last().is_some_and(known);
        if begins || self.attempts.is_empty() {
            self.attempts.push(Attempt::default());
        }
        let Some(attempt) = self.attempts.last_mut() else { return };
        let process = attempt.processes.entry(line.process).or_default();
        match &line.event {
            Event::Topology(report) => process.topology = Some(report.clone()),
            Event::Config(report) => process.config = Some(report.clone()),
            Event::Digest { moment, epoch, digest, sample } => {
                process.digests.push((*moment, *epoch, digest.clone()));
                if !sample.is_empty() {
                    process.samples.push((*moment, *epoch, sample.clone()));
                }
            }
            Event::Step { epoch, batch, lr, loss } => {
                process.steps.push(Step { epoch: *epoch, batch: *batch, lr: *lr, loss: *loss });
            }
            Event::Epoch(report) => process.epochs.push(report.clone()),
            Event::Checkpoint(report) => process.checkpoints.push(report.clone()),
            Event::Finished { .. } => process.has_finished = true,
            Event::Test { accuracy, images, .. } => process.test = Some(Test { accuracy: *accuracy, images: *images }),
            Event::Devices { .. } | Event::EarlyStop { .. } | Event::Warning { .. } | Event::Fatal { .. } => {}
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

/// 1 for `Epoch 1/3`.
fn epoch_heading(line: &str) -> Option<usize> {
    let (epoch, epochs) = line.trim_end().strip_prefix("Epoch ")?.split_once('/')?;
    epochs.parse::<usize>().ok()?;
    epoch.parse().ok()
}

impl Process {
    pub fn digest(&self, moment: DigestMoment, epoch: usize) -> Option<&str> {
        self.digests.iter().find(|(at, of, _)| (*at, *of) == (moment, epoch)).map(|(.., digest)| digest.as_str())
    }

    /// All digests of a moment, in order.
    pub fn digests_of(&self, moment: DigestMoment) -> Vec<&str> {
        self.digests.iter().filter(|(at, ..)| *at == moment).map(|(.., digest)| digest.as_str()).collect()
    }

    pub fn sample(&self, moment: DigestMoment, epoch: usize) -> Option<&[f32]> {
        self.samples.iter().find(|(at, of, _)| (*at, *of) == (moment, epoch)).map(|(.., sample)| sample.as_slice())
    }

    /// The first sample of a moment.
    pub fn first_sample(&self, moment: DigestMoment) -> Option<&[f32]> {
        self.samples.iter().find(|(at, ..)| *at == moment).map(|(.., sample)| sample.as_slice())
    }

    pub fn epoch(&self, epoch: usize) -> Option<&EpochReport> {
        self.epochs.iter().find(|report| report.epoch == epoch)
    }
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
