//! What a learner hands in: steps with their evidence, predictions, runs, what more ranks gained, and the machine.
//!
//! Never holds code, nor a path or host name that nobody asked for, and never reads a clock or a file.

mod chart;
mod html;
mod markdown;
mod private;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Answer, Answered, Catalog, Done, Prediction, Progress, Tried, tries_in_words};
use crate::domain::step::Step;
use crate::domain::units;
use crate::runs::{RunId, RunSummary};
pub use chart::{Bar, Chart};
pub use private::Private;

/// Raised when a field changes its meaning.
const VERSION: u32 = 1;

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
    /// Of lessons with a prediction, in their order.
    pub predictions: Vec<PredictionRow>,
    /// Oldest first.
    pub runs: Vec<RunRow>,
    /// What more ranks gained, where runs can be compared.
    pub speedup: Option<Chart>,
    pub machine: MachineRow,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRow {
    pub step: usize,
    pub title: String,
    pub is_done: bool,
    /// The run that showed it, when, and what it showed; of a step not done the last failed one, if any.
    pub run: Option<RunId>,
    pub time_s: Option<f64>,
    pub date: Option<String>,
    pub evidence: Option<String>,
    /// Runs that had the step on and failed its check.
    pub failed_runs: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictionRow {
    pub lesson: usize,
    pub title: String,
    /// What was predicted, in the order of the tries.
    pub answers: Vec<String>,
    pub tries: usize,
    /// Counted from 1.
    pub right_at_try: Option<usize>,
    /// The same in words.
    pub outcome: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    pub run: RunId,
    pub name: Option<String>,
    pub date: String,
    pub state: String,
    pub np: usize,
    /// Such as 1-4.
    pub steps: String,
    pub model: String,
    pub images: String,
    /// Trained, and asked for.
    pub epochs: usize,
    pub epochs_asked: usize,
    pub images_per_sec: Option<f64>,
    /// Against the run with the fewest ranks of the same work; only where ranks share work and gradients.
    pub baseline: Option<RunId>,
    pub speedup: Option<f64>,
    pub scaling_efficiency: Option<f64>,
    /// Of the final test, else of the last validation.
    pub accuracy: Option<f64>,
    pub training_seconds: Option<f64>,
    pub seconds_to_target: Option<f64>,
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

/// Everything that a report is made of.
pub struct Sources<'a> {
    pub learner: Option<String>,
    pub now_s: f64,
    pub progress: &'a Progress,
    pub lessons: &'a Catalog,
    pub runs: &'a [RunSummary],
    pub machine: MachineRow,
    pub private: Private,
}

impl Report {
    pub fn new(sources: Sources) -> Report {
        let Sources { learner, now_s, progress, lessons, runs, machine, private } = sources;
        let clean = |text: &str| private.clean(text);
        let (rows, speedup) = chart::run_rows(runs, &private);
        let predictions = progress.predictions.iter().filter(|(_, tries)| !tries.is_empty());
        Report {
            report: VERSION,
            learner,
            time_s: now_s,
            date: units::date(now_s),
            steps: Step::ALL.map(|step| step_row(step, progress, &private)).to_vec(),
            predictions: predictions.map(|(lesson, tries)| prediction_row(*lesson, tries, lessons)).collect(),
            runs: rows,
            speedup,
            machine: MachineRow {
                gpus: machine.gpus.iter().map(|name| clean(name)).collect(),
                no_gpus: machine.no_gpus.as_deref().map(clean),
                versions: machine.versions.iter().map(|version| clean(version)).collect(),
                ..machine
            },
        }
    }

    pub fn done(&self) -> usize {
        self.steps.iter().filter(|row| row.is_done).count()
    }

    /// For people, as plain text too.
    pub fn to_markdown(&self) -> String {
        markdown::render(self)
    }

    /// One page that needs nothing beside it.
    pub fn to_html(&self) -> String {
        html::render(self)
    }

    /// For programs.
    pub fn to_json(&self) -> String {
        // Only failing writers and maps without text keys can fail here, and there are none.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// How far the learner is, for the instructor's table. Predictions are told by lesson only.
    pub fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        for row in &self.steps {
            let run = row.run.unwrap_or(RunId(0));
            let (time_s, evidence) = (row.time_s.unwrap_or(self.time_s), row.evidence.clone().unwrap_or_default());
            if row.is_done {
                progress.done.insert(row.step, Done { run, time_s, evidence });
            } else if row.failed_runs > 0 {
                let tried = Tried { runs: row.failed_runs, run, evidence, first_s: time_s, time_s };
                progress.tried.insert(row.step, tried);
            }
        }
        progress
    }

    /// `7 of 10 steps done`, and how often a prediction was right at once.
    pub fn summary(&self) -> String {
        let right = self.predictions.iter().filter(|row| row.right_at_try == Some(1)).count();
        let predictions = match self.predictions.len() {
            0 => "no predictions".to_owned(),
            all => format!("{right} of {all} predictions right at once"),
        };
        let runs = units::counted(self.runs.len(), "run");
        format!("{} of {} steps done, {predictions}, {runs}", self.done(), self.steps.len())
    }
}

fn step_row(step: Step, progress: &Progress, private: &Private) -> StepRow {
    let (done, tried) = (progress.done.get(&step.number()), progress.tried.get(&step.number()));
    let last = done.map(|done| (done.run, done.time_s, &done.evidence));
    let last = last.or(tried.map(|tried| (tried.run, tried.time_s, &tried.evidence)));
    StepRow {
        step: step.number(),
        title: step.title().to_owned(),
        is_done: done.is_some(),
        run: last.map(|(run, ..)| run),
        time_s: last.map(|(_, time_s, _)| time_s),
        date: last.map(|(_, time_s, _)| units::date(time_s)),
        evidence: last.map(|(.., evidence)| private.clean(evidence)),
        failed_runs: tried.map_or(0, |tried| tried.runs),
    }
}

fn prediction_row(number: usize, tries: &[Answered], lessons: &Catalog) -> PredictionRow {
    let lesson = lessons.lesson(number);
    let options = match lesson.and_then(|lesson| lesson.question.as_ref()).map(|question| &question.answer) {
        Some(Answer::Choice { options, .. }) => options.as_slice(),
        _ => &[],
    };
    let answer = |answered: &Answered| match answered.prediction {
        Prediction::Number(value) => value.to_string(),
        Prediction::Choice(index) => options.get(index).cloned().unwrap_or_else(|| format!("option {}", index + 1)),
    };
    PredictionRow {
        lesson: number,
        title: lesson.map_or_else(|| format!("lesson {number}"), |lesson| lesson.title.clone()),
        answers: tries.iter().map(answer).collect(),
        tries: tries.len(),
        right_at_try: tries.iter().position(|answered| answered.is_right).map(|index| index + 1),
        outcome: tries_in_words(tries),
    }
}

/// Figures as both kinds of table show them, a dash where there is none.
fn figures(row: &RunRow) -> [String; 6] {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    let is_baseline = row.baseline == Some(row.run);
    [
        or_dash(row.images_per_sec.map(units::rate)),
        if is_baseline { "1 (baseline)".into() } else { or_dash(row.speedup.map(|times| format!("{times:.2}x"))) },
        or_dash(row.scaling_efficiency.filter(|_| !is_baseline).map(units::percent)),
        or_dash(row.accuracy.map(|accuracy| format!("{accuracy:.4}"))),
        or_dash(row.training_seconds.map(units::seconds)),
        or_dash(row.seconds_to_target.map(units::seconds)),
    ]
}

const FIGURES: [&str; 6] = ["images/s", "speed-up", "efficiency", "accuracy", "training", "to target"];

/// Name and value of each line about the machine.
fn machine_lines(machine: &MachineRow) -> Vec<(&'static str, String)> {
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
