//! One rank writes a file, and all ranks go on from the same place.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, Topic};
use super::inspection::{Inspection, differ, known, ranks as names};
use super::weights::loaded_apart;
use crate::domain::event::{GroupReport, PassReport, Place, StateAction, StateReport};

const TOPIC: Topic = Topic::Checkpoint;

pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
    let files = written(seen, |by| !["append", "TensorBoard"].contains(&by));
    if let Some((writers, place, which)) = shared(&files) {
        let as_callback = if seen.is_keras() { ", as around callbacks.append(ModelCheckpoint(...))" } else { "" };
        return vec![TOPIC.wrong(
            format!("{writers} write {which}"),
            place,
            "what is left may be half of one and half of the other",
            format!("write it on one rank: {}{as_callback}", seen.on_root()),
        )];
    }
    let found = seen.finding("nothing loaded").or_else(|| seen.first_of(&[resumed, read_too_early, begun_anew]));
    if let Some(found) = found.or_else(|| seen.finding("schedule anew")) {
        return vec![found];
    }
    if let Some((writers, place, which)) = shared(&written(seen, |by| by == "append")) {
        return vec![TOPIC.look(
            format!("{writers} append to {which}"),
            place,
            "each line comes once for each rank, in no order, and a figure that was not averaged is of one rank alone",
            format!("write it on one rank: {}", seen.on_root()),
        )];
    }
    if let Some((writers, place, _)) = shared(&written(seen, |by| by == "TensorBoard")) {
        return vec![TOPIC.look(
            format!("{writers} write the same curves for TensorBoard into the same folder"),
            place,
            "TensorBoard draws the figures of all ranks as one curve, which jumps between them",
            format!("write them on one rank: {}", seen.on_root()),
        )];
    }
    if files.is_empty() { Vec::new() } else { TOPIC.ok("each file that was seen was written by one rank") }
}

/// By host and path: who writes a file, and the line.
type Files<'a> = BTreeMap<(&'a str, &'a str), (BTreeSet<usize>, &'a Place)>;

/// By rank.
fn hosts(seen: &Inspection) -> BTreeMap<usize, &str> {
    seen.of_all::<GroupReport>().map(|(rank, group)| (rank, group.host.as_str())).collect()
}

/// The files that ranks wrote in such a way.
fn written(seen: &Inspection, is_such: fn(&str) -> bool) -> Files<'_> {
    let hosts = hosts(seen);
    let mut files = Files::new();
    for (rank, report) in seen
        .of_all::<StateReport>()
        .filter(|(_, report)| report.action == StateAction::Written && !report.path.starts_with("/dev/") && is_such(&report.by))
    {
        let host = hosts.get(&rank).copied().unwrap_or_default();
        let file = files.entry((host, &report.path)).or_insert_with(|| (BTreeSet::new(), &report.place));
        file.0.insert(rank);
        if report.by != "open" {
            // The line that writes says more than the one that opened the file for it.
            file.1 = &report.place;
        }
    }
    files
}

/// The ranks that write the first file of several writers, the line, and which files there are.
fn shared(files: &Files<'_>) -> Option<(String, Option<Place>, String)> {
    let mut shared = files.iter().filter(|(_, (ranks, _))| ranks.len() > 1);
    let ((_, path), (writers, place)) = shared.next()?;
    let others: Vec<String> = shared.map(|((_, path), (_, place))| at_line(path, place)).collect();
    // The line of the first one is that of the finding.
    let first = name(path);
    let which = match &others[..] {
        [] => format!("the same file, {first}"),
        [other] => format!("the same files, {first} and {other}"),
        [other, ..] => format!("the same {} files: {first}, {other} and others", others.len() + 1),
    };
    Some((names(writers), known(place), which))
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A file by its name, and the line that writes it.
fn at_line(path: &str, place: &Place) -> String {
    if place.file.is_empty() { name(path).to_owned() } else { format!("{} (line {})", name(path), place.line) }
}

/// A file that one rank reads while another may still write it: nothing has brought the two together in between.
fn read_too_early(seen: &Inspection) -> Option<Finding> {
    let of = |action: StateAction| seen.of_all::<StateReport>().filter(move |(_, report)| report.action == action);
    let hosts = hosts(seen);
    let (writer, written, reader, read) = of(StateAction::Written).find_map(|(writer, written)| {
        let is_early = |(reader, read): &(usize, &StateReport)| {
            let is_same = read.path == written.path && hosts.get(reader) == hosts.get(&writer) && *reader != writer;
            is_same && read.meetings == written.meetings && read.meetings != (0, 0)
        };
        let (reader, read) = of(StateAction::Read).find(is_early)?;
        Some((writer, written, reader, read))
    })?;
    Some(TOPIC.look(
        format!(
            "rank {reader} reads {} while rank {writer} may still write it, at line {}",
            name(&read.path),
            written.place.line
        ),
        known(&read.place),
        "it gets an older file or half of one, and the ranks go on from different weights",
        seen.in_words(
            "wait for the rank that writes: hvd.broadcast what it has, or hvd.barrier() between the two",
            "wait for the rank that writes: hvd.barrier() between the two",
            if seen.is_accelerate() {
                "write accelerator.wait_for_everyone() between the two"
            } else {
                "write dist.barrier() between the two"
            },
        ),
    ))
}

/// A training that is resumed from a checkpoint with a fresh optimizer.
fn begun_anew(seen: &Inspection) -> Option<Finding> {
    let report = seen.told("optimizer anew")?;
    let [optimizer, epoch, is_there] = &report.settings[..] else { return None };
    let (what, remedy) = match is_there.as_str() {
        "" => ("and the file holds none for it", "save optimizer.state_dict() beside the weights, and load it with them"),
        _ => ("though the file holds one", "load it: optimizer.load_state_dict(...), into the optimizer that trains"),
    };
    Some(TOPIC.look(
        format!("the training goes on from {epoch} with the weights of a file, but {optimizer} begins without a state, {what}"),
        known(&report.place),
        "its averages of gradients begin at zero again, so the loss jumps; of a new training with these weights it is right",
        remedy,
    ))
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
    let place = loaded_apart(seen).and_then(|(_, place)| place);
    let told: Vec<String> = epochs.iter().map(|(rank, epoch)| format!("rank {rank} with {epoch}")).collect();
    let remedy = seen.in_words(
        "broadcast the epoch: hvd.broadcast(epoch, 0)",
        "broadcast the epoch: hvd.broadcast_object(epoch, root_rank=0)",
        "send the epoch of the checkpoint to all ranks: dist.broadcast_object_list",
    );
    Some(TOPIC.wrong(
        format!("the ranks go on from different epochs: {}", told.join(", ")),
        place.or_else(|| first.values().next().and_then(|pass| known(&pass.place))),
        "they end at different times, and the last one waits for ever",
        remedy,
    ))
}
