//! Runs that take turns: the two of a lesson, or all steps but one. One list, kept as `series.json` in the lab's home.
//!
//! Never starts a run: a screen or a verb does, and the list remembers which run each turn became. So nothing waits in
//! memory only, and the next screen goes on with it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Lesson;
use crate::domain::bounds::{Bounded, count};
use crate::domain::job::TrainingJob;
use crate::domain::run::RunState;
use crate::domain::step::{Step, StepSet};
use crate::domain::training::TrainingSpec;
use crate::host::access;
use crate::runs::{self, RunId, RunSummary, StoreError};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    pub purpose: Purpose,
    /// Name of the preset that the settings began as.
    pub preset: String,
    pub turns: Vec<Turn>,
    /// Turns that have not begun are skipped.
    #[serde(default)]
    pub is_cancelled: bool,
    /// Its runs start even if the machine has too little room for them.
    #[serde(default)]
    pub force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A lesson's runs without and with its step, by the step's number.
    Guided(usize),
    /// All steps but one.
    Ablation,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// `before`, `without 4`.
    pub name: String,
    pub spec: TrainingJob,
    /// Once it has begun.
    pub run: Option<RunId>,
}

/// The next thing to do for a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This turn, by index.
    Start(usize),
    /// This run is going.
    Wait(RunId),
    Over,
}

/// Turns of a series: of any kind there are fewer.
const MAX_TURNS: usize = 1_000;

impl Bounded for Series {
    fn out_of_bounds(&self) -> Option<String> {
        let step = match self.purpose {
            Purpose::Guided(step) => count("step", step, Step::ALL.len()),
            Purpose::Ablation => None,
        };
        let turns = || self.turns.iter().find_map(|turn| turn.spec.out_of_bounds());
        step.or_else(|| count("number of turns", self.turns.len(), MAX_TURNS)).or_else(turns)
    }
}

impl Series {
    /// `None` where the lesson has no step or no runs.
    pub fn guided(lesson: &Lesson, base: &TrainingJob, preset: &str) -> Option<Series> {
        let (step, run) = (lesson.step?, lesson.run?);
        let turn = |(name, steps): (&str, StepSet)| {
            let mut spec = base.clone();
            spec.resources.np = run.np;
            (spec.workload.epochs, spec.workload.steps) = (run.epochs, steps);
            // Without any there would be nothing to tell apart.
            spec.workload.checkpointing |= step == Step::CheckpointOnRoot;
            Turn { name: name.into(), spec, run: None }
        };
        let turns = [("before", run.before), ("after", run.after)].map(turn).into();
        Some(Series { purpose: Purpose::Guided(step.number()), preset: preset.into(), turns, is_cancelled: false, force: false })
    }

    /// All steps, then all but one in turn, then none.
    pub fn ablation(base: &TrainingJob, preset: &str) -> Series {
        let turn = |(name, steps): (String, StepSet)| {
            let mut spec = base.clone();
            (spec.workload.steps, spec.workload.checkpointing) = (steps, true);
            Turn { name, spec, run: None }
        };
        let but_one = Step::ALL.into_iter().map(|step| (format!("without {}", step.number()), StepSet::ALL.without(step)));
        let first = std::iter::once(("all".to_owned(), StepSet::ALL));
        let turns = first.chain(but_one).chain([("none".to_owned(), StepSet::NONE)]).map(turn).collect();
        Series { purpose: Purpose::Ablation, preset: preset.into(), turns, is_cancelled: false, force: false }
    }

    /// How many seconds all of it takes: from the newest run of the same model on the same images, best with as many ranks.
    /// `None` before there is one.
    pub fn estimate(&self, runs: &[RunSummary]) -> Option<f64> {
        self.turns.iter().map(|turn| seconds_of(&turn.spec, runs)).sum()
    }

    /// `state_of` is `None` for a run that is not there any more: its turn is past.
    pub fn next(&self, state_of: impl Fn(RunId) -> Option<RunState>) -> Next {
        for (index, turn) in self.turns.iter().enumerate() {
            match turn.run.map(|run| (run, state_of(run))) {
                None if self.is_cancelled => {}
                None => return Next::Start(index),
                Some((run, Some(state))) if !state.is_over() => return Next::Wait(run),
                // Whoever stops one wants no more of them.
                Some((_, Some(RunState::Stopped))) => return Next::Over,
                Some(_) => {}
            }
        }
        Next::Over
    }

    /// Runs that have begun.
    pub fn begun(&self) -> usize {
        self.turns.iter().filter(|turn| turn.run.is_some()).count()
    }

    /// As the list of runs calls it: `step 4 before`, `ablation without 4`.
    pub fn name_of(&self, turn: &Turn) -> String {
        match self.purpose {
            Purpose::Guided(step) => format!("step {step} {}", turn.name),
            Purpose::Ablation => format!("ablation {}", turn.name),
        }
    }

    /// Whether a run with this name was one of a lesson's two, whatever the series.
    pub fn is_of_a_pair(name: &str) -> bool {
        name.starts_with("step ") && (name.ends_with(" before") || name.ends_with(" after"))
    }

    pub fn contains(&self, run: RunId) -> bool {
        self.turns.iter().any(|turn| turn.run == Some(run))
    }

    /// `the two runs of step 4`.
    pub fn name(&self) -> String {
        match self.purpose {
            Purpose::Guided(step) => format!("the two runs of step {step}"),
            Purpose::Ablation => format!("the ablation of {} runs", self.turns.len()),
        }
    }
}

/// Images that the ranks of a job train in an epoch: without step 5 each trains all of them.
fn images_of_epoch(training: &TrainingSpec, np: usize) -> f64 {
    let images = training.images();
    let ranks = if training.steps.is_effective(Step::FewerSteps) { 1 } else { np };
    images as f64 * ranks as f64
}

fn seconds_of(spec: &TrainingJob, runs: &[RunSummary]) -> Option<f64> {
    let (wanted, np) = (&spec.workload, spec.resources.np);
    let seconds_an_image = |run: &RunSummary| {
        let record = run.record.as_ref()?;
        let training = record.training()?;
        let is_alike = (&training.model, &training.data) == (&wanted.model, &wanted.data);
        let images = images_of_epoch(training, record.np()) * run.last_epoch as f64;
        (is_alike && images > 0.0).then_some((record.np(), run.training_seconds? / images))
    };
    let known: Vec<(usize, f64)> = runs.iter().rev().filter_map(seconds_an_image).collect();
    let nearest = known.iter().find(|(known, _)| *known == np).or(known.first());
    nearest.map(|(_, seconds)| seconds * images_of_epoch(wanted, np) * wanted.epochs as f64)
}

/// `series.json` in a home folder: the last series there was.
#[derive(Clone, Debug)]
pub struct SeriesFile {
    path: PathBuf,
    home: PathBuf,
}

impl SeriesFile {
    pub fn of(home: &Path) -> SeriesFile {
        SeriesFile { path: home.join("series.json"), home: home.to_owned() }
    }

    /// `None` where there was none yet.
    ///
    /// # Errors
    /// A file that cannot be read or is none of ours.
    pub fn read(&self) -> Result<Option<Series>, StoreError> {
        runs::read_json_if_any(&self.path)
    }

    /// Replaces the series in the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, series: &Series) -> Result<(), StoreError> {
        access::make_folder(&self.home).map_err(StoreError::io(StoreError::MAKE_FOLDER, &self.home))?;
        let _lock = runs::lock(&self.home)?;
        runs::write_json(&self.path, series)
    }

    /// Begin the next turn, unless another lab was faster or one is going; gives back the series as it is now, and the run
    /// that was begun.
    ///
    /// # Errors
    /// As [`SeriesFile::read`] and [`SeriesFile::write`], and what `start` fails with; the series is cancelled then.
    pub fn start_next<E: From<StoreError>>(
        &self,
        state_of: impl Fn(RunId) -> Option<RunState>,
        start: impl FnOnce(&Series, &Turn) -> Result<RunId, E>,
    ) -> Result<(Option<Series>, Option<RunId>), E> {
        let _lock = runs::lock(&self.home)?;
        let Some(mut series) = self.read()? else { return Ok((None, None)) };
        let mut begun = None;
        if let Next::Start(index) = series.next(state_of) {
            let started = start(&series, &series.turns[index]);
            match &started {
                Ok(run) => series.turns[index].run = Some(*run),
                Err(_) => series.is_cancelled = true,
            }
            runs::write_json(&self.path, &series)?;
            begun = Some(started?);
        }
        Ok((Some(series), begun))
    }

    /// Turns that have not begun are skipped.
    ///
    /// # Errors
    /// As [`SeriesFile::read`] and [`SeriesFile::write`].
    pub fn cancel(&self) -> Result<Option<Series>, StoreError> {
        let _lock = runs::lock(&self.home)?;
        let Some(mut series) = self.read()? else { return Ok(None) };
        series.is_cancelled = true;
        runs::write_json(&self.path, &series)?;
        Ok(Some(series))
    }
}
