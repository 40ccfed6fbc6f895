//! Gradients are averaged over the ranks before they are applied.

use std::collections::{BTreeMap, BTreeSet};

use super::apart::skipped;
use super::applied::{EVERY, may_be_gradients, of_a_part, out_of_order, summed, summed_by_wrapper};
use super::finding::{Cause, Finding, Topic};
use super::inspection::{Inspection, Updates, differ, is_by_hand, known, no_update, ranks as names};
use crate::domain::event::{CollectiveReport, InspectedUpdate, WrappedReport};

const TOPIC: Topic = Topic::Gradients;
const COST: &str = "each rank trains on its own share alone, and the ranks drift apart without an error";

/// The name of the reports on the order in which a rank averages.
const ORDER: &str = "order of averages";

pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
    if seen.size() < 2 {
        return vec![TOPIC.not_judged("one rank has nobody to average with")];
    }
    if let Some(found) = super::applied::never_averaged(seen) {
        return vec![found];
    }
    if let Some(by) = seen.sharded() {
        return vec![TOPIC.not_judged(format!("with {by} the ranks hold different gradients on purpose"))];
    }
    let updates = seen.updates();
    if updates.is_empty() {
        return vec![TOPIC.not_judged(no_update(seen))];
    }
    // Gradients that are clipped, or changed otherwise, between `backward` and the end of Horovod's averaging.
    if let Some(found) = seen.finding("clipped too early").or_else(|| seen.finding("changed too early")) {
        return vec![found];
    }
    let indices: BTreeSet<usize> = updates.keys().map(|(index, _)| *index).collect();
    let mut found = Vec::new();
    for index in indices {
        let own: BTreeMap<usize, &Updates<'_>> =
            updates.iter().filter(|((of, _), _)| *of == index).map(|((_, number), ranks)| (*number, ranks)).collect();
        let is_new = |finding: &Finding| {
            !found.iter().any(|known: &Finding| (&known.place, &known.remedy) == (&finding.place, &finding.remedy))
        };
        found.extend(of_optimizer(seen, &own).filter(is_new));
    }
    found.extend(super::applied::objections(seen));
    if found.is_empty() {
        let numbers: BTreeSet<usize> = updates.keys().map(|(_, number)| *number).collect();
        let numbers: Vec<String> = numbers.into_iter().map(|number| number.to_string()).take(8).collect();
        let is_hidden = updates.values().flat_map(|ranks| ranks.values()).all(|update| is_by_hand(update));
        let what = if is_hidden { "updates by hand left the weights equal" } else { "the gradients were equal" };
        return TOPIC.ok(format!("{what} on all ranks at the updates looked at ({}, ...)", numbers.join(", ")));
    }
    found
}

/// The objection to one optimizer's updates, by their number.
fn of_optimizer(seen: &Inspection, updates: &BTreeMap<usize, &Updates<'_>>) -> Option<Finding> {
    let differing: Vec<usize> = updates
        .iter()
        .filter(|(_, ranks)| differ(ranks.values().map(|update| &update.gradients)))
        .map(|(number, _)| *number)
        .collect();
    let Some(first) = differing.first().copied() else {
        let unseen = || unseen(seen, updates).or_else(|| nobody_averages(seen, updates));
        return absent(updates)
            .or_else(|| past_horovod(seen, updates))
            .or_else(unseen)
            .or_else(|| summed(seen, updates))
            .or_else(|| summed_by_wrapper(seen));
    };
    let reports = updates.get(&first)?;
    // Only behind the first update that differs do the ranks look for calls past the wrapper: the report after it has them.
    let Some((what, place, remedy)) =
        cause(seen, reports, updates).or_else(|| (seen.is_over || updates.len() > 1).then(|| changed(seen, reports)))
    else {
        return Some(TOPIC.not_judged(format!(
            "the gradients of {} differ at update {first}; the next update tells why",
            names(reports.keys())
        )));
    };
    let many = if differing.len() > 1 {
        format!("updates {first} to {}", differing[differing.len() - 1])
    } else {
        format!("update {first}")
    };
    let optimizer = &reports.values().next()?.optimizer;
    let cost = if !seen.errors().is_empty() {
        "the training ends with an error"
    } else if out_of_order(seen, ORDER).is_some() {
        "each layer gets gradients of another one of its shape"
    } else {
        COST
    };
    let said = format!("the gradients of {} differ at {many} ({optimizer}): {what}", names(reports.keys()));
    Some(TOPIC.wrong(said, place, cost, remedy))
}

/// The first cause that the reports show; `None` where they show only that the gradients differ.
fn cause(seen: &Inspection, reports: &Updates<'_>, updates: &BTreeMap<usize, &Updates<'_>>) -> Option<Cause> {
    let own = || reports.values().copied();
    let one = own().next()?;
    let wrapper = seen.wrappers().next().map(|(_, report)| report);
    let wrapper_place = wrapper.and_then(|report| known(&report.place));
    let made = known(&one.made).or_else(|| known(&one.place));
    let every = || updates.values().flat_map(|ranks| ranks.values());
    let all = |test: fn(&InspectedUpdate) -> bool| {
        every().filter(|update| update.update > 0 || updates.len() == 1).all(|update| test(update))
    };
    let behind_average = seen.cause("backward behind the average").filter(|_| wrapper.is_none());
    if let Some(cause) = behind_average.or_else(|| out_of_order(seen, ORDER)) {
        return Some(cause);
    }
    if wrapper.is_none() && own().all(|update| update.averaged_by_hand == 0) {
        if let Some((what, remedy)) = of_a_part(seen) {
            return Some((what, known(&one.place), remedy.to_owned()));
        }
        if let Some(call) = reduced_each_time(seen) {
            let numbers = call.numbers.unwrap_or(0);
            let what = format!(
                "the program puts {numbers} numbers together at line {} with each update, and the gradients that are applied are not among them",
                call.place.line
            );
            let remedy = "average the gradients of all parameters between backward and optimizer.step(), and put the averages into their place";
            return Some((what, known(&one.place), remedy.to_owned()));
        }
        if let Some(call) = seen.reports::<CollectiveReport>().find(|call| call.name == "reduce" && may_be_gradients(call)) {
            let what = "the program brings their sums to one rank alone, by reduce";
            let remedy = "call all_reduce in its place, and divide by the number of ranks";
            return Some((what.to_owned(), known(&call.place), remedy.to_owned()));
        }
        if let Some(cause) = seen.cause("gradients of one rank") {
            return Some(cause);
        }
        let what = if seen.is_horovod() { "the optimizer is no hvd.DistributedOptimizer" } else { "nothing averages them" };
        let remedy = seen.in_words(
            "wrap it: opt = hvd.DistributedOptimizer(opt), before model.compile; in a loop of your own tape = hvd.DistributedGradientTape(tape)",
            "wrap it: optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())",
            seen.wrap(),
        );
        return Some((what.to_owned(), made, remedy.to_owned()));
    }
    if own().all(|update| update.forwards > 0 && update.without_sync >= update.forwards) {
        if seen.uses(&["accelerate"]) && !seen.is_fabric() {
            let what = "the backward passes in front of these updates averaged nothing, as within accumulate() or no_sync()";
            let remedy = "pass the optimizer through accelerator.prepare() as well: it then steps only behind a backward pass that averages";
            return Some((what.to_owned(), wrapper_place, remedy.to_owned()));
        }
        let everywhere = all(|update| update.forwards > 0 && update.without_sync >= update.forwards);
        let place = every().find_map(|update| known(&update.without_sync_place));
        let which = if everywhere { "every update that was looked at" } else { "these updates" };
        let what = format!(
            "the last forward pass in front of {which} was inside of no_sync(), or while require_backward_grad_sync was False"
        );
        let remedy = "run the last forward and backward pass in front of each optimizer.step() outside of no_sync(), or set the flag before that forward pass";
        return Some((what, place.or_else(|| known(&one.place)), remedy.to_owned()));
    }
    // Of another model the wrapper knows none. With a loop of the program's own, Lightning lets it average only in manual_backward().
    let is_known = own().all(|update| update.unwrapped < update.tensors.max(1));
    let by_hand = seen.cause("backward by hand").filter(|_| wrapper.is_some() && is_known && !seen.has("manual_backward"));
    if by_hand.is_some() {
        return by_hand;
    }
    if all(|update| update.past_wrapper > 0) && is_known {
        let place = every().filter_map(|update| known(&update.past_wrapper_place)).next_back();
        let (what, remedy) = if seen.is_horovod() {
            (
                "the optimizer inside of hvd.DistributedOptimizer makes the step",
                "call step() of what hvd.DistributedOptimizer returns, not of the optimizer that was put into it",
            )
        } else {
            (
                "the model was called past its DistributedDataParallel",
                "call the wrapped model, not model.module or the module that was put into it",
            )
        };
        return Some((what.to_owned(), place.or(wrapper_place), remedy.to_owned()));
    }
    let unwrapped = own().map(|update| update.unwrapped).max().unwrap_or(0);
    if unwrapped > 0 && wrapper.is_some() {
        let tape = seen.cause("horovod.DistributedGradientTape");
        if tape.is_some() && every().all(|update| update.unwrapped >= update.tensors) {
            return tape;
        }
        if let Some(report) = seen.told("gradients of one rank") {
            let which = if unwrapped < one.tensors { format!("{unwrapped} of {}", one.tensors) } else { "those".to_owned() };
            let what = format!(
                "{which} that apply_gradients gets are of one rank: only minimize(), or a distributed tape, averages them"
            );
            let remedy = "take them from a tape = hvd.DistributedGradientTape(tape), or call optimizer.minimize(loss, variables, tape=tape)";
            return Some((what, known(&report.place), remedy.to_owned()));
        }
        if seen.is_keras() {
            let what = "a distributed optimizer was made, and another one trains";
            let remedy = "compile with hvd.DistributedOptimizer(opt) each time, and apply gradients by what it returns";
            return Some((what.to_owned(), made, remedy.to_owned()));
        }
        let named = if one.unwrapped_name.is_empty() { String::new() } else { format!(", {} among them", one.unwrapped_name) };
        let what = format!("the wrapper does not know {unwrapped} of {} parameter tensors{named}", one.tensors);
        let (place, remedy) = if unwrapped >= one.tensors && seen.is_horovod() {
            (made, "wrap this optimizer as well: hvd.DistributedOptimizer(optimizer, named_parameters=...)")
        } else if unwrapped >= one.tensors {
            (made, "give the optimizer the parameters of the wrapped model; if it trains another model, wrap that one as well")
        } else if seen.is_horovod() {
            (
                wrapper_place,
                "make hvd.DistributedOptimizer again after requires_grad = True, or after what else adds parameters: it averages those that need gradients when it is made. Or freeze them only after it is made",
            )
        } else {
            (
                // Lightning wraps the model in its own lines.
                seen.told_at("parameters added").filter(|_| seen.is_lightning()).or(wrapper_place),
                "wrap the model when it is complete, and everything that is to learn has requires_grad: what is added or unfrozen later is not averaged",
            )
        };
        return Some((what, place, remedy.to_owned()));
    }
    if let Some(report) = seen.told("group of a part") {
        let of = report.settings.first().map_or("a part", String::as_str);
        let what = format!("DistributedDataParallel averages within a group of {of} of {} ranks", seen.size());
        return Some((what, known(&report.place), "leave process_group out, or give it a group of all ranks".to_owned()));
    }
    let awaits_all = |report: &WrappedReport| report.by == "DistributedDataParallel" && report.settings.is_empty();
    let has_unused = own().any(|update| update.without_gradient > 0) && wrapper.is_some_and(awaits_all);
    if has_unused || differ(own().map(|update| update.without_gradient)) {
        let counts: Vec<String> =
            reports.iter().map(|(rank, update)| format!("{} on rank {rank}", update.without_gradient)).collect();
        let name = own().find_map(|update| Some(update.unused_name.as_str()).filter(|name| !name.is_empty()));
        let named = name.map_or(String::new(), |name| format!(", {name} among them"));
        let what = format!("some parameters have no gradient ({}{named})", counts.join(", "));
        let flag = if seen.is_accelerate() {
            "give Accelerator kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)]"
        } else if seen.is_lightning() {
            "give the Trainer strategy=\"ddp_find_unused_parameters_true\""
        } else {
            "give DistributedDataParallel find_unused_parameters=True"
        };
        return Some((what, wrapper_place, format!("use all parameters on every rank in every step, or {flag}")));
    }
    if own().any(|update| update.averaged_by_hand > 0) {
        if let Some(cause) = seen.cause("async_op") {
            return Some(cause);
        }
        let by_hand = own().map(|update| update.averaged_by_hand).min().unwrap_or(0);
        let what = format!("the program averages {by_hand} of {} tensors by itself", one.tensors);
        let place = seen.told_at("average of a part").or_else(|| seen.told_at("averaged by hand"));
        return Some((what, place.or_else(|| known(&one.place)), EVERY.to_owned()));
    }
    seen.cause("torch.compile").filter(|_| wrapper.is_some() && own().all(|update| update.forwards == 0))
}

/// A reduction by hand of some numbers with each update: more than a loss and a count.
fn reduced_each_time(seen: &Inspection) -> Option<&CollectiveReport> {
    let root = seen.first_rank()?;
    let calls = || seen.of_rank::<CollectiveReport>(root).filter(|call| call.name.contains("reduce"));
    let comes_again = |call: &CollectiveReport| {
        let of_line = calls().filter(|other| other.place == call.place).map(|other| other.updates);
        of_line.collect::<Vec<usize>>().windows(3).any(|three| three[0] + 1 == three[1] && three[1] + 1 == three[2])
    };
    calls().find(|call| call.numbers.unwrap_or(0) >= 16 && comes_again(call))
}

/// The cause where no other one was seen.
fn changed(seen: &Inspection, reports: &Updates<'_>) -> Cause {
    if let Some((what, remedy)) = skipped(seen) {
        return (what, reports.values().next().and_then(|update| known(&update.place)), remedy.to_owned());
    }
    let what = "they were changed after they were averaged, or before all of them were";
    let remedy = seen.in_words(
        "change gradients behind the tape or the optimizer of Horovod, and alike on all ranks",
        "change or clip gradients behind optimizer.synchronize(), alike on all ranks, and step within optimizer.skip_synchronize()",
        "change gradients only between the end of backward and optimizer.step(), and alike on all ranks",
    );
    (what.to_owned(), reports.values().next().and_then(|update| known(&update.place)), remedy.to_owned())
}

/// Weights that drift apart where gradients are not seen, as within Keras, and nothing averages them.
fn unseen(seen: &Inspection, updates: &BTreeMap<usize, &Updates<'_>>) -> Option<Finding> {
    let hidden = || updates.values().flat_map(|ranks| ranks.values());
    let (number, _) =
        updates.iter().find(|(number, ranks)| **number > 0 && differ(ranks.values().map(|update| &update.weights)))?;
    if hidden().any(|update| !update.gradients.is_empty() || update.averaged_by_hand > 0) || seen.is_blind() {
        return None;
    }
    // Where updates are made by hand, a few numbers that are brought together are results.
    let has_exchanged = if hidden().all(|update| is_by_hand(update)) {
        seen.reports::<CollectiveReport>().any(may_be_gradients)
    } else {
        seen.wrappers().next().is_some() || seen.has_exchanged()
    };
    if has_exchanged {
        return None;
    }
    Some(TOPIC.wrong(
        format!("nothing averages the gradients, and the weights of the ranks differ at update {number}"),
        seen.optimizer_place(),
        COST,
        seen.in_words(
            "wrap the optimizer before model.compile: opt = hvd.DistributedOptimizer(opt)",
            "wrap the optimizer: hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())",
            seen.wrap(),
        ),
    ))
}

/// An optimizer whose parameters never have a gradient: what is trained is another model.
fn absent(updates: &BTreeMap<usize, &Updates<'_>>) -> Option<Finding> {
    let mut all = updates.values().flat_map(|ranks| ranks.values());
    let has_none = |update: &InspectedUpdate| update.tensors > 0 && update.without_gradient == update.tensors;
    let one = all.next().filter(|one| updates.len() > 2 && has_none(one) && all.all(|update| has_none(update)))?;
    Some(TOPIC.wrong(
        format!("none of the {} parameter tensors of the optimizer ever has a gradient: another model is trained", one.tensors),
        known(&one.made).or_else(|| known(&one.place)),
        "the optimizer changes nothing",
        "give the optimizer the parameters of the model that the loss comes from",
    ))
}

/// Steps of the optimizer that was put into Horovod's, whose averages may have come in time by chance.
fn past_horovod(seen: &Inspection, updates: &BTreeMap<usize, &Updates<'_>>) -> Option<Finding> {
    let mut all = updates.values().flat_map(|ranks| ranks.values());
    if !seen.is_horovod() || !all.all(|update| update.past_wrapper > 0) {
        return None;
    }
    let (what, place, remedy) = cause(seen, updates.values().next()?, updates)?;
    Some(TOPIC.wrong(what, place, COST, remedy))
}

/// Gradients that are equal only because all ranks do the same.
fn nobody_averages(seen: &Inspection, updates: &BTreeMap<usize, &Updates<'_>>) -> Option<Finding> {
    let (_, reports) = updates.iter().find(|(number, _)| **number > 0)?;
    let one = reports.values().next()?;
    // Something that the inspector does not know may average them: then the ranks train on different samples.
    let is_averaged_otherwise = seen.is_blind() || seen.trains_on_different_samples().unwrap_or(!seen.have_all_ended());
    let is_averaged = seen.wrappers().next().is_some() || reports.values().any(|update| update.averaged_by_hand > 0);
    if is_averaged || is_averaged_otherwise || seen.has_exchanged() || one.gradients.is_empty() {
        return None;
    }
    let what = "nothing averages the gradients: they are equal because all ranks train on the same batches";
    let remedy = seen.in_words(
        "wrap the optimizer: hvd.DistributedOptimizer(opt)",
        "wrap the optimizer: hvd.DistributedOptimizer(optimizer, ...)",
        seen.wrap(),
    );
    Some(TOPIC.wrong(what, seen.optimizer_place(), "all ranks do the same work", remedy))
}
