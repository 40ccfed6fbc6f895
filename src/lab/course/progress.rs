//! How far a learner has come: steps done with their evidence, failed tries and predictions.
//!
//! `progress_file` reads and writes it, and `judge` decides what is noted.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::practice::{self, CheckedRun, Practised};
use super::{Claim, Outcome, Prediction, QuestionId, Verdict};
use crate::domain::bounds::{Bounded, MAX_COUNT, MAX_EPOCHS, count, first, moment};
use crate::domain::step::{Step, StepSet};
use crate::host;
use crate::runs::RunId;

/// Raised when an older lab would misread the file.
pub(super) const VERSION: u32 = 1;

/// The version of the file's format: in a new one that of this lab.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Version(u32);

impl Default for Version {
    fn default() -> Version {
        Version(VERSION)
    }
}

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    version: Version,
    /// By number of the step: the first run that showed it, of whichever program. `done` is how versions before called it.
    #[serde(default, rename = "done")]
    pub seen: BTreeMap<usize, Done>,
    /// By number of the step: the first two runs that differ in it alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub proven: BTreeMap<usize, Proven>,
    /// By number of the step: the first run of the learner's own program that passed its check.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub written: BTreeMap<usize, Done>,
    /// By number of the lesson, in the order they were made.
    #[serde(default)]
    pub predictions: BTreeMap<usize, Vec<Answered>>,
    /// By number of the step: runs that had it on and failed its check, before it was done.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tried: BTreeMap<usize, Tried>,
    /// The exercise of the track collectives, once it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<Practised>,
    /// Other exercises that were started, by their tracks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exercises: BTreeMap<String, Practised>,
    /// Runs of collectives, as they were checked last, by their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CheckedRun>,
}

/// Failed runs of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// A run that is judged again counts once.
    pub runs: usize,
    /// The last of them, with what was said of it.
    pub run: RunId,
    pub evidence: String,
    /// Unix time in seconds of the first failed check and of the last.
    pub first_s: f64,
    pub time_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    pub run: RunId,
    /// Unix time in seconds at which it was judged.
    pub time_s: f64,
    pub evidence: String,
}

/// Two runs of the same work, without a step and with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proven {
    pub before: RunId,
    pub after: RunId,
    /// Unix time in seconds at which they were judged.
    pub time_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// Which of the lesson's questions, from 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub question: usize,
    pub prediction: Prediction,
    pub is_right: bool,
    /// Unix time in seconds.
    pub time_s: f64,
}

fn is_first(question: &usize) -> bool {
    *question == 0
}

impl Bounded for Progress {
    fn out_of_bounds(&self) -> Option<String> {
        let tried = |tried: &Tried| first([count("failed runs", tried.runs, MAX_COUNT), moment("time", tried.first_s)]);
        first([
            self.times().find_map(|time_s| moment("time", time_s)),
            self.tried.values().find_map(tried),
            self.ring.iter().chain(self.exercises.values()).find_map(Bounded::out_of_bounds),
            self.collectives.iter().find_map(Bounded::out_of_bounds),
            self.seen
                .keys()
                .chain(self.proven.keys())
                .chain(self.written.keys())
                .chain(self.tried.keys())
                .chain(self.predictions.keys())
                .find_map(|step| count("step", *step, MAX_EPOCHS)),
        ])
    }
}

impl Progress {
    /// Note what `run`, with `steps` switched on, has passed and failed. The first run that shows a step counts.
    pub fn note(&mut self, verdicts: &[Verdict], steps: StepSet, run: RunId) {
        let time_s = host::now_s();
        for verdict in verdicts.iter().filter(|verdict| verdict.is_of(steps)) {
            if self.seen.contains_key(&verdict.number) {
                continue;
            }
            match verdict.outcome {
                Outcome::Passed => {
                    self.seen.insert(verdict.number, Done { run, time_s, evidence: verdict.evidence.clone() });
                }
                Outcome::Failed => self.fail(verdict, run, time_s),
                Outcome::CannotTell => {}
            }
        }
    }

    /// The same of a run of the learner's own program. What it does counts, whatever it says of itself; but where it says that a step
    /// is still to do, not doing it is no failure.
    pub fn note_written(&mut self, verdicts: &[Verdict], attempted: StepSet, run: RunId) {
        self.note_own(verdicts, attempted, run, true);
    }

    /// The same before further runs of the program have shown that what passes is right: it is seen, and not yet written.
    pub fn note_first(&mut self, verdicts: &[Verdict], attempted: StepSet, run: RunId) {
        self.note_own(verdicts, attempted, run, false);
    }

    fn note_own(&mut self, verdicts: &[Verdict], attempted: StepSet, run: RunId, counts: bool) {
        let time_s = host::now_s();
        for verdict in verdicts {
            let number = verdict.number;
            // What a later run of the same trial has found is not judged anew.
            let has_failed = self.tried.get(&number).is_some_and(|tried| tried.run == run);
            if has_failed || self.written.contains_key(&number) {
                continue;
            }
            match verdict.outcome {
                Outcome::Passed => {
                    let done = Done { run, time_s, evidence: verdict.evidence.clone() };
                    self.seen.entry(number).or_insert_with(|| done.clone());
                    if counts {
                        self.written.insert(number, done);
                    }
                }
                Outcome::Failed if verdict.is_of(attempted) => self.fail(verdict, run, time_s),
                Outcome::Failed | Outcome::CannotTell => {}
            }
        }
    }

    /// Note two runs that differ in one step; the first two count.
    pub fn note_pair(&mut self, step: Step, before: RunId, after: RunId) {
        self.proven.entry(step.number()).or_insert_with(|| Proven { before, after, time_s: host::now_s() });
    }

    fn fail(&mut self, verdict: &Verdict, run: RunId, time_s: f64) {
        let before = self.tried.remove(&verdict.number);
        // Judging a run again is no new try, and no sign of life either.
        let again = before.as_ref().filter(|tried| tried.run == run);
        let runs = before.as_ref().map_or(0, |tried| tried.runs) + usize::from(again.is_none());
        let last_s = again.map_or(time_s, |tried| tried.time_s);
        let first_s = before.as_ref().map_or(time_s, |tried| tried.first_s);
        self.tried.insert(verdict.number, Tried { runs, run, evidence: verdict.evidence.clone(), first_s, time_s: last_s });
    }

    /// The failed runs of a step, if nothing was gained of it since.
    pub fn failing(&self, step: Step) -> Option<&Tried> {
        let tried = self.tried.get(&step.number())?;
        self.gained_s(step).is_none_or(|gained_s| tried.time_s > gained_s).then_some(tried)
    }

    /// When a run showed, proved or passed the learner's version of a step last: Unix time in seconds.
    pub fn gained_s(&self, step: Step) -> Option<f64> {
        let number = &step.number();
        let done = [&self.seen, &self.written].into_iter().filter_map(|map| map.get(number)).map(|done| done.time_s);
        done.chain(self.proven.get(number).map(|proven| proven.time_s)).reduce(f64::max)
    }

    /// When anything was noted last.
    pub fn active_s(&self) -> Option<f64> {
        self.times().reduce(f64::max)
    }

    /// When anything was noted first.
    pub fn began_s(&self) -> Option<f64> {
        self.times().reduce(f64::min)
    }

    fn times(&self) -> impl Iterator<Item = f64> {
        let done = self.seen.values().chain(self.written.values()).map(|done| done.time_s);
        let done = done.chain(self.proven.values().map(|proven| proven.time_s));
        let tried = self.tried.values().flat_map(|tried| [tried.first_s, tried.time_s]);
        let practised = self.ring.iter().chain(self.exercises.values()).flat_map(Practised::times);
        let practised = practised.chain(self.collectives.iter().map(|run| run.time_s));
        done.chain(tried).chain(practised).chain(self.predictions.values().flatten().map(|answered| answered.time_s))
    }

    /// What is known of the exercise of a track beside the ten steps; it counts as started from now on.
    pub fn practise(&mut self, track: &str) -> &mut Practised {
        let started = || Practised::started(host::now_s());
        match track {
            "collectives" => self.ring.get_or_insert_with(started),
            track => self.exercises.entry(track.to_owned()).or_insert_with(started),
        }
    }

    /// Note what the check of a run of collectives found. The last one counts.
    pub fn note_collectives(&mut self, run: RunId, claims: &[Claim]) {
        self.collectives.retain(|checked| checked.run != run);
        self.collectives.push(CheckedRun::new(run, claims, host::now_s()));
        self.collectives.sort_by_key(|checked| checked.run);
    }

    /// One line for each exercise or check apart from the ten steps.
    pub fn practice(&self) -> Vec<String> {
        practice::lines(self.ring.as_ref(), &self.exercises, &self.collectives)
    }

    /// Note a prediction for a question of a lesson.
    pub fn predict(&mut self, asked: QuestionId, prediction: Prediction, is_right: bool) {
        let answered = Answered { question: asked.question, prediction, is_right, time_s: host::now_s() };
        self.predictions.entry(asked.lesson).or_default().push(answered);
    }

    /// The predictions for one question, in the order they were made.
    pub fn tries(&self, asked: QuestionId) -> impl Iterator<Item = &Answered> {
        let of_lesson = self.predictions.get(&asked.lesson).into_iter().flatten();
        of_lesson.filter(move |answered| answered.question == asked.question)
    }

    /// The questions that were answered, each once, in the order of the lessons.
    pub fn questions(&self) -> BTreeSet<QuestionId> {
        let all = self.predictions.iter().flat_map(|(lesson, tries)| tries.iter().map(move |answered| (lesson, answered)));
        all.map(|(lesson, answered)| QuestionId { lesson: *lesson, question: answered.question }).collect()
    }

    /// Forget one step, its tries and the predictions of its lesson.
    pub fn reset(&mut self, step: Step) {
        self.seen.remove(&step.number());
        self.proven.remove(&step.number());
        self.written.remove(&step.number());
        self.tried.remove(&step.number());
        self.predictions.remove(&step.number());
    }

    /// The content of the file.
    pub fn to_json(&self) -> String {
        // Only failing writers and maps without text keys can fail here, and there are none.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
