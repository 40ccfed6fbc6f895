//! Gradients that are equal on all ranks, and yet are not those of the whole batch.

use std::collections::BTreeMap;

use super::finding::{Cause, Finding, Topic};
use super::inspection::{Inspection, differ, known};
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
    [replaced(seen), detached(seen), cleared(seen), clipped_first(seen), averaged_twice(seen), batches_added(seen)]
        .into_iter()
        .flatten()
}

/// Gradients that are clipped before the program averages them.
fn clipped_first(seen: &Inspection) -> Option<Finding> {
    let report = seen.told("clipped before the average")?;
    Some(TOPIC.look(
        "the gradients are clipped before they are averaged",
        known(&report.place),
        "each rank clips its own by another factor, and the limit is not that of the average",
        "clip behind the average, in front of optimizer.step()",
    ))
}

/// Local steps that are never followed by an average of the weights.
pub(super) fn never_averaged(seen: &Inspection) -> Option<Finding> {
    let is_averaged = ["averaged weights", "PostLocalSGDOptimizer"].iter().any(|by| seen.has(by));
    let report = seen.told("LocalSGD").filter(|_| seen.have_all_ended() && !is_averaged)?;
    let updates = seen.updates();
    let are_apart = |of: &BTreeMap<usize, &InspectedUpdate>| differ(of.values().map(|update| &update.weights));
    let last: Vec<bool> = updates.values().rev().map(are_apart).take(APART).collect();
    let is_never = last == [true; APART] && !seen.reports::<CollectiveReport>().any(may_be_gradients) && !seen.is_blind();
    is_never.then(|| {
        TOPIC.wrong(
            "the ranks make local steps, and their weights are never averaged",
            known(&report.place),
            "each rank trains on its own share alone, and the ranks drift apart without an error",
            "call average_parameters() of a PeriodicModelAverager behind each optimizer.step(), or use PostLocalSGDOptimizer",
        )
    })
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
    let report = seen.told("averaged twice").filter(|_| !is_meant)?;
    Some(TOPIC.look(
        format!("the gradients are averaged over the ranks, and divided by {}, the number of ranks, once more", seen.size()),
        known(&report.place),
        "each update is as many times smaller as there are ranks: more ranks learn less",
        "leave the division out: DistributedDataParallel, Horovod and ReduceOp.AVG have divided already",
    ))
}

/// Gradients of several batches that add up, and are not divided by their number.
fn batches_added(seen: &Inspection) -> Option<Finding> {
    let report = seen.told("batches added up")?;
    let count = report.settings.first()?;
    Some(TOPIC.look(
        format!("the gradients of {count} batches add up before an update, and nothing divides them or the loss by {count}"),
        known(&report.place),
        "each update is as many times larger as there are batches in it, as if the rate were",
        if seen.is_keras() {
            "give hvd.DistributedOptimizer average_aggregated_gradients=True".to_owned()
        } else {
            format!("divide the loss of each batch: loss = loss / {count}")
        },
    ))
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

/// A part of the model that was replaced after the optimizer was made.
fn replaced(seen: &Inspection) -> Option<Finding> {
    let report = seen.told("not in the optimizer")?;
    let count = report.settings.first()?;
    Some(TOPIC.look(
        format!(
            "{count} parameter tensors of the wrapped model have gradients and are not in the optimizer, which has others without a gradient"
        ),
        known(&report.place),
        "what is not in the optimizer is averaged, and never trained",
        "make the optimizer after the last change of the model",
    ))
}

/// The first layers of a model, to which no gradient ever comes.
fn detached(seen: &Inspection) -> Option<Finding> {
    let tellers = seen.tellers("detached");
    let report = tellers.values().next().filter(|_| tellers.len() == seen.size())?;
    let [first, all] = report.settings.as_slice() else { return None };
    let update = seen.reports::<InspectedUpdate>().next()?;
    Some(TOPIC.look(
        format!("the first {first} of {all} parameter tensors of the model never have a gradient, and the later ones have"),
        known(&report.place).or_else(|| known(&update.made)),
        "these layers learn nothing, and find_unused_parameters=True says nothing of it",
        "let gradients through: leave detach(), .data and torch.no_grad() out of the forward pass, or set requires_grad=False if it is meant so",
    ))
}

/// Gradients of one batch that are cleared before an update, when the next batch comes.
fn cleared(seen: &Inspection) -> Option<Finding> {
    let report = seen.told("cleared unused")?;
    let [unused, all] = report.settings.as_slice() else { return None };
    Some(TOPIC.look(
        format!("the gradients of {unused} in {all} batches are cleared before an update has used them"),
        known(&report.place),
        "these batches are computed and averaged for nothing: the batch of an update is smaller than it is meant to be",
        "let them add up: call zero_grad() once for each optimizer.step()",
    ))
}

/// Gradients that are added up and never divided.
pub(super) fn summed(seen: &Inspection, updates: &BTreeMap<usize, &BTreeMap<usize, &InspectedUpdate>>) -> Option<Finding> {
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
