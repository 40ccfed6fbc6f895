//! The course as the screen knows it: the lessons, and the progress of the learner.
//!
//! Files are read elsewhere; what they hold comes in as messages.

use std::collections::BTreeMap;

use crate::course::{Catalog, Judged, Lesson, Level, Outcome, Prediction, Progress, Question, QuestionId, Reading, Verdict};
use crate::domain::step::{Step, StepSet};
use crate::runs::RunId;

#[derive(Clone, Debug, Default)]
pub struct Course {
    pub lessons: Catalog,
    pub progress: Progress,
    /// The last answer to each question, of this session or of one before.
    pub answers: BTreeMap<QuestionId, Prediction>,
    pub shown: Option<RunVerdicts>,
    /// The learner writes Rust: lessons hide the lines in other languages.
    pub writes_rust: bool,
}

/// The verdicts on the steps of a run.
#[derive(Clone, Debug)]
pub struct RunVerdicts {
    pub run: RunId,
    /// Steps that were on.
    pub steps: StepSet,
    pub verdicts: Vec<Verdict>,
}

/// The state of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Proven by two runs, or written by the learner.
    Done,
    /// A run showed it.
    Seen,
    /// No run has shown it, and the one on the screen tried.
    Failed,
    NotYet,
}

impl Mark {
    pub fn sign(self) -> &'static str {
        match self {
            Mark::Done => "✓",
            Mark::Seen => "·",
            Mark::Failed => "✗",
            Mark::NotYet => " ",
        }
    }
}

impl Course {
    pub fn mark(&self, step: Step) -> Mark {
        let failed = |shown: &RunVerdicts| {
            let verdict = shown.verdicts.iter().find(|verdict| verdict.number == step.number());
            shown.steps.contains(step) && verdict.is_some_and(|verdict| verdict.outcome == Outcome::Failed)
        };
        match () {
            () if self.progress.is_done(step) => Mark::Done,
            () if self.progress.has(step, Level::Seen) => Mark::Seen,
            () if self.shown.as_ref().is_some_and(failed) => Mark::Failed,
            () => Mark::NotYet,
        }
    }

    /// The question of a lesson that an answer is for.
    pub fn asked<'a>(&self, lesson: &'a Lesson) -> Option<(QuestionId, &'a Question)> {
        lesson.asked(|id| self.answers.get(&id).copied())
    }

    /// What the file holds now; answers of this session stay as they are. Gives back what there is to say of the file.
    pub fn read(&mut self, reading: Reading) -> Option<String> {
        for asked in reading.progress.questions() {
            if let Some(last) = reading.progress.tries(asked).last() {
                self.answers.entry(asked).or_insert(last.prediction);
            }
        }
        self.progress = reading.progress;
        reading.note
    }

    /// A run was judged. Gives back what there is to say of it.
    pub fn judged(&mut self, judged: Judged) -> Option<String> {
        let Judged { record, verdicts, first, reading } = judged;
        let run = record.id;
        self.shown =
            Some(RunVerdicts { run, steps: record.training().map(|training| training.steps).unwrap_or_default(), verdicts });
        // A run that is judged a second time brings no news.
        let is_news = |(level, steps): &(Level, StepSet)| steps.iter().any(|step| !self.progress.has(step, *level));
        let news = first.iter().filter(|what| is_news(what));
        let in_words = |(level, steps): &(Level, StepSet)| level.first_in_words(run, *steps, &reading.progress);
        let mut said: Vec<String> = news.map(in_words).collect();
        said.extend(self.read(reading));
        (!said.is_empty()).then(|| said.join("; "))
    }
}
