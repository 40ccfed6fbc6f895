//! The rate against the global batch, and its warm-up: what one run can say of it.

use super::inspection::{Inspection, update};
use super::{Finding, Topic};

const TOPIC: Topic = Topic::Rate;
/// A rate that climbs by less is the noise of a schedule.
const CLIMB: f64 = 1.05;

pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
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
    let samples = of_root().map(|update| update.samples).find(|samples| *samples > 0);
    let batch =
        samples.map_or(String::new(), |samples| format!(", and an update takes {samples} samples on each of {size} ranks"));
    let warmup = if most.1 > first * CLIMB {
        format!("it climbs to {} until update {}", most.1, most.0)
    } else {
        "no warm-up was seen".to_owned()
    };
    let seen = format!(
        "the first update has the rate {first}{batch}; {warmup}. Whether the rate fits the global batch shows only against a run of the same program on one rank"
    );
    vec![Finding::not_judged(TOPIC, seen)]
}
