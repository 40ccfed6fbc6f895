//! Shares of the data that are shared out once more.

use std::collections::{BTreeMap, BTreeSet};

use super::batches::{Reports, all_differ, have_subsets, made, sampler_made, wrong};
use super::finding::Finding;
use super::inspection::{Inspection, known};
use crate::domain::event::{PassReport, StateAction, StateReport};

const NEVER_SEEN: &str = "the other samples of the parts are never seen";

/// Parts of a data set, one for each rank, that a distributed sampler shares out once more.
pub(super) fn shared_twice(seen: &Inspection, reports: &Reports<'_>) -> Option<Finding> {
    let one = reports.values().next()?;
    if reports.values().all(|pass| pass.sampler == "shard of a shard") {
        let said = format!("each rank takes its share twice: one in {} samples of a share is trained on", seen.size());
        return wrong(said, sampler_made(reports), NEVER_SEEN, "leave one of the two calls of shard() out");
    }
    let is_shared = |pass: &PassReport| pass.replicas == Some(seen.size());
    let are_files = || all_differ(reports, |pass| &pass.content) && have_own_files(seen);
    if !reports.values().all(|pass| is_shared(pass)) || !(have_subsets(reports) || are_files()) {
        return None;
    }
    let (samples, parts): (usize, usize) =
        reports.values().fold((0, 0), |sum, pass| (sum.0 + pass.samples, sum.1 + pass.dataset.unwrap_or(0)));
    wrong(
        format!(
            "each rank has a part of the data set, and the sampler shares that part out once more: {samples} of {parts} samples were trained on"
        ),
        known(&one.split_made).or_else(|| made(reports)),
        NEVER_SEEN,
        "give all ranks the whole data set, and leave the sharing to the sampler",
    )
}

/// Whether each rank has read files that no other has, before its first update.
fn have_own_files(seen: &Inspection) -> bool {
    let mut readers: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let is_early = |report: &StateReport| report.action == StateAction::Read && report.updates == 0;
    for (rank, report) in seen.of_all::<StateReport>().filter(|(_, report)| is_early(report)) {
        readers.entry(&report.path).or_default().insert(rank);
    }
    let owners: BTreeSet<usize> = readers.into_values().filter(|ranks| ranks.len() == 1).flatten().collect();
    owners.len() == seen.size()
}

/// A stream of which each rank takes its share, and which a library shares out once more.
pub(super) fn split_twice(seen: &Inspection) -> Option<Finding> {
    let report = seen.told("stream split twice")?;
    wrong(
        "the data set takes the share of its rank out of the stream, and the loader around it shares that out once more",
        known(&report.place),
        "the samples of all other shares are never seen",
        "let the data set give all samples on each rank, or leave the loader out of what shares them out",
    )
}
