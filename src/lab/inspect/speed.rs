//! What the ranks wait for, and whether memory grows.

use std::collections::BTreeMap;

use super::finding::{Finding, Topic};
use super::inspection::{Inspection, known, ranks as names};
use crate::domain::event::{InspectedPhases, PassReport, StalledReport};
use crate::domain::units;

const TOPIC: Topic = Topic::Speed;
/// Parts of the time from which waiting for data, or for one rank, is worth a look; and the seconds that must have been seen.
const DATA: f64 = 0.3;
const SLOWER: f64 = 1.5;
const SECONDS: f64 = 3.0;
/// In a shorter time only what is beyond doubt: the seconds, the part of them, that part where a rank is many times slower, and no
/// workers, which take their time to start.
const SHORT: (f64, f64, f64) = (0.7, 0.6, 0.45);
const CLEARLY: f64 = 10.0;
/// Seconds by which a rank is slower than the others by chance.
const STRAGGLED: f64 = 0.6;
/// Bytes that are no growth, and updates in which a training has all of its memory.
const GROWTH: u64 = 100 << 20;
const SETTLED: usize = 8;
const GROWS: &str = "memory grows with every update, and a long training ends when there is none left";
const DETACH: &str = "keep numbers, not tensors: loss.item() instead of loss in a list or a sum";

/// Times of one rank without its first report, which holds the start of the program, and without those in which it did not train, such as
/// its end.
fn sums(seen: &Inspection) -> BTreeMap<usize, InspectedPhases> {
    let mut all = BTreeMap::new();
    for rank in seen.ranks.keys() {
        let mut sum = InspectedPhases::default();
        let trains =
            |one: &&InspectedPhases| one.data + one.forward + one.backward + one.optimizer + one.exchange + one.others > 0.0;
        for one in seen.of_rank::<InspectedPhases>(*rank).skip(1).filter(trains) {
            sum.data += one.data;
            sum.forward += one.forward;
            sum.backward += one.backward;
            sum.optimizer += one.optimizer;
            sum.exchange += one.exchange;
            sum.others += one.others;
            sum.all += one.all;
            sum.busiest = one.busiest.clone();
        }
        all.insert(*rank, sum);
    }
    all
}

pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
    let sums = sums(seen);
    let all: f64 = sums.values().map(|sum| sum.all).sum();
    // A rank that is only slow to start has not stood still, so reports before the first update do not count.
    let has_stood = seen.reports::<StalledReport>().any(|report| report.updates > 0);
    if sums.is_empty() || has_stood {
        return memory(seen).into_iter().collect();
    }
    let is_long = sums.values().all(|sum| sum.all >= SECONDS);
    let part = |of: fn(&InspectedPhases) -> f64| sums.values().map(of).sum::<f64>() / all;
    let data = part(|sum| sum.data);
    let mut found: Vec<Finding> = memory(seen).into_iter().collect();
    let has_workers = || seen.reports::<PassReport>().any(|pass| pass.workers > 0);
    let is_clear = sums.values().all(|sum| sum.all >= SHORT.0) && data > SHORT.1 && !has_workers();
    if data > DATA && (is_long || is_clear) {
        let place = seen.reports::<PassReport>().find(|pass| pass.trains).and_then(|pass| known(&pass.made));
        found.push(TOPIC.look(
            format!("the ranks waited for data in {:.0} % of the time", data * 100.0),
            place,
            "the devices stand idle meanwhile",
            if seen.is_keras() {
                "make batches in more workers, model.fit(..., workers=4), or by tf.data with num_parallel_calls and prefetch; or make what is done to a sample cheaper"
            } else {
                "give the DataLoader more workers (num_workers), or make what it does to a sample cheaper"
            },
        ));
    }
    // With Join the ranks take as many batches as they have.
    found.extend(slowest(seen, &sums).filter(|_| !seen.has("join")));
    if found.is_empty() && is_long {
        let compute = part(|sum| sum.forward + sum.backward + sum.optimizer);
        return TOPIC.ok(format!(
            "{:.0} % of the time went into forward, backward and optimizer, {:.0} % into waiting for data",
            compute * 100.0,
            data * 100.0
        ));
    }
    found
}

/// A rank that the others wait for. They do so inside of their backward passes, and inside of forward passes where buffers are sent.
fn slowest(seen: &Inspection, sums: &BTreeMap<usize, InspectedPhases>) -> Option<Finding> {
    type Own = fn(&InspectedPhases) -> f64;
    let kinds: [(&str, Own); 2] = [
        ("data and lines outside of forward and backward passes", |sum| sum.data + sum.others),
        ("data, forward passes and lines beside them", |sum| sum.data + sum.forward + sum.others),
    ];
    // In Keras a rank waits for the others within its graph, so that takes as long on all of them.
    kinds.into_iter().take(if seen.is_keras() { 1 } else { 2 }).find_map(|(what, own)| {
        let (rank, sum) = sums.iter().max_by(|one, other| own(one.1).total_cmp(&own(other.1)))?;
        let fastest = sums.values().map(own).fold(f64::INFINITY, f64::min);
        let is_clear = own(sum) > fastest * CLEARLY;
        let part = if sum.all >= SECONDS {
            0.15
        } else if is_clear {
            SHORT.2
        } else {
            SHORT.1
        };
        let is_slow = sums.len() > 1 && own(sum) > fastest * SLOWER && own(sum) - fastest > (sum.all * part).max(STRAGGLED);
        let said = format!("rank {rank} is the slowest: it spent {:.1} s on {what}, the fastest {fastest:.1} s", own(sum));
        let remedy = "look at what this rank does that the others do not, at its host, and at its share of the data";
        is_slow.then(|| {
            let place = known(&sum.busiest);
            TOPIC.look(said, place, "all ranks wait for it in every step", remedy)
        })
    })
}

/// Memory that grows with every update.
fn memory(seen: &Inspection) -> Option<Finding> {
    let keepers = seen.tellers("kept graphs");
    if let Some(kept) = keepers.values().next() {
        let verb = if keepers.len() == 1 { "keeps" } else { "keep" };
        return Some(TOPIC.look(
            format!("{} {verb} the losses of many updates together with the graphs that they came from", names(keepers.keys())),
            known(&kept.place),
            GROWS,
            DETACH,
        ));
    }
    seen.ranks.keys().find_map(|rank| {
        let mut later: Vec<&InspectedPhases> =
            seen.of_rank::<InspectedPhases>(*rank).filter(|one| one.updates >= SETTLED && one.memory_bytes > 0).collect();
        // The last report of a rank comes when the program has given its memory back.
        later.dedup_by_key(|one| one.updates);
        let (first, last) = (later.first()?, later.last()?);
        let (updates, grown) = (last.updates.checked_sub(first.updates)?, last.memory_bytes.saturating_sub(first.memory_bytes));
        let middle = later.iter().find(|one| one.updates >= (first.updates + last.updates) / 2)?;
        let by_half = middle.memory_bytes.saturating_sub(first.memory_bytes) as f64 / grown.max(1) as f64;
        let is_steady = later.len() > 3
            && updates > 2 * SETTLED
            && grown > GROWTH
            && (0.25..0.75).contains(&by_half)
            && later.windows(2).all(|two| two[1].memory_bytes + (8 << 20) >= two[0].memory_bytes);
        is_steady.then(|| {
            TOPIC.look(
                format!("the memory of rank {rank} grew by {} in {updates} updates, and it grows on", units::bytes(grown)),
                None,
                GROWS,
                DETACH,
            )
        })
    })
}
