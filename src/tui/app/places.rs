//! Where everything lies on the screen as it is now.

use ratatui::layout::Rect;

use super::features::State;
use super::layout::{Places, places};
use crate::tui::actions::pane::Pane;

pub fn of(state: &State) -> Option<Places> {
    in_area(state, Rect::new(0, 0, state.shared.size.0, state.shared.size.1))
}

/// As [`of`], on a screen of another size.
pub fn in_area(state: &State, area: Rect) -> Option<Places> {
    places(area, state.zoom.then_some(state.focus), state.slot, state.devices.wished_rows(), &state.preferences.shares)
}

/// Where a pane is drawn, if it is on the screen.
pub fn place_of(state: &State, pane: Pane) -> Option<Rect> {
    of(state)?.panes.into_iter().find(|(placed, _)| *placed == pane).map(|(_, rect)| rect)
}
