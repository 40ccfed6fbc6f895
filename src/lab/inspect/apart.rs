//! Ranks in different states: one trains in eval mode, skips updates, or has come to the end of its data.

use std::collections::{BTreeMap, BTreeSet};

use super::batches::even_batches;
use super::finding::{Finding, Outcome, Topic};
use super::inspection::{Inspection, known, line, ranks as names, update};
use crate::domain::event::{InspectedUpdate, InspectorReport, PassReport, StalledReport};

/// A model that a validation has left in eval mode on some ranks.
pub(super) fn in_eval_mode(seen: &Inspection) -> Option<Finding> {
    let told = seen.tellers("trains in eval mode");
    let report = told.values().next()?;
    let since: usize = report.settings.first()?.parse().ok()?;
    let has_come = |rank: &usize| seen.of_rank(*rank, update).any(|update| update.update > since);
    (told.len() < seen.size() && (seen.is_over || seen.ranks.keys().all(has_come))).then(|| {
        Finding::objection(
            (Topic::State, Outcome::Wrong),
            format!("{} trains on in eval mode, and the other ranks do not", names(told.keys())),
            known(&report.place),
            "dropout is off there, and batch norm uses what it has seen: the ranks average the gradients of different models",
            "call model.train() on all ranks behind the validation",
        )
    })
}

/// What to say of ranks that have made the same update with different numbers of backward passes.
pub(super) fn skipped(seen: &Inspection) -> Option<(String, &'static str)> {
    let updates = seen.updates();
    let is_apart = |reports: &BTreeMap<usize, &InspectedUpdate>| {
        let counts: BTreeSet<usize> = reports.values().map(|update| update.backwards).collect();
        counts.len() > 1 && !counts.contains(&0)
    };
    let ((_, number), reports) = updates.iter().find(|(_, reports)| is_apart(reports))?;
    let told: Vec<String> = reports.iter().map(|(rank, update)| format!("{} on rank {rank}", update.backwards)).take(8).collect();
    let said = format!("update {number} came behind other numbers of backward passes ({}): ranks skip updates", told.join(", "));
    Some((said, "skip an update on all ranks or on none: decide by a value that was averaged"))
}

/// Adds that the data of a rank has ended, if that is why the others wait.
pub(super) fn from_end_of_data(seen: &Inspection, finding: Finding) -> Finding {
    let Some((rank, pass, other)) = end_of_data(seen).filter(|_| finding.is_objection()) else { return finding };
    let of = known(&pass.made).map_or(String::new(), |place| format!(" (the loader at {})", line(&place)));
    let said = format!(
        "{}; rank {rank} has come to the end of its {} batches{of}, and rank {other} has more",
        finding.seen, pass.batches
    );
    Finding { seen: said, remedy: even_batches(seen).to_owned(), ..finding }
}

/// The rank whose data has ended, the batches that it had, and the one that has taken more.
fn end_of_data(seen: &Inspection) -> Option<(usize, &PassReport, usize)> {
    let last = |reports: &[InspectorReport]| -> Option<StalledReport> {
        if let Some(InspectorReport::Stalled(report)) = reports.last() { Some(report.clone()) } else { None }
    };
    seen.ranks.iter().find_map(|(rank, reports)| {
        last(reports)?;
        let is_pass = |report: &InspectorReport| matches!(report, InspectorReport::Pass(pass) if pass.trains);
        let InspectorReport::Pass(pass) = reports.iter().rfind(|report| is_pass(report))? else { return None };
        let has_more = |(other, reports): (&usize, &Vec<InspectorReport>)| {
            let more = last(reports)?.batches > pass.batches;
            let passes = reports.iter().filter(|report| is_pass(report)).count();
            (more && passes == pass.pass && pass.is_whole).then_some(*other)
        };
        Some((*rank, pass, seen.ranks.iter().find_map(has_more)?))
    })
}
