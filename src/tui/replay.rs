//! A recording that is played on the screen: where it is, and the words that say so at any time.
//!
//! Never plays: `replay_runner` does.

use ratatui::text::{Line, Span};

use super::keymap::Command;
use super::theme::Theme;
use crate::domain::units;
use crate::runs::RunId;
use crate::runs::recording::{Played, Position};

#[derive(Clone, Debug)]
pub struct ReplayView {
    pub run: RunId,
    /// What it was recorded on.
    pub hardware: String,
    pub position: Position,
}

/// A step of the player.
#[derive(Clone, Debug)]
pub struct ReplayStep {
    pub position: Position,
    pub played: Played,
}

/// What is a recording cannot be started, stopped or continued.
pub fn refuses(command: Command) -> bool {
    matches!(command, Command::Run | Command::Stop | Command::Continue | Command::Guided | Command::Ablation)
}

impl ReplayView {
    /// ` REPLAY ▶ 0:23/1:05 10x on 2 CPU cores `
    pub fn bar(&self, theme: Theme) -> Line<'static> {
        let Position { played_s, duration_s, speed, paused, .. } = self.position;
        let sign = if paused { "‖" } else { "▶" };
        let at_end = played_s >= duration_s;
        let time = format!(" {sign} {}/{}", units::clock(played_s), units::clock(duration_s));
        let state = match (paused, at_end) {
            (_, true) => " at its end".to_owned(),
            (true, false) => " paused".to_owned(),
            (false, false) => format!(" {speed}x"),
        };
        Line::from(vec![
            Span::styled(" REPLAY", theme.warn().add_modifier(ratatui::style::Modifier::BOLD)),
            Span::styled(time, theme.strong()),
            Span::styled(state, theme.text()),
            Span::styled(format!(" on {} ", self.hardware), theme.dim()),
        ])
    }
}
