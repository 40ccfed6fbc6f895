//! How far a learner has come with a step: four levels, each with evidence of its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Answered, Done, Progress, Proven};
use crate::domain::markup;
use crate::domain::step::{Step, StepSet};
use crate::runs::RunId;

hvd_lab_core::named! {
    /// How far a learner has come with a step. No level includes another: one can write a step and never have predicted what it does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    Level {
        /// A run passed the check of the step.
        Seen = "seen",
        /// The lesson's question was answered before a run showed the step, or else before the two runs that prove it.
        Predicted = "predicted",
        /// Two runs that differ in nothing but the step: the one without it, and the one with it, which passed its check.
        Proven = "proven",
        /// The learner's own program passed the check of the step.
        Written = "written",
    }
}

impl Level {
    /// What a run was the first to do: `run 3 was the first to show steps 1-4`.
    pub fn first_in_words(self, run: RunId, steps: StepSet, progress: &Progress) -> String {
        let proven = |step: Step| {
            let Proven { before, after, .. } = progress.proven.get(&step.number())?;
            Some(format!("step {} is proven: run {before} without it, run {after} with it", step.number()))
        };
        let words = steps.in_words();
        match self {
            Level::Seen => format!("run {run} was the first to show {words}"),
            Level::Predicted => format!("{words} predicted before run {run}"),
            Level::Proven => steps.iter().filter_map(proven).collect::<Vec<_>>().join("; "),
            Level::Written => format!("run {run} was the first in which your program does {words}"),
        }
    }

    /// What a learner does to get there, for a step by its number.
    pub fn how(self, step: usize) -> String {
        match self {
            Level::Seen => format!("run with step {step} on"),
            Level::Predicted => "answer the question before you run it".into(),
            Level::Proven => format!("run it without step {step} and with it"),
            Level::Written => "write it yourself: `hvd-lab exercise start`".into(),
        }
    }
}

impl Progress {
    pub fn has(&self, step: Step, level: Level) -> bool {
        let number = &step.number();
        match level {
            Level::Seen => self.seen.contains_key(number),
            Level::Predicted => self.is_predicted(step),
            Level::Proven => self.proven.contains_key(number),
            Level::Written => self.written.contains_key(number),
        }
    }

    /// The levels that a step has reached, in their order.
    pub fn levels(&self, step: Step) -> Vec<Level> {
        Level::ALL.into_iter().filter(|level| self.has(step, *level)).collect()
    }

    /// The steps that this run was the first to bring to a level; of a pair either of the two.
    pub fn first_by(&self, level: Level, run: RunId) -> StepSet {
        let is_first = |step: &Step| {
            let number = &step.number();
            let of = |map: &BTreeMap<usize, Done>| map.get(number).is_some_and(|done| done.run == run);
            match level {
                Level::Seen => of(&self.seen),
                Level::Predicted => false,
                Level::Proven => self.proven.get(number).is_some_and(|pair| [pair.before, pair.after].contains(&run)),
                Level::Written => of(&self.written),
            }
        };
        Step::ALL.into_iter().filter(is_first).collect()
    }

    /// Proven or written: more than a look at the bundled trainer.
    pub fn is_done(&self, step: Step) -> bool {
        self.has(step, Level::Proven) || self.has(step, Level::Written)
    }

    /// How many steps have reached a level.
    pub fn count(&self, level: Level) -> usize {
        Step::ALL.into_iter().filter(|step| self.has(*step, level)).count()
    }

    /// `seen 10, predicted 3, proven 2, written 0 of 10 steps`.
    pub fn in_words(&self) -> String {
        let counts = Level::ALL.map(|level| format!("{} {}", level.name(), self.count(level)));
        format!("{} of {} steps", counts.join(", "), Step::ALL.len())
    }

    /// For each level in words how a step stands there; nothing where it does not.
    pub fn cells(&self, step: Step) -> [String; 4] {
        let number = &step.number();
        let run = |map: &BTreeMap<usize, Done>| map.get(number).map(|done| format!("run {}", done.run)).unwrap_or_default();
        let predicted = match (self.has(step, Level::Predicted), self.predictions.get(number)) {
            (true, Some(tries)) => tries_in_words(tries),
            (false, Some(_)) => "after the run".into(),
            (_, None) => String::new(),
        };
        let proven = self.proven.get(number).map(|pair| format!("runs {} and {}", pair.before, pair.after));
        [run(&self.seen), predicted, proven.unwrap_or_default(), run(&self.written)]
    }

    /// What the check said of the learner's own program, or else of the first run that showed the step.
    pub fn evidence(&self, step: Step) -> Option<&str> {
        let done = self.written.get(&step.number()).or(self.seen.get(&step.number()));
        done.map(|done| done.evidence.as_str())
    }

    /// The progress as a page of Markdown.
    pub fn to_markdown(&self) -> String {
        let rows = Step::ALL.into_iter().map(|step| {
            let evidence = self.evidence(step).unwrap_or_default().to_owned();
            let title = format!("{} {}", step.number(), step.title());
            [title].into_iter().chain(self.cells(step)).chain([evidence]).collect()
        });
        let table = markup::table(&["step", "seen", "predicted", "proven", "written", "evidence"], rows);
        let text = format!("# hvd-lab: {}\n\n{table}", self.in_words());
        let practice: String = self.practice().iter().map(|line| format!("- {}\n", markup::markdown(line))).collect();
        if practice.is_empty() { text } else { format!("{text}\n{practice}") }
    }

    /// Whether the first answer came before the run that it was about: the later one of a pair, or else the first one that showed it.
    fn is_predicted(&self, step: Step) -> bool {
        let number = &step.number();
        let Some(first) = self.predictions.get(number).and_then(|tries| tries.first()) else { return false };
        // Of a pair only where the run with the step is a later one than that which was seen first.
        let seen = self.seen.get(number);
        let proven = self.proven.get(number).filter(|pair| seen.is_none_or(|seen| seen.run != pair.after));
        let shown_s = proven.map(|pair| pair.time_s).or(seen.map(|seen| seen.time_s));
        shown_s.is_none_or(|shown_s| first.time_s <= shown_s)
    }
}

/// `right at try 2`; nothing for nothing.
pub fn tries_in_words(tries: &[Answered]) -> String {
    match (tries.iter().position(|answered| answered.is_right), tries.len()) {
        (None, 0) => String::new(),
        (None, 1) => "1 try, not right".into(),
        (None, tries) => format!("{tries} tries, none right"),
        (Some(0), _) => "right at once".into(),
        (Some(index), _) => format!("right at try {}", index + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::{Answered, Prediction, Proven};

    fn done(time_s: f64) -> Done {
        Done { run: RunId(1), time_s, evidence: String::new() }
    }

    #[test]
    fn an_answer_counts_only_before_the_run_that_it_is_about() {
        let answer = |time_s| vec![Answered { question: 0, prediction: Prediction::Choice(0), is_right: false, time_s }];
        let pair = |time_s| Proven { before: RunId(2), after: RunId(3), time_s };
        let cases = [
            (None, None, true),
            (Some(6.0), None, true),
            (Some(4.0), None, false),
            // Seen long ago by chance, but predicted before the lesson's own two runs.
            (Some(4.0), Some(6.0), true),
            (Some(3.0), Some(4.0), false),
        ];
        // The run with the step was there before the answer, and the one without it proves nothing new.
        let mut late = Progress::default();
        late.predictions.insert(4, answer(5.0));
        late.seen.insert(4, Done { run: RunId(3), ..done(4.0) });
        late.proven.insert(4, pair(6.0));
        assert!(!late.has(Step::Broadcast, Level::Predicted));
        for (seen_s, proven_s, is_predicted) in cases {
            let mut progress = Progress::default();
            progress.predictions.insert(4, answer(5.0));
            seen_s.into_iter().for_each(|time_s| _ = progress.seen.insert(4, done(time_s)));
            proven_s.into_iter().for_each(|time_s| _ = progress.proven.insert(4, pair(time_s)));
            assert_eq!(progress.has(Step::Broadcast, Level::Predicted), is_predicted, "{seen_s:?} {proven_s:?}");
        }
        assert!(!Progress::default().has(Step::Broadcast, Level::Predicted), "nobody answered");
    }

    #[test]
    fn a_look_at_the_bundled_trainer_is_not_yet_done() {
        let mut progress = Progress::default();
        progress.seen.insert(4, done(1.0));
        assert_eq!((progress.levels(Step::Broadcast), progress.is_done(Step::Broadcast)), (vec![Level::Seen], false));
        progress.written.insert(4, done(1.0));
        assert!(progress.is_done(Step::Broadcast));
        assert_eq!(progress.in_words(), "seen 1, predicted 0, proven 0, written 1 of 10 steps");
    }
}
