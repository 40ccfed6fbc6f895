//! How a run ended that did not end well, as a mark at the end of its curve and a word beside its name.

use crate::domain::run::RunState;
use crate::runs::RunId;
use crate::tui::chart::state::Chart;
use crate::tui::shared::state::Shared;
use crate::tui::widgets::theme::sign;

/// The mark, as in the table of runs where that has one, and the word. `None` for a run that finished or is still learning.
pub fn ending(chart: &Chart, shared: &Shared, run: RunId) -> Option<(&'static str, &'static str)> {
    let now = shared.watched_state(run).or_else(|| shared.summary(run).map(|run| run.status.state))?;
    let loss = chart.curves(shared, run).and_then(|curves| curves.loss.last());
    match now {
        RunState::Failed => Some((sign(now), now.name())),
        // Whatever became of it since.
        _ if loss.is_some_and(|point| !point.value.is_finite()) => Some(("!", "diverged")),
        RunState::Stopped => Some((sign(now), now.name())),
        RunState::Preparing | RunState::Running | RunState::Stopping | RunState::Finished => None,
    }
}
