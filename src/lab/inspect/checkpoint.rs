//! One rank writes a file, and all ranks go on from the same place.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, Outcome, Topic};
use super::inspection::{Inspection, differ, group, known, ranks as names, state};
use super::weights::loaded_by_some;
use crate::domain::event::{PassReport, Place, StateAction};

const TOPIC: Topic = Topic::Checkpoint;

pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
    if seen.size() < 2 {
        return Vec::new();
    }
    let hosts: BTreeMap<usize, &str> = seen.of_all(group).map(|(rank, group)| (rank, group.host.as_str())).collect();
    let mut files: BTreeMap<(&str, &str), (BTreeSet<usize>, &Place)> = BTreeMap::new();
    for (rank, report) in
        seen.of_all(state).filter(|(_, report)| report.action == StateAction::Written && !report.path.starts_with("/dev/"))
    {
        let host = hosts.get(&rank).copied().unwrap_or_default();
        let file = files.entry((host, &report.path)).or_insert_with(|| (BTreeSet::new(), &report.place));
        file.0.insert(rank);
        if report.by != "open" {
            // The line that writes says more than the one that opened the file for it.
            file.1 = &report.place;
        }
    }
    let shared = || files.iter().filter(|(_, (ranks, _))| ranks.len() > 1);
    if let Some(((_, path), (writers, place))) = shared().next() {
        let others: Vec<String> = shared().skip(1).map(|((_, path), (_, place))| written(path, place)).collect();
        // The line of the first one is that of the finding.
        let first = name(path);
        let which = match &others[..] {
            [] => format!("the same file, {first}"),
            [other] => format!("the same files, {first} and {other}"),
            [other, ..] => format!("the same {} files: {first}, {other} and others", others.len() + 1),
        };
        let root =
            seen.in_words("if hvd.rank() == 0: callbacks.append(ModelCheckpoint(...))", "if hvd.rank() == 0:", seen.on_root());
        return vec![Finding::objection(
            (TOPIC, Outcome::Wrong),
            format!("{} write {which}", names(writers)),
            known(place),
            "what is left may be half of one and half of the other",
            format!("write it on one rank: `{root}`"),
        )];
    }
    if let Some(resumed) = resumed(seen) {
        return vec![resumed];
    }
    match files.is_empty() {
        false => Finding::ok(TOPIC, "every file is written by one rank"),
        true => Vec::new(),
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A file by its name, and the line that writes it.
fn written(path: &str, place: &Place) -> String {
    if place.file.is_empty() { name(path).to_owned() } else { format!("{} (line {})", name(path), place.line) }
}

/// Ranks that begin with different epochs.
fn resumed(seen: &Inspection) -> Option<Finding> {
    let passes = seen.passes(true);
    // Keras reports the epoch. With PyTorch only a distributed sampler knows it, from `set_epoch`.
    let says_epoch = |pass: &PassReport| seen.is_keras() || pass.replicas.is_some();
    let epochs_of = |reports: &BTreeMap<usize, &PassReport>| -> Vec<(usize, i64)> {
        reports.iter().filter_map(|(rank, pass)| Some((*rank, pass.epoch.filter(|_| says_epoch(pass))?))).collect()
    };
    let (first, epochs) = passes
        .values()
        .map(|reports| (reports, epochs_of(reports)))
        .find(|(_, epochs)| epochs.len() > 1 && differ(epochs.iter().map(|(_, epoch)| epoch)))?;
    let loads = [StateAction::LoadedModel, StateAction::LoadedOptimizer];
    let place = loads.into_iter().find_map(|action| loaded_by_some(seen, action, |_| true)).and_then(|(_, place)| place);
    let told: Vec<String> = epochs.iter().map(|(rank, epoch)| format!("rank {rank} with {epoch}")).collect();
    let remedy = seen.in_words(
        "broadcast the epoch: hvd.broadcast(epoch, 0)",
        "broadcast the epoch: hvd.broadcast_object(epoch, root_rank=0)",
        "send the epoch of the checkpoint to all ranks: dist.broadcast_object_list",
    );
    Some(Finding::objection(
        (TOPIC, Outcome::Wrong),
        format!("the ranks go on from different epochs: {}", told.join(", ")),
        place.or_else(|| first.values().next().and_then(|pass| known(&pass.place))),
        "they end at different times, and the last one waits for ever",
        remedy,
    ))
}
