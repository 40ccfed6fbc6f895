//! How a run ended that did not end well, as a mark at the end of its curve and a word beside its name.
//!
//! Never marks a run that finished, or one that is still learning.

use crate::domain::run::RunState;
use crate::runs::RunId;
use crate::tui::chart::state::Chart;
use crate::tui::shared::state::Shared;
use crate::tui::widgets::theme::sign;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Failed,
    Stopped,
    /// Its loss is no number any more, whatever became of it since.
    Diverged,
}

impl Ending {
    pub fn of(chart: &Chart, shared: &Shared, run: RunId) -> Option<Ending> {
        let now = shared.watched_state(run).or_else(|| shared.summary(run).map(|run| run.status.state))?;
        let loss = chart.curves(shared, run).and_then(|curves| curves.loss.last());
        let has_diverged = loss.is_some_and(|point| !point.value.is_finite());
        match now {
            RunState::Failed => Some(Ending::Failed),
            _ if has_diverged => Some(Ending::Diverged),
            RunState::Stopped => Some(Ending::Stopped),
            RunState::Preparing | RunState::Running | RunState::Stopping | RunState::Finished => None,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Ending::Failed => RunState::Failed.name(),
            Ending::Stopped => RunState::Stopped.name(),
            Ending::Diverged => "diverged",
        }
    }

    /// As in the table of runs, where that has one.
    pub fn sign(self) -> char {
        let state = match self {
            Ending::Failed => RunState::Failed,
            Ending::Stopped => RunState::Stopped,
            Ending::Diverged => return '!',
        };
        sign(state).chars().next().unwrap_or('!')
    }
}
