//! A recording that is played: its keys, the words that say so at any time, and what it changes.
//!
//! A replay starts, ends and writes nothing: it can only be watched.

#[cfg(test)]
pub mod tests;

use crate::domain::run::RunState;
use crate::domain::units;
use crate::runs::recording::{PlayerOrder as P, Position};
use crate::runs::{RunId, RunUpdate};
use crate::tui::actions::{Binding, Char, Command, row};
use crate::tui::shared::{Playing, Shared, Watched};

/// The keys of the player, before those of the panes.
pub static KEYS: &[Binding] = &[
    row(&[Char(' ')], Command::Player(P::Pause), "Space", "pause", "pause, or continue"),
    row(&[Char('<')], Command::Player(P::Seek(-5)), "< >", "seek", "five seconds back or forwards"),
    row(&[Char('>')], Command::Player(P::Seek(5)), "", "", ""),
    row(&[Char('{')], Command::Player(P::ToStart), "{ }", "", "to the start or the end of the recording"),
    row(&[Char('}')], Command::Player(P::ToEnd), "", "", ""),
    row(&[Char('+'), Char('=')], Command::Player(P::Faster), "+ -", "speed", "faster or slower"),
    row(&[Char('-'), Char('_')], Command::Player(P::Slower), "", "", ""),
];

/// That a recording is played: at the head of the screen, whatever else has room.
pub const REPLAY: &str = " REPLAY";

/// ` ▶ 0:23/1:05 10x`, and what it was recorded on.
pub fn bar(playing: &Playing) -> [String; 2] {
    let Position { played_s, duration_s, speed, paused, .. } = playing.position;
    let sign = if paused { "‖" } else { "▶" };
    let state = match (paused, played_s >= duration_s) {
        (_, true) => " finished".to_owned(),
        (true, false) => format!(" {speed}x paused"),
        (false, false) => format!(" {speed}x"),
    };
    let time = format!(" {sign} {}/{}{state}", units::clock(played_s), units::clock(duration_s));
    [time, format!(" on {}", playing.hardware)]
}

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
