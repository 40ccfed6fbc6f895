//! The results of a series so far: two runs side by side, or a table of all steps but one.
//!
//! Cells of a run that has not ended stay empty.

use serde::Serialize;

use super::evidence::log_lines;
use super::{Contrast, Evidence, Outcome, Purpose, Series, Verdict, check, check_all, contrast};
use crate::domain::run::RunState;
use crate::domain::step::{Step, StepSet};
use crate::runs::{RunFolder, RunId, RunStore, StoreError, busy_host};

/// Lines of a log that stand for it.
const EXCERPT: usize = 8;
/// Bytes of a line among them.
const LONGEST_TOLD: usize = 4_096;

#[derive(Clone, Debug, PartialEq)]
pub enum Results {
    Guided(Box<SideBySide>),
    Ablation(Vec<Without>),
}

/// A lesson's two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideBySide {
    #[serde(skip)]
    pub step: Step,
    pub runs: [RunId; 2],
    pub steps: [StepSet; 2],
    #[serde(flatten)]
    pub contrast: Contrast,
    /// What stands for the log of each: the lines by which it differs, with the process that printed them.
    pub excerpts: [Vec<String>; 2],
}

/// One row of an ablation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Without {
    pub name: String,
    pub steps: StepSet,
    pub run: Option<RunId>,
    pub state: Option<RunState>,
    pub images_per_sec: Option<f64>,
    pub seconds: Option<f64>,
    pub test_accuracy: Option<f64>,
    /// The verdict on the one step that is off; `None` if several are off, or none.
    pub verdict: Option<Verdict>,
    /// How many of the ten checks pass.
    pub passed: Option<usize>,
}

/// `None` for a lesson whose two runs are not both there yet.
///
/// # Errors
/// A record that cannot be read.
pub fn results(store: &RunStore, series: &Series) -> Result<Option<Results>, StoreError> {
    match series.purpose {
        Purpose::Guided(number) => {
            let runs: Vec<RunId> = series.turns.iter().filter_map(|turn| turn.run).filter(|run| is_over(store, *run)).collect();
            let (Some(step), [before, after]) = (Step::from_number(number), runs.as_slice()) else { return Ok(None) };
            Ok(Some(Results::Guided(Box::new(side_by_side(store, step, [*before, *after])?))))
        }
        Purpose::Ablation => Ok(Some(Results::Ablation(series.turns.iter().map(|turn| without(store, turn)).collect()))),
    }
}

fn is_over(store: &RunStore, run: RunId) -> bool {
    store.status(run).is_ok_and(|status| status.state.is_over())
}

/// Two runs put side by side, as those of a lesson.
///
/// # Errors
/// A run that is not there or whose record cannot be read.
pub fn side_by_side(store: &RunStore, step: Step, runs: [RunId; 2]) -> Result<SideBySide, StoreError> {
    let [before, after] = runs.map(|run| {
        let record = store.record(run)?;
        let folder = store.folder(run);
        let evidence = Evidence::of(&folder, &record)?;
        let steps = evidence.spec.workload.steps;
        Ok((evidence, steps, excerpt(&folder), record.disturbed()))
    });
    let ((before, without, few, first), (after, with, many, second)) = (before?, after?);
    let mut contrast = contrast(step, &before, &after);
    for (run, part) in runs.into_iter().zip([first, second]) {
        contrast.explained.extend(part.map(|part| format!("Of run {run}: {}.", busy_host::note(part))));
    }
    Ok(SideBySide { step, runs, steps: [without, with], contrast, excerpts: [few, many] })
}

/// The first lines that tell epochs and results, of all processes in turn.
fn excerpt(folder: &RunFolder) -> Vec<String> {
    let tells = |line: &String| ["Epoch ", "Test accuracy"].iter().any(|start| line.starts_with(start));
    let told = |process: usize| -> Vec<String> {
        let lines = log_lines(folder, process, LONGEST_TOLD).filter(tells).take(EXCERPT);
        lines.map(|line| format!("[{process}] {}", line.trim_end_matches('\r'))).collect()
    };
    let logs: Vec<Vec<String>> = folder.rank_logs().into_iter().map(told).collect();
    let longest = logs.iter().map(Vec::len).max().unwrap_or(0);
    let in_turn = (0..longest).flat_map(|line| logs.iter().filter_map(move |log| log.get(line).cloned()));
    in_turn.take(EXCERPT).collect()
}

fn without(store: &RunStore, turn: &super::Turn) -> Without {
    let mut row = Without { name: turn.name.clone(), steps: turn.spec.workload.steps, run: turn.run, ..Without::default() };
    let Some(summary) = turn.run.and_then(|run| store.summary(run).ok()) else { return row };
    row.state = Some(summary.status.state);
    row.images_per_sec = summary.figures.images_per_sec;
    row.seconds = summary.training_seconds;
    row.test_accuracy = summary.test.map(|metrics| metrics.accuracy);
    let over = summary.record.as_ref().filter(|_| summary.status.state.is_over());
    if let Some(evidence) = over.and_then(|record| Evidence::of(&store.folder(summary.id), record).ok()) {
        let mut off = Step::ALL.into_iter().filter(|step| !turn.spec.workload.steps.contains(*step));
        row.verdict = match (off.next(), off.next()) {
            (Some(step), None) => Some(check(&evidence, step)),
            _ => None,
        };
        row.passed = Some(check_all(&evidence).iter().filter(|verdict| verdict.outcome == Outcome::Passed).count());
    }
    row
}
