//! What a learner hands in: steps with their evidence, predictions, runs, what more ranks gained, and the machine.
//!
//! It has no code, and paths and host names only if the learner asks for them.

mod chart;
mod content;
mod html;
mod markdown;
mod private;

use super::{
    Answer, Answered, Catalog, CheckedRun, Done, Level, Practised, Prediction, Progress, Proven, QuestionId, Tried,
    tries_in_words,
};
use crate::domain::step::Step;
use crate::domain::{printable, units};
use crate::runs::{RunId, RunSummary};
pub use chart::{Bar, Chart, RunRow};
pub use content::{InspectedRow, MachineRow, PredictionRow, Report, StepRow};
pub use private::Private;

/// Raised when a field changes its meaning.
const VERSION: u32 = 1;

/// Everything that a report is made of.
pub struct Sources<'a> {
    pub learner: Option<String>,
    pub now_s: f64,
    pub progress: &'a Progress,
    pub lessons: &'a Catalog,
    pub runs: &'a [RunSummary],
    pub inspected: Vec<InspectedRow>,
    pub machine: MachineRow,
    pub private: Private,
}

impl Report {
    pub fn new(sources: Sources) -> Report {
        let Sources { learner, now_s, progress, lessons, runs, inspected, machine, private } = sources;
        let clean = |text: &str| private.clean(text);
        let all = |texts: &[String]| -> Vec<String> { texts.iter().map(|text| clean(text)).collect() };
        let practised = |one: &Practised| Practised { said: one.said.as_deref().map(clean), ..one.clone() };
        let checked = |run: &CheckedRun| CheckedRun { said: run.said.as_deref().map(clean), ..run.clone() };
        let cleaned = |row: InspectedRow| InspectedRow { wrong: all(&row.wrong), look: all(&row.look), ..row };
        let (rows, speedup) = chart::run_rows(runs, &private);
        let predictions = progress.questions();
        Report {
            report: VERSION,
            learner,
            time_s: now_s,
            date: units::date(now_s),
            steps: Step::ALL.map(|step| step_row(step, progress, &private)).to_vec(),
            predictions: predictions.into_iter().map(|asked| prediction_row(asked, progress, lessons)).collect(),
            ring: progress.ring.as_ref().map(practised),
            exercises: progress.exercises.iter().map(|(track, one)| (clean(track), practised(one))).collect(),
            collectives: progress.collectives.iter().map(checked).collect(),
            inspected: inspected.into_iter().map(cleaned).collect(),
            runs: rows,
            speedup,
            machine: MachineRow {
                gpus: all(&machine.gpus),
                no_gpus: machine.no_gpus.as_deref().map(clean),
                versions: all(&machine.versions),
                ..machine
            },
        }
    }

    /// The report as Markdown that reads well as plain text too.
    pub fn to_markdown(&self) -> String {
        printable::lines(&markdown::render(self)).into_owned()
    }

    /// One page that needs nothing beside it.
    pub fn to_html(&self) -> String {
        printable::lines(&html::render(self)).into_owned()
    }

    /// The report as JSON.
    pub fn to_json(&self) -> String {
        // Only failing writers and maps without text keys can fail here, and there are none.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// How far the learner is, for the instructor's table. Predictions are told by lesson only.
    pub fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        (progress.ring, progress.exercises) = (self.ring.clone(), self.exercises.clone());
        progress.collectives = self.collectives.clone();
        for row in &self.steps {
            let run = row.run.unwrap_or(RunId(0));
            let (time_s, evidence) = (row.time_s.unwrap_or(self.time_s), row.evidence.clone().unwrap_or_default());
            // Versions before this one knew of no levels: what they took for done was seen.
            let is_old = row.levels.is_empty() && row.is_done;
            let has = |level| row.levels.contains(&level) || is_old && level == Level::Seen;
            let done = Done { run, time_s, evidence: evidence.clone() };
            if has(Level::Seen) {
                progress.seen.insert(row.step, done.clone());
            }
            if has(Level::Predicted) {
                let answered = Answered { question: 0, prediction: Prediction::Choice(0), is_right: true, time_s };
                progress.predictions.insert(row.step, vec![answered]);
            }
            if has(Level::Proven) {
                progress.proven.insert(row.step, Proven { before: run, after: run, time_s });
            }
            if has(Level::Written) {
                progress.written.insert(row.step, done);
            }
            if !is_old && row.levels.is_empty() && row.failed_runs > 0 {
                let tried = Tried { runs: row.failed_runs, run, evidence, first_s: time_s, time_s };
                progress.tried.insert(row.step, tried);
            }
        }
        progress
    }
}

fn step_row(step: Step, progress: &Progress, private: &Private) -> StepRow {
    let done = progress.written.get(&step.number()).or(progress.seen.get(&step.number()));
    let tried = progress.tried.get(&step.number());
    let last = done.map(|done| (done.run, done.time_s, &done.evidence));
    let last = last.or(tried.map(|tried| (tried.run, tried.time_s, &tried.evidence)));
    StepRow {
        step: step.number(),
        title: step.title().to_owned(),
        is_done: progress.is_done(step),
        levels: progress.levels(step),
        run: last.map(|(run, ..)| run),
        time_s: last.map(|(_, time_s, _)| time_s),
        date: last.map(|(_, time_s, _)| units::date(time_s)),
        evidence: last.map(|(.., evidence)| private.clean(evidence)),
        failed_runs: tried.map_or(0, |tried| tried.runs),
    }
}

fn prediction_row(asked: QuestionId, progress: &Progress, lessons: &Catalog) -> PredictionRow {
    let number = asked.lesson;
    let lesson = lessons.lesson(number);
    let tries: Vec<Answered> = progress.tries(asked).copied().collect();
    let options = match lesson.and_then(|lesson| lesson.questions.get(asked.question)).map(|question| &question.answer) {
        Some(Answer::Choice { options, .. }) => options.as_slice(),
        _ => &[],
    };
    let is_late = lesson.and_then(|lesson| lesson.step).is_some_and(|step| !progress.has(step, Level::Predicted));
    let answer = |answered: &Answered| match answered.prediction {
        Prediction::Number(value) => value.to_string(),
        Prediction::Choice(index) => options.get(index).cloned().unwrap_or_else(|| format!("option {}", index + 1)),
    };
    PredictionRow {
        lesson: number,
        title: match lesson {
            None => format!("lesson {number}"),
            Some(lesson) if lesson.questions.len() > 1 => format!("{}, question {}", lesson.title, asked.question + 1),
            Some(lesson) => lesson.title.clone(),
        },
        answers: tries.iter().map(answer).collect(),
        tries: tries.len(),
        right_at_try: tries.iter().position(|answered| answered.is_right).map(|index| index + 1),
        is_late,
        outcome: format!("{}{}", tries_in_words(&tries), if is_late { ", after the run" } else { "" }),
    }
}
