//! Step 3: all ranks apply the mean of their gradients.

use super::broadcast::{drifted, starts_equal};
use crate::course::check::group::{Group, because_strangers};
use crate::course::check::seen::{self, is_mean};
use crate::course::check::terms as told;
use crate::course::check::verdict::{Finding, Objection, failed, unclear};
use crate::course::contrast::{Contrast, Pair, Side, alike, distinct, list, small};
use crate::domain::event::DigestMoment;
use crate::domain::phase::Phase;
use crate::domain::step::Step;

/// Step 3: all ranks applied the same gradients in the first step.
pub fn check(group: &Group) -> Finding {
    let digests = group.all(told::FIRST_GRADIENTS, |process| {
        Some(process.digests_of(DigestMoment::FirstGradients)).filter(|digests| !digests.is_empty())
    })?;
    let root = group.root();
    let apart = group.differing(&digests);
    if let Some(&first) = apart.first() {
        let (who, of_root) = (group.names(&apart), group.name(root));
        return failed(words::other_gradients(&who, &of_root, [digests[first][0], digests[root][0]], &because_strangers(group)));
    }
    averaged(group)?;
    seen::first_update(group)?;
    let losses = group.all(told::FIRST_STEP, |process| process.steps.first().map(|step| step.loss.to_bits()))?;
    if group.differing(&losses).is_empty() {
        return unclear(words::EQUAL_LOSSES);
    }
    if let Some((epoch, apart)) = drifted(group)? {
        let who = group.names(&apart);
        let step = if has_one_rate(group)? { None } else { Some(Step::ScaleLearningRate) };
        let step = step.or((!has_one_optimizer(group)?).then_some(Step::NovoGrad));
        return match step {
            Some(step) => unclear(words::drifted_for_another_reason(&who, epoch, &(group.part)(step))),
            None => failed(words::drifted(&who, &group.name(root), epoch)),
        };
    }
    // Where ranks start from other weights, step 4 says so: a late broadcast changes weights between two updates.
    if starts_equal(group)? {
        seen::later_updates(group)?;
    }
    seen::goes_by(group, &["--momentum", "--wd"])?;
    Ok(words::same_gradients(group.np(), digests[root][0]))
}

/// What all ranks applied is the mean of what each had of its own, wherever they were sampled. Older trainers tell nothing
/// of their own gradients.
fn averaged(group: &Group) -> Result<(), Objection> {
    let of = |process: usize, moment| group.attempt.processes.get(&process).and_then(|process| process.first_sample(moment));
    let own: Option<Vec<&[f32]>> = (0..group.np()).map(|process| of(process, DigestMoment::OwnGradients)).collect();
    match (own, of(group.root(), DigestMoment::FirstGradients)) {
        (Some(own), Some(applied)) => is_mean(group, &own, applied, seen::words::FIRST_STEP),
        _ => Ok(()),
    }
}

fn has_one_rate(group: &Group) -> Result<bool, Objection> {
    let rates =
        group.all(told::A_STEP, |process| Some(process.steps.iter().map(|step| step.lr.to_bits()).collect::<Vec<_>>()))?;
    Ok(group.differing(&rates).is_empty())
}

fn has_one_optimizer(group: &Group) -> Result<bool, Objection> {
    let names: Vec<&str> = group.configs()?.iter().map(|config| config.optimizer.as_str()).collect();
    Ok(group.differing(&names).is_empty())
}

pub fn contrast(pair: &[Side; 2], found: &mut Contrast) {
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

mod words {
    use crate::course::check::terms::short;

    pub const EQUAL_LOSSES: &str =
        "all ranks had the same loss in the first step: equal gradients of equal batches prove no average";

    /// The digests are those of `who` and of the root.
    pub fn other_gradients(who: &str, root: &str, [own, of_root]: [&str; 2], strangers: &str) -> String {
        let (own, of_root) = (short(own), short(of_root));
        format!(
            "{who} applied other gradients in the first step than {root} ({own}, not {of_root}): average them over all ranks before the \
             update{strangers}"
        )
    }

    /// `part` is what to look at first.
    pub fn drifted_for_another_reason(who: &str, epoch: usize, part: &str) -> String {
        format!("{who} drifted away by the end of epoch {epoch}: fix {part} first")
    }

    pub fn drifted(who: &str, root: &str, epoch: usize) -> String {
        format!(
            "{who} held other weights than {root} at the end of epoch {epoch}, after an equal start and equal first gradients: average the \
             gradients of every step"
        )
    }

    pub fn same_gradients(np: usize, digest: &str) -> String {
        format!("all {np} ranks applied the same gradients in the first step, the mean of their own ({})", short(digest))
    }
}
