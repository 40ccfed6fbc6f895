//! One run judged, and what it shows for the first time noted: a step seen, proven or written.
//!
//! `check` gives the verdicts, and `progress_file` keeps the file.

use std::path::Path;

use super::{Evidence, Level, Progress, ProgressError, ProgressFile, Reading, Verdict, check, check_all};
use crate::domain::run::RunState;
use crate::domain::step::{Step, StepSet};
use crate::domain::training::TrainingSpec;
use crate::runs::{RunFolder, RunId, RunRecord, RunStore, Trial};

/// The verdicts on a run, and what they changed in the learner's progress.
#[derive(Clone, Debug)]
pub struct Judged {
    pub record: RunRecord,
    pub verdicts: Vec<Verdict>,
    /// The levels that this run was the first to reach, each with its steps. Nothing of it is empty.
    pub first: Vec<(Level, StepSet)>,
    /// The progress as it is now.
    pub reading: Reading,
}

/// Judge all steps, or one, by what a run left in its folder. Progress is kept under `home`.
///
/// # Errors
/// A run that is not there or whose record cannot be read. Where progress cannot be kept, the verdicts stand and a note says so.
pub fn judge(store: &RunStore, home: &Path, run: RunId, step: Option<Step>) -> Result<Judged, ProgressError> {
    judge_as(store, home, run, step, store.status(run)?.state)
}

/// Notes what a run shows when it ends, whoever watches: nobody, often. What fails is left to whoever looks at it later.
pub fn credit(folder: &RunFolder, state: RunState) {
    let judge = || -> anyhow::Result<()> {
        let home = RunStore::default_home()?;
        let (store, record) = (RunStore::open(&home)?, folder.read_record()?);
        let is_here = store.folder(record.id).path().canonicalize().is_ok_and(|path| path == folder.path());
        // A damaged file is left to a caller that can tell the user about it.
        if is_here && record.has_steps() && !ProgressFile::of(&home).is_damaged() {
            judge_as(&store, &home, record.id, None, state)?;
        }
        Ok(())
    };
    let _ = judge();
}

fn judge_as(store: &RunStore, home: &Path, run: RunId, step: Option<Step>, state: RunState) -> Result<Judged, ProgressError> {
    let record = store.record(run)?;
    let evidence = Evidence::of(&store.folder(run), &record)?;
    let verdicts = step.map_or_else(|| check_all(&evidence), |step| vec![check(&evidence, step)]);
    let steps = evidence.spec.workload.steps;
    let file = ProgressFile::of(home);
    let known = file.read().unwrap_or_default();
    // Looking for pairs reads the records of all runs, so we do it only for steps that are not proven yet.
    let can_prove = record.request.program.is_none() && state == RunState::Finished;
    let open = verdicts.iter().filter_map(|verdict| Some((Step::from_number(verdict.number)?, verdict.has_passed())));
    let open = open.filter(|(step, _)| can_prove && !known.progress.has(*step, Level::Proven));
    let pairs = pairs(store, &record, &open.collect::<Vec<_>>(), steps);
    let note = |progress: &mut Progress| {
        match &record.request.program {
            // The steps that the learner's own program claims are no evidence: the verdicts decide.
            Some(_) => match record.request.trial {
                None => progress.note_written(&verdicts, steps, run),
                Some(Trial::First) => progress.note_first(&verdicts, steps, run),
                // The end of the trial counts.
                Some(Trial::Further) => {}
            },
            None => progress.note(&verdicts, steps, run),
        };
        pairs.iter().for_each(|(step, before, after)| progress.note_pair(*step, *before, *after));
    };
    let ((), mut reading) = file.update(note).unwrap_or_else(|error| {
        let progress = known.progress.clone();
        ((), Reading { progress, note: Some(error.not_kept()) })
    });
    reading.note = reading.note.or(known.note);
    let levels = if record.request.program.is_some() { [Level::Written].as_slice() } else { &[Level::Seen, Level::Proven] };
    let is_judged = |step: &Step| verdicts.iter().any(|verdict| verdict.number == step.number());
    let first = |level| reading.progress.first_by(level, run).iter().filter(is_judged).collect::<StepSet>();
    let first = levels.iter().map(|level| (*level, first(*level)));
    let first = first.filter(|(_, steps)| !steps.is_empty()).collect();
    Ok(Judged { record, verdicts, first, reading })
}

/// Notes what the learner's program does after all runs of a trial, of which this was the first; what there is to say of it.
/// `steps` are those that the program says are done.
pub fn conclude(home: &Path, run: RunId, steps: StepSet, verdicts: &[Verdict]) -> Vec<String> {
    match ProgressFile::of(home).update(|progress| progress.note_written(verdicts, steps, run)) {
        Err(error) => vec![error.not_kept()],
        Ok(((), reading)) => {
            let first = reading.progress.first_by(Level::Written, run);
            let said = (!first.is_empty()).then(|| Level::Written.first_in_words(run, first, &reading.progress));
            reading.note.into_iter().chain(said).collect()
        }
    }
}

/// Each step that this run and another one together prove, with the run before and the run after: the other one ended well too, they
/// differ in the step and in nothing else, and the one with it passed its check. `judged` are the steps of which no pair is known, each
/// with whether this run passed its check.
fn pairs(store: &RunStore, record: &RunRecord, judged: &[(Step, bool)], steps: StepSet) -> Vec<(Step, RunId, RunId)> {
    let has_ended = |id| store.status(id).is_ok_and(|status| status.state == RunState::Finished);
    if judged.is_empty() {
        return Vec::new();
    }
    let others: Vec<RunRecord> = store.ids().into_iter().rev().filter_map(|id| store.record(id).ok()).collect();
    let pair = |&(step, has_passed): &(Step, bool)| {
        let is_after = steps.contains(step);
        let other = if is_after { steps.without(step) } else { steps.with(step) };
        let mut alike = others.iter().filter(|with| is_same_but_for_steps(record, with, other) && has_ended(with.id));
        if is_after {
            return alike.next().filter(|_| has_passed).map(|before| (step, before.id, record.id));
        }
        let passed =
            |after: &&RunRecord| Evidence::of(&store.folder(after.id), after).is_ok_and(|seen| check(&seen, step).has_passed());
        alike.find(passed).map(|after| (step, record.id, after.id))
    };
    judged.iter().filter_map(pair).collect()
}

/// The same training on as many ranks, with these steps.
fn is_same_but_for_steps(record: &RunRecord, other: &RunRecord, steps: StepSet) -> bool {
    let job = |record: &RunRecord| record.training_job().map(|job| (record.np(), job.workload));
    let (Some((np, training)), Some(with)) = (job(record), job(other)) else { return false };
    other.request.program.is_none() && (np, TrainingSpec { steps, ..training }) == with && other.data_label == record.data_label
}
