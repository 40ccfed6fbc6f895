//! The reports of all ranks of one launch, as far as they came, and what the judges ask of them.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;

use super::finding::Finding;
use crate::domain::bounds::MAX_RANKS;
use crate::domain::event::{
    CollectiveReport, EndedReport, Event, EventLine, GroupReport, InspectedUpdate, InspectorReport, LookingReport, PassReport,
    Place, StalledReport, WrappedReport,
};

/// Reports of one kind that are kept of a rank: a training of days sends about as many.
pub(super) const MOST: usize = 4096;
/// Ways to train in which each rank holds other weights or gradients on purpose.
const SHARDED: [&str; 11] = [
    "FSDP",
    "DeepSpeed",
    "parallelize_module",
    "Pipeline",
    "PostLocalSGDOptimizer",
    "LocalSGD",
    "averaged weights",
    "ColossalAI",
    "Megatron",
    "fairscale",
    "send/recv",
];
/// Those of them in which several ranks work on the same samples on purpose.
const SPLIT: [&str; 6] = ["DeepSpeed", "parallelize_module", "Pipeline", "ColossalAI", "Megatron", "send/recv"];

/// What the ranks reported of one update, by rank.
pub(super) type Updates<'a> = BTreeMap<usize, &'a InspectedUpdate>;

/// What was seen of one launch. A new launch begins a new one.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// Ranks that were launched.
    np: usize,
    /// Shared with the judges, which read it while it stands still.
    pub(super) ranks: Arc<BTreeMap<usize, Vec<InspectorReport>>>,
    /// Reports that have come of each rank and kind.
    counts: HashMap<(usize, Discriminant<InspectorReport>), usize>,
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
                self.keep(line.process, report);
            }
            _ => {}
        }
    }

    /// Keeps the first reports of each kind, and of the kinds that say where a rank stands the last one.
    fn keep(&mut self, rank: usize, report: &InspectorReport) {
        let count = self.counts.entry((rank, discriminant(report))).or_default();
        *count = count.saturating_add(1);
        let is_beyond = *count > MOST;
        let reports = Arc::make_mut(&mut self.ranks).entry(rank).or_default();
        if is_beyond && matches!(reports.last(), Some(InspectorReport::Stalled(_))) {
            // The rank has gone on since.
            reports.pop();
        }
        if !is_beyond {
            reports.push(report.clone());
        }
    }

    /// Whether no process has been looked into.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// The same reports, once no other can come any more, or while others may.
    pub(super) fn so_far(&self, is_over: bool) -> Inspection {
        Inspection { np: self.np, ranks: Arc::clone(&self.ranks), counts: HashMap::new(), is_over }
    }

    /// Ranks of the training: those that were launched, or those that say so themselves.
    pub fn size(&self) -> usize {
        let launched = self.reports::<LookingReport>().map(|report| report.launched);
        let grouped = self.reports::<GroupReport>().map(|report| report.size);
        launched.chain(grouped).chain([self.np, self.ranks.len()]).max().unwrap_or(1)
    }

    /// The first finding of these checks, in their order.
    pub(super) fn first_of(&self, checks: &[fn(&Inspection) -> Option<Finding>]) -> Option<Finding> {
        checks.iter().find_map(|check| check(self))
    }

    /// The reports of one kind from all ranks, each with its rank.
    pub(super) fn of_all<T: 'static>(&self) -> impl Iterator<Item = (usize, &T)> {
        self.ranks.iter().flat_map(|(rank, reports)| reports.iter().filter_map(of_kind).map(move |report| (*rank, report)))
    }

    /// The same without the ranks.
    pub(super) fn reports<T: 'static>(&self) -> impl Iterator<Item = &T> {
        self.of_all().map(|(_, report)| report)
    }

    /// The reports of one kind from a rank, in their order.
    pub(super) fn of_rank<T: 'static>(&self, rank: usize) -> impl Iterator<Item = &T> {
        self.ranks.get(&rank).into_iter().flatten().filter_map(of_kind)
    }

    /// The first rank that has been looked into.
    pub(super) fn first_rank(&self) -> Option<usize> {
        self.ranks.keys().next().copied()
    }

    /// The updates of a rank's first optimizer.
    pub(super) fn first_updates(&self, rank: usize) -> impl Iterator<Item = &InspectedUpdate> {
        self.of_rank::<InspectedUpdate>(rank).filter(|update| update.index == 0)
    }

    /// Where a rank stands still now, as its last report says.
    pub(super) fn standing(&self, rank: usize) -> Option<&StalledReport> {
        of_kind(self.ranks.get(&rank)?.last()?)
    }

    /// Whether every rank has been looked into.
    pub(super) fn is_complete(&self) -> bool {
        self.ranks.len() >= self.size()
    }

    /// Updates that all ranks have reported, in the order of optimizers and updates, with the reports by rank.
    pub(super) fn updates(&self) -> BTreeMap<(usize, usize), Updates<'_>> {
        let mut all: BTreeMap<(usize, usize), Updates<'_>> = BTreeMap::new();
        let numbers = self.numbers_of_optimizers();
        for (rank, update) in self.of_all::<InspectedUpdate>() {
            let index = numbers.get(&(rank, update.index)).copied().unwrap_or(update.index);
            all.entry((index, update.update)).or_default().entry(rank).or_insert(update);
        }
        all.retain(|_, ranks| self.is_complete() && ranks.len() == self.ranks.len());
        // With Join a rank that has no more batches makes no more updates: later ones with the same number do not belong together.
        let joins = self.has("join");
        all.retain(|(_, number), _| !(joins && *number > 2));
        // Ranks that step different optimizers first number them differently.
        all.retain(|_, ranks| !differ(ranks.values().map(|update| (&update.optimizer, update.tensors))));
        all
    }

    /// Where a rank has an optimizer that the others have not, its numbers are not theirs: those that the same line made belong together.
    fn numbers_of_optimizers(&self) -> BTreeMap<(usize, usize), usize> {
        let mut made: BTreeMap<usize, BTreeMap<usize, &Place>> = BTreeMap::new();
        for (rank, update) in self.of_all::<InspectedUpdate>() {
            made.entry(rank).or_default().entry(update.index).or_insert(&update.made);
        }
        if !differ(made.values()) {
            return BTreeMap::new();
        }
        let mut numbers = BTreeMap::new();
        let mut known: Vec<(&Place, usize)> = Vec::new();
        for (rank, own) in &made {
            for (index, place) in own {
                // A line may make several.
                let key = (*place, own.range(..index).filter(|(_, other)| *other == place).count());
                let number = known.iter().position(|other| *other == key).unwrap_or_else(|| {
                    known.push(key);
                    known.len() - 1
                });
                numbers.insert((*rank, *index), number);
            }
        }
        numbers
    }

    /// Passes that all ranks have reported, by loader and number, with the reports by rank.
    pub(super) fn passes(&self, trains: bool) -> BTreeMap<(usize, usize), BTreeMap<usize, &PassReport>> {
        let mut all: BTreeMap<(usize, usize), BTreeMap<usize, &PassReport>> = BTreeMap::new();
        for (rank, pass) in self.of_all::<PassReport>().filter(|(_, pass)| pass.trains == trains) {
            all.entry((pass.loader, pass.pass)).or_default().entry(rank).or_insert(pass);
        }
        all.retain(|_, ranks| self.is_complete() && ranks.len() == self.ranks.len());
        all
    }

    /// Wrappers and distributed optimizers of any rank.
    pub(super) fn wrappers(&self) -> impl Iterator<Item = (usize, &WrappedReport)> {
        self.of_all::<WrappedReport>().filter(|(_, report)| report.by.contains("Distributed") || report.by.contains("Gradient"))
    }

    /// The way in which ranks hold different weights on purpose.
    pub(super) fn sharded(&self) -> Option<&str> {
        self.reports::<WrappedReport>().map(|report| report.by.as_str()).find(|by| SHARDED.contains(by))
    }

    /// The way in which several ranks work on the same samples on purpose.
    pub(super) fn split(&self) -> Option<&str> {
        self.reports::<WrappedReport>().map(|report| report.by.as_str()).find(|by| SPLIT.contains(by))
    }

    /// Whether reports may be missing because the inspector has stopped on some rank: then nothing follows from their absence. Of such a
    /// report the reason is all there is.
    pub(super) fn is_blind(&self) -> bool {
        self.reports::<String>().next().is_some()
    }

    /// Whether any rank has reported that it exchanges results with others, apart from what a wrapper does.
    pub(super) fn has_exchanged(&self) -> bool {
        self.reports::<CollectiveReport>().any(|call| call.name.contains("reduce") || call.name.contains("gather"))
    }

    /// Whether the ranks train on different samples; `None` before a pass has ended on all of them.
    pub(super) fn trains_on_different_samples(&self) -> Option<bool> {
        let passes = self.passes(true);
        let firsts = passes.values().next()?.values().map(|pass| &pass.first);
        firsts.clone().all(|first| !first.is_empty()).then(|| differ(firsts))
    }

    /// Updates of the ranks that have come to their end.
    pub(super) fn ended(&self) -> Vec<usize> {
        self.ranks.keys().filter_map(|rank| self.of_rank::<EndedReport>(*rank).next()).map(|end| end.updates).collect()
    }

    pub(super) fn have_all_ended(&self) -> bool {
        self.ended().len() >= self.size()
    }

    /// Whether a rank has stood still for long, or an error has ended it in a collective.
    pub(super) fn has_stood(&self) -> bool {
        let in_collective = |end: &EndedReport| end.failure.as_ref().is_some_and(|failure| !failure.within.is_empty());
        self.reports::<StalledReport>().next().is_some() || self.reports::<EndedReport>().any(in_collective)
    }

    pub(super) fn has(&self, by: &str) -> bool {
        self.told(by).is_some()
    }

    /// The first report of this name from any rank.
    pub(super) fn told(&self, by: &str) -> Option<&WrappedReport> {
        self.reports::<WrappedReport>().find(|report| report.by == by)
    }

    /// The line of the first report of this name, if it names one.
    pub(super) fn told_at(&self, by: &str) -> Option<Place> {
        known(&self.told(by)?.place)
    }

    /// The first report of this name from each rank that has sent one.
    pub(super) fn tellers(&self, by: &str) -> BTreeMap<usize, &WrappedReport> {
        let first = |rank: &usize| Some((*rank, self.of_rank::<WrappedReport>(*rank).find(|report| report.by == by)?));
        self.ranks.keys().filter_map(first).collect()
    }

    /// Reports of a kind in which the ranks differ, about one thing that all of them have reported. `about` says what a report is about;
    /// if a rank reports on the same thing several times, the last report counts.
    pub(super) fn told_apart<'a, K: Ord>(
        &'a self,
        kind: &str,
        about: fn(&'a WrappedReport) -> K,
    ) -> Option<BTreeMap<usize, &'a WrappedReport>> {
        let mut all: BTreeMap<K, BTreeMap<usize, &WrappedReport>> = BTreeMap::new();
        for (rank, report) in self.of_all::<WrappedReport>().filter(|(_, report)| report.by.starts_with(kind)) {
            all.entry(about(report)).or_default().insert(rank, report);
        }
        let says = |report: &&'a WrappedReport| (&report.after, &report.settings);
        all.into_values().find(|ranks| ranks.len() == self.size() && differ(ranks.values().map(says)))
    }

    /// Where the first optimizer that made an update was made, or else called.
    pub(super) fn optimizer_place(&self) -> Option<Place> {
        let update = self.reports::<InspectedUpdate>().next()?;
        known(&update.made).or_else(|| known(&update.place))
    }
}

/// What a report of this kind says; `None` of another kind.
pub(super) fn of_kind<T: 'static>(report: &InspectorReport) -> Option<&T> {
    let content: &dyn Any = match report {
        InspectorReport::Looking(report) => report,
        InspectorReport::Group(report) => report,
        InspectorReport::Wrapped(report) => report,
        InspectorReport::Update(report) => report,
        InspectorReport::Pass(report) => report,
        InspectorReport::Collective(report) => report,
        InspectorReport::State(report) => report,
        InspectorReport::Printed(report) => report,
        InspectorReport::Decision(report) => report,
        InspectorReport::Result(report) => report,
        InspectorReport::Workers(report) => report,
        InspectorReport::Phases(report) => report,
        InspectorReport::Stalled(report) => report,
        InspectorReport::Blind { why } => why,
        InspectorReport::Ended(report) => report,
    };
    content.downcast_ref()
}

/// Whether the program changed the weights itself, without an optimizer: then its gradients are not seen.
pub(super) fn is_by_hand(update: &InspectedUpdate) -> bool {
    update.optimizer == "by hand"
}

/// Why there is no update to judge.
pub(super) fn no_update(seen: &Inspection) -> &'static str {
    let made_none = seen.is_over && seen.reports::<InspectedUpdate>().next().is_none() && seen.have_all_ended();
    if seen.reports::<EndedReport>().any(|end| end.failure.is_some()) {
        "an error has ended the program before its first update"
    } else if made_none {
        "neither a step() of an optimizer nor an update by hand was seen"
    } else {
        "no update was seen on all ranks"
    }
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

/// The name of the file, and the line.
pub(super) fn line(place: &Place) -> String {
    let name = place.file.rsplit('/').next().unwrap_or_default();
    if name.is_empty() { "an unknown line".to_owned() } else { format!("{name}:{}", place.line) }
}
