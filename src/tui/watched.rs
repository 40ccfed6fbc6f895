//! The run on the screen, put together from what it has written so far.
//!
//! Never reads a file: updates come in as messages.

use std::collections::BTreeMap;

use crate::domain::event::{ConfigReport, EpochReport, Event, EventLine, Metrics, TopologyReport};
use crate::domain::run::{RunState, RunStatus};
use crate::runs::{RunId, RunUpdate};

/// Points kept per curve; a longer run keeps every second one.
const POINTS: usize = 4_000;

/// What the chart draws of a run: x in epochs, so that runs with different steps per epoch lie on one axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Training loss of process 0 by step.
    pub loss: Vec<(f64, f64)>,
    /// Validation accuracy by epoch, averaged over ranks where the run did so.
    pub accuracy: Vec<(f64, f64)>,
    steps_per_epoch: usize,
}

impl Curves {
    pub fn absorb(&mut self, line: &EventLine) {
        if line.process != 0 {
            return;
        }
        match &line.event {
            Event::Config(config) => self.steps_per_epoch = config.steps_per_epoch,
            Event::Step { epoch, batch, loss, .. } => {
                let x = *epoch as f64 + (batch + 1) as f64 / self.steps_per_epoch.max(batch + 1) as f64;
                push(&mut self.loss, (x, *loss));
            }
            Event::Epoch(report) => push(&mut self.accuracy, (report.epoch as f64, report.judged().accuracy)),
            _ => {}
        }
    }

    /// The epoch where the longest curve ends.
    pub fn end(&self) -> f64 {
        self.loss.iter().chain(&self.accuracy).map(|point| point.0).fold(0.0, f64::max)
    }
}

fn push(curve: &mut Vec<(f64, f64)>, point: (f64, f64)) {
    if !point.1.is_finite() {
        return;
    }
    if curve.len() == POINTS {
        let mut keep = false;
        curve.retain(|_| {
            keep = !keep;
            keep
        });
    }
    curve.push(point);
}

/// A run that is being followed, or was.
#[derive(Clone, Debug)]
pub struct Watched {
    pub id: RunId,
    pub status: Option<RunStatus>,
    pub curves: Curves,
    pub topology: BTreeMap<usize, TopologyReport>,
    pub config: Option<ConfigReport>,
    /// Epoch reports of process 0.
    pub epochs: Vec<EpochReport>,
    /// Epoch (counted from 0), batch and loss of process 0's last step.
    pub step: Option<(usize, usize, f64)>,
    pub test: Option<Metrics>,
    pub early_stop: Option<usize>,
    /// The cause a process gave before it ended, by process.
    pub fatal: BTreeMap<usize, String>,
    pub warnings: Vec<String>,
}

impl Watched {
    pub fn new(id: RunId) -> Watched {
        Watched {
            id,
            status: None,
            curves: Curves::default(),
            topology: BTreeMap::new(),
            config: None,
            epochs: Vec::new(),
            step: None,
            test: None,
            early_stop: None,
            fatal: BTreeMap::new(),
            warnings: Vec::new(),
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
            RunUpdate::Status(status) => self.status = Some(status),
            RunUpdate::Event(line) => self.event(line),
            // Lines are read where they are shown; the devices pane shows what is measured now, not what was recorded.
            RunUpdate::Log { .. } | RunUpdate::Launcher { .. } | RunUpdate::Telemetry(_) => {}
        }
    }

    fn event(&mut self, line: EventLine) {
        self.curves.absorb(&line);
        match line.event {
            Event::Topology(report) => {
                self.topology.insert(line.process, report);
            }
            Event::Fatal { during, cause } => {
                self.fatal.insert(line.process, format!("{cause} (during {during})"));
            }
            Event::Warning { message } if self.warnings.len() < 50 && !self.warnings.contains(&message) => {
                self.warnings.push(message)
            }
            _ if line.process != 0 => {}
            Event::Config(config) => {
                self.config = Some(config);
                self.step = None;
                self.test = None;
                self.early_stop = None;
            }
            Event::Step { epoch, batch, loss, .. } => self.step = Some((epoch, batch, loss)),
            Event::Epoch(report) => self.epochs.push(report),
            Event::Test { loss, accuracy, .. } => self.test = Some(Metrics { loss, accuracy }),
            Event::EarlyStop { epoch } => self.early_stop = Some(epoch),
            _ => {}
        }
    }

    /// Part of the training that is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        let Some(config) = &self.config else { return 0.0 };
        let by_epoch = self.epochs.last().map_or(config.resume_epoch, |report| report.epoch) as f64;
        let by_step = self
            .step
            .map_or(0.0, |(epoch, batch, _)| epoch as f64 + (batch + 1) as f64 / config.steps_per_epoch.max(batch + 1) as f64);
        (by_epoch.max(by_step) / config.epochs.max(1) as f64).clamp(0.0, 1.0)
    }

    /// The epoch in progress or the last one, counted from 1.
    pub fn epoch(&self) -> usize {
        let by_step = self.step.map_or(0, |(epoch, ..)| epoch + 1);
        by_step.max(self.epochs.last().map_or(0, |report| report.epoch))
    }
}
