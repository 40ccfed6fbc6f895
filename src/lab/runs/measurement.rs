//! Runs of collectives, read from their folders and put side by side.
//!
//! Never compares times of different numbers of ranks: the reason stands there instead.

use serde_json::{Value, json};

use super::{RunFolder, RunId, RunRecord, StoreError};
use crate::domain::collective::CollectivesSpec;
use crate::domain::measured::{Measured, MeasuredRow};

/// A run of collectives, and what its events add up to.
#[derive(Clone, Debug)]
pub struct Measurement {
    pub id: RunId,
    pub record: RunRecord,
    pub spec: CollectivesSpec,
    pub measured: Measured,
}

/// What the events of a run of collectives add up to, and whether some are damaged; `None` of any other run.
pub fn measured(folder: &RunFolder, record: &RunRecord) -> Option<Measured> {
    let spec = record.request.spec.collectives()?;
    let mut events = folder.events();
    let measured = Measured::from_events(record.np(), spec, events.by_ref());
    Some(Measured { damaged: events.damaged(), ..measured })
}

impl Measurement {
    /// Read from a run folder.
    ///
    /// # Errors
    /// [`StoreError::NoCollectives`] of any other run.
    pub fn of(folder: &RunFolder, record: RunRecord) -> Result<Measurement, StoreError> {
        let found = record.request.spec.collectives().cloned().zip(measured(folder, &record));
        let (spec, measured) =
            found.ok_or_else(|| StoreError::NoCollectives { id: record.id, workload: record.request.spec.workload.title() })?;
        Ok(Measurement { id: record.id, record, spec, measured })
    }
}

/// A row for programs, with its prediction or the reason why there is none. Seconds and bytes a second.
pub fn row_json(row: &MeasuredRow, np: usize) -> Value {
    let mut value = json!(row.report);
    value["algbw"] = json!(row.report.algbw());
    value["busbw"] = json!(row.report.busbw(np));
    value["predicted_s"] = json!(row.predicted_s.ok());
    value["error"] = json!(row.error());
    value["no_prediction"] = json!(row.predicted_s.err().map(|refused| refused.to_string()));
    value
}

/// Runs of collectives compared with the first of them.
#[derive(Clone, Debug)]
pub struct Measurements {
    /// At least one.
    runs: Vec<Measurement>,
}

/// One method at one size, in one run.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    pub run: &'a Measurement,
    pub row: &'a MeasuredRow,
    /// The baseline's median time over this one's: 2 where this run needs half of it. `None` where the baseline has no such row, or
    /// its times cannot be compared.
    pub times_as_fast: Option<f64>,
}

impl Measurements {
    /// `None` without a run.
    pub fn new(runs: Vec<Measurement>) -> Option<Measurements> {
        (!runs.is_empty()).then_some(Measurements { runs })
    }

    pub fn runs(&self) -> &[Measurement] {
        &self.runs
    }

    pub fn baseline(&self) -> &Measurement {
        &self.runs[0]
    }

    /// Why the times of a run are not compared with the baseline's.
    pub fn not_comparable(&self, run: &Measurement) -> Option<String> {
        let (np, of_baseline) = (run.measured.ranks, self.baseline().measured.ranks);
        (np != of_baseline).then(|| format!("np {np}, the baseline has {of_baseline}: an allreduce of more ranks is another one"))
    }

    /// Every method and size that any of the runs has measured: the baseline's first.
    pub fn keys(&self) -> Vec<(&str, u64)> {
        let mut keys = Vec::new();
        for row in self.runs.iter().flat_map(|run| &run.measured.rows) {
            let key = (row.report.method.as_str(), row.report.bytes);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// What a run has measured there.
    pub fn cell<'a>(&'a self, run: &'a Measurement, method: &str, bytes: u64) -> Option<Cell<'a>> {
        let row = run.measured.row(method, bytes)?;
        let before = || self.baseline().measured.row(method, bytes).filter(|_| self.not_comparable(run).is_none());
        let times_as_fast = before().map(|before| before.report.median_s / row.report.median_s);
        Some(Cell { run, row, times_as_fast: times_as_fast.filter(|ratio| ratio.is_finite()) })
    }

    /// All cells, run by run.
    pub fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        let rows = self.runs.iter().flat_map(|run| run.measured.rows.iter().map(move |row| (run, row)));
        rows.filter_map(|(run, row)| self.cell(run, &row.report.method, row.report.bytes))
    }
}
