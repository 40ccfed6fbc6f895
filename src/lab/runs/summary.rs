//! What a run adds up to: metrics, phases and the figures that comparisons use.
//!
//! Never reads the clock. Figures are of all processes together, however little they know of each other.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{RunId, RunRecord};
use crate::domain::benchmark::{IterationReport, Style};
use crate::domain::bounds::{Bounded, MAX_EPOCHS, MAX_RANKS, MAX_SECONDS, count, first, number, seconds};
use crate::domain::device::DeviceKind;
use crate::domain::event::{EpochReport, EventLine, Metrics, TopologyReport};
use crate::domain::history::{Attempt, History, Keep, Process};
use crate::domain::phase::{Phase, PhaseSeconds};
use crate::domain::run::{RunState, RunStatus};
use crate::domain::speedup::{Figures, median};
use crate::domain::units;
use crate::domain::user_metrics::{Logged, LoggedSoFar};

/// Epochs of each process that count: more than anybody trains, and bounded whatever the file says.
const KEPT_EPOCHS: usize = 100_000;
/// Further epochs for a run that has trained all of its own, if no number is given.
const MORE_EPOCHS: usize = 3;

/// One row of the runs table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    pub id: RunId,
    /// `None` where `run.json` cannot be read: `status.message` says why.
    pub record: Option<RunRecord>,
    pub status: RunStatus,
    #[serde(flatten)]
    pub tally: Tally,
    /// Where it runs out of our reach, so that it can be followed but neither stopped nor continued here: `on host node3`.
    #[serde(skip)]
    pub elsewhere: Option<String>,
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
    /// Of a run that trained with more devices at one time than at another; `None` of any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resized_device_seconds: Option<f64>,
    /// What a program of the user's own reported; `None` for the lab's programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged: Option<LoggedTally>,
    /// Events that no run can have sent, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damaged: Option<String>,
}

/// What was read of a program of the user's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoggedTally {
    /// The newest value of each figure, from the first process that reported any.
    pub last: Logged,
    /// Which figures were read by whom; empty where none was.
    pub read_by: String,
}

impl LoggedTally {
    /// Says which reader found which figure, as a sentence.
    pub fn in_words(&self) -> String {
        match self.read_by.as_str() {
            "" => {
                "no figure was found in what it prints: --pattern NAME=REGEX reads any, --tensorboard DIR its event files".into()
            }
            readers => format!("read: {readers}"),
        }
    }
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
        self.resized_device_seconds.or_else(|| Some(self.devices?.count as f64 * self.training_seconds?))
    }
}

impl RunSummary {
    /// The epochs in total that it goes on to where nobody asks for others: what is left of those it was to train, else three
    /// more.
    pub fn epochs_to_go_on_to(&self) -> usize {
        let asked = self.record.as_ref().and_then(RunRecord::training).map_or(0, |training| training.epochs);
        epochs_to_go_on_to(asked, self.last_epoch, self.status.state)
    }

    /// Ranks of its last attempt; `?` as long as only its own launcher knows. `None` of a run without a record.
    pub fn np_in_words(&self) -> Option<String> {
        let record = self.record.as_ref()?;
        let is_own = self.logged.is_some();
        let np = if is_own || !record.knows_np() { self.figures.np } else { record.np() };
        Some(if np > 0 { np.to_string() } else { "?".into() })
    }

    /// ` on 2 ranks`; nothing as long as no rank has been counted.
    pub fn on_ranks(&self) -> String {
        let np = self.figures.np;
        if np > 0 { format!(" on {}", units::counted(np, "rank")) } else { String::new() }
    }

    /// Epochs that it has trained, of those that it was to: `2/3`. Of an own program the epoch that it told, as it counts.
    pub fn epochs_in_words(&self) -> Option<String> {
        if let Some(logged) = &self.logged {
            let rounded = logged.last.epoch.map(|epoch| (epoch * 100.0).round() / 100.0);
            return rounded.map(|epoch| logged.last.epochs.map_or(epoch.to_string(), |of| format!("{epoch}/{of}")));
        }
        let training = self.record.as_ref()?.training()?;
        Some(format!("{}/{}", self.last_epoch, training.epochs))
    }
}

/// [`RunSummary::epochs_to_go_on_to`], where more is known than the summary has.
pub fn epochs_to_go_on_to(asked: usize, done: usize, state: RunState) -> usize {
    let is_done = done > asked || done == asked && state == RunState::Finished;
    if is_done { done.saturating_add(MORE_EPOCHS) } else { asked }
}

impl std::ops::Deref for RunSummary {
    type Target = Tally;

    fn deref(&self) -> &Tally {
        &self.tally
    }
}

impl Bounded for RunSummary {
    fn out_of_bounds(&self) -> Option<String> {
        first([
            self.record.as_ref().and_then(RunRecord::out_of_bounds),
            self.status.out_of_bounds(),
            count("np", self.figures.np, MAX_RANKS),
            count("last epoch", self.last_epoch, MAX_EPOCHS),
            self.training_seconds.and_then(|value| seconds("training seconds", value)),
            self.resized_device_seconds.and_then(|value| number("device seconds", value, MAX_SECONDS * MAX_RANKS as f64)),
            self.figures.seconds_to_target.and_then(|value| seconds("seconds to target", value)),
            self.devices.and_then(|devices| count("devices", devices.count, MAX_RANKS)),
        ])
    }
}

/// Takes a run's events one by one and adds them up.
#[derive(Clone, Debug)]
pub struct Accountant {
    /// Ranks that were asked for; 0 where a launcher of the user's own does not say.
    np: usize,
    target_accuracy: f64,
    /// Of a benchmark.
    style: Style,
    /// Of a program of the user's own.
    is_own: bool,
    history: History,
}

impl Accountant {
    pub fn new(np: usize, target_accuracy: f64) -> Accountant {
        Accountant { np, target_accuracy, style: Style::Horovod, is_own: false, history: History::new(Keep::Epochs(KEPT_EPOCHS)) }
    }

    /// For the run of this record.
    pub fn of(record: &RunRecord) -> Accountant {
        let style = record.request.spec.benchmark().map_or(Style::Horovod, |benchmark| benchmark.style);
        Accountant {
            style,
            is_own: record.request.spec.command().is_some(),
            ..Accountant::new(if record.knows_np() { record.np() } else { 0 }, record.target_accuracy())
        }
    }

    pub fn take(&mut self, line: &EventLine) {
        self.history.take(line);
    }

    /// For a program of the user's own: the first process that reported any figure.
    fn logged(&self) -> Option<&LoggedSoFar> {
        let mut all = self.history.attempt()?.processes.values().map(|process| &process.logged);
        all.find(|logged| !logged.by.is_empty())
    }

    /// Images a second of all its ranks: as it says itself, or added up where every rank said its own.
    fn logged_rate(&self) -> Option<f64> {
        let attempt = self.history.attempt()?;
        let all = || attempt.processes.values().map(|process: &Process| &process.logged);
        let added = || all().map(LoggedSoFar::own_rate).sum::<Option<f64>>().filter(|_| attempt.processes.len() == self.own_np());
        all().find_map(LoggedSoFar::total_rate).or_else(added)
    }

    /// Ranks of a program of the user's own: its words may ask for another number than there are, or not say it, and a program that was
    /// started as one process may start ranks itself.
    fn own_np(&self) -> usize {
        let processes = self.history.attempt().into_iter().flat_map(|attempt| attempt.processes.values());
        let launched = |process: &Process| process.topology.as_ref().map_or(0, |report| report.topology.size.0);
        processes.map(|process| launched(process).max(process.group)).max().filter(|np| *np > 0).unwrap_or(self.np)
    }

    fn tally_own(&self) -> Tally {
        let logged = self.logged();
        Tally {
            last_epoch: logged.and_then(|logged| logged.last.epoch).map_or(0, |epoch| (epoch.max(0.0) as usize).min(MAX_EPOCHS)),
            validation: logged.and_then(LoggedSoFar::validation).map(|(loss, accuracy)| Metrics { loss, accuracy }),
            figures: Figures { np: self.own_np(), images_per_sec: self.logged_rate(), seconds_to_target: None },
            devices: self.devices(),
            logged: Some(
                logged.map_or_else(LoggedTally::default, |of| LoggedTally { last: of.last.clone(), read_by: of.read_by() }),
            ),
            ..Tally::default()
        }
    }

    pub fn tally(&self) -> Tally {
        if self.is_own {
            return self.tally_own();
        }
        let root = || self.history.epochs(0);
        let last = root().next_back();
        let reached = root().find(|report| report.judged().accuracy >= self.target_accuracy);
        let now = self.history.process(0);
        Tally {
            last_epoch: last.map_or(0, |report| report.epoch),
            train: last.map(|report| report.train),
            validation: last.and_then(EpochReport::validated),
            test: now.and_then(|root| root.test).map(|test| Metrics { loss: test.loss, accuracy: test.accuracy }),
            figures: Figures {
                np: self.np(),
                images_per_sec: self.benchmarked().or_else(|| self.images_per_sec()),
                seconds_to_target: reached.map(|report| report.cumulative_seconds),
            },
            training_seconds: last.map(|report| report.cumulative_seconds).or_else(|| self.timed_seconds()),
            phases: root().map(|report| report.phases).chain(self.iterations(Some(0)).map(|report| report.phases)).sum(),
            exposed_communication: self
                .history
                .all_epochs()
                .map(|(_, _, report)| report.phases)
                .chain(self.iterations(None).map(|report| report.phases))
                .sum::<PhaseSeconds>()
                .exposed_communication(),
            early_stop: now.and_then(|root| root.early_stop),
            devices: self.devices(),
            resized_device_seconds: self.resized_device_seconds(),
            logged: None,
            damaged: None,
        }
    }

    /// Of a run whose attempts had different numbers of processes, those that trained last.
    fn np(&self) -> usize {
        // An attempt without events does not say how many processes it had.
        let mut sizes = self.history.attempts.iter().map(|attempt| attempt.processes.len()).filter(|size| *size > 0);
        let first = sizes.next();
        match self.history.trained() {
            Some(trained) if sizes.any(|size| Some(size) != first) => trained.processes.len(),
            _ => self.np,
        }
    }

    /// Of the attempt that trained last, or else of the newest.
    fn devices(&self) -> Option<Devices> {
        devices_of(self.history.trained().or(self.history.attempt())?)
    }

    /// What each attempt trained that is kept, times the devices that it had.
    fn resized_device_seconds(&self) -> Option<f64> {
        let (mut before, mut sum, mut sizes) = (0.0, 0.0, BTreeSet::new());
        for attempt in &self.history.attempts {
            let last = attempt.processes.get(&0).and_then(|root| root.kept().next_back());
            let Some((last, devices)) = last.zip(devices_of(attempt)) else { continue };
            sum += (last.cumulative_seconds - before).max(0.0) * devices.count as f64;
            before = last.cumulative_seconds;
            sizes.insert(devices.count);
        }
        (sizes.len() > 1).then_some(sum)
    }

    /// The iterations of a benchmark, of one process or of all.
    fn iterations(&self, of: Option<usize>) -> impl Iterator<Item = &IterationReport> {
        let processes = self.history.attempt().into_iter().flat_map(|attempt| &attempt.processes);
        let wanted = processes.filter(move |(index, _)| of.is_none_or(|of| **index == of));
        wanted.flat_map(|(_, process)| &process.iterations)
    }

    /// Of a benchmark: what its iterations took, without the warm-up.
    fn timed_seconds(&self) -> Option<f64> {
        self.iterations(Some(0)).map(|report| report.seconds).reduce(|sum, seconds| sum + seconds)
    }

    /// Of a benchmark: the rates of all processes added up, as its style does.
    fn benchmarked(&self) -> Option<f64> {
        let rate = self.history.attempt()?.iterations().result(self.style)?;
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }

    /// Median over the epochs that every process has ended, of the attempts with as many processes as trained last.
    ///
    /// Each process's own images over its own training seconds, added up: right for ranks in step, whose times are
    /// equal, and for processes that train apart and print the rate of one as if it were all there is.
    fn images_per_sec(&self) -> Option<f64> {
        let now = self.history.trained()?.processes.len();
        // Epoch to the processes that have ended it, and the sum of their rates.
        let mut epochs: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
        for (_, _, report) in self.history.all_epochs().filter(|(attempt, ..)| attempt.processes.len() == now) {
            let (processes, rate) = epochs.entry(report.epoch).or_default();
            *processes += 1;
            *rate += report.images as f64 / report.phases[Phase::Training];
        }
        let all = epochs.values().map(|(processes, _)| *processes).max()?;
        let rates = epochs.values().filter(|(processes, _)| *processes == all).map(|(_, rate)| *rate);
        median(&rates.filter(|rate| rate.is_finite() && *rate > 0.0).collect::<Vec<f64>>())
    }
}

/// Each device once, however many ranks share it.
fn devices_of(attempt: &Attempt) -> Option<Devices> {
    let reports: Vec<&TopologyReport> = attempt.processes.values().filter_map(|process| process.topology.as_ref()).collect();
    // The devices of a user's own program are unknown.
    if reports.iter().any(|report| report.device.is_empty()) {
        return None;
    }
    let gpu = |report: &&&TopologyReport| report.device != "cpu";
    let name = |report: &&TopologyReport| (report.host.clone(), report.device_uuid.clone().unwrap_or(report.device.clone()));
    let gpus: BTreeSet<(String, String)> = reports.iter().filter(gpu).map(name).collect();
    match (gpus.len(), reports.len()) {
        (0, 0) => None,
        (0, ranks) => Some(Devices { kind: DeviceKind::Cpu, count: ranks }),
        (count, _) => Some(Devices { kind: DeviceKind::Gpu, count }),
    }
}
