//! The library's view of the training, against the reports of the program.
//!
//! Recordings of older libraries have no such events: every function here then answers as if all were well.

use super::group::Group;
use super::numbers::equal_rates;
use super::optimizer_rules;
use super::verdict::{Objection, failed};
use crate::domain::event::{DigestMoment, Instead, ScheduleReport, UpdateReport};
use crate::domain::history::{Observed, TrainingStep};
use crate::domain::units;
use std::collections::BTreeMap;

/// Relative difference of sampled gradients: they may have travelled in 16 bits.
const SAMPLED: f64 = 0.02;

/// What the library saw of each process, where it tells that. An objection where batches are reported that no optimizer of the
/// library took part in.
pub fn watched<'a>(group: &Group<'a>) -> Result<Option<Vec<&'a Observed>>, Objection> {
    let places = group.topologies()?;
    if !places.iter().all(|place| place.is_watched) {
        return Ok(None);
    }
    let processes = group.all("what it trains", Some)?;
    let idle = |process: &usize| processes[*process].observed.updates.is_empty() && !processes[*process].steps.is_empty();
    if let Some(process) = (0..group.np).find(idle) {
        return failed(format!(
            "{who} reports {steps}, and no optimizer of the library updated its weights: train with `optimizer.step`",
            who = group.name(process),
            steps = units::counted(processes[process].steps.len(), "training step")
        ));
    }
    Ok(Some(processes.iter().map(|process| &process.observed).collect()))
}

/// The updates with this number, one of each process, if all reported it.
fn updates<'a>(watched: &[&'a Observed], number: usize) -> Option<Vec<&'a UpdateReport>> {
    let all: Option<Vec<_>> = watched.iter().map(|process| process.update(number)).collect();
    all.filter(|all| all.iter().all(|update| !update.own.is_empty() && !update.applied.is_empty()))
}

/// Numbers of the updates of the first process.
fn numbers(watched: &[&Observed]) -> Vec<usize> {
    watched.first().into_iter().flat_map(|first| first.updates.iter().map(|update| update.report.update)).collect()
}

/// Each optimizer is wrapped once, or not at all where a program averages by itself; and the first update is made with the mean.
pub fn first_update(group: &Group) -> Result<(), Objection> {
    let Some(watched) = watched(group)? else { return Ok(()) };
    if let Some(process) = (0..group.np).find(|process| watched[*process].wrapped > 1) {
        return failed(format!(
            "{who} wrapped its optimizer {times} times, so its gradients are averaged {times} times: wrap it once",
            who = group.name(process),
            times = watched[process].wrapped
        ));
    }
    match updates(&watched, 0) {
        Some(first) => applies_the_mean(group, &first, "the first update"),
        None => Ok(()),
    }
}

/// The later updates that were reported follow the rule of the optimizer, and nothing else changes the weights between them.
pub fn later_updates(group: &Group) -> Result<(), Objection> {
    let Some(watched) = watched(group)? else { return Ok(()) };
    every_batch(group, &watched)?;
    for number in numbers(&watched).into_iter().filter(|number| *number > 0) {
        if let Some(updates) = updates(&watched, number) {
            applies_the_mean(group, &updates, &update(number))?;
        }
    }
    for (process, own) in watched.iter().enumerate() {
        for pair in own.updates.windows(2).map(|pair| [&pair[0].report, &pair[1].report]) {
            let [one, next] = pair;
            if next.update == one.update + 1 && one.after.len() == next.before.len() && one.after != next.before {
                return failed(format!(
                    "the weights of {who} changed between {} and {}, and no optimizer of the library did it: \
                     change weights by `optimizer.step` only",
                    update(one.update),
                    update(next.update),
                    who = group.name(process)
                ));
            }
        }
    }
    optimizer_rules::sgd(group, &watched)
}

/// Each process applied the mean of the gradients of all.
fn applies_the_mean(group: &Group, updates: &[&UpdateReport], which: &str) -> Result<(), Objection> {
    let own: Vec<&[f32]> = updates.iter().map(|update| update.own.as_slice()).collect();
    let root = group.root();
    // The others first have to have the same: then one of them speaks for all.
    let scale = own.iter().copied().flatten().fold(0.0, |longest, g| f32::max(longest, g.abs()));
    let same = |update: &UpdateReport| {
        update.applied.iter().zip(&updates[root].applied).all(|(one, other)| (one - other).abs() <= 1e-3 * scale)
    };
    if let Some(process) = group.others().find(|process| !same(updates[*process])) {
        return failed(format!(
            "{who} applied other gradients in {which} than {root}: average them over all ranks before every update",
            who = group.name(process),
            root = group.name(root)
        ));
    }
    is_mean(group, &own, &updates[root].applied, which)
}

/// The gradients that all ranks applied in an update are the mean of their own ones.
pub fn is_mean(group: &Group, own: &[&[f32]], applied: &[f32], when: &str) -> Result<(), Objection> {
    let mean = |place: usize| own.iter().filter_map(|own| own.get(place)).map(|g| f64::from(*g)).sum::<f64>() / group.np as f64;
    let mean: Vec<f64> = (0..applied.len()).map(mean).collect();
    let applied: Vec<f64> = applied.iter().copied().map(f64::from).collect();
    let longest = own.iter().copied().flatten().fold(0.0, |longest, g| f64::max(longest, f64::from(g.abs())));
    let is = |wanted: &dyn Fn(usize) -> f64, scale: f64| {
        applied.iter().enumerate().all(|(place, g)| (g - wanted(place)).abs() <= SAMPLED * longest * scale)
    };
    if is(&|place| mean[place], 1.0) {
        return Ok(());
    }
    if let Some(whose) = (0..group.np).find(|process| is(&|place| own[*process].get(place).copied().map_or(0.0, f64::from), 1.0))
    {
        return failed(format!(
            "all ranks applied {whose}'s own gradients in {when}: average them, so that every rank's images count",
            whose = group.name(whose)
        ));
    }
    let times =
        applied.iter().zip(&mean).map(|(g, mean)| g * mean).sum::<f64>() / mean.iter().map(|mean| mean * mean).sum::<f64>();
    if (times - group.np as f64).abs() < 0.01 && is(&|place| times * mean[place], times.abs()) {
        return failed(format!(
            "all ranks applied the sum of their gradients in {when}, not the mean: divide by {np}, the number of ranks",
            np = group.np
        ));
    }
    if times.is_finite() && is(&|place| times * mean[place], times.abs()) {
        return failed(format!("all ranks applied {times:.3} times the mean of their gradients in {when}: apply the mean"));
    }
    failed(format!("all ranks applied the same gradients in {when}, but not the mean of their own: average them"))
}

/// Each process updated its weights as often as its batches ask for: once for each, or for each group of them whose gradients add up.
fn every_batch(group: &Group, watched: &[&Observed]) -> Result<(), Objection> {
    let flags = &group.spec.workload.trainer_flags;
    let passes = flag_value(flags, "--backward-passes-per-step").and_then(|value| value.parse().ok()).unwrap_or(1usize).max(1);
    for (process, own) in watched.iter().enumerate() {
        let steps = &group.attempt.processes[&process].steps;
        for &(updates, steps_before) in &own.counted {
            let steps = &steps[..steps_before.min(steps.len())];
            let mut of_epochs: BTreeMap<usize, usize> = BTreeMap::new();
            steps.iter().for_each(|step| *of_epochs.entry(step.epoch).or_default() += 1);
            let wanted: usize = of_epochs.values().map(|steps| steps.div_ceil(passes)).sum();
            if updates != wanted {
                let batches = if passes == 1 { "batch" } else { &format!("{passes} batches") };
                return failed(format!(
                    "{} reports {} and updated its weights {updates} times: let the optimizer make one update after every {batches}",
                    group.name(process),
                    units::counted(steps.len(), "training step")
                ));
            }
        }
    }
    Ok(())
}

/// The value of a flag, as the next word or after `=`. The last one counts.
fn flag_value<'a>(flags: &'a [String], name: &str) -> Option<&'a str> {
    let of = |place: usize| match flags[place].strip_prefix(name)? {
        "" => flags.get(place + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    };
    (0..flags.len()).rev().find_map(of)
}

/// Steps with the rates that the optimizers really used, of each process, where some differ from those that are reported. They
/// are the steps whose updates were reported.
pub fn used_rates(group: &Group) -> Result<Option<Vec<Vec<TrainingStep>>>, Objection> {
    let Some(watched) = watched(group)? else { return Ok(None) };
    let mut differ = false;
    let mut used = Vec::new();
    for (process, own) in watched.iter().enumerate() {
        let told = &group.attempt.processes[&process].steps;
        let mut steps = Vec::new();
        for update in &own.updates {
            let Some(step) = told.get(update.steps_before) else { continue };
            // Some programs report the step before the update.
            let before = update.steps_before.checked_sub(1).and_then(|before| told.get(before));
            let is_told = |step: &TrainingStep| equal_rates(step.lr, update.report.lr);
            let step = before.filter(|before| is_told(before) && !is_told(step)).unwrap_or(step);
            differ |= !is_told(step);
            steps.push(TrainingStep { lr: update.report.lr, ..*step });
        }
        used.push(steps);
    }
    Ok(Some(used).filter(|used| differ && used.iter().all(|steps| !steps.is_empty())))
}

/// NovoGrad made all updates that were reported, by its rule.
pub fn novograd(group: &Group) -> Result<(), Objection> {
    let Some(watched) = watched(group)? else { return Ok(()) };
    for (process, own) in watched.iter().enumerate() {
        let mut names = own.updates.iter().map(|update| update.report.optimizer.as_str());
        if let Some(name) = names.find(|name| *name != "novograd") {
            return failed(format!("{who} reports NovoGrad, and {name} updates its weights", who = group.name(process)));
        }
    }
    optimizer_rules::novograd(group, &watched)
}

/// Two processes that trained on the same images, as far as their batches were reported.
pub fn twins(group: &Group) -> Option<[usize; 2]> {
    let picks = |process: usize| group.process(process).map(|process| &process.observed.picks).filter(|picks| !picks.is_empty());
    let mut pairs = (0..group.np).flat_map(|one| (one + 1..group.np).map(move |other| [one, other]));
    pairs.find(|[one, other]| picks(*one).is_some() && picks(*one) == picks(*other))
}

/// Whether all processes held the root's weights right after the library's broadcast.
pub fn were_shared(group: &Group) -> bool {
    let shared = |process: usize| group.process(process)?.digests_of(DigestMoment::SharedParameters).first().copied();
    let root = shared(group.root());
    root.is_some() && (0..group.np).all(|process| shared(process) == root)
}

/// The schedule of the rate that the root's program has, where the library could ask it.
pub fn own_schedule<'a>(group: &Group<'a>) -> Option<&'a ScheduleReport> {
    let own = group.process(group.root())?.observed.schedule.as_ref();
    own.filter(|own| !own.rates.is_empty())
}

/// The program uses the values of these flags.
pub fn goes_by(group: &Group, flags: &[&str]) -> Result<(), Objection> {
    let is_one = |other: &&Instead| flags.contains(&other.flag.as_str());
    let other = group.processes().find_map(|(index, process)| Some((index, process.observed.instead.iter().find(is_one)?)));
    other.map_or(Ok(()), |(process, other)| failed(other_value(&group.name(process), other, group.np)))
}

/// `update 3`, of one that is counted from 0.
fn update(number: usize) -> String {
    format!("update {}", number + 1)
}

/// The sentence for a program that uses another value than that of its flag.
fn other_value(who: &str, Instead { flag, asked, used }: &Instead, np: usize) -> String {
    let argument = format!("args.{}", flag.trim_start_matches('-').replace('-', "_"));
    // Ranks might share only these two.
    let is_shared = matches!(flag.as_str(), "--epochs" | "--batch-size");
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| is_shared && *number > 0);
    let cause = match (number(asked), number(used)) {
        (Some(asked), Some(used)) if used == asked * np => format!("it was multiplied by {np}, the number of ranks"),
        (Some(asked), Some(used)) if used * np == asked => format!("it was divided by {np}, the number of ranks"),
        (Some(asked), Some(used)) if used == asked / np || used == asked.div_ceil(np) => {
            format!("it was divided by {np}, the number of ranks, or your program ignores {flag}")
        }
        _ => format!("your program ignores {flag}"),
    };
    format!("{who} goes by {used} where {flag} says {asked}: {cause}. Use {argument} as it is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_found_in_both_spellings_and_the_last_one_counts() {
        let flags = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        let of = |text: &str| flag_value(&flags(text), "--passes").map(str::to_owned);
        assert_eq!(of("--a 1 --passes 2").as_deref(), Some("2"));
        assert_eq!(of("--passes 2 --passes=3 --passes-more 4").as_deref(), Some("3"));
        assert_eq!((of("--a 1"), of("--passes")), (None, None));
    }
}
