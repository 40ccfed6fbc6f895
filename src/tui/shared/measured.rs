//! Which runs measure collectives.

use crate::runs::RunSummary;

/// Whether a run measures collectives.
pub fn is_of_collectives(run: &RunSummary) -> bool {
    run.record.as_ref().is_some_and(|record| record.spec.collectives().is_some())
}
