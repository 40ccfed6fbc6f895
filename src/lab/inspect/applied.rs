//! Gradients that are equal on all ranks, and yet are not those of the whole batch.

use std::collections::BTreeMap;

use super::finding::{Cause, Finding, Topic};
use super::inspection::{Inspection, Updates, differ, known};
use crate::domain::event::{CollectiveReport, InspectedUpdate, PassReport, WrappedReport};

const TOPIC: Topic = Topic::Gradients;
/// Numbers of a result, rather than of gradients.
const FEW: usize = 8;
/// What to write where the program averages some gradients and not others.
pub(super) const EVERY: &str =
    "average the gradient of every parameter, on all ranks in the same order: one that is None on some ranks counts as zeros";
/// The last looks at weights, of which all must show that they differ.
const APART: usize = 3;

pub(super) fn objections(seen: &Inspection) -> impl Iterator<Item = Finding> {
    let [replaced, cleared, clipped_first, batches_added] =
        ["not in the optimizer", "cleared unused", "clipped before the average", "batches added up"]
            .map(|name| seen.finding(name));
    [replaced, detached(seen), cleared, clipped_first, averaged_twice(seen), batches_added].into_iter().flatten()
}

/// Local steps that are never followed by an average of the weights.
pub(super) fn never_averaged(seen: &Inspection) -> Option<Finding> {
    let is_averaged = ["averaged weights", "PostLocalSGDOptimizer"].iter().any(|by| seen.has(by));
    let found = seen.finding("LocalSGD").filter(|_| seen.have_all_ended() && !is_averaged)?;
    let updates = seen.updates();
    let are_apart = |of: &Updates<'_>| differ(of.values().map(|update| &update.weights));
    let last: Vec<bool> = updates.values().rev().map(are_apart).take(APART).collect();
    let is_never = last == [true; APART] && !seen.reports::<CollectiveReport>().any(may_be_gradients) && !seen.is_blind();
    is_never.then_some(found)
}

/// Whether a call exchanges so many numbers that they may be gradients or weights, and not results.
pub(super) fn may_be_gradients(call: &CollectiveReport) -> bool {
    let is_exchange = call.name.contains("reduce") || call.name.contains("gather");
    is_exchange && call.numbers.is_none_or(|numbers| numbers > FEW)
}

/// Averages that the program divides by the number of ranks once more.
fn averaged_twice(seen: &Inspection) -> Option<Finding> {
    // Who adds samples up divides by their number, which may be the same.
    let is_batch = |pass: &PassReport| pass.trains && pass.batch_size == Some(seen.size());
    let is_sum = |report: &WrappedReport| report.settings.iter().any(|setting| setting == "op=Sum");
    let is_meant = seen.reports::<PassReport>().any(is_batch) || seen.wrappers().any(|(_, report)| is_sum(report));
    seen.finding("averaged twice").filter(|_| !is_meant)
}

/// Averages of some gradients in one vector: the others are of one rank.
pub(super) fn of_a_part(seen: &Inspection) -> Option<(String, &'static str)> {
    let report = seen.told("part averaged")?;
    let [count, all] = report.settings.as_slice() else { return None };
    Some((format!("the program averages {count} of the {all} numbers in them by itself, at line {}", report.place.line), EVERY))
}

/// Ranks that send their tensors from one line in different orders. Calls meet in the order of the calls, so each rank sends another
/// tensor to the same one.
pub(super) fn out_of_order(seen: &Inspection, by: &str) -> Option<Cause> {
    let mut lines: BTreeMap<usize, BTreeMap<usize, &WrappedReport>> = BTreeMap::new();
    for (rank, report) in seen.of_all::<WrappedReport>().filter(|(_, report)| report.by == by) {
        lines.entry(report.place.line).or_default().entry(rank).or_insert(report);
    }
    lines.values().find_map(|ranks| {
        let (rank, first) = ranks.first_key_value()?;
        let (other, second) = ranks.iter().find(|(_, report)| report.settings.first() != first.settings.first())?;
        let names = first.settings.iter().zip(&second.settings).enumerate().skip(1);
        let met = names.clone().find(|(_, (one, two))| one != two).map_or_else(String::new, |(call, (one, two))| {
            format!(": call {call} of an update sends {one} on rank {rank}, and {two} on rank {other}")
        });
        Some((
            format!("the program sends them one by one, and the ranks in different orders{met}"),
            known(&first.place),
            "send them in the same order on all ranks, as that of model.parameters() or of sorted names: a set, a shuffle, or a sort by a rank's own values gives each process another order"
                .to_owned(),
        ))
    })
}

/// The first layers of a model, to which no gradient ever comes.
fn detached(seen: &Inspection) -> Option<Finding> {
    let tellers = seen.tellers("detached");
    let update = seen.reports::<InspectedUpdate>().next().filter(|_| tellers.len() == seen.size())?;
    let found = seen.finding_of(&tellers)?;
    Some(Finding { place: found.place.or_else(|| known(&update.made)), ..found })
}

/// Gradients that are added up and never divided.
pub(super) fn summed(seen: &Inspection, updates: &BTreeMap<usize, &Updates<'_>>) -> Option<Finding> {
    let mut later = updates.values().flat_map(|ranks| ranks.values());
    let is_summed = updates.len() > 1 && later.clone().all(|update| update.summed_by_hand);
    let one = later.next().filter(|_| is_summed)?;
    let place = seen.told_at("averaged by hand").or_else(|| known(&one.place));
    if seen.wrappers().any(|(_, report)| report.by == "DistributedDataParallel") {
        return Some(TOPIC.look(
            "DistributedDataParallel has averaged the gradients, and the program adds them up over the ranks once more",
            place,
            "the rate is as many times larger as there are ranks",
            "leave that all_reduce out",
        ));
    }
    Some(TOPIC.look(
        "the program adds the gradients of all ranks up, and divides nothing behind that",
        place,
        "unless the loss or the gradients were divided before, the rate is as many times larger as there are ranks",
        seen.in_words(
            "leave op=hvd.Sum out: hvd.allreduce averages",
            "divide by hvd.size(), or leave op=hvd.Sum out",
            "divide by dist.get_world_size(), or use ReduceOp.AVG",
        ),
    ))
}

/// A distributed optimizer that adds gradients up.
pub(super) fn summed_by_wrapper(seen: &Inspection) -> Option<Finding> {
    let is_sum = |report: &WrappedReport| report.settings.iter().any(|setting| setting == "op=Sum");
    let is_meant = ["loss divided", "gathered to differentiate"].iter().any(|by| seen.has(by));
    let (_, report) = seen.wrappers().find(|(_, report)| is_sum(report)).filter(|_| !is_meant)?;
    Some(TOPIC.look(
        format!(
            "{} adds the gradients of all ranks up (op=Sum), and does not divide the sum",
            report.by.replace("horovod", "hvd")
        ),
        known(&report.place),
        "unless the loss is divided by hvd.size(), the rate is as many times larger as there are ranks, beside the factor of hvd.size()",
        "leave op out, for the rule for the rate is made for hvd.Average; or divide the loss by hvd.size()",
    ))
}
