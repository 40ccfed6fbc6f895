//! What is made of the results of all ranks: sums, means, and how many samples they are of.

use std::collections::BTreeMap;

use super::finding::{Finding, Topic};
use super::inspection::{Inspection, differ, known};
use crate::domain::event::{CollectiveReport, PassReport, WrappedReport};

pub(super) const TOPIC: Topic = Topic::Metrics;
/// Part of the samples by which shares differ, or that are left out, before that is worth a word.
const UNEQUAL: f64 = 0.05;

/// An accuracy above 1 that is printed as it comes from a sum over the ranks, or one of hits of all and samples of one; and another sum
/// that is printed.
pub(super) fn sum_told(seen: &Inspection) -> Option<Finding> {
    ["hits of all printed", "sum printed", "total printed"].into_iter().find_map(|name| seen.finding(name))
}

/// A mean over the ranks of what each has for a share, where the shares are of unequal size.
pub(super) fn unequal_mean(seen: &Inspection) -> Option<Finding> {
    let mut means = seen.reports::<WrappedReport>().filter(|report| report.by.starts_with("mean printed"));
    means.find_map(|report| of_unequal_shares(seen, report))
}

fn of_unequal_shares(seen: &Inspection, report: &WrappedReport) -> Option<Finding> {
    let [name, line, loader] = &report.settings[..] else { return None };
    let loader = loader.parse::<usize>().ok()?;
    let passes = seen.passes(false);
    let samples = |ranks: &BTreeMap<usize, &PassReport>| -> Vec<usize> { ranks.values().map(|pass| pass.samples).collect() };
    let counts = passes.iter().filter(|((of, _), _)| *of == loader).map(|(_, ranks)| samples(ranks)).find(|counts| {
        let (least, most) = (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
        least > 0 && (most - least) as f64 > UNEQUAL * most as f64
    })?;
    let told: Vec<String> = counts.iter().map(usize::to_string).collect();
    Some(TOPIC.look(
        format!("{name} is printed at {line} as the mean of the ranks, which validate with {} samples", told.join(" and ")),
        known(&report.place),
        "each sample of the smaller share counts for more, so the mean is not that of all samples",
        "add up the sums and the samples of all ranks, and divide behind that",
    ))
}

/// A validation of all samples on each rank, whose counts are added up.
pub(super) fn counted_by_all(seen: &Inspection) -> Option<Finding> {
    let all = seen.told("counted by all")?.settings.first()?;
    let is_it = |pass: &PassReport| pass.dataset.is_some_and(|set| set.to_string() == *all);
    // The ranks may validate with different data sets of one size.
    let are_own = |ranks: &BTreeMap<usize, &PassReport>| {
        ranks.values().all(|pass| is_it(pass)) && differ(ranks.values().map(|pass| &pass.content))
    };
    seen.finding("counted by all").filter(|_| !seen.passes(false).values().any(are_own))
}

/// Samples that a validation leaves out because its loader drops the last batch.
pub(super) fn left_out(seen: &Inspection) -> Option<Finding> {
    let passes = seen.passes(false);
    let (pass, lost, all) = passes.values().find_map(|ranks| {
        let one = ranks.values().next().filter(|one| one.drops_last && one.updates > 0 && !is_peek(seen, one))?;
        let is_shared = one.sampler == "DistributedSampler";
        let all =
            one.dataset.filter(|_| is_shared || one.sampler == "SequentialSampler")? * if is_shared { 1 } else { ranks.len() };
        let lost = all.checked_sub(ranks.values().map(|pass| pass.samples).sum())?;
        let is_whole = ranks.values().all(|pass| pass.is_whole && pass.dataset == one.dataset);
        (is_whole && lost as f64 > UNEQUAL * all as f64).then_some((*one, lost, all))
    })?;
    Some(TOPIC.look(
        format!("the validation leaves out {lost} of {all} samples: drop_last=True drops the last batch of each rank"),
        known(&pass.made),
        "the result is not that of all samples, and which ones are left out depends on the number of ranks",
        "leave drop_last out of the DataLoader that validates",
    ))
}

/// A validation whose sampler repeats samples to make shares equal, and whose sums are never cut to the samples that there are.
pub(super) fn padded(seen: &Inspection) -> Option<Finding> {
    let passes = seen.passes(false);
    let count = |reports: &BTreeMap<usize, &PassReport>| reports.values().map(|pass| pass.samples).sum::<usize>();
    // Accelerate fills whole batches up, and cuts what it gathers if it is asked by the right name.
    let is_cut = seen.has("Accelerator.gather_for_metrics");
    let uncut = seen.told("Accelerator.gather").filter(|_| !is_cut);
    let (reports, all) = passes.values().find_map(|reports| {
        let one = reports.values().next()?;
        let is_sampled = one.sampler == "DistributedSampler" && count(reports) < one.dataset? + seen.size();
        let all = one.dataset.filter(|_| one.updates > 0 && (is_sampled || uncut.is_some() && one.replicas.is_some()))?;
        (reports.values().all(|pass| pass.is_whole) && count(reports) > all).then_some((reports, all))
    })?;
    if seen.has("padding left out") {
        return None;
    }
    // What is gathered from all ranks may be cut before it is counted.
    let is_gathered = seen.reports::<CollectiveReport>().any(|call| call.name.contains("gather") && call.updates > 0);
    let (place, remedy) = match uncut {
        Some(report) => {
            (known(&report.place), "call accelerator.gather_for_metrics instead of gather: it leaves the repeated ones out")
        }
        None if is_gathered => return None,
        None => (
            reports.values().find_map(|pass| known(&pass.sampler_made).or_else(|| known(&pass.made))),
            "share the validation out by range(rank, len(dataset), world_size), and add up what was right and how many there were",
        ),
    };
    let said = format!("the validation counts {} samples of {all}: some are repeated to make the shares equal", count(reports));
    let cost = "repeated samples count twice, so the result depends a little on the number of ranks";
    Some(TOPIC.look(said, place, cost, remedy))
}

/// Whether the program only took a look at one batch, for its shape for example.
pub(super) fn is_peek(seen: &Inspection, pass: &PassReport) -> bool {
    let has_trained = || seen.reports::<PassReport>().any(|other| other.trains && other.loader == pass.loader);
    pass.batches == 1 && (!pass.is_whole || has_trained())
}
