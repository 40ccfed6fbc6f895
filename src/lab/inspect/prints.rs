//! One rank prints.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, Topic};
use super::inspection::{Inspection, ranks as names};
use crate::domain::event::{Place, PrintedReport};

const TOPIC: Topic = Topic::Prints;
/// Lines of a program that are named.
const MOST: usize = 8;

pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
    let mut lines: BTreeMap<(&Place, &str), BTreeSet<usize>> = BTreeMap::new();
    for (rank, report) in seen.of_all::<PrintedReport>().filter(|(_, report)| report.has_figures && !report.names_rank) {
        lines.entry((&report.place, &report.text)).or_default().insert(rank);
    }
    let repeated: BTreeMap<&Place, &BTreeSet<usize>> =
        lines.iter().filter(|(_, ranks)| ranks.len() > 1).map(|((place, _), ranks)| (*place, ranks)).collect();
    let mut found: Vec<Finding> = repeated
        .into_iter()
        .take(MOST)
        .map(|(place, ranks)| {
            let in_fit = if seen.is_keras() { ", and verbose=1 if hvd.rank() == 0 else 0 in model.fit" } else { "" };
            TOPIC.look(
                format!("{} print the same lines", names(ranks)),
                (!place.file.is_empty()).then(|| place.clone()),
                "every line comes once for each rank, and a figure that was not averaged is of one rank alone",
                format!("print on one rank: {}{in_fit}", seen.on_root()),
            )
        })
        .collect();
    found.extend(bars(seen));
    let has_updates = seen.updates().len() > 2;
    let names_itself = |report: &PrintedReport| report.has_figures && report.names_rank;
    let by_name = seen.ranks.keys().filter(|rank| seen.of_rank::<PrintedReport>(**rank).any(names_itself)).count();
    match found.is_empty() {
        true if has_updates && by_name > 1 => TOPIC.ok("lines with figures that several ranks print say whose they are"),
        true if has_updates => TOPIC.ok("no line with figures was printed several times by several ranks"),
        _ => found,
    }
}

/// A progress bar of the program's own on each rank.
fn bars(seen: &Inspection) -> Option<Finding> {
    let ranks = seen.tellers("progress bar");
    seen.finding_of(&ranks).filter(|_| ranks.len() > 1)
}
