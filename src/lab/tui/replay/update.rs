//! What a recording changes as it is played.
//!
//! Never lets anything begin, end or be written: a replay is to be looked at.

use crate::domain::run::RunState;
use crate::runs::recording::Position;
use crate::runs::{RunId, RunUpdate};
use crate::tui::shared::state::Shared;
use crate::tui::shared::watched::Watched;

/// Another moment: of which run, and whether it is the one on the screen. `None` where nothing is played.
pub fn advance(shared: &mut Shared, position: Position, rewound: bool) -> Option<(RunId, bool)> {
    let playing = shared.replay.as_mut()?;
    playing.position = position;
    let run = playing.run;
    shared.now_s = position.time_s;
    let is_watched = shared.watched.as_ref().is_some_and(|watched| watched.id == run);
    if rewound && is_watched {
        shared.watched = Some(Watched::new(run));
    }
    Some((run, is_watched))
}

/// The table has another state to show for the run that is played.
pub fn begins_or_ends(updates: &[RunUpdate]) -> bool {
    let is_news = |state: RunState| state == RunState::Running || state.is_over();
    updates.iter().any(|update| matches!(update, RunUpdate::Status(status) if is_news(status.state)))
}
