//! The processes of one attempt, what all of them have, and how they are called in a sentence.

use std::collections::{BTreeMap, BTreeSet};

use super::terms;
use super::verdict::{Objection, unclear};
use crate::domain::event::{ConfigReport, TopologyReport};
use crate::domain::history::{Attempt, Process};
use crate::domain::job::TrainingJob;
use crate::domain::step::Step;

pub struct Group<'a> {
    pub spec: &'a TrainingJob,
    pub attempt: &'a Attempt,
    /// The attempts before it, which may have left checkpoints.
    pub before: &'a [Attempt],
    /// Ranks that this attempt started.
    pub np: usize,
    /// The name of the part of the judged program that does a step: `step 4`.
    pub part: fn(Step) -> String,
    /// Of each epoch, the processes that printed its heading, where there are logs.
    pub printed: Option<&'a BTreeMap<usize, BTreeSet<usize>>>,
}

impl<'a> Group<'a> {
    /// A process, once it has reported something.
    pub fn process(&self, process: usize) -> Option<&'a Process> {
        self.attempt.processes.get(&process)
    }

    /// All that have reported something, with their numbers.
    pub fn processes(&self) -> impl Iterator<Item = (usize, &'a Process)> {
        (0..self.np).filter_map(|process| Some((process, self.process(process)?)))
    }

    /// What `pick` finds in each process, by process; unclear, naming who lacks it, if one has none.
    pub fn all<T>(&self, what: &str, pick: impl Fn(&'a Process) -> Option<T>) -> Result<Vec<T>, Objection> {
        let of = |process: usize| match self.process(process).and_then(&pick) {
            Some(found) => Ok(found),
            None => unclear(terms::not_reported(&self.name(process), what)),
        };
        (0..self.np).map(of).collect()
    }

    pub fn topologies(&self) -> Result<Vec<&'a TopologyReport>, Objection> {
        self.all("where it runs", |process| process.topology.as_ref())
    }

    pub fn configs(&self) -> Result<Vec<&'a ConfigReport>, Objection> {
        self.all(terms::PLAN, |process| process.config.as_ref())
    }

    /// Epochs, counted from 1, that every process has ended; unclear if there are none.
    pub fn epochs(&self) -> Result<BTreeSet<usize>, Objection> {
        let ended = self.all(terms::END_OF_AN_EPOCH, |process| {
            let epochs: BTreeSet<usize> = process.epochs.iter().map(|report| report.epoch).collect();
            (!epochs.is_empty()).then_some(epochs)
        })?;
        let common = ended.into_iter().reduce(|some, others| &some & &others).unwrap_or_default();
        if common.is_empty() { unclear("no epoch was ended by every rank") } else { Ok(common) }
    }

    /// Whether every process has a rank of its own and knows of all others.
    pub fn know_each_other(&self) -> bool {
        let places: Vec<_> = self.attempt.processes.values().filter_map(|process| process.topology.as_ref()).collect();
        let ranks: BTreeSet<_> = places.iter().map(|place| place.topology.rank.0).collect();
        ranks.into_iter().eq(0..self.np) && places.iter().all(|place| place.topology.size.0 == self.np)
    }

    /// The process that is rank 0, or is taken for it.
    pub fn root(&self) -> usize {
        let is_root = |process: &Process| process.topology.as_ref().is_some_and(|place| place.topology.is_root());
        self.attempt.processes.iter().find(|(_, process)| is_root(process)).map_or(0, |(index, _)| *index)
    }

    /// `rank 1`, or `process 1` where several take themselves for the same rank.
    pub fn name(&self, process: usize) -> String {
        format!("{} {}", self.noun(), self.number(process))
    }

    /// `rank 1`, `ranks 1 and 2`, `ranks 1, 2, 3 and 60 others`.
    pub fn names(&self, processes: &[usize]) -> String {
        terms::names(self.noun(), &processes.iter().map(|process| self.number(*process)).collect::<Vec<_>>())
    }

    fn noun(&self) -> &'static str {
        if self.know_each_other() { "rank" } else { "process" }
    }

    fn number(&self, process: usize) -> usize {
        let place = self.process(process).and_then(|process| process.topology.as_ref());
        place.filter(|_| self.know_each_other()).map_or(process, |place| place.topology.rank.0)
    }

    /// All processes but the root.
    pub fn others(&self) -> impl Iterator<Item = usize> {
        let root = self.root();
        (0..self.np).filter(move |process| *process != root)
    }

    /// The processes whose value is not the root's.
    pub fn differing<T: PartialEq>(&self, values: &[T]) -> Vec<usize> {
        let root = self.root();
        self.others().filter(|process| values.get(*process) != values.get(root)).collect()
    }

    /// The first process without a final event.
    pub fn not_finished(&self) -> Option<String> {
        let has_finished = |process: usize| self.process(process).is_some_and(|process| process.has_finished);
        (0..self.np).find(|process| !has_finished(*process)).map(|process| self.name(process))
    }
}

/// The end of a sentence if step 1 is not done, else nothing.
pub fn because_strangers(group: &Group) -> String {
    if group.know_each_other() {
        return String::new();
    }
    format!("; the processes do not know of each other ({})", (group.part)(Step::InitAndPin))
}
