//! The words that say at any time that a recording is played, and where it is.

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::domain::units;
use crate::runs::recording::Position;
use crate::tui::shared::state::Playing;
use crate::tui::widgets::theme::Theme;

/// ` REPLAY ▶ 0:23/1:05 10x on 2 CPU cores `, or without what it was recorded on.
pub fn bar(playing: &Playing, theme: Theme, whole: bool) -> Line<'static> {
    let Position { played_s, duration_s, speed, paused, .. } = playing.position;
    let sign = if paused { "‖" } else { "▶" };
    let at_end = played_s >= duration_s;
    let time = format!(" {sign} {}/{}", units::clock(played_s), units::clock(duration_s));
    let state = match (paused, at_end) {
        (_, true) => " finished".to_owned(),
        (true, false) => format!(" {speed}x paused"),
        (false, false) => format!(" {speed}x"),
    };
    Line::from(vec![
        Span::styled(" REPLAY", theme.warn().add_modifier(Modifier::BOLD)),
        Span::styled(time, theme.strong()),
        Span::styled(state, theme.text()),
        Span::styled(if whole { format!(" on {} ", playing.hardware) } else { " ".into() }, theme.dim()),
    ])
}
