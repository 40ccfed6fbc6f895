//! The rate against the global batch, and its warm-up: what one run can say of it.

use std::collections::BTreeMap;

use super::finding::{Finding, Outcome, Topic};
use super::inspection::{Inspection, differ, known, update};
use crate::domain::event::{InspectedUpdate, Place, WrappedReport};
use crate::domain::units;

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
        return vec![Finding::objection((TOPIC, Outcome::Wrong), said, place, cost, remedy)];
    }
    if let Some(found) = ended_early(seen).or_else(|| warmup_of_one(seen)) {
        return vec![found];
    }
    let of_root = || {
        seen.of_all(update)
            .filter(|(rank, update)| Some(rank) == seen.ranks.keys().next() && update.index == 0)
            .map(|(_, update)| update)
    };
    let rates: Vec<(usize, f64)> = of_root().filter_map(|update| Some((update.update, *update.rates.first()?))).collect();
    let (Some((_, first)), Some(most)) = (rates.first(), rates.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1)))
    else {
        return Vec::new();
    };
    let size = seen.size();
    let samples = samples(of_root());
    let batch = samples.map_or(String::new(), |samples| {
        format!(
            ", and an update takes {samples} samples{}",
            if size == 1 || !seen.is_complete() { String::new() } else { format!(" on each of {size} ranks") }
        )
    });
    let warmup = if most.1 > first * CLIMB {
        format!("it climbs to {} until update {}", units::learning_rate(most.1), most.0)
    } else {
        "no warm-up was seen".to_owned()
    };
    let first = units::learning_rate(*first);
    let other = if size == 1 { "more ranks" } else { "one rank" };
    let seen = format!(
        "the first update has the rate {first}{batch}; {warmup}. Whether the rate fits the global batch shows only against a run of the same program on {other}"
    );
    vec![Finding::not_judged(TOPIC, seen)]
}

/// A schedule that has come to its end before the training, or not even near it.
fn ended_early(seen: &Inspection) -> Option<Finding> {
    let number = |report: &WrappedReport, at: usize| report.settings.get(at).and_then(|text| text.parse::<usize>().ok());
    if let Some(report) = seen.told("rate 0") {
        let remedy = if seen.uses(&["accelerate"]) {
            "a scheduler from accelerator.prepare() steps once for each process: plan it for the steps of one rank times the number of processes"
        } else {
            "plan the schedule for the updates that are made: the steps of one epoch on one rank, times the epochs"
        };
        let said = format!("the rate has been 0 since update {}: the schedule ended before the training", number(report, 0)?);
        let cost = "the updates after that change nothing";
        return Some(Finding::objection((TOPIC, Outcome::Wrong), said, known(&report.place), cost, remedy));
    }
    let report = seen.told("planned steps")?;
    let (planned, made) = (number(report, 0)?, number(report, 1)?);
    let is_of_all_ranks = seen.size() > 1 && planned.abs_diff(made * seen.size()) <= planned / 20;
    // OneCycleLR refuses more steps than it was made for. Others may be made for more epochs than are trained.
    let is_exact = report.settings.get(2).is_none_or(|name| name == "OneCycleLR");
    let is_of_batches = made > 2 * seen.passes(true).len() && made >= 16;
    (seen.have_all_ended() && is_of_all_ranks && (is_exact || is_of_batches)).then(|| {
        Finding::objection(
            (TOPIC, if is_exact { Outcome::Wrong } else { Outcome::Look }),
            format!(
                "{} is planned for {planned} steps, and {made} were made: it counts the steps of all {} ranks",
                report.settings.get(2).map_or("the schedule", String::as_str),
                seen.size()
            ),
            known(&report.place),
            "the rate is still high when the training ends",
            "plan for the steps that one rank makes: len(loader) of the loader with the sampler, times the epochs",
        )
    })
}

/// A warm-up of Horovod that climbs to the rate of one rank, though the optimizer was made with that of all.
fn warmup_of_one(seen: &Inspection) -> Option<Finding> {
    let report = seen.told("warm-up of one rank")?;
    let rate = |at: usize| Some(units::learning_rate(report.settings.get(at)?.parse().ok()?));
    Some(Finding::objection(
        (TOPIC, Outcome::Wrong),
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
pub(super) fn apart(
    seen: &Inspection,
    number: usize,
    reports: &BTreeMap<usize, &InspectedUpdate>,
) -> Option<(String, Option<Place>)> {
    if !differ(reports.values().map(|update| &update.rates)) {
        return None;
    }
    let rate = |update: &InspectedUpdate| update.rates.first().map_or("none".to_owned(), |rate| units::learning_rate(*rate));
    let rates: Vec<String> = reports.iter().map(|(rank, update)| format!("{} on rank {rank}", rate(update))).take(4).collect();
    let made = || reports.values().next().and_then(|update| known(&update.made).or_else(|| known(&update.place)));
    let place = seen.rate_set_at().or_else(made);
    Some((format!("the learning rates differ at update {number}: {}", rates.join(", ")), place))
}

/// Samples of one update. A loader that fetches a batch ahead has taken two when the first update comes.
fn samples<'a>(updates: impl Iterator<Item = &'a InspectedUpdate>) -> Option<usize> {
    updates.filter(|update| update.update < 3).map(|update| update.samples).filter(|samples| *samples > 0).min()
}

impl Inspection {
    /// Rate of the first optimizer's first update, and samples of an update, on the first rank.
    pub fn first_rate(&self) -> Option<(f64, usize)> {
        // A Keras run reports its updates from number 1 on, because the first one comes before Horovod's broadcast.
        let (rank, first) = self.of_all(update).find(|(_, update)| update.index == 0 && update.update < 2)?;
        let own = self.of_rank(rank, update).filter(|update| update.index == 0);
        Some((*first.rates.first()?, samples(own).unwrap_or(0)))
    }

    /// The rate against that of a finished run of the same program on one rank; `None` where one of them has made no update.
    pub fn rate_against(&self, alone: &Inspection) -> Option<Finding> {
        let ((rate, samples), (single, of_single)) = (self.first_rate()?, alone.first_rate()?);
        let size = self.size();
        if size < 2 || alone.size() > 1 || rate <= 0.0 || single <= 0.0 || samples == 0 || of_single == 0 {
            return None;
        }
        // A program may divide the batch by the number of ranks: then the global batch has stayed, and so should the rate.
        let batch = (samples * size) as f64 / of_single as f64;
        let factor = self.highest_rate()? / alone.highest_rate()?;
        let said = format!("a global batch {batch:.2}x as large as on one rank is trained with {factor:.2}x the rate");
        let is_scaled = factor > 1.0 + (batch - 1.0) * 0.1 || batch < 1.5;
        if is_scaled && factor < batch * 1.1 {
            return Some(Finding::new(TOPIC, Outcome::Ok, said));
        }
        let place = self.rate_set_at().or_else(|| self.optimizer_place());
        let cost = "the larger batch makes fewer updates an epoch, so the model learns less in the same number of epochs";
        let remedy = "multiply the rate by the number of ranks, or by its square root for Adam, and warm it up";
        let too_much = ("updates may get too large, and the training may diverge", "scale the rate by no more than the batch");
        let (cost, remedy) = if is_scaled { too_much } else { (cost, remedy) };
        Some(Finding::objection((TOPIC, Outcome::Look), said, place, cost, remedy))
    }

    /// The line that sets the rate in the groups of the optimizer, if there is one such line.
    fn rate_set_at(&self) -> Option<Place> {
        known(&self.told("rate set")?.place)
    }

    /// Of the first optimizer on the first rank: behind its warm-up, if there is one.
    fn highest_rate(&self) -> Option<f64> {
        let first = self.ranks.keys().next()?;
        let rates = self.of_rank(*first, update).filter(|update| update.index == 0).filter_map(|update| update.rates.first());
        rates.copied().filter(|rate| rate.is_finite()).max_by(f64::total_cmp).filter(|rate| *rate > 0.0)
    }
}
