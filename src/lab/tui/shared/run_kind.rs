//! What kind of work a run does: whether it has steps, is a program of the user's own, or measures collectives.

use crate::runs::RunSummary;

/// Whether a run trains for a result: then it has epochs and steps to speak of.
pub fn has_steps(run: &RunSummary) -> bool {
    run.record.as_ref().is_none_or(|record| record.has_steps())
}

/// Whether a run is of a program of the user's own.
pub fn is_of_own(run: &RunSummary) -> bool {
    run.record.as_ref().is_some_and(|record| record.request.spec.command().is_some())
}

/// Whether a run measures collectives.
pub fn is_of_collectives(run: &RunSummary) -> bool {
    run.record.as_ref().is_some_and(|record| record.request.spec.collectives().is_some())
}
