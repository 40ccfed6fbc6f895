//! Where everything lies on the screen as it is now.

use ratatui::layout::Rect;

use super::layout::{Places, Wish, places};
use crate::tui::actions::Pane;
use crate::tui::state::State;

pub fn current(state: &State) -> Option<Places> {
    in_area(state, state.shared.screen())
}

/// As [`current`], on a screen of another size.
pub fn in_area(state: &State, area: Rect) -> Option<Places> {
    places(area, state.zoom.then_some(state.focus), state.slot, wish(state), &state.preferences.shares)
}

/// The lines that panes would like to have.
pub fn wish(state: &State) -> Wish {
    let (devices, packed) = state.devices.wished_rows();
    Wish { devices, packed, log: state.log.wished_rows(), runs: state.runs.wished_rows(state.shared.runs.len()) }
}

/// Where a pane is drawn, if it is on the screen.
pub fn place_of(state: &State, pane: Pane) -> Option<Rect> {
    current(state)?.panes.into_iter().find(|(placed, _)| *placed == pane).map(|(_, rect)| rect)
}
