//! The reports of all ranks of one launch, as far as they came, and what the judges ask of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, JUDGES, Topic};
use crate::domain::bounds::MAX_RANKS;
use crate::domain::event::{
    Event, EventLine, GroupReport, InspectedPhases, InspectedUpdate, InspectorReport, LookingReport, PassReport, Place,
    StalledReport, StateReport, WrappedReport,
};

/// Reports that are kept of a rank: a training of days has a few thousand.
const MOST: usize = 20_000;
/// Ways to train in which each rank holds other weights on purpose.
const SHARDED: [&str; 11] = [
    "FSDP",
    "DeepSpeed",
    "parallelize_module",
    "Pipeline",
    "PostLocalSGDOptimizer",
    "LocalSGD",
    "ColossalAI",
    "Megatron",
    "fairscale",
    "averaged weights",
    "send/recv",
];

/// What was seen of one launch. A new launch begins a new one.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// Ranks that were launched.
    np: usize,
    pub(super) ranks: BTreeMap<usize, Vec<InspectorReport>>,
    /// No report can come any more.
    pub(super) is_over: bool,
}

impl Inspection {
    pub fn new(np: usize) -> Inspection {
        Inspection { np, ..Inspection::default() }
    }

    /// The next event of the run; whatever else than a report of the inspector's is skipped.
    pub fn take(&mut self, line: &EventLine) {
        match &line.event {
            Event::Launched { np } => *self = Inspection::new(*np),
            Event::Inspected(report) if line.process < MAX_RANKS => {
                let reports = self.ranks.entry(line.process).or_default();
                if reports.len() < MOST {
                    reports.push((**report).clone());
                }
            }
            _ => {}
        }
    }

    /// Whether no process has been looked into.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// A finding on every topic of which something can be said; `is_over` once no report can come any more.
    pub fn findings(&self, is_over: bool) -> Vec<Finding> {
        if self.is_empty() {
            return Vec::new();
        }
        let seen = Inspection { is_over, ..self.clone() };
        JUDGES.into_iter().flat_map(|(topic, judge)| seen.or_blind(topic, judge(&seen))).collect()
    }

    /// Where the inspector has stopped looking, what is missing is not judged.
    fn or_blind(&self, topic: Topic, findings: Vec<Finding>) -> Vec<Finding> {
        let why = self.of_all(|report| if let InspectorReport::Blind { why } = report { Some(why) } else { None }).next();
        match why {
            Some((rank, why)) if findings.iter().all(|finding| !finding.is_objection()) => {
                vec![Finding::not_judged(topic, format!("the inspector stopped looking on rank {rank}: {why}"))]
            }
            _ => findings,
        }
    }

    /// Ranks of the training: those that were launched, or those that say so themselves.
    pub fn size(&self) -> usize {
        let launched = self.of_all(looking).map(|(_, report)| report.launched);
        let grouped = self.of_all(group).map(|(_, report)| report.size);
        launched.chain(grouped).chain([self.np, self.ranks.len()]).max().unwrap_or(1)
    }

    pub(super) fn of_all<'a, T: 'a>(
        &'a self,
        pick: fn(&'a InspectorReport) -> Option<&'a T>,
    ) -> impl Iterator<Item = (usize, &'a T)> {
        self.ranks.iter().flat_map(move |(rank, reports)| reports.iter().filter_map(pick).map(|report| (*rank, report)))
    }

    pub(super) fn of_rank<'a, T: 'a>(
        &'a self,
        rank: usize,
        pick: fn(&'a InspectorReport) -> Option<&'a T>,
    ) -> impl Iterator<Item = &'a T> {
        self.ranks.get(&rank).into_iter().flatten().filter_map(pick)
    }

    /// Whether every rank has been looked into.
    pub(super) fn is_complete(&self) -> bool {
        self.ranks.len() >= self.size()
    }

    /// Updates that all ranks have reported, in the order of optimizers and updates, with the reports by rank.
    pub(super) fn updates(&self) -> BTreeMap<(usize, usize), BTreeMap<usize, &InspectedUpdate>> {
        let mut all: BTreeMap<(usize, usize), BTreeMap<usize, &InspectedUpdate>> = BTreeMap::new();
        for (rank, update) in self.of_all(update) {
            all.entry((update.index, update.update)).or_default().entry(rank).or_insert(update);
        }
        // With Join a rank that has no more batches makes no more updates: later ones with the same number do not belong together.
        let joins = self.has("Join");
        all.retain(|(_, number), ranks| self.is_complete() && ranks.len() == self.ranks.len() && !(joins && *number > 2));
        all
    }

    /// Passes that all ranks have reported, by loader and number, with the reports by rank.
    pub(super) fn passes(&self, trains: bool) -> BTreeMap<(usize, usize), BTreeMap<usize, &PassReport>> {
        let mut all: BTreeMap<(usize, usize), BTreeMap<usize, &PassReport>> = BTreeMap::new();
        for (rank, pass) in self.of_all(pass).filter(|(_, pass)| pass.trains == trains) {
            all.entry((pass.loader, pass.pass)).or_default().entry(rank).or_insert(pass);
        }
        all.retain(|_, ranks| self.is_complete() && ranks.len() == self.ranks.len());
        all
    }

    /// Wrappers and distributed optimizers of any rank.
    pub(super) fn wrappers(&self) -> impl Iterator<Item = (usize, &WrappedReport)> {
        self.of_all(wrapped).filter(|(_, report)| report.by.contains("Distributed") || report.by.contains("Gradient"))
    }

    /// The way in which ranks hold different weights on purpose.
    pub(super) fn sharded(&self) -> Option<&str> {
        self.of_all(wrapped).map(|(_, report)| report.by.as_str()).find(|by| SHARDED.contains(by))
    }

    pub(super) fn has(&self, by: &str) -> bool {
        self.of_all(wrapped).any(|(_, report)| report.by == by)
    }

    pub(super) fn is_keras(&self) -> bool {
        self.of_all(looking).any(|(_, report)| report.framework == "keras")
    }

    /// It trains with Horovod rather than with PyTorch's own means.
    pub(super) fn is_horovod(&self) -> bool {
        self.is_keras() || self.of_all(group).any(|(_, report)| report.by == "horovod")
    }

    /// Of Keras, of Horovod with PyTorch, or of PyTorch: the one that the program is in.
    pub(super) fn in_words<'a>(&self, keras: &'a str, horovod: &'a str, torch: &'a str) -> &'a str {
        match (self.is_keras(), self.is_horovod()) {
            (true, _) => keras,
            (false, true) => horovod,
            (false, false) => torch,
        }
    }

    /// Where the first optimizer that made an update was made, or else called.
    pub(super) fn optimizer_place(&self) -> Option<Place> {
        let (_, update) = self.of_all(update).next()?;
        known(&update.made).or_else(|| known(&update.place))
    }
}

pub(super) fn looking(report: &InspectorReport) -> Option<&LookingReport> {
    if let InspectorReport::Looking(report) = report { Some(report) } else { None }
}

pub(super) fn group(report: &InspectorReport) -> Option<&GroupReport> {
    if let InspectorReport::Group(report) = report { Some(report) } else { None }
}

pub(super) fn wrapped(report: &InspectorReport) -> Option<&WrappedReport> {
    if let InspectorReport::Wrapped(report) = report { Some(report) } else { None }
}

pub(super) fn update(report: &InspectorReport) -> Option<&InspectedUpdate> {
    if let InspectorReport::Update(report) = report { Some(report) } else { None }
}

pub(super) fn pass(report: &InspectorReport) -> Option<&PassReport> {
    if let InspectorReport::Pass(report) = report { Some(report) } else { None }
}

pub(super) fn state(report: &InspectorReport) -> Option<&StateReport> {
    if let InspectorReport::State(report) = report { Some(report) } else { None }
}

pub(super) fn stalled(report: &InspectorReport) -> Option<&StalledReport> {
    if let InspectorReport::Stalled(report) = report { Some(report) } else { None }
}

pub(super) fn phases(report: &InspectorReport) -> Option<&InspectedPhases> {
    if let InspectorReport::Phases(report) = report { Some(report) } else { None }
}

/// A place that names a line.
pub(super) fn known(place: &Place) -> Option<Place> {
    (!place.file.is_empty()).then(|| place.clone())
}

/// `rank 1`, `ranks 0 and 1`, `ranks 0 to 7`.
pub(super) fn ranks<'a>(all: impl IntoIterator<Item = &'a usize>) -> String {
    let all: Vec<usize> = all.into_iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    match all.as_slice() {
        [] => "no rank".to_owned(),
        [one] => format!("rank {one}"),
        [one, other] => format!("ranks {one} and {other}"),
        [first, .., last] if last - first + 1 == all.len() => format!("ranks {first} to {last}"),
        [first, .., last] => format!("{} ranks from {first} to {last}", all.len()),
    }
}

/// Whether not all of them are equal.
pub(super) fn differ<T: PartialEq>(all: impl IntoIterator<Item = T>) -> bool {
    let mut all = all.into_iter();
    let first = all.next();
    all.any(|other| Some(other) != first)
}
