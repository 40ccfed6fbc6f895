//! The run on the screen, put together from what it has written so far.
//!
//! Never reads a file: updates come in as messages.

use std::collections::BTreeMap;

use super::curves::Curves;
use super::phases::Phases;
use crate::domain::event::{ConfigReport, EpochReport, Event, EventLine, Metrics, TopologyReport};
use crate::domain::run::{RunState, RunStatus};
use crate::runs::{RunId, RunUpdate};

/// A run that is being followed, or was.
#[derive(Clone, Debug)]
pub struct Watched {
    pub id: RunId,
    pub status: Option<RunStatus>,
    pub curves: Curves,
    /// Where the time of every process went.
    pub phases: Phases,
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
            phases: Phases::default(),
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
        self.phases.absorb(&line);
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
