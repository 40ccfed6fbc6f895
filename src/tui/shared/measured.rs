//! Runs of collectives, and what one has measured.

use crate::domain::event::EventLine;
use crate::domain::measured::Measured;
use crate::runs::{RunRecord, RunSummary};

/// What the events of a run add up to; nothing, where it measures something else.
pub fn measured(record: &RunRecord, events: impl IntoIterator<Item = EventLine>) -> Measured {
    record.spec.collectives().map_or_else(Measured::default, |spec| Measured::of(record.np(), spec, events))
}

/// Whether a run trains for a result: then it has epochs and steps to speak of.
pub fn has_steps(run: &RunSummary) -> bool {
    run.record.as_ref().is_none_or(|record| record.spec.workload.has_steps())
}

/// Whether a run measures collectives.
pub fn is_of_collectives(run: &RunSummary) -> bool {
    run.record.as_ref().is_some_and(|record| record.spec.collectives().is_some())
}
