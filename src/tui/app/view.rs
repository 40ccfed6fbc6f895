//! The whole screen of one moment.

use ratatui::Frame;
use ratatui::layout::{Constraint, Flex, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::features::{self, State};
use super::layout::LEAST;
use super::{footer, header, hint, places, projector, windows};
use crate::tui::actions::pane::Pane;
use crate::tui::help;
use crate::tui::widgets::frame::{Focus, safe_signs, whole_signs};
use crate::tui::widgets::theme::to_ascii;
use crate::tui::widgets::{notice, slot};

pub fn draw(frame: &mut Frame, state: &State) {
    let area = frame.area();
    match places::in_area(state, area) {
        None => too_small(frame, area, state),
        Some(places) => {
            header::draw(frame, places.header, state);
            // The tour stands where nothing is at first.
            let quiet = places.panes.iter().find(|(pane, _)| *pane == Pane::Log).or(places.panes.get(2)).map(|(_, rect)| *rect);
            let panes = if state.projector { Vec::new() } else { places.panes };
            for (pane, rect) in &panes {
                draw_pane(frame, *rect, *pane, state, places.shared.is_some());
            }
            hint::draw(frame, &panes, state);
            if state.projector {
                projector::draw(frame, places.body, state);
            } else if let Some(rect) = places.shared {
                slot::draw(frame, rect, state.shared.theme, state.slot);
            }
            if let Some(rect) = quiet.filter(|_| !windows::is_open(state)) {
                help::tour::draw(frame, rect, state.shared.theme, &state.help);
            }
            footer::draw(frame, places.footer, state);
            windows::draw(frame, area, places.footer, state);
            // In front of all: what came of a key in a window is said there too.
            if let Some(said) = &state.shared.notice {
                notice::draw(frame, places.footer, state.shared.theme, said);
            }
        }
    }
    safe_signs(frame.buffer_mut());
    whole_signs(frame.buffer_mut());
    if state.shared.theme.ascii {
        to_ascii(frame.buffer_mut());
    }
}

/// One pane in its place, which panes that are not on the screen may share with it.
pub fn draw_pane(frame: &mut Frame, area: Rect, pane: Pane, state: &State, shares: bool) {
    features::draw(frame, area, pane, state, focus(state, pane), shares);
}

/// Whether a pane has the keyboard.
pub fn focus(state: &State, pane: Pane) -> Focus {
    // The tour points at the pane that it speaks of.
    let focused = help::tour::pane(&state.help).unwrap_or(state.focus);
    Focus { here: focused == pane, behind: windows::is_open(state), alone: state.zoom }
}

fn too_small(frame: &mut Frame, area: Rect, state: &State) {
    let lines = vec![
        Line::from(format!("hvd-lab needs {}x{}", LEAST.0, LEAST.1)).centered(),
        Line::from(format!("this is {}x{}", area.width, area.height)).centered(),
        Line::from(if state.shared.replay.is_some() { "REPLAY: make it larger, or q" } else { "make it larger, or q" })
            .centered(),
    ];
    let [middle] = Layout::vertical([Constraint::Length(3)]).flex(Flex::Center).areas(area);
    frame.render_widget(Paragraph::new(lines), middle);
}
