//! Runs of collectives, and what one has measured.

use crate::domain::event::EventLine;
use crate::domain::history::{History, Keep};
use crate::domain::measured::Measured;
use crate::runs::{RunRecord, RunSummary};

/// What the events of a run add up to; nothing, where it measures something else.
pub fn measured(record: &RunRecord, events: impl IntoIterator<Item = EventLine>) -> Measured {
    let Some(spec) = record.spec.collectives() else { return Measured::default() };
    let mut history = History::new(Keep::Everything);
    events.into_iter().for_each(|line| history.take(&line));
    Measured::new(record.np(), spec, &history)
}

/// Whether a run measures collectives.
pub fn is_of_collectives(run: &RunSummary) -> bool {
    run.record.as_ref().is_some_and(|record| record.spec.collectives().is_some())
}
