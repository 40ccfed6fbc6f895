//! Steps 3, 4 and 6: what ranks hold in common, and how far apart they are where they do not.
//!
//! Never says that numbers are equal because a sample is: digests say that.

use super::fact::Contrast;
use super::side::{Pair, Side, alike, distinct, list, small};
use crate::domain::event::DigestMoment;
use crate::domain::phase::Phase;

pub fn gradients(pair: &[Side; 2], found: &mut Contrast) {
    let applied = pair.each(|side| side.first_digests(DigestMoment::FirstGradients));
    found.fact("applied gradients", [alike(&applied[0]), alike(&applied[1])]);
    let np = pair[1].np();
    if distinct(&applied[0]) == np && distinct(&applied[1]) == 1 && np > 1 {
        found.say(format!(
            "In the first step {np} ranks applied {np} different gradients before, each its own. After, all applied the same ones."
        ));
    }
    one_number(pair, found);
    found.fact("weights at the end", pair.each(|side| alike(&side.last_weights())));
    if let [Some(before), Some(after)] = pair.each(waited) {
        found.fact("waiting for others", [before, after].map(|seconds| format!("{seconds:.1} s")));
    }
    let Some(epoch) = pair[1].last_epoch() else { return };
    let ends = pair[1].apart(DigestMoment::EpochParameters, Some(epoch));
    let start = pair[1].apart(DigestMoment::StartParameters, None);
    if let (true, Some((start, _)), Some((end, _))) = (distinct(&pair[1].last_weights()) > 1, start, ends) {
        found.say(format!(
            "The weights are still different: they were {} apart at the start and are {} apart at the end. Equal updates do \
             not make different weights equal. Step 4 does that.",
            small(start),
            small(end)
        ));
    }
}

/// The sampled gradient in which the first two ranks differ most, before and after it was averaged.
fn one_number(pair: &[Side; 2], found: &mut Contrast) {
    let own = |side: &Side| -> Vec<Vec<f32>> {
        let samples = side.processes().filter_map(|(_, process)| process.first_sample(DigestMoment::OwnGradients));
        samples.map(<[f32]>::to_vec).collect()
    };
    let after = own(&pair[1]);
    let [first, second, ..] = after.as_slice() else { return };
    let apart = |place: &usize| (first[*place] - second[*place]).abs();
    let Some(place) = (0..first.len().min(second.len())).max_by(|a, b| apart(a).total_cmp(&apart(b))) else { return };
    let numbers = |samples: Vec<Vec<f32>>| {
        let numbers: Vec<String> = samples.iter().filter_map(|sample| sample.get(place)).map(|g| small(f64::from(*g))).collect();
        list(&numbers)
    };
    let applied = |side: &Side| -> Vec<Vec<f32>> {
        let samples = side.processes().filter_map(|(_, process)| process.first_sample(DigestMoment::FirstGradients));
        samples.map(<[f32]>::to_vec).collect()
    };
    found.fact("one gradient, own", pair.each(|side| numbers(own(side))));
    found.fact("the same, applied", pair.each(|side| numbers(applied(side))));
    let own: Vec<f32> = after.iter().filter_map(|sample| sample.get(place).copied()).collect();
    let mean = own.iter().map(|g| f64::from(*g)).sum::<f64>() / own.len() as f64;
    let used = applied(&pair[1]).first().and_then(|sample| sample.get(place).copied()).map(f64::from);
    let size = own.iter().map(|g| f64::from(g.abs())).fold(0.0, f64::max);
    if let Some(used) = used.filter(|used| (used - mean).abs() <= 0.02 * size && size > 0.0) {
        let words: Vec<String> = own.iter().map(|g| small(f64::from(*g))).collect();
        found.say(format!(
            "One gradient of many as an example: with the step the ranks computed {}, and all applied {}, the mean.",
            list(&words),
            small(used)
        ));
    }
}

/// Seconds that the ranks waited for each other's gradients, of all ranks and epochs, on average over the ranks.
fn waited(side: &Side) -> Option<f64> {
    let reports = || side.processes().flat_map(|(_, process)| &process.epochs);
    (reports().count() > 0)
        .then(|| reports().map(|report| report.phases[Phase::AllreduceExposed]).sum::<f64>() / side.np().max(1) as f64)
}

pub fn weights(pair: &[Side; 2], found: &mut Contrast) {
    let of = |moment| pair.each(|side| alike(&side.first_digests(moment)));
    found.fact("weights as drawn", of(DigestMoment::InitialParameters));
    found.fact("weights to start from", of(DigestMoment::StartParameters));
    found.fact("first gradients", of(DigestMoment::FirstGradients));
    let epochs = pair.each(|side| side.last_epoch().unwrap_or(0));
    for epoch in 1..=epochs[0].min(epochs[1]).min(3) {
        let held = pair.each(|side| side.digests(DigestMoment::EpochParameters, epoch));
        found.fact(&format!("after epoch {epoch}"), [alike(&held[0]), alike(&held[1])]);
    }
    let apart = |side: &Side| side.last_epoch().and_then(|epoch| side.apart(DigestMoment::EpochParameters, Some(epoch)));
    if let [Some((before, size)), Some((after, _))] = pair.each(apart) {
        found.fact("apart at the end", [small(before), small(after)]);
        if distinct(&pair[0].last_weights()) > 1 && distinct(&pair[1].last_weights()) == 1 {
            let start = pair[0].apart(DigestMoment::StartParameters, None).map_or(0.0, |(start, _)| start);
            found.say(format!(
                "Before, the weights of the ranks were {} apart at the start and {} at the end, on average over those looked at, \
                 which are about {} in size. After, they are equal bit by bit, from the start to the end of every epoch.",
                small(start),
                small(before),
                small(size)
            ));
        }
    } else if distinct(&pair[0].last_weights()) > 1 && distinct(&pair[1].last_weights()) == 1 {
        found.say("Before, the weights of the ranks differ to the end. After, they are equal bit by bit.".into());
    }
    let drawn = pair.each(|side| side.first_digests(DigestMoment::InitialParameters).first().copied());
    let start = pair[1].first_digests(DigestMoment::StartParameters);
    if let (Some(root), [_, ..]) = (drawn[1], start.as_slice())
        && start.iter().all(|digest| *digest == root)
    {
        found.say(format!("All start from the weights that rank 0 drew ({}).", root.get(..8).unwrap_or(root)));
    }
}

pub fn metrics(pair: &[Side; 2], found: &mut Contrast) {
    let Some(epoch) = pair[0].last_epoch().min(pair[1].last_epoch()) else { return };
    let all = |pick: fn(&crate::domain::event::EpochReport) -> f64| {
        pair.each(|side| side.reports(epoch).into_iter().map(pick).collect::<Vec<f64>>())
    };
    let (own, judged) = (all(|report| report.validation.accuracy), all(|report| report.judged().accuracy));
    let words = |accuracies: &[f64]| list(&accuracies.iter().map(|accuracy| format!("{accuracy:.4}")).collect::<Vec<_>>());
    found.fact("measured by each", [words(&own[0]), words(&own[1])]);
    found.fact("decided on", [words(&judged[0]), words(&judged[1])]);
    let spread = |accuracies: &[f64]| {
        accuracies.iter().copied().fold(f64::MIN, f64::max) - accuracies.iter().copied().fold(f64::MAX, f64::min)
    };
    let averaged = pair.each(|side| side.reports(epoch).iter().filter(|report| report.averaged.is_some()).count());
    if let ([_, _, ..], [mean, ..]) = (judged[0].as_slice(), judged[1].as_slice())
        && averaged == [0, pair[1].np()]
    {
        let apart = spread(&judged[0]);
        found.say(format!(
            "Before, each rank decides on its own result of epoch {epoch} ({}){}. After, all decide on {mean:.4}, the mean over the \
             ranks.",
            words(&judged[0]),
            if apart > 0.0 { format!(": they are {apart:.4} apart, and a target between them would stop one rank alone") } else { String::new() },
        ));
    }
    let weights = pair.each(|side| side.last_weights());
    if !weights[0].is_empty() && weights[0] == weights[1] {
        found.say("The weights are the same in both runs: this step changes what is measured, and not the training.".into());
    }
}
