//! The evidence of a training on photos, which the checks of its exercise judge.

use crate::domain::history::{Attempt, History, Keep};
use crate::domain::nvcnn::NvcnnSpec;
use crate::runs::{RunFolder, RunRecord, StoreError};

/// The settings of one training on photos, and the events of its ranks.
#[derive(Clone, Debug)]
pub struct PhotoEvidence {
    pub spec: NvcnnSpec,
    pub np: usize,
    history: History,
}

impl PhotoEvidence {
    /// Everything in a run folder so far.
    ///
    /// # Errors
    /// [`StoreError::NoTraining`]: it is another kind of run.
    pub fn of(folder: &RunFolder, record: &RunRecord) -> Result<PhotoEvidence, StoreError> {
        let spec = record.spec.nvcnn().cloned();
        let spec = spec.ok_or_else(|| StoreError::NoTraining { id: record.id, workload: record.spec.workload.title() })?;
        let mut history = History::new(Keep::Everything);
        folder.events().for_each(|line| history.take(&line));
        Ok(PhotoEvidence { spec, np: record.np(), history })
    }

    /// The newest attempt, if a rank has reported anything.
    pub fn attempt(&self) -> Option<&Attempt> {
        self.history.attempts.last()
    }
}
