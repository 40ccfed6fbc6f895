//! What the screen knows of the course: the lessons, and how far the learner has come.
//!
//! Never reads a file: what is kept comes in as messages.

use std::collections::BTreeMap;

use crate::course::{Catalog, Judged, Lesson, Outcome, Prediction, Progress, Question, QuestionId, Reading, Verdict};
use crate::domain::step::{Step, StepSet};
use crate::runs::RunId;

#[derive(Clone, Debug, Default)]
pub struct Course {
    pub lessons: Catalog,
    pub progress: Progress,
    /// The last answer to each question, of this session or of one before.
    pub answers: BTreeMap<QuestionId, Prediction>,
    pub shown: Option<Shown>,
}

/// What a run shows of each step, as far as it was asked for.
#[derive(Clone, Debug)]
pub struct Shown {
    pub run: RunId,
    /// Steps that were on.
    pub steps: StepSet,
    pub verdicts: Vec<Verdict>,
}

/// How a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A run of the learner's showed it.
    Done,
    /// No run has shown it, and the one on the screen tried.
    Failed,
    NotYet,
}

impl Mark {
    pub fn sign(self) -> &'static str {
        match self {
            Mark::Done => "✓",
            Mark::Failed => "✗",
            Mark::NotYet => " ",
        }
    }
}

impl Course {
    pub fn mark(&self, step: Step) -> Mark {
        let failed = |shown: &Shown| {
            let verdict = shown.verdicts.iter().find(|verdict| verdict.step == step);
            shown.steps.contains(step) && verdict.is_some_and(|verdict| verdict.outcome == Outcome::Failed)
        };
        match (self.progress.is_done(step), self.shown.as_ref().is_some_and(failed)) {
            (true, _) => Mark::Done,
            (false, true) => Mark::Failed,
            (false, false) => Mark::NotYet,
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
        let Judged { record, verdicts, new, reading } = judged;
        let run = record.id;
        self.shown = Some(Shown { run, steps: record.training().map(|training| training.steps).unwrap_or_default(), verdicts });
        let damaged = self.read(reading);
        if new.is_empty() {
            return damaged;
        }
        let noun = if new.len() == 1 { "step" } else { "steps" };
        let done = format!("run {run} passed the checks of {noun} {}", new.into_iter().collect::<StepSet>());
        Some(damaged.map_or(done.clone(), |damaged| format!("{done}; {damaged}")))
    }
}
