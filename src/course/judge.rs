//! One run judged, and what it shows for the first time noted as done.
//!
//! Never says what a verdict is: `check` does; and never keeps the file: `progress` does.

use std::path::Path;

use super::{Evidence, ProgressError, ProgressFile, Reading, Verdict, check, check_all};
use crate::domain::step::{Step, StepSet};
use crate::runs::{RunId, RunRecord, RunStore};

/// What came of judging a run.
#[derive(Clone, Debug)]
pub struct Judged {
    pub record: RunRecord,
    pub verdicts: Vec<Verdict>,
    /// Steps that no run had shown before.
    pub new: Vec<Step>,
    /// The progress as it is now.
    pub reading: Reading,
}

/// Judge all steps, or one, by what a run left in its folder. Progress is kept under `home`.
///
/// # Errors
/// A run that is not there or whose record cannot be read. Where progress cannot be kept, the verdicts stand and a note says so.
pub fn judge(store: &RunStore, home: &Path, run: RunId, step: Option<Step>) -> Result<Judged, ProgressError> {
    let record = store.record(run)?;
    let evidence = Evidence::of(&store.folder(run), &record)?;
    let verdicts = step.map_or_else(|| check_all(&evidence), |step| vec![check(&evidence, step)]);
    // What a program of the learner's own says of its steps is no evidence: what it did decides.
    let steps = if record.program.is_some() { StepSet::ALL } else { evidence.spec.workload.steps };
    let file = ProgressFile::of(home);
    let (new, reading) = file.update(|progress| progress.note(&verdicts, steps, run)).unwrap_or_else(|error| {
        let progress = file.read().map(|reading| reading.progress).unwrap_or_default();
        (Vec::new(), Reading { progress, note: Some(format!("progress could not be kept: {error}")) })
    });
    Ok(Judged { record, verdicts, new, reading })
}
