//! One of two runs: its last attempt, asked for what a sentence needs.

use std::collections::BTreeSet;

use crate::course::check::terms::{NAMES, list, names, plural};
use crate::course::evidence::Evidence;
use crate::domain::event::{ConfigReport, DigestMoment, EpochReport, TopologyReport};
use crate::domain::history::{Attempt, Process};
use crate::domain::units;

pub struct Side<'a> {
    pub evidence: &'a Evidence,
    attempt: &'a Attempt,
}

impl<'a> Side<'a> {
    /// `None` before any process has reported.
    pub fn of(evidence: &'a Evidence) -> Option<Side<'a>> {
        let attempt = evidence.history.attempts.last().filter(|attempt| !attempt.processes.is_empty())?;
        Some(Side { evidence, attempt })
    }

    pub fn processes(&self) -> impl Iterator<Item = (usize, &'a Process)> {
        self.attempt.processes.iter().map(|(index, process)| (*index, process))
    }

    pub fn np(&self) -> usize {
        self.attempt.processes.len()
    }

    pub fn places(&self) -> Vec<&'a TopologyReport> {
        self.processes().filter_map(|(_, process)| process.topology.as_ref()).collect()
    }

    /// The first process: the root, where there is one.
    pub fn root(&self) -> Option<&'a Process> {
        self.attempt.processes.values().next()
    }

    pub fn config(&self) -> Option<&'a ConfigReport> {
        self.root()?.config.as_ref()
    }

    pub fn not_finished(&self) -> Option<String> {
        let unfinished = self.processes().find(|(_, process)| !process.has_finished);
        unfinished.map(|(index, _)| format!("{} {index}", self.noun()))
    }

    /// `rank`, or `process` where they do not know of each other.
    pub fn noun(&self) -> &'static str {
        if self.places().iter().any(|place| place.topology.size.0 > 1) { "rank" } else { "process" }
    }

    /// The last epoch that every process has ended, counted from 1.
    pub fn last_epoch(&self) -> Option<usize> {
        let ends = self.processes().map(|(_, process)| process.epochs.last().map(|report| report.epoch));
        ends.min().flatten()
    }

    /// The reports of an epoch, by process.
    pub fn reports(&self, epoch: usize) -> Vec<&'a EpochReport> {
        self.processes().filter_map(|(_, process)| process.epoch(epoch)).collect()
    }

    pub fn digests(&self, moment: DigestMoment, epoch: usize) -> Vec<&'a str> {
        self.processes().filter_map(|(_, process)| process.digest(moment, epoch)).collect()
    }

    /// The first digest of a moment, by process.
    pub fn first_digests(&self, moment: DigestMoment) -> Vec<&'a str> {
        self.processes().filter_map(|(_, process)| process.digests_of(moment).first().copied()).collect()
    }

    /// Digests of the weights at the end of the last epoch.
    pub fn last_weights(&self) -> Vec<&'a str> {
        self.last_epoch().map(|epoch| self.digests(DigestMoment::EpochParameters, epoch)).unwrap_or_default()
    }

    /// How far the sampled numbers of two ranks are apart on average, at the most distant pair with rank 0, and how large
    /// they are.
    pub fn apart(&self, moment: DigestMoment, epoch: Option<usize>) -> Option<(f64, f64)> {
        let of = |process: &'a Process| match epoch {
            Some(epoch) => process.sample(moment, epoch),
            None => process.first_sample(moment),
        };
        let samples: Vec<&[f32]> = self.processes().filter_map(|(_, process)| of(process)).collect();
        let [root, others @ ..] = samples.as_slice() else { return None };
        let mean = |numbers: &mut dyn Iterator<Item = f64>| numbers.sum::<f64>() / root.len().max(1) as f64;
        let distance = |other: &&[f32]| mean(&mut root.iter().zip(*other).map(|(a, b)| f64::from((a - b).abs())));
        let most = others.iter().map(distance).fold(0.0, f64::max);
        Some((most, mean(&mut root.iter().map(|a| f64::from(a.abs())))))
    }

    /// Training and validation of all epochs, as the root lived it.
    pub fn training_seconds(&self) -> Option<f64> {
        self.root()?.epochs.last().map(|report| report.cumulative_seconds)
    }

    /// On the test set, one for all or one for each.
    pub fn accuracies(&self) -> Option<String> {
        let tests: Vec<String> =
            self.processes().filter_map(|(_, process)| process.test).map(|test| units::accuracy_of_rank(test.accuracy)).collect();
        let distinct: BTreeSet<&String> = tests.iter().collect();
        match (tests.first(), distinct.len()) {
            (None, _) => None,
            (Some(one), 1) => Some(one.clone()),
            _ => Some(list(tests)),
        }
    }
}

/// How many different ones there are among the ranks.
pub fn distinct<T: Ord>(values: &[T]) -> usize {
    values.iter().collect::<BTreeSet<_>>().len()
}

/// `equal`, or `2 different`.
pub fn alike<T: Ord>(values: &[T]) -> String {
    match distinct(values) {
        0 => "not reported".into(),
        1 => "equal".into(),
        different => format!("{different} different"),
    }
}

/// `rank 1`, `ranks 0 and 1`, `ranks 0, 1, 2 and 3`, `60 ranks`.
pub fn named(noun: &str, numbers: &[usize]) -> String {
    if numbers.len() > NAMES { format!("{} {}", numbers.len(), plural(noun)) } else { names(noun, numbers) }
}

/// `0.0412`, `3.1e-6`: three digits.
pub fn small(number: f64) -> String {
    match number {
        0.0 => "0".into(),
        number if number.abs() < 1e-3 => format!("{number:.1e}"),
        number => format!("{number:.4}"),
    }
}
