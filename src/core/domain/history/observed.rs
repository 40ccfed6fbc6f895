//! What the library saw of one process's training: updates, images, decisions and files.

use crate::domain::event::{Instead, Observation, ScheduleReport, UpdateReport};

/// Sightings of each kind that are kept: more than a training has, and few enough for one that never ends.
const MOST: usize = 10_000;

/// What the library saw of one process's training.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// In their order.
    pub updates: Vec<Update>,
    /// The most distributed optimizers that stood around one optimizer.
    pub wrapped: usize,
    /// Batches, counted from 0, with the numbers of their first images.
    pub picks: Vec<(usize, Vec<u32>)>,
    /// Updates since the launch, reported after each epoch's training, each with the number of steps reported before.
    pub counted: Vec<(usize, usize)>,
    /// It writes a file for TensorBoard.
    pub has_board: bool,
    /// No callback of its program can change the rate from epoch to epoch.
    pub has_no_schedule: bool,
    /// The accuracy that early stopping was given at the end of each epoch, and what it decided.
    pub decisions: Vec<(f64, bool)>,
    /// Epochs whose checkpoints this process wrote.
    pub saved: Vec<usize>,
    /// Flags that its program does not go by, each once with each value.
    pub instead: Vec<Instead>,
    /// The schedule of its rate, if its program has one that can be described.
    pub schedule: Option<ScheduleReport>,
}

/// An update that was reported, and the step that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub report: UpdateReport,
    /// Steps that the process had reported before.
    pub steps_before: usize,
}

impl Observed {
    pub(super) fn take(&mut self, seen: &Observation, steps_before: usize) {
        match seen {
            Observation::Update(report) => push(&mut self.updates, Update { report: report.clone(), steps_before }),
            Observation::Wrapped { times } => self.wrapped = self.wrapped.max(*times),
            Observation::Picks { batch, images } => push(&mut self.picks, (*batch, images.clone())),
            Observation::Counted { updates } => push(&mut self.counted, (*updates, steps_before)),
            Observation::Board => self.has_board = true,
            Observation::NoSchedule => self.has_no_schedule = true,
            Observation::Decision { accuracy, stops } => push(&mut self.decisions, (*accuracy, *stops)),
            Observation::Saved { epoch } => push(&mut self.saved, *epoch),
            Observation::Instead(other) if self.instead.contains(other) => {}
            Observation::Instead(other) => push(&mut self.instead, other.clone()),
            Observation::Schedule(report) => self.schedule = Some(report.clone()),
            // Counted with what was printed.
            Observation::Heading { .. } => {}
        }
    }

    pub fn update(&self, number: usize) -> Option<&UpdateReport> {
        self.updates.iter().map(|update| &update.report).find(|report| report.update == number)
    }
}

fn push<T>(all: &mut Vec<T>, one: T) {
    if all.len() < MOST {
        all.push(one);
    }
}
