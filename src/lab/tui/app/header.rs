//! Two lines on top that nothing covers: what the ranks gained, and what that means, with the key to press next.

use super::{gain, meaning};
use crate::tui::state::State;
use ratatui::Frame;
use ratatui::layout::Rect;

use crate::domain::run::RunState;
use crate::tui::widgets::fitted;

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let width = usize::from(area.width);
    for (row, parts) in area.rows().zip([gain::parts(state, width), meaning::parts(state)]) {
        frame.render_widget(fitted::line(parts, width), row);
    }
}

/// For the terminal's title: what the shown run does.
pub fn title(state: &State) -> String {
    let run = state.shared.watched.as_ref().and_then(|watched| Some((watched, state.shared.watched_state(watched.id)?)));
    match run {
        None => "hvd-lab".into(),
        Some((watched, RunState::Running)) => match watched.config() {
            Some(_) if watched.is_testing() => format!("hvd-lab: run {} testing", watched.id),
            Some(config) => format!("hvd-lab: run {} epoch {}/{}", watched.id, watched.epoch().max(1), config.epochs),
            None => format!("hvd-lab: run {} running", watched.id),
        },
        Some((watched, state)) => format!("hvd-lab: run {} {}", watched.id, state.name()),
    }
}
