//! One exercise: a program with numbered places to complete, its solutions, and how a run of it is judged.
//!
//! A program is a file in `programs` and a line in its table.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use super::language::Language;
use crate::course::{ProgressError, ProgressFile, Verdict, conclude, judge};
use crate::domain::job::{RunSpec, TrainingJob};
use crate::domain::step::{Step, StepSet};
use crate::runs::{RunFolder, RunId, RunRecord, RunStore, StoreError};

/// The track of the ten steps, which the progress lists one by one.
pub(super) const TEN_STEPS: &str = "ten-steps";
/// The track of the ten steps in plain PyTorch.
pub(super) const PYTORCH: &str = "ddp";

/// A program with places to complete, known by their numbers, from 1.
pub struct Program {
    /// Name as `--track` spells it.
    pub track: &'static str,
    /// Title, for a list.
    pub title_of_all: &'static str,
    /// The number of the lesson about it; `None` where each place has its own, by its number.
    pub lesson: Option<usize>,
    pub language: Language,
    /// Name of the file.
    pub file: &'static str,
    /// How comments begin that open a place: `Step` of `TODO: Step 4: ...` and `Step 4/10: ...`.
    pub mark: &'static str,
    /// The same in a sentence: `step`.
    pub noun: &'static str,
    /// The largest number.
    pub count: usize,
    /// Title of the place with a number.
    pub title: fn(usize) -> &'static str,
    /// The program as the learner gets it: nothing done, a `TODO` at each place.
    pub exercise: &'static str,
    pub solutions: Solutions,
    /// The run that it is judged by, of a program of this text: on two ranks, in a few seconds.
    pub job: fn(&Program, &str) -> RunSpec,
    /// The verdict of a run on each place, in their order, from its folder and its record.
    pub check: fn(&RunFolder, &RunRecord) -> Result<Vec<Verdict>, StoreError>,
    /// The run of one rank or of several that are set side by side; `None` where lessons have such runs of their own.
    pub compared: Option<fn(usize) -> TrainingJob>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.track)
    }
}

/// The programs in which the places up to a number are done.
pub enum Solutions {
    /// One program for each number.
    Each(&'static [&'static str]),
    /// All places done. Solutions before it are the same with later places put back.
    Whole(&'static str),
}

impl Program {
    /// Numbers of the places.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + use<> {
        1..=self.count
    }

    /// The program with the places up to `number` done.
    pub fn solution(&self, number: usize) -> String {
        match &self.solutions {
            Solutions::Each(all) => all.get(number.wrapping_sub(1)).copied().unwrap_or(self.exercise).to_owned(),
            // The whole has all places: a test puts each of them back.
            Solutions::Whole(whole) => {
                (number + 1..=self.count).fold((*whole).to_owned(), |text, later| self.without(&text, later).unwrap_or(text))
            }
        }
    }

    /// The program in which the places of these numbers are done, and no others.
    pub fn solution_of(&self, done: &BTreeSet<usize>) -> String {
        let last = done.last().copied().unwrap_or(0);
        let open = (1..last).filter(|number| !done.contains(number));
        // A solution has all places up to its own: a test puts each of them back.
        open.fold(self.solution(last), |text, number| self.without(&text, number).unwrap_or(text))
    }

    /// The program that a place begins from: the solution before it, or the exercise.
    pub fn before(&self, number: usize) -> String {
        if number <= 1 { self.exercise.to_owned() } else { self.solution(number - 1) }
    }

    /// `step 4`, or what all of it is called.
    pub fn part_named(&self, number: Option<usize>) -> String {
        number.map_or("the whole program".to_owned(), |number| format!("{} {number}", self.noun))
    }

    /// Whether its runs show the ten steps.
    pub fn has_steps(&self) -> bool {
        self.track == TEN_STEPS
    }

    /// Whether it is in plain PyTorch, and so started by torchrun and judged by what the inspector sees.
    pub fn is_in_pytorch(&self) -> bool {
        self.track == PYTORCH
    }

    /// The flag that chooses this exercise, as a command goes on with it; nothing for the one that is meant without.
    pub fn flag(&self) -> String {
        if self.has_steps() { String::new() } else { format!(" --track {}", self.track) }
    }

    /// The verdict of a run on each place, in their order.
    ///
    /// # Errors
    /// A run that is not there or whose record cannot be read.
    pub fn shown(&self, store: &RunStore, run: RunId) -> Result<Vec<Verdict>, StoreError> {
        (self.check)(&store.folder(run), &store.record(run)?)
    }

    /// Judge a new run of the program, and note what it shows of the ten steps in the learner's progress under `home`. Returns the
    /// verdict on each place, in their order, and notes for the learner.
    ///
    /// # Errors
    /// A run that is not there or whose record cannot be read. Where progress cannot be kept, the verdicts stand and a note
    /// says so.
    pub fn judge(&self, store: &RunStore, home: &Path, run: RunId) -> Result<(Vec<Verdict>, Vec<String>), ProgressError> {
        if self.has_steps() {
            let judged = judge(store, home, run, None)?;
            let done = judged.first.iter().map(|(level, steps)| level.first_in_words(run, *steps, &judged.reading.progress));
            let notes = judged.reading.note.into_iter().chain(done).collect();
            return Ok((judged.verdicts, notes));
        }
        Ok((self.shown(store, run)?, Vec::new()))
    }

    /// Note in the learner's progress what all runs of an attempt have shown, the first of which this was. What is to be said beside
    /// it.
    pub fn conclude(&self, home: &Path, run: RunId, text: &str, shown: &[Verdict]) -> Vec<String> {
        if self.has_steps() {
            let done = self.done(text).into_iter().filter_map(Step::from_number).fold(StepSet::NONE, StepSet::with);
            return if self.is_tried_further(text) { conclude(home, run, done, shown) } else { Vec::new() };
        }
        let first = shown.iter().find(|shown| !shown.has_passed());
        let outcome = first.map_or(Ok(()), |shown| Err(format!("{} {}: {}", self.noun, shown.number, shown.evidence)));
        ProgressFile::of(home).note(|progress| progress.practise(self.track).attempt(outcome)).into_iter().collect()
    }
}
