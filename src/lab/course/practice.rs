//! A learner's work apart from the ten steps: other exercises, and runs of collectives that were checked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Claim, Outcome};
use crate::domain::bounds::{Bounded, MAX_COUNT, count, first, moment};
use crate::domain::units;
use crate::host;
use crate::runs::RunId;

/// An exercise beside the ten steps, from its start on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Practised {
    /// Unix time in seconds.
    pub started_s: f64,
    /// Runs of the learner's program.
    pub attempts: usize,
    /// Time of the last attempt, in Unix seconds.
    pub time_s: Option<f64>,
    /// Time of the first attempt that passed, in Unix seconds.
    pub passed_s: Option<f64>,
    /// The message of the last attempt that failed.
    pub said: Option<String>,
}

impl Practised {
    pub fn started(now_s: f64) -> Practised {
        Practised { started_s: now_s, attempts: 0, time_s: None, passed_s: None, said: None }
    }

    /// The program was run: it is right, or what is wrong with it.
    pub fn attempt(&mut self, outcome: Result<(), String>) {
        let now_s = host::now_s();
        self.attempts += 1;
        self.time_s = Some(now_s);
        match outcome {
            Ok(()) => self.passed_s = self.passed_s.or(Some(now_s)),
            // Keep the first line only: the others may quote the learner's program, and progress may be shared.
            Err(why) => self.said = Some(why.lines().next().unwrap_or_default().to_owned()),
        }
    }

    pub fn times(&self) -> impl Iterator<Item = f64> {
        [Some(self.started_s), self.time_s, self.passed_s].into_iter().flatten()
    }

    /// `passed 2026-11-22 21:04 UTC, 3 attempts`.
    pub fn in_words(&self) -> String {
        let attempts = units::counted(self.attempts, "attempt");
        match (self.passed_s, self.attempts, &self.said) {
            (Some(passed_s), ..) => format!("passed {}, {attempts}", units::date(passed_s)),
            (None, 0, _) => format!("started {}, not tried yet", units::date(self.started_s)),
            (None, _, Some(said)) => format!("{attempts}, not passed yet: {said}"),
            (None, ..) => format!("{attempts}, not passed yet"),
        }
    }
}

/// What the check of a run of collectives found, the last time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckedRun {
    pub run: RunId,
    /// Unix time in seconds.
    pub time_s: f64,
    pub passed: usize,
    pub failed: usize,
    pub unclear: usize,
    /// The first check that failed, with what it found.
    pub said: Option<String>,
}

impl CheckedRun {
    pub fn new(run: RunId, claims: &[Claim], now_s: f64) -> CheckedRun {
        let count = |outcome: Outcome| claims.iter().filter(|claim| claim.outcome == outcome).count();
        let wrong = claims.iter().find(|claim| claim.outcome == Outcome::Failed);
        CheckedRun {
            run,
            time_s: now_s,
            passed: count(Outcome::Passed),
            failed: count(Outcome::Failed),
            unclear: count(Outcome::CannotTell),
            said: wrong.map(|claim| format!("{}: {}", claim.what, claim.evidence)),
        }
    }

    /// `3 of 4 checks passed, 1 failed (ring: the log is the schedule: ...)`.
    pub fn in_words(&self) -> String {
        let all = self.passed.saturating_add(self.failed).saturating_add(self.unclear);
        let mut text = format!("{} of {} passed", self.passed, units::counted(all, "check"));
        if self.failed > 0 {
            text += &format!(", {} failed", self.failed);
            text += &self.said.as_ref().map(|said| format!(" ({said})")).unwrap_or_default();
        }
        if self.unclear > 0 {
            text += &format!(", {} cannot tell", self.unclear);
        }
        text
    }
}

/// All that is known of it, one line each, without an end. `exercises` are by their tracks.
pub fn lines(ring: Option<&Practised>, exercises: &BTreeMap<String, Practised>, checked: &[CheckedRun]) -> Vec<String> {
    let ring = ring.map(|ring| format!("ring exercise (lesson 15): {}", ring.in_words()));
    let exercise =
        ring.into_iter().chain(exercises.iter().map(|(track, practised)| format!("exercise {track}: {}", practised.in_words())));
    let runs = checked.iter().map(|run| format!("run {} (collectives): {}", run.run, run.in_words()));
    exercise.chain(runs).collect()
}

impl Bounded for Practised {
    fn out_of_bounds(&self) -> Option<String> {
        count("attempts", self.attempts, MAX_COUNT).or_else(|| self.times().find_map(|time_s| moment("time", time_s)))
    }
}

impl Bounded for CheckedRun {
    fn out_of_bounds(&self) -> Option<String> {
        first([
            moment("time", self.time_s),
            count("checks that passed", self.passed, MAX_COUNT),
            count("checks that failed", self.failed, MAX_COUNT),
            count("checks that cannot tell", self.unclear, MAX_COUNT),
        ])
    }
}
