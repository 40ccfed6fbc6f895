//! What a run adds up to: metrics, phases and the figures that comparisons use.
//!
//! Never reads the clock. Figures are of all processes together, however little they know of each other.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{RunFolder, RunId, RunRecord};
use crate::domain::device::DeviceKind;
use crate::domain::event::{EpochReport, Event, EventLine, Metrics, PhaseSeconds};
use crate::domain::run::RunStatus;
use crate::domain::speedup::{Figures, median};

/// One row of the runs table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    pub id: RunId,
    /// `None` where `run.json` cannot be read: `status.message` says why.
    pub record: Option<RunRecord>,
    pub status: RunStatus,
    #[serde(flatten)]
    pub tally: Tally,
}

/// What the events of a run add up to. Metrics are process 0's; times in seconds, over all attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// The last epoch trained, counted from 1; 0 before the first has ended.
    pub last_epoch: usize,
    pub train: Option<Metrics>,
    /// Mean over the ranks where there is one.
    pub validation: Option<Metrics>,
    pub test: Option<Metrics>,
    pub figures: Figures,
    /// Training time with validation, as the trainer prints it.
    pub training_seconds: Option<f64>,
    /// Sums over the epochs of process 0.
    pub phases: PhaseSeconds,
    /// Part of the training time that processes waited for each other's gradients, 0 to 1: over all processes.
    pub exposed_communication: Option<f64>,
    /// Epoch after which training stopped early.
    pub early_stop: Option<usize>,
    /// What the ranks computed on; `None` before they have said so. Written even where there is none, so that a cached
    /// summary without it is made again.
    #[serde(deserialize_with = "Option::deserialize")]
    pub devices: Option<Devices>,
}

/// The devices that a run used, each counted once however many ranks shared it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Devices {
    pub kind: DeviceKind,
    pub count: usize,
}

impl Tally {
    /// What the run cost: seconds of training and validation, times GPUs, or ranks where it ran on the CPU.
    pub fn device_seconds(&self) -> Option<f64> {
        Some(self.devices?.count as f64 * self.training_seconds?)
    }
}

impl std::ops::Deref for RunSummary {
    type Target = Tally;

    fn deref(&self) -> &Tally {
        &self.tally
    }
}

/// Takes a run's events one by one and adds them up.
#[derive(Clone, Debug, Default)]
pub struct Accountant {
    np: usize,
    target_accuracy: f64,
    /// Epoch, then process; cumulative seconds counted from the start of the first attempt.
    epochs: BTreeMap<usize, BTreeMap<usize, EpochReport>>,
    /// Seconds of the attempts before, by process.
    offset: BTreeMap<usize, f64>,
    test: Option<Metrics>,
    early_stop: Option<usize>,
    /// Of each process, its GPU by name and host; `None` on the CPU.
    devices: BTreeMap<usize, Option<(String, String)>>,
}

impl Accountant {
    pub fn new(np: usize, target_accuracy: f64) -> Accountant {
        Accountant { np, target_accuracy, ..Accountant::default() }
    }

    pub fn take(&mut self, line: &EventLine) {
        let process = line.process;
        match &line.event {
            Event::Topology(report) => {
                let gpu = report.device_uuid.as_ref().unwrap_or(&report.device);
                let gpu = (report.device != "cpu").then(|| (report.host.clone(), gpu.clone()));
                self.devices.insert(process, gpu);
            }
            Event::Config(config) => self.begin_attempt(process, config.resume_epoch),
            Event::Epoch(report) => {
                let mut report = report.clone();
                report.cumulative_seconds += self.offset.get(&process).copied().unwrap_or(0.0);
                self.epochs.entry(report.epoch).or_default().insert(process, report);
            }
            Event::Test { loss, accuracy, .. } if process == 0 => {
                self.test = Some(Metrics { loss: *loss, accuracy: *accuracy });
            }
            Event::EarlyStop { epoch } if process == 0 => self.early_stop = Some(*epoch),
            _ => {}
        }
    }

    /// Epochs behind the checkpoint were lost with the attempt that trained them, and their time with them.
    fn begin_attempt(&mut self, process: usize, resume_epoch: usize) {
        for (_, reports) in self.epochs.range_mut(resume_epoch + 1..) {
            reports.remove(&process);
        }
        self.epochs.retain(|_, reports| !reports.is_empty());
        let until = self.epochs.range(..=resume_epoch).rev().find_map(|(_, reports)| reports.get(&process));
        let offset = until.map_or(0.0, |report| report.cumulative_seconds);
        self.offset.insert(process, offset);
        if process == 0 {
            self.test = None;
            self.early_stop = None;
        }
    }

    pub fn tally(&self) -> Tally {
        let root = || self.epochs.values().filter_map(|reports| reports.get(&0));
        let last = root().next_back();
        let reached = root().find(|report| report.judged().accuracy >= self.target_accuracy);
        Tally {
            last_epoch: last.map_or(0, |report| report.epoch),
            train: last.map(|report| report.train),
            validation: last.map(EpochReport::judged),
            test: self.test,
            figures: Figures {
                np: self.np,
                images_per_sec: self.images_per_sec(),
                seconds_to_target: reached.map(|report| report.cumulative_seconds),
            },
            training_seconds: last.map(|report| report.cumulative_seconds),
            phases: sum(root()),
            exposed_communication: sum(self.epochs.values().flat_map(BTreeMap::values)).exposed_communication(),
            early_stop: self.early_stop,
            devices: self.devices(),
        }
    }

    fn devices(&self) -> Option<Devices> {
        let gpus: BTreeSet<&(String, String)> = self.devices.values().flatten().collect();
        match (gpus.len(), self.devices.len()) {
            (0, 0) => None,
            (0, ranks) => Some(Devices { kind: DeviceKind::Cpu, count: ranks }),
            (count, _) => Some(Devices { kind: DeviceKind::Gpu, count }),
        }
    }

    /// Median over the epochs that every process has ended.
    ///
    /// Each process's own images over its own training seconds, added up: right for ranks in step, whose times are
    /// equal, and for processes that train apart and print the rate of one as if it were all there is.
    fn images_per_sec(&self) -> Option<f64> {
        let processes = self.epochs.values().map(BTreeMap::len).max()?;
        let rates: Vec<f64> = self
            .epochs
            .values()
            .filter(|reports| reports.len() == processes)
            .map(|reports| reports.values().map(|report| report.images as f64 / report.phases.training).sum::<f64>())
            .filter(|rate| rate.is_finite() && *rate > 0.0)
            .collect();
        median(&rates)
    }
}

/// Add up the events of a folder.
pub(super) fn tally(folder: &RunFolder, record: &RunRecord) -> Tally {
    let mut accountant = Accountant::new(record.spec.np, record.spec.target_accuracy);
    folder.events().for_each(|event| accountant.take(&event));
    accountant.tally()
}

fn sum<'a>(reports: impl Iterator<Item = &'a EpochReport>) -> PhaseSeconds {
    reports.fold(PhaseSeconds::default(), |sum, report| add(sum, report.phases))
}

fn add(a: PhaseSeconds, b: PhaseSeconds) -> PhaseSeconds {
    PhaseSeconds {
        start_up: a.start_up + b.start_up,
        training: a.training + b.training,
        data: a.data + b.data,
        forward: a.forward + b.forward,
        backward: a.backward + b.backward,
        allreduce_exposed: a.allreduce_exposed + b.allreduce_exposed,
        optimizer: a.optimizer + b.optimizer,
        validation: a.validation + b.validation,
        checkpoint: a.checkpoint + b.checkpoint,
    }
}
