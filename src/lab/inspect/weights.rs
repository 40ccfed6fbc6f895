//! Weights are equal at the start and stay equal, and so does what the optimizer remembers.

use std::collections::{BTreeMap, BTreeSet};

use super::apart::{in_eval_mode, looked_for_early, skipped};
use super::applied::out_of_order;
use super::finding::{Cause, Finding, Topic};
use super::inspection::{Inspection, Updates, differ, is_by_hand, known, no_update, of_kind, ranks as names};
use crate::domain::event::{InspectedUpdate, InspectorReport, Place, StateAction, StateReport, WrappedReport};

const COST: &str = "equal gradients keep ranks equal only if they start equal: they train different models for ever";

const MIXED: &str = "a layer gets the weights of another one of its shape";

const CHANGE: &str = "change weights on all ranks alike, or broadcast them afterwards";

/// Updates whose digests of something differ, with the reports by rank.
fn differing<'a>(
    updates: &'a BTreeMap<(usize, usize), Updates<'a>>,
    digest: fn(&InspectedUpdate) -> &str,
) -> impl Iterator<Item = (&'a (usize, usize), &'a Updates<'a>)> {
    updates.iter().filter(move |(_, ranks)| differ(ranks.values().map(|update| digest(update))))
}

/// All updates, but for a first one that Keras makes with other weights on each rank: the usual place of Horovod's broadcast is behind it.
fn behind_broadcast(seen: &Inspection) -> BTreeMap<(usize, usize), Updates<'_>> {
    let mut updates = seen.updates();
    let is_before = seen.is_keras() && differing(&updates, |update| &update.weights).any(|((_, number), _)| *number == 0);
    updates.retain(|(_, number), _| !is_before || *number > 0);
    updates
}

/// What cannot be compared, and why.
fn why_not(seen: &Inspection, topic: Topic) -> Option<Finding> {
    if seen.size() < 2 {
        return Some(topic.not_judged("one rank has nobody to be compared with"));
    }
    seen.sharded().map(|by| topic.not_judged(format!("with {by} each rank holds other tensors on purpose")))
}

pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
    let topic = Topic::Weights;
    if let Some((what, place, remedy)) = out_of_order(seen, "order of weights by all_reduce") {
        return vec![topic.wrong(format!("weights are mixed up: {what}"), place, MIXED, remedy)];
    }
    if let Some(why) = why_not(seen, topic) {
        return vec![why];
    }
    let updates = behind_broadcast(seen);
    let Some(first) = updates.keys().map(|(_, number)| *number).min() else {
        return vec![topic.not_judged(no_update(seen))];
    };
    let Some(((index, number), reports)) = differing(&updates, |update| &update.weights).min_by_key(|((_, number), _)| *number)
    else {
        let ok = || topic.ok("the weights were equal on all ranks at the start and at every update looked at");
        let copies = || seen.finding_of(&seen.told_apart("copy of the model", |report| &report.place)?);
        let fields = || seen.finding_of(&seen.told_apart("field of a layer", |report| (&report.place, report.settings.first()))?);
        let other = loaded_at_end(seen).or_else(copies).or_else(|| beside(seen)).or_else(fields);
        return other.map_or_else(ok, |finding| vec![finding]);
    };
    let who = names(reports.keys());
    if *number == first {
        let (what, place, remedy) = start(seen, *index);
        return vec![topic.wrong(format!("the weights of {who} differ before update {number}: {what}"), place, COST, remedy)];
    }
    if differing(&updates, |update| &update.gradients).any(|((_, at), _)| at <= number) {
        return vec![topic.not_judged("the ranks started equal, and differ because their gradients do")];
    }
    if differing(&updates, |update| &update.state).next().is_some() {
        return vec![topic.not_judged("the ranks started equal, and differ because their optimizers remember different things")];
    }
    let is_hidden = seen.wrappers().next().is_none() || reports.values().all(|update| is_by_hand(update));
    if is_hidden && reports.values().all(|update| update.gradients.is_empty()) {
        return vec![topic.not_judged("the ranks started equal, and differ because nothing averages the gradients")];
    }
    // A rate that each rank decides on differs between two looks as well.
    if super::metrics::decided_alone(seen).is_some()
        || updates.values().any(|ranks| differ(ranks.values().map(|update| &update.rates)))
    {
        return vec![topic.not_judged("the ranks started equal, and differ because their learning rates do")];
    }
    if ["clipped too early", "changed too early"].iter().any(|by| seen.has(by)) {
        return vec![topic.not_judged("the ranks started equal, and differ because their gradients change too early")];
    }
    let stepped = || reports.values().next().and_then(|update| known(&update.place));
    let (what, place, remedy) = match (loaded_by_some(seen, StateAction::LoadedModel, None), skipped(seen)) {
        (Some((who, place)), _) => (format!("{who} loaded weights that the others did not"), place, CHANGE),
        (None, Some((what, remedy))) => (what, stepped(), remedy),
        (None, None) => ("something changes them beside the optimizer".to_owned(), stepped(), CHANGE),
    };
    let said = format!(
        "the weights of {who} were equal at the start and differ at update {number}, though the gradients are equal: {what}"
    );
    vec![topic.wrong(said, place, COST, remedy)]
}

/// Weights that some ranks load behind the last update, where all ranks then validate a share each.
fn loaded_at_end(seen: &Inspection) -> Option<Finding> {
    let mut loaded: BTreeMap<usize, &Place> = BTreeMap::new();
    for (rank, reports) in seen.ranks.iter() {
        let last = reports.iter().rposition(|report| matches!(report, InspectorReport::Update(_)))?;
        let is_load = |report: &StateReport| report.action == StateAction::LoadedModel;
        let load =
            reports[last..].iter().position(|report| of_kind::<StateReport>(report).is_some_and(is_load)).map(|at| last + at);
        let shares = |report: &InspectorReport| matches!(report, InspectorReport::Pass(pass) if !pass.trains && pass.replicas.is_some_and(|replicas| replicas > 1));
        if !reports[load.unwrap_or(last)..].iter().any(shares) {
            return None;
        }
        if let Some(report) = load.and_then(|at| of_kind::<StateReport>(&reports[at])) {
            loaded.insert(*rank, &report.place);
        }
    }
    let place = loaded.values().next().copied().filter(|_| seen.is_over && loaded.len() < seen.ranks.len())?;
    Some(Topic::Weights.wrong(
        format!(
            "{} loaded weights behind the last update, and the others validated their shares without them",
            names(loaded.keys())
        ),
        known(place),
        "the result is of two models, each on its own share",
        "load them on all ranks, behind a barrier, or validate everything on one rank",
    ))
}

/// A teacher, or a loss that remembers: ranks that hold other ones do not train for the same.
fn beside(seen: &Inspection) -> Option<Finding> {
    let ranks = seen.told_apart("module beside the model", |report| (&report.place, report.settings.first()))?;
    let report = ranks.values().next()?;
    let class = report.settings.first()?;
    let (what, cost, remedy) = if report.tensors > 0 {
        (
            "weights",
            "nothing trains them, and no wrapper sends those of rank 0: what the ranks learn from them differs",
            "give it the weights of rank 0, or load the same on all ranks",
        )
    } else {
        (
            "buffers",
            "no wrapper sends or averages them: each rank goes on with what it has seen of its own share",
            "average what goes into them: dist.all_reduce(value, op=dist.ReduceOp.AVG)",
        )
    };
    Some(Topic::Weights.look(
        format!("{} have other {what} in {class}, which is no part of the model that is trained", names(ranks.keys())),
        known(&report.place),
        cost,
        remedy,
    ))
}

/// What a rank did with states before its first update, or before the first with this optimizer where it has trained something else before,
/// by the numbers of its reports.
fn at_start(seen: &Inspection, rank: usize, index: usize) -> Vec<(usize, &StateReport)> {
    let reports = seen.ranks.get(&rank).map_or(&[][..], Vec::as_slice);
    let updates = seen.updates();
    let shared = updates.get(&(index, 0)).and_then(|ranks| ranks.get(&rank).copied());
    let update = of_kind::<InspectedUpdate>;
    let is_shared = |report: &InspectorReport| update(report).zip(shared).is_some_and(|(own, shared)| std::ptr::eq(own, shared));
    let begins = reports.iter().position(is_shared).filter(|at| reports[..*at].iter().any(|report| update(report).is_some()));
    let is_early = |(at, report): &(usize, &StateReport)| begins.map_or(report.updates == 0, |begins| *at < begins);
    reports.iter().enumerate().filter_map(|(at, report)| Some((at, of_kind::<StateReport>(report)?))).filter(is_early).collect()
}

/// The last of those by this action.
fn last_at_start(seen: &Inspection, (rank, index): (usize, usize), action: StateAction) -> Option<(usize, &StateReport)> {
    at_start(seen, rank, index).into_iter().rfind(|(_, report)| report.action == action)
}

/// Why weights differ before the first update.
fn start(seen: &Inspection, index: usize) -> Cause {
    // What some ranks loaded before a broadcast has come to all ranks with it.
    let is_sent = is_sent_behind_loads(seen, index);
    let loaded = loaded_by_some(seen, StateAction::LoadedModel, Some(index)).filter(|_| !is_sent);
    if let Some((who, place)) = loaded {
        let remedy = looked_for_early(seen).unwrap_or(seen.in_words(
            "load them on all ranks, or before Horovod's broadcast",
            "load them on all ranks, or before hvd.broadcast_parameters",
            "load them on all ranks, or before the model is wrapped (the wrapper sends those of rank 0)",
        ));
        return (format!("{who} loaded weights, and the others did not"), place, remedy.to_owned());
    }
    if let Some(cause) = out_of_order(seen, "order of weights by broadcast") {
        return cause;
    }
    let early = seen.ranks.keys().flat_map(|rank| at_start(seen, *rank, index)).map(|(_, report)| report);
    let loads: Vec<&StateReport> = early.filter(|report| report.action == StateAction::LoadedModel).collect();
    if !is_sent && loads.len() > 1 && differ(loads.iter().map(|report| &report.digest)) {
        let place = known(&loads[0].place);
        return ("each rank loaded other weights".to_owned(), place, "load the same file on all ranks".to_owned());
    }
    if let Some(wrapper) = equal_behind_wrapper(seen) {
        let is_beside = |update: &&InspectedUpdate| (1..update.tensors).contains(&update.unwrapped);
        if let Some(update) = seen.reports::<InspectedUpdate>().find(is_beside) {
            let what = format!("the wrapper does not know {} of {} parameter tensors", update.unwrapped, update.tensors);
            let remedy =
                "wrap the model when it is complete: the wrapper sends those of rank 0, and nothing sends what is beside it";
            return (what, known(&wrapper.place), remedy.to_owned());
        }
        let remedy = "change weights before the model is wrapped (the wrapper sends those of rank 0), or alike on all ranks";
        return (
            "the wrapper made them equal, and something changed them since".to_owned(),
            known(&wrapper.place),
            remedy.to_owned(),
        );
    }
    if let Some(found) = seen.cause("part broadcast") {
        return found;
    }
    if let Some(place) = broadcast_before(seen, index) {
        if let Some(report) = seen.told("weights decayed").filter(|_| is_sent) {
            let what = format!(
                "they were broadcast at line {}, and broadcast_optimizer_state at line {} changed them: ranks without a state make a step there, which decays weights",
                place.line, report.place.line
            );
            let remedy = "call hvd.broadcast_parameters behind hvd.broadcast_optimizer_state";
            return (what, Some(place), remedy.to_owned());
        }
        let what = format!("they were broadcast at line {}, and something changed them since", place.line);
        let remedy = "broadcast them behind the last change: what is drawn or loaded later is of one rank alone";
        return (what, Some(place), remedy.to_owned());
    }
    let remedy = seen.in_words(
        "append hvd.callbacks.BroadcastGlobalVariablesCallback(0) to the callbacks of model.fit; in a loop of your own call hvd.broadcast_variables(model.variables, root_rank=0) behind the first batch",
        "call hvd.broadcast_parameters(model.state_dict(), root_rank=0) before training",
        "wrap the model in DistributedDataParallel, which sends the weights of rank 0, or broadcast them",
    );
    if let Some(place) = seen.told_at("broadcast of nothing") {
        let what = format!("the broadcast at line {} was given no weights: the model has none yet", place.line);
        return (what, Some(place), remedy.to_owned());
    }
    ("each rank begins from its own, and nothing sends the root's".to_owned(), seen.optimizer_place(), remedy.to_owned())
}

/// The wrapper behind which all ranks held the same parameters.
fn equal_behind_wrapper(seen: &Inspection) -> Option<&WrappedReport> {
    let sends = |report: &WrappedReport| report.by == "DistributedDataParallel" && !report.after.is_empty();
    let last: BTreeMap<usize, &WrappedReport> = seen.wrappers().filter(|(_, report)| sends(report)).collect();
    let is_equal = last.len() == seen.ranks.len() && !differ(last.values().map(|report| &report.after));
    last.into_values().next().filter(|_| is_equal)
}

/// The broadcast that all ranks made before their first update, behind which all held the same weights.
fn broadcast_before(seen: &Inspection, index: usize) -> Option<Place> {
    let sent = |rank: &usize| last_at_start(seen, (*rank, index), StateAction::BroadcastModel).map(|(_, report)| report);
    let last: Vec<&StateReport> = seen.ranks.keys().map(sent).collect::<Option<_>>()?;
    let is_equal = !differ(last.iter().map(|report| &report.digest));
    last.first().filter(|report| is_equal && !report.digest.is_empty()).and_then(|report| known(&report.place))
}

/// Whether all ranks were sent weights behind all that any of them loaded before its first update.
fn is_sent_behind_loads(seen: &Inspection, index: usize) -> bool {
    let last = |rank: &usize, action| last_at_start(seen, (*rank, index), action).map(|(at, _)| at);
    let is_sent = |rank: &usize| last(rank, StateAction::BroadcastModel) > last(rank, StateAction::LoadedModel);
    broadcast_before(seen, index).is_some() && seen.ranks.keys().all(is_sent)
}

/// Ranks that loaded a state where others, which have got as far, did not; `before` the first update of this optimizer, if one is given.
fn loaded_by_some(seen: &Inspection, action: StateAction, before: Option<usize>) -> Option<(String, Option<Place>)> {
    let loads = |rank: &usize| -> Vec<&StateReport> {
        let early = |index| at_start(seen, *rank, index).into_iter().map(|(_, report)| report).collect();
        before.map_or_else(|| seen.of_rank::<StateReport>(*rank).collect(), early)
    };
    let first = |rank: &usize| Some((*rank, &loads(rank).into_iter().find(|report| report.action == action)?.place));
    let loaded: BTreeMap<usize, &Place> = seen.ranks.keys().filter_map(first).collect();
    let trained: BTreeSet<usize> = seen.of_all::<InspectedUpdate>().map(|(rank, _)| rank).collect();
    let place = loaded.values().next().copied()?;
    trained.iter().any(|rank| !loaded.contains_key(rank)).then(|| (names(loaded.keys()), known(place)))
}

/// A model or an optimizer that only some ranks loaded.
pub(super) fn loaded_apart(seen: &Inspection) -> Option<(String, Option<Place>)> {
    let actions = [StateAction::LoadedModel, StateAction::LoadedOptimizer];
    actions.into_iter().find_map(|action| loaded_by_some(seen, action, None))
}

pub(super) fn judge_state(seen: &Inspection) -> Vec<Finding> {
    let topic = Topic::State;
    if why_not(seen, topic).is_some() {
        return Vec::new();
    }
    if seen.has("ZeroRedundancyOptimizer") {
        return vec![topic.not_judged("with ZeroRedundancyOptimizer each rank remembers other things on purpose")];
    }
    if let Some(found) = in_eval_mode(seen) {
        return vec![found];
    }
    let updates = behind_broadcast(seen);
    // Once weights or gradients differ, so does all that comes of them.
    let are_equal = |reports: &Updates<'_>| !differ(reports.values().map(|update| (&update.weights, &update.gradients)));
    let apart = updates.iter().filter(|(_, reports)| !are_equal(reports)).map(|((_, number), _)| *number).min();
    let is_before = |number: usize| apart.is_none_or(|apart| number < apart);
    let mut known_equal = updates.iter().filter(|((_, number), reports)| are_equal(reports) && is_before(*number));
    let is_apart = |reports: &Updates<'_>| differ(reports.values().map(|update| &update.state));
    // Where the weights stay equal behind it, each rank keeps its share of what is remembered, and they exchange the updates.
    let stays = |at: &(usize, usize)| known_equal.clone().filter(|(later, _)| later.0 == at.0 && later.1 > at.1).count() > 1;
    let are_shares = known_equal.clone().any(|(at, reports)| is_apart(reports) && stays(at));
    let other = known_equal.clone().find(|(_, reports)| is_apart(reports));
    let some = other.and_then(|_| loaded_by_some(seen, StateAction::LoadedOptimizer, None));
    if let Some(((_, number), reports)) = other.filter(|_| some.is_some() || apart.is_some()) {
        let place = some
            .as_ref()
            .and_then(|(_, place)| place.clone())
            .or_else(|| reports.values().next().and_then(|update| known(&update.place)));
        let why = some.map_or(String::new(), |(who, _)| format!(": {who} loaded a state, and the others did not"));
        let remedy = looked_for_early(seen).unwrap_or(seen.in_words(
            "broadcast it with the weights: BroadcastGlobalVariablesCallback(0) in model.fit, in a loop of your own hvd.broadcast_variables(optimizer.variables(), root_rank=0)",
            "call hvd.broadcast_optimizer_state(optimizer, root_rank=0) after loading",
            "load it on all ranks, or send it by dist.broadcast_object_list",
        ));
        let said = format!("what the optimizer remembers differs between {} at update {number}{why}", names(reports.keys()));
        return vec![topic.wrong(said, place, "equal gradients give different updates: the ranks drift apart", remedy)];
    }
    if let Some(found) = seen.finding("state left behind") {
        return vec![found];
    }
    let sent = seen.told_apart("buffers behind the broadcast", |_| ()).unwrap_or_default();
    if let Some(report) = sent.values().next() {
        let are_statistics = report.settings.iter().any(|name| name.contains("running_"));
        let (which, cost) = match are_statistics || report.settings.is_empty() {
            true => (
                "running statistics of batch norm".to_owned(),
                "the model is validated with other statistics on each rank than the root's, which were loaded",
            ),
            false => (report.settings.join(", "), "the ranks train the same weights on different functions"),
        };
        return vec![topic.wrong(
            format!("the buffers of {} ({which}) differ behind the broadcast of the weights", names(sent.keys())),
            known(&report.place),
            cost,
            "broadcast them as well: hvd.broadcast_parameters(model.state_dict(), root_rank=0)",
        )];
    }
    let keeps_own = |report: &WrappedReport| report.by == "DistributedDataParallel" && !report.shares_buffers;
    let own_buffers = seen.wrappers().find(|(_, report)| keeps_own(report)).filter(|_| !seen.has("buffers brought together"));
    let differ_later = differing(&updates, |update| &update.buffers).any(|((_, number), _)| *number > 0);
    if let Some((_, wrapper)) = own_buffers.filter(|_| differ_later) {
        return vec![topic.look(
            "the buffers of the ranks differ (running statistics of batch norm): broadcast_buffers is off",
            known(&wrapper.place),
            "the model that rank 0 saves has seen the statistics of its own share only",
            "leave broadcast_buffers on, or convert to SyncBatchNorm",
        )];
    }
    if known_equal.next().is_none() {
        return Vec::new();
    }
    topic.ok(if are_shares {
        "each rank remembers its share of what the optimizer needs, and the weights stay equal"
    } else if seen.wrappers().any(|(_, report)| report.shares_buffers) {
        "what the optimizer remembers was equal on all ranks, and the wrapper sends the buffers of rank 0"
    } else {
        "what the optimizer remembers was equal on all ranks; buffers, such as the statistics of batch norm, were not compared"
    })
}
