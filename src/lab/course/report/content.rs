//! The content of a report, with the names of its JSON fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::chart::{Chart, RunRow};
use crate::course::Level;
use crate::course::practice::{self, CheckedRun, Practised};
use crate::domain::units;
use crate::runs::RunId;

/// The whole report; as JSON these are its fields. Times are Unix seconds, dates the same as people read them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this format: 1.
    pub report: u32,
    /// Whose it is, as they named themselves.
    pub learner: Option<String>,
    pub time_s: f64,
    pub date: String,
    /// All ten, in their order.
    pub steps: Vec<StepRow>,
    /// Lessons with a prediction, in their order.
    pub predictions: Vec<PredictionRow>,
    /// The ring exercise of lesson 15, if it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<Practised>,
    /// Other exercises that were started, by their tracks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exercises: BTreeMap<String, Practised>,
    /// Runs of collectives that were checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CheckedRun>,
    /// Programs of the learner's own that ran with the inspector.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inspected: Vec<InspectedRow>,
    /// Oldest first.
    pub runs: Vec<RunRow>,
    /// The gain of more ranks, if runs can be compared.
    pub speedup: Option<Chart>,
    pub machine: MachineRow,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRow {
    pub step: usize,
    pub title: String,
    /// Proven or written.
    pub is_done: bool,
    /// The levels that were reached; reports of older versions have none.
    #[serde(default)]
    pub levels: Vec<Level>,
    /// The run that showed it, of the learner's own program if there is one, when, and what it showed; of a step that no run showed
    /// the last failed one, if any.
    pub run: Option<RunId>,
    pub time_s: Option<f64>,
    pub date: Option<String>,
    pub evidence: Option<String>,
    /// Runs that had the step on and failed its check.
    pub failed_runs: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InspectedRow {
    pub run: RunId,
    /// What was judged.
    pub topics: usize,
    /// What is wrong, each in one line.
    pub wrong: Vec<String>,
    /// What to look at, each in one line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub look: Vec<String>,
}

impl InspectedRow {
    fn in_words(&self) -> Vec<String> {
        let all = format!("run {}: the inspector judged {}", self.run, units::counted(self.topics, "topic"));
        if self.wrong.is_empty() && self.look.is_empty() {
            return vec![format!("{all}, and found nothing wrong")];
        }
        let wrong = self.wrong.iter().map(|wrong| format!("run {}: wrong: {wrong}", self.run));
        wrong.chain(self.look.iter().map(|look| format!("run {}: look at this: {look}", self.run))).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictionRow {
    pub lesson: usize,
    pub title: String,
    /// The answers, in the order of the tries.
    pub answers: Vec<String>,
    pub tries: usize,
    /// Counted from 1.
    pub right_at_try: Option<usize>,
    /// The question is about a step, and was answered after the run.
    #[serde(default)]
    pub is_late: bool,
    /// The number of tries and the first right one, in words.
    pub outcome: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRow {
    /// Only if asked for.
    pub host: Option<String>,
    /// Logical cores that the lab may use, and physical ones.
    pub cores: usize,
    pub physical_cores: usize,
    pub memory_bytes: u64,
    /// Names, or why there are none.
    pub gpus: Vec<String>,
    pub no_gpus: Option<String>,
    pub versions: Vec<String>,
}

impl StepRow {
    /// `seen, predicted`; `not yet` of a step that was tried in vain, `open` of one that was not tried.
    pub fn state(&self) -> String {
        match (self.levels.is_empty(), self.failed_runs) {
            (false, _) => self.levels.iter().map(|level| level.name()).collect::<Vec<_>>().join(", "),
            (true, 0) => "open".into(),
            (true, _) => "not yet".into(),
        }
    }
}

impl Report {
    /// One line for each exercise or check apart from the ten steps.
    pub fn practice(&self) -> Vec<String> {
        let mut lines = practice::lines(self.ring.as_ref(), &self.exercises, &self.collectives);
        lines.extend(self.inspected.iter().flat_map(InspectedRow::in_words));
        lines
    }

    /// How many steps are at each level, and how often a prediction was right at once.
    pub fn summary(&self) -> String {
        let right = self.predictions.iter().filter(|row| row.right_at_try == Some(1) && !row.is_late).count();
        let predictions = match self.predictions.len() {
            0 => "no predictions".to_owned(),
            all => format!("{right} of {all} predictions right at once"),
        };
        let runs = units::counted(self.runs.len(), "run");
        format!("{}, {predictions}, {runs}", self.progress().in_words())
    }
}

/// Name and value of each line about the machine.
pub fn machine_lines(machine: &MachineRow) -> Vec<(&'static str, String)> {
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    machine.gpus.iter().for_each(|name| *counted.entry(name).or_default() += 1);
    let gpus: Vec<String> = counted.iter().map(|(name, count)| format!("{count} x {name}")).collect();
    let none = || machine.no_gpus.clone().unwrap_or_else(|| "none".into());
    let host = machine.host.iter().map(|host| ("Host", host.clone()));
    host.chain([
        ("Cores", format!("{} usable, {} physical", machine.cores, machine.physical_cores)),
        ("Memory", units::bytes(machine.memory_bytes)),
        ("GPUs", if gpus.is_empty() { none() } else { gpus.join(", ") }),
        ("Versions", machine.versions.join(", ")),
    ])
    .collect()
}
