//! Step 3: all ranks apply the mean of their gradients.

use super::broadcast::{drifted, starts_equal};
use crate::course::check::group::{Group, because_strangers};
use crate::course::check::terms::{self, list, short};
use crate::course::check::verdict::{Finding, Objection, failed, unclear};
use crate::course::check::watched::{self, is_mean};
use crate::course::contrast::{Contrast, Side, alike, distinct, small};
use crate::domain::event::DigestMoment;
use crate::domain::phase::Phase;
use crate::domain::step::Step;

/// Step 3: all ranks applied the same gradients in the first step.
pub fn check(group: &Group) -> Finding {
    let digests = group.all("its first gradients", |process| {
        Some(process.digests_of(DigestMoment::FirstGradients)).filter(|digests| !digests.is_empty())
    })?;
    let root = group.root();
    let apart = group.differing(&digests);
    if let Some(&first) = apart.first() {
        return failed(format!(
            "{} applied other gradients in the first step than {} ({}, not {}): average them over all ranks before the update{}",
            group.names(&apart),
            group.name(root),
            short(digests[first][0]),
            short(digests[root][0]),
            because_strangers(group)
        ));
    }
    averaged(group)?;
    watched::first_update(group)?;
    let losses = group.all("its first step", |process| process.steps.first().map(|step| step.loss.to_bits()))?;
    if group.differing(&losses).is_empty() {
        return unclear("all ranks had the same loss in the first step: equal gradients of equal batches prove no average");
    }
    if let Some((epoch, apart)) = drifted(group)? {
        let who = group.names(&apart);
        let step = if has_one_rate(group)? { None } else { Some(Step::ScaleLearningRate) };
        let step = step.or((!has_one_optimizer(group)?).then_some(Step::NovoGrad));
        return match step {
            Some(step) => {
                unclear(format!("{who} drifted away by the end of epoch {epoch}: fix {part} first", part = (group.part)(step)))
            }
            None => failed(format!(
                "{who} held other weights than {} at the end of epoch {epoch}, after an equal start and equal first gradients: \
                 average the gradients of every step",
                group.name(root)
            )),
        };
    }
    // Where ranks start from other weights, step 4 says so: a late broadcast changes weights between two updates.
    if starts_equal(group)? {
        watched::later_updates(group)?;
    }
    watched::goes_by(group, &["--momentum", "--wd"])?;
    Ok(format!(
        "all {np} ranks applied the same gradients in the first step, the mean of their own ({})",
        short(digests[root][0]),
        np = group.np
    ))
}

/// What all ranks applied is the mean of what each had of its own, wherever they were sampled. Older trainers tell nothing
/// of their own gradients.
fn averaged(group: &Group) -> Result<(), Objection> {
    let of = |process: usize, moment| group.process(process).and_then(|process| process.first_sample(moment));
    let own: Option<Vec<&[f32]>> = (0..group.np).map(|process| of(process, DigestMoment::OwnGradients)).collect();
    match (own, of(group.root(), DigestMoment::FirstGradients)) {
        (Some(own), Some(applied)) => is_mean(group, &own, applied, "the first step"),
        _ => Ok(()),
    }
}

fn has_one_rate(group: &Group) -> Result<bool, Objection> {
    let rates =
        group.all(terms::A_STEP, |process| Some(process.steps.iter().map(|step| step.lr.to_bits()).collect::<Vec<_>>()))?;
    Ok(group.differing(&rates).is_empty())
}

fn has_one_optimizer(group: &Group) -> Result<bool, Objection> {
    let names: Vec<&str> = group.configs()?.iter().map(|config| config.optimizer.as_str()).collect();
    Ok(group.differing(&names).is_empty())
}

pub fn contrast(pair: [&Side; 2], found: &mut Contrast) {
    let applied = pair.map(|side| side.first_digests(DigestMoment::FirstGradients));
    found.fact("applied gradients", [alike(&applied[0]), alike(&applied[1])]);
    let np = pair[1].np();
    if distinct(&applied[0]) == np && distinct(&applied[1]) == 1 && np > 1 {
        found.say(format!(
            "In the first step {np} ranks applied {np} different gradients before, each its own. After, all applied the same ones."
        ));
    }
    one_number(pair, found);
    found.fact("weights at the end", pair.map(|side| alike(&side.last_weights())));
    if let [Some(before), Some(after)] = pair.map(waited) {
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
fn one_number(pair: [&Side; 2], found: &mut Contrast) {
    let samples = |side: &Side, moment| -> Vec<Vec<f32>> {
        side.processes().filter_map(|(_, process)| process.first_sample(moment)).map(<[f32]>::to_vec).collect()
    };
    let (own, applied) = (DigestMoment::OwnGradients, DigestMoment::FirstGradients);
    let after = samples(pair[1], own);
    let [first, second, ..] = after.as_slice() else { return };
    let apart = |place: &usize| (first[*place] - second[*place]).abs();
    let Some(place) = (0..first.len().min(second.len())).max_by(|a, b| apart(a).total_cmp(&apart(b))) else { return };
    let numbers =
        |samples: Vec<Vec<f32>>| list(samples.iter().filter_map(|sample| sample.get(place)).map(|g| small(f64::from(*g))));
    found.fact("one gradient, own", pair.map(|side| numbers(samples(side, own))));
    found.fact("the same, applied", pair.map(|side| numbers(samples(side, applied))));
    let own: Vec<f32> = after.iter().filter_map(|sample| sample.get(place).copied()).collect();
    let mean = own.iter().map(|g| f64::from(*g)).sum::<f64>() / own.len() as f64;
    let used = samples(pair[1], applied).first().and_then(|sample| sample.get(place).copied()).map(f64::from);
    let size = own.iter().map(|g| f64::from(g.abs())).fold(0.0, f64::max);
    if let Some(used) = used.filter(|used| (used - mean).abs() <= 0.02 * size && size > 0.0) {
        found.say(format!(
            "One gradient of many as an example: with the step the ranks computed {}, and all applied {}, the mean.",
            list(own.iter().map(|g| small(f64::from(*g)))),
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
