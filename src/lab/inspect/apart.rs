//! Ranks in different states: one trains in eval mode, skips updates, or has come to the end of its data.

use std::collections::{BTreeMap, BTreeSet};

use super::batches::even_batches;
use super::finding::{Cause, Finding, Topic};
use super::inspection::{Inspection, Updates, known, line, ranks as names};
use crate::domain::event::{
    EndedReport, InspectedUpdate, InspectorReport, PassReport, Place, StalledReport, StateAction, StateReport, WrappedReport,
};

/// What to write where ranks decide for themselves.
pub(super) const ALIKE: &str =
    "let all ranks decide alike: by a value that is the same on all of them, or broadcast the decision";

/// A model that a validation has left in eval mode on some ranks.
pub(super) fn in_eval_mode(seen: &Inspection) -> Option<Finding> {
    let told = seen.tellers("trains in eval mode");
    let since: usize = told.values().next()?.settings.first()?.parse().ok()?;
    let has_come = |rank: &usize| seen.of_rank::<InspectedUpdate>(*rank).any(|update| update.update > since);
    let is_apart = told.len() < seen.size() && (seen.is_over || seen.ranks.keys().all(has_come));
    seen.finding_of(&told).filter(|_| is_apart)
}

/// What to say of ranks that have made the same update with different numbers of backward passes.
pub(super) fn skipped(seen: &Inspection) -> Option<(String, &'static str)> {
    let updates = seen.updates();
    let is_apart = |reports: &Updates<'_>| {
        let counts: BTreeSet<usize> = reports.values().map(|update| update.backwards).collect();
        counts.len() > 1 && !counts.contains(&0)
    };
    let ((_, number), reports) = updates.iter().find(|(_, reports)| is_apart(reports))?;
    let told: Vec<String> = reports.iter().map(|(rank, update)| format!("{} on rank {rank}", update.backwards)).take(8).collect();
    let said = format!("update {number} came behind other numbers of backward passes ({}): ranks skip updates", told.join(", "));
    Some((said, "skip an update on all ranks or on none: decide by a value that was averaged"))
}

/// What only some ranks log as a result of all, if they wait for the others in Lightning.
pub(super) fn from_log(seen: &Inspection) -> Option<Cause> {
    const KIND: &str = "logged together: ";
    let mut results: BTreeMap<&str, BTreeMap<usize, &WrappedReport>> = BTreeMap::new();
    for (rank, report) in seen.of_all::<WrappedReport>() {
        if let Some(name) = report.by.strip_prefix(KIND) {
            results.entry(name).or_default().insert(rank, report);
        }
    }
    let (name, ranks) = results.into_iter().find(|(_, ranks)| ranks.len() < seen.size() && seen.is_lightning())?;
    let verb = if ranks.len() == 1 { "logs" } else { "log" };
    let said = format!("only {} {verb} {name} with sync_dist=True", names(ranks.keys()));
    let remedy = "log it on all ranks, or without sync_dist=True and with rank_zero_only=True";
    Some((said, known(&ranks.values().next()?.place), remedy.to_owned()))
}

/// That the data of a rank has ended, if that is why the others wait.
pub(super) fn from_end_of_data(seen: &Inspection) -> Option<Cause> {
    let (said, place) = end_of_epoch(seen).or_else(|| end_of_pass(seen)).or_else(|| end_of_loop(seen))?;
    Some((said, place, even_batches(seen).to_owned()))
}

/// A rank that has left its own loop, where another one still waits for gradients in it; with the line of the loop.
fn end_of_loop(seen: &Inspection) -> Option<(String, Option<Place>)> {
    let last = |rank: &usize| {
        let report = seen.standing(*rank)?;
        let is_here = |left: &&WrappedReport| left.by == "left its loop" && left.settings == [report.updates.to_string()];
        Some((report, seen.of_rank::<WrappedReport>(*rank).filter(is_here).last()))
    };
    let is_in_update =
        |report: &StalledReport| ["backward", "synchronize", "a graph"].iter().any(|part| report.within.contains(part));
    let (rank, updates, left) =
        seen.ranks.keys().find_map(|rank| last(rank).and_then(|(report, left)| Some((rank, report.updates, left?))))?;
    let goes_on = |other: &&usize| {
        last(other).is_some_and(|(report, left)| left.is_none() && report.updates == updates && is_in_update(report))
    };
    let other = seen.ranks.keys().find(goes_on)?;
    let said = format!("rank {rank} has left its loop after {updates} updates, and rank {other} has more batches");
    Some((said, known(&left.place)))
}

/// A rank of a Keras program that averages its metrics while another one is in a graph of the same epoch.
fn end_of_epoch(seen: &Inspection) -> Option<(String, Option<Place>)> {
    let stands = |part: &str| {
        seen.ranks.keys().copied().find(|rank| seen.standing(*rank).is_some_and(|report| report.within.contains(part)))
    };
    let (rank, other) = (stands("metric_average")?, stands("a graph")?);
    // Who has ended more epochs is in the next one: it does not average its metrics at all.
    let epochs = |rank: usize| seen.of_rank::<PassReport>(rank).filter(|pass| pass.trains).count();
    let said = || format!("rank {rank} has come to the end of its epoch, and rank {other} has more batches");
    (epochs(other) <= epochs(rank)).then(|| (said(), None))
}

/// A rank whose data has ended, where another one has taken more batches.
fn end_of_pass(seen: &Inspection) -> Option<(String, Option<Place>)> {
    let passes = |rank: usize| seen.of_rank::<PassReport>(rank).filter(|pass| pass.trains);
    seen.ranks.keys().find_map(|rank| {
        let pass = seen.standing(*rank).and_then(|_| passes(*rank).last())?;
        let has_more = |other: &&usize| {
            let more = seen.standing(**other).is_some_and(|report| report.batches > pass.batches);
            more && passes(**other).count() == pass.pass && pass.is_whole
        };
        let other = seen.ranks.keys().find(has_more)?;
        let of = known(&pass.made).map_or(String::new(), |place| format!(" (the loader at {})", line(&place)));
        let batches = pass.batches;
        Some((format!("rank {rank} has come to the end of its {batches} batches{of}, and rank {other} has more"), None))
    })
}

/// The reports of a rank that it alone may have skipped a batch or left its pass.
pub(super) fn departures(seen: &Inspection, rank: usize) -> impl Iterator<Item = &WrappedReport> {
    seen.of_rank::<WrappedReport>(rank).filter(|report| ["left a pass", "skipped a batch"].contains(&report.by.as_str()))
}

/// A rank that alone left its pass, in a run that a crash has ended before any rank could tell its end.
pub(super) fn left_alone(seen: &Inspection) -> Option<Finding> {
    if !seen.is_over || !seen.is_complete() || seen.of_all::<EndedReport>().next().is_some() {
        return None;
    }
    let count = |rank: &usize| departures(seen, *rank).count();
    let updates = |rank: &usize| {
        let made = |report: &InspectorReport| match report {
            InspectorReport::Update(update) => Some(update.update + 1),
            InspectorReport::Phases(phases) => Some(phases.updates),
            _ => None,
        };
        seen.ranks[rank].iter().filter_map(made).max()
    };
    seen.ranks.keys().find_map(|rank| {
        let left = departures(seen, *rank).last()?;
        let since: usize = left.settings.first()?.parse().ok()?;
        seen.ranks.keys().any(|other| count(other) < count(rank) && updates(other) > Some(since)).then(|| {
            Topic::Hang.wrong(
                format!("an error has ended {} before they could tell where they were", names(seen.ranks.keys())),
                known(&left.place),
                "what one rank sends then meets another call of the others: an error, wrong numbers or a standstill",
                ALIKE,
            )
        })
    })
}

/// A rank that was gone without a word before this one lost its connection to it.
pub(super) fn gone(seen: &Inspection, rank: usize, failed: usize) -> Option<Finding> {
    let failure = seen.of_rank::<EndedReport>(failed).find_map(|end| end.failure.as_ref())?;
    let has_told = seen.of_rank::<EndedReport>(rank).next().is_some();
    let place = known(&failure.place)?;
    (failure.kind == "peer gone" && !has_told).then(|| {
        Topic::Hang.wrong(
            format!(
                "rank {rank} was gone without a word, and an error has ended rank {failed} at {}, where it waited for it",
                line(&place)
            ),
            Some(place),
            "the other ranks cannot go on",
            "look for os._exit(), a signal such as that of a full memory, or a crash of that rank: its log holds its last lines",
        )
    })
}

/// All ranks stand in lines of their own, and none of them waits for another one.
pub(super) fn stand_by_themselves(seen: &Inspection, patience: f64) -> Option<Finding> {
    let stands = |reports: &Vec<InspectorReport>| {
        let [.., InspectorReport::Stalled(before), InspectorReport::Stalled(last)] = reports.as_slice() else { return None };
        (before.place == last.place && last.seconds > patience).then(|| last.clone())
    };
    let all: Vec<StalledReport> = seen.ranks.values().map(stands).collect::<Option<_>>().filter(|_| seen.is_complete())?;
    let (first, who) = (all.first()?, names(seen.ranks.keys()));
    let lines: BTreeSet<String> = all.iter().map(|report| line(&report.place)).collect();
    Some(Topic::Hang.look(
        format!(
            "{who} have not got on for {:.0} s: they are at {}",
            first.seconds,
            lines.into_iter().collect::<Vec<_>>().join(" and ")
        ),
        known(&first.place),
        "the training stands still, unless that is a long work of their own",
        "look at what this line waits for: another process, a lock, a file, or a queue",
    ))
}

/// What to write where some ranks have read a file that one of them wrote in this run, and the others have not, as where it was not yet
/// there for them.
pub(super) fn looked_for_early(seen: &Inspection) -> Option<&'static str> {
    let paths = |rank: usize, action: StateAction| -> BTreeSet<&str> {
        let such = seen.of_rank::<StateReport>(rank).filter(|report| report.action == action && !report.path.is_empty());
        such.map(|report| report.path.as_str()).collect()
    };
    let written: BTreeSet<&str> = seen.ranks.keys().flat_map(|rank| paths(*rank, StateAction::Written)).collect();
    let read: Vec<BTreeSet<&str>> = seen.ranks.keys().map(|rank| &paths(*rank, StateAction::Read) & &written).collect();
    (read.iter().any(|paths| !paths.is_empty()) && read.iter().any(BTreeSet::is_empty)).then(|| {
        seen.in_words(
            "load it on all ranks, and wait with hvd.broadcast or a barrier between the line that writes the file and those that look for it",
            "load it on all ranks, with hvd.barrier() between the line that writes the file and those that look for it",
            "load it on all ranks, with dist.barrier() between the line that writes the file and those that look for it",
        )
    })
}
