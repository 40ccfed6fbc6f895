//! The rate against the global batch, and its warm-up: what one run can say of it.

use std::collections::BTreeMap;

use super::finding::{Finding, Outcome, Topic};
use super::inspection::{Inspection, Updates, differ, known, ranks as names};
use super::metrics::{average_first, decided_alone};
use super::weights::loaded_apart;
use crate::domain::event::{EndedReport, PassReport, Place, WrappedReport};
use crate::domain::units;

const OWN_STEPS: &str = "plan for the steps that one rank makes: len(loader) of the loader with the sampler, times the epochs";
const STEP: &str = "step the schedule on all ranks: scheduler.step() belongs outside of what one rank does";
const STILL_HIGH: &str = "the rate is still high when the training ends";
const TOPIC: Topic = Topic::Rate;
/// A rate that climbs by less is the noise of a schedule.
const CLIMB: f64 = 1.05;

pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
    let updates = seen.updates();
    if let Some((said, place)) =
        updates.iter().find(|((_, number), _)| *number == 0).and_then(|(_, reports)| apart(seen, 0, reports))
    {
        let cost = "equal gradients give different updates: the ranks drift apart";
        let remedy = "give the optimizers of all ranks the same rate";
        return vec![TOPIC.wrong(said, place, cost, remedy)];
    }
    if let Some(found) = seen.first_of(&[drifted, ended_early, warmup_of_one]) {
        return vec![found];
    }
    let root = seen.first_rank();
    let of_root = root.into_iter().flat_map(|rank| seen.first_updates(rank));
    let rates: Vec<(usize, f64)> = of_root.filter_map(|update| Some((update.update, *update.rates.first()?))).collect();
    let (Some((_, first)), Some(most)) = (rates.first(), rates.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1)))
    else {
        return Vec::new();
    };
    let size = seen.size();
    let samples = root.and_then(|rank| samples_of(seen, rank));
    let samples = samples.filter(|samples| seen.ranks.keys().all(|rank| samples_of(seen, *rank) == Some(*samples)));
    let each = if size == 1 || !seen.is_complete() { String::new() } else { format!(" on each of {size} ranks") };
    let batch = samples.map_or(String::new(), |samples| format!(", and an update takes {samples} samples{each}"));
    let highest = seen.highest_of_all();
    let warmup = if highest.unwrap_or(most.1) > first * CLIMB {
        let looked_at = || format!("{} by update {}", units::learning_rate(most.1), most.0);
        format!("it climbs to {}", highest.map_or_else(looked_at, units::learning_rate))
    } else {
        "no warm-up was seen".to_owned()
    };
    let first = units::learning_rate(*first);
    let other = if size == 1 { "more ranks" } else { "one rank" };
    let seen = format!(
        "the first update has the rate {first}{batch}; {warmup}. Whether the rate fits the global batch shows only against a run of the same program on {other}"
    );
    vec![TOPIC.not_judged(seen)]
}

/// Rates that come to differ while the ranks train.
fn drifted(seen: &Inspection) -> Option<Finding> {
    if decided_alone(seen).is_some() || loaded_apart(seen).is_some() {
        // They follow from that.
        return None;
    }
    let (said, place) =
        seen.updates().iter().find_map(|((_, number), reports)| apart(seen, *number, reports)).or_else(|| apart_at_end(seen))?;
    let steppers = seen.tellers("schedule stepped");
    let only = steppers.values().next().filter(|_| steppers.len() < seen.size());
    let (said, place, remedy) = match only {
        Some(report) => (
            format!("{said}; only {} steps its schedule", names(steppers.keys())),
            known(&report.place),
            seen.in_words("append the callback that sets the rate on all ranks", STEP, STEP).to_owned(),
        ),
        // What sets them may be a value of the rank, or a schedule that was made in another way.
        None => (
            said,
            seen.told_at("rate set").or_else(|| seen.told_at("schedule made")).or(place),
            format!("give all ranks the same schedule; if a value of the training sets the rate, {}", average_first(seen)),
        ),
    };
    let cost = "equal gradients give different updates: the ranks drift apart";
    Some(TOPIC.wrong(said, place, cost, remedy))
}

/// Between two looks, and still so at the last update of all ranks.
fn apart_at_end(seen: &Inspection) -> Option<(String, Option<Place>)> {
    let ends: BTreeMap<usize, &EndedReport> = seen.of_all().collect();
    let are_comparable = seen.have_all_ended() && !differ(ends.values().map(|end| end.updates));
    let is_known = ends.values().all(|end| end.last_rate > 0.0) && differ(ends.values().map(|end| end.last_rate));
    let rates = ends.iter().map(|(rank, end)| (*rank, Some(end.last_rate)));
    (are_comparable && is_known).then(|| (told(rates, "the last update"), seen.optimizer_place()))
}

/// A schedule that has come to its end before the training, or not even near it.
fn ended_early(seen: &Inspection) -> Option<Finding> {
    let number = |report: &WrappedReport, at: usize| report.settings.get(at).and_then(|text| text.parse::<usize>().ok());
    let is_prepared = |pass: &PassReport| pass.replicas.is_some() || pass.sampler.is_empty();
    if seen.is_accelerate() && seen.reports::<PassReport>().any(|pass| pass.trains && !is_prepared(pass)) {
        // A pass over all samples makes more steps than were planned: the loader is to be prepared.
        return None;
    }
    if let Some(report) = seen.told("rate 0") {
        let remedy = if seen.uses(&["accelerate"]) {
            "a scheduler from accelerator.prepare() steps once for each process: plan it for the steps of one rank times the number of processes"
        } else {
            "plan the schedule for the updates that are made: the steps of one epoch on one rank, times the epochs"
        };
        let said = format!("the rate has been 0 since update {}: the schedule ended before the training", number(report, 0)?);
        let cost = "the updates after that change nothing";
        return Some(TOPIC.wrong(said, known(&report.place), cost, remedy));
    }
    let report = seen.told("planned steps")?;
    let schedule = report.settings.get(2).map_or("the schedule", String::as_str);
    let (planned, made) = (number(report, 0)?, number(report, 1)?);
    let is_of_all_ranks = seen.size() > 1 && planned.abs_diff(made * seen.size()) <= planned / 20;
    // OneCycleLR refuses more steps than it was made for. Others may be made for more epochs than are trained.
    let is_exact = report.settings.get(2).is_none_or(|name| name == "OneCycleLR");
    let is_of_batches = made > 2 * seen.passes(true).len() && made >= 16;
    let first = number(report, 3).filter(|first| *first >= made && planned <= made * seen.size() && seen.size() > 1);
    if let Some(first) = first.filter(|_| is_of_batches && seen.have_all_ended()) {
        let said = format!(
            "{schedule} first changes the rate behind step {first}, and {made} were made: does it count the steps of all {} ranks?",
            seen.size()
        );
        return Some(TOPIC.look(said, known(&report.place), STILL_HIGH, OWN_STEPS));
    }
    (seen.have_all_ended() && is_of_all_ranks && (is_exact || is_of_batches)).then(|| {
        TOPIC.objection(
            if is_exact { Outcome::Wrong } else { Outcome::Look },
            format!(
                "{schedule} is planned for {planned} steps, and {made} were made: it counts the steps of all {} ranks",
                seen.size()
            ),
            known(&report.place),
            STILL_HIGH,
            if seen.is_accelerate() {
                "pass the schedule through accelerator.prepare(), which then makes a step for each process"
            } else {
                OWN_STEPS
            },
        )
    })
}

/// A warm-up of Horovod that climbs to the rate of one rank, though the optimizer was made with that of all.
fn warmup_of_one(seen: &Inspection) -> Option<Finding> {
    let report = seen.told("warm-up of one rank")?;
    let rate = |at: usize| Some(units::learning_rate(report.settings.get(at)?.parse().ok()?));
    Some(TOPIC.wrong(
        format!(
            "the warm-up climbs to {}, and the optimizer was made with {}: the scaled rate is never used",
            rate(0)?,
            rate(1)?
        ),
        known(&report.place),
        "the larger batch makes fewer updates an epoch with the rate of one rank, so the model learns less",
        "give LearningRateWarmupCallback the scaled rate: initial_lr=base_lr * hvd.size()",
    ))
}

/// What to say where the ranks apply an update with different rates, and the line that sets them or made the optimizer.
pub(super) fn apart(seen: &Inspection, number: usize, reports: &Updates<'_>) -> Option<(String, Option<Place>)> {
    if !differ(reports.values().map(|update| &update.rates)) {
        return None;
    }
    let rates = reports.iter().map(|(rank, update)| (*rank, update.rates.first().copied()));
    let made = || reports.values().next().and_then(|update| known(&update.made).or_else(|| known(&update.place)));
    Some((told(rates, &format!("update {number}")), seen.told_at("rate set").or_else(made)))
}

fn told(rates: impl Iterator<Item = (usize, Option<f64>)>, when: &str) -> String {
    let rate = |rate: Option<f64>| rate.map_or("none".to_owned(), units::learning_rate);
    let told: Vec<String> = rates.map(|(rank, of)| format!("{} on rank {rank}", rate(of))).take(4).collect();
    format!("the learning rates differ at {when}: {}", told.join(", "))
}

/// Samples of one update of a rank, which may fetch the batches of all, and send the others theirs. A loader that fetches a batch ahead
/// has taken two when the first update comes.
pub(super) fn samples_of(seen: &Inspection, rank: usize) -> Option<usize> {
    let first = seen.first_updates(rank).filter(|update| update.update < 3);
    first.map(|update| update.samples).filter(|samples| *samples > 0).min()
}
