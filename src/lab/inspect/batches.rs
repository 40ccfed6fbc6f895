//! All ranks take as many batches, and batches of one size.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, Outcome, Topic};
use super::inspection::{Inspection, differ, known};
use crate::domain::event::{EndedReport, InspectedUpdate, InspectorReport, PassReport, Place};

pub(super) const TOPIC: Topic = Topic::Data;
/// Samples that a sampler repeats to make shares equal.
const PADDING: f64 = 0.02;
pub(super) const WAITS: &str =
    "the rank with more batches waits for the others at the end of the pass, for ever or with an error";

/// One pass on each rank.
pub(super) type Reports<'a> = BTreeMap<usize, &'a PassReport>;

pub(super) fn wrong(seen: impl Into<String>, place: Option<Place>, cost: &str, remedy: impl Into<String>) -> Option<Finding> {
    Some(TOPIC.wrong(seen, place, cost, remedy))
}

pub(super) fn made(reports: &Reports<'_>) -> Option<Place> {
    let pass = reports.values().next()?;
    known(&pass.made).or_else(|| known(&pass.place))
}

pub(super) fn sampler_made(reports: &Reports<'_>) -> Option<Place> {
    reports.values().find_map(|pass| known(&pass.sampler_made)).or_else(|| made(reports))
}

/// Ranks that have different numbers of batches.
pub(super) fn uneven(seen: &Inspection, reports: &Reports<'_>) -> Option<Finding> {
    // One that was left by an error has not ended, but may have come further already than one that has.
    let are_whole = reports.values().all(|pass| pass.is_whole) || has_stood(seen);
    let least = reports.values().filter(|pass| pass.is_whole).map(|pass| pass.batches).min();
    let goes_on = |pass: &PassReport| least.is_some_and(|least| pass.batches > least);
    let meet = seen.wrappers().next().is_some() || seen.has_exchanged();
    if !are_whole || !reports.values().any(|pass| goes_on(pass)) || !meet || is_covered(seen) {
        return twice(seen, reports);
    }
    if let Some(found) = sizes(reports) {
        return Some(Finding { outcome: Outcome::Wrong, cost: WAITS.to_owned(), ..found });
    }
    let counted = |pass: &PassReport| if pass.is_whole { pass.batches.to_string() } else { format!("at least {}", pass.batches) };
    different_numbers(seen, reports.iter().map(|(rank, pass)| (*rank, counted(pass))), made(reports))
}

/// Batches that are larger on some ranks.
pub(super) fn sizes(reports: &Reports<'_>) -> Option<Finding> {
    let sizes: Option<Vec<usize>> = reports.values().map(|pass| pass.batch_size).collect();
    let sizes = sizes.filter(|sizes| differ(sizes))?;
    Some(of_other_sizes("the batches differ in size", reports.keys().copied().zip(sizes), made(reports)))
}

fn of_other_sizes(what: &str, sizes: impl Iterator<Item = (usize, usize)>, place: Option<Place>) -> Finding {
    let told: Vec<String> = sizes.map(|(rank, size)| format!("{size} on rank {rank}")).take(8).collect();
    TOPIC.look(
        format!("{what}: {}", told.join(", ")),
        place,
        "the average of the ranks' gradients weighs a sample of a small batch more than one of a large batch",
        "give all ranks the same batch size, or weigh the loss of each rank by its samples",
    )
}

/// Batches without a loader that are larger on one rank in each update.
pub(super) fn weights(seen: &Inspection) -> Option<Finding> {
    let of_rank = |rank: &usize| {
        let first = seen.first_updates(*rank).filter(|update| update.update < 3);
        let samples: Vec<usize> = first.map(|update| update.samples).collect();
        (samples.len() == 3 && samples[0] > 0 && !differ(&samples)).then(|| (*rank, samples[0]))
    };
    let sizes: Vec<(usize, usize)> = seen.ranks.keys().map(of_rank).collect::<Option<_>>()?;
    let (least, most) = (sizes.iter().map(|(_, size)| *size).min()?, sizes.iter().map(|(_, size)| *size).max()?);
    if least * 3 > most * 2 || seen.wrappers().next().is_none() && !seen.has_exchanged() {
        return None;
    }
    let place = seen.reports::<InspectedUpdate>().find_map(|update| known(&update.place));
    Some(of_other_sizes("the updates take different numbers of samples", sizes.into_iter(), place))
}

/// Loaders of different lengths, where a rank has not come to the end of its pass, and waits or is gone.
pub(super) fn unequal(seen: &Inspection) -> Option<Finding> {
    let updates = seen.updates();
    let reports = updates.values().find(|ranks| differ(ranks.values().map(|update| update.batches)))?;
    let is_through = seen.reports::<PassReport>().any(|pass| pass.trains && pass.is_whole);
    let is_well = seen.have_all_ended() && seen.reports::<EndedReport>().all(|end| end.failure.is_none());
    let is_cut_off = seen.has_stood() || seen.is_over && is_through;
    if is_well || !is_cut_off || seen.wrappers().next().is_none() || seen.has("join") {
        return None;
    }
    let place = reports.values().find_map(|update| known(&update.loader_made));
    different_numbers(seen, reports.iter().map(|(rank, update)| (*rank, update.batches.to_string())), place)
}

fn different_numbers(seen: &Inspection, batches: impl Iterator<Item = (usize, String)>, place: Option<Place>) -> Option<Finding> {
    let counts: Vec<String> = batches.map(|(rank, count)| format!("{count} on rank {rank}")).take(8).collect();
    wrong(format!("a pass has different numbers of batches: {}", counts.join(", ")), place, WAITS, even_batches(seen))
}

/// What to write where ranks have different numbers of batches.
pub(super) fn even_batches(seen: &Inspection) -> &'static str {
    seen.in_words(
            "give all ranks as many batches: dataset.repeat().take(n) with the same n, drop_remainder=True where only the last batch is missing; or call hvd.join() behind the loop on ranks that are done",
            "make shares and batch sizes equal: DistributedSampler pads shares, drop_last=True cuts them, and hvd.join() behind the loop covers for ranks that are done",
            "make shares and batch sizes equal: DistributedSampler pads shares, drop_last=True cuts them, and model.join() covers for ranks that are done",
    )
}

/// Whether a rank has stood still and has not gone on since, as one does that is only slow to start.
fn has_stood(seen: &Inspection) -> bool {
    let is_still =
        |reports: &Vec<InspectorReport>| matches!(reports.last(), Some(InspectorReport::Stalled(_) | InspectorReport::Ended(_)));
    seen.has_stood() && (seen.is_over || seen.ranks.values().any(is_still))
}

/// Whether ranks that are done early wait for no one, or it is not clear yet: DDP's `join` lets them end after fewer updates.
fn is_covered(seen: &Inspection) -> bool {
    let has_stood = has_stood(seen);
    let end_apart = seen.have_all_ended() && differ(seen.ended()) && !has_stood;
    seen.has("join") || end_apart || !(seen.have_all_ended() || has_stood)
}

/// More samples than there are. A sampler without an end goes over all of them several times in what is one pass of its loader.
fn twice(seen: &Inspection, reports: &Reports<'_>) -> Option<Finding> {
    let one = reports.values().next()?;
    let all = one.dataset.filter(|all| *all > 0 && one.replicas.is_some() && one.is_whole)?;
    let samples: usize = reports.values().map(|pass| pass.samples).sum();
    let more = samples.saturating_sub(all) as f64 / all as f64;
    (more > PADDING && samples > all + 2 * reports.len()).then(|| {
        TOPIC.look(
            format!("the ranks trained on {samples} samples of {all} in one pass: some count twice"),
            sampler_made(reports),
            "a pass is longer than it should be",
            seen.in_words(
                "divide the steps as well: steps_per_epoch // hvd.size()",
                "check who else repeats samples beside the DistributedSampler",
                "check who else repeats samples beside the DistributedSampler",
            ),
        )
    })
}

/// Whether each rank has other samples of the same data set.
pub(super) fn are_parts<'a>(passes: impl Iterator<Item = &'a PassReport> + Clone) -> bool {
    let sets: Vec<BTreeSet<u32>> = passes.clone().map(|pass| pass.picked.iter().copied().collect()).collect();
    let are_comparable = !differ(passes.map(|pass| pass.every)) && sets.len() > 1;
    are_comparable && sets.windows(2).all(|two| !two[0].is_empty() && two[0].is_disjoint(&two[1]))
}

/// Whether each rank has a different subset of the data set. The subsets may overlap.
pub(super) fn have_subsets(reports: &Reports<'_>) -> bool {
    all_differ(reports, |pass| &pass.subset) && reports.values().all(|pass| !pass.subset.is_empty())
}

pub(super) fn all_differ(reports: &Reports<'_>, of: fn(&PassReport) -> &String) -> bool {
    reports.values().map(|pass| of(pass)).collect::<BTreeSet<_>>().len() == reports.len()
}
