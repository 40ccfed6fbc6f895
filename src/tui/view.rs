//! The whole screen of one moment.
//!
//! Never changes the state.

use ratatui::Frame;
use ratatui::layout::{Constraint, Flex, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::layout::{LEAST, places};
use super::pane::{self, header};
use super::state::{Pane, State};
use super::theme::to_ascii;

pub fn draw(frame: &mut Frame, state: &State) {
    let area = frame.area();
    match places(area, state.zoom.then_some(state.focus), state.slot, pane::devices::rows(state), &state.habits.shares) {
        None => too_small(frame, area, state),
        Some(places) => {
            header::draw(frame, places.header, state);
            // The tour stands where nothing is at first.
            let quiet = places.panes.iter().find(|(pane, _)| *pane == Pane::Log).or(places.panes.get(2)).map(|(_, rect)| *rect);
            let panes = if state.habits.projector { Vec::new() } else { places.panes };
            for (pane, rect) in panes {
                match pane {
                    Pane::Steps => pane::steps::draw(frame, rect, state),
                    Pane::Settings => pane::settings::draw(frame, rect, state),
                    Pane::Devices => pane::devices::draw(frame, rect, state),
                    Pane::Chart => pane::chart::draw(frame, rect, state),
                    Pane::Log => pane::log::draw(frame, rect, state),
                    Pane::Runs => pane::runs::draw(frame, rect, state),
                }
            }
            if state.habits.projector {
                pane::projector::draw(frame, places.body, state);
            } else if let Some(rect) = places.shared {
                pane::shared_by(frame, rect, state);
            }
            if let Some(rect) = quiet {
                pane::tour::draw(frame, rect, state);
            }
            pane::footer::draw(frame, places.footer, state);
            pane::ask::draw(frame, places.footer, state);
            pane::window::draw(frame, area, state);
            // In front of all: what came of a key in a window is said there too.
            pane::notice::draw(frame, places.footer, state);
        }
    }
    pane::whole_signs(frame.buffer_mut());
    if state.theme.ascii {
        to_ascii(frame.buffer_mut());
    }
}

/// Where a pane is drawn, if it is on the screen.
pub fn place_of(state: &State, pane: Pane) -> Option<Rect> {
    let area = Rect::new(0, 0, state.size.0, state.size.1);
    let places = places(area, state.zoom.then_some(state.focus), state.slot, pane::devices::rows(state), &state.habits.shares)?;
    places.panes.into_iter().find(|(placed, _)| *placed == pane).map(|(_, rect)| rect)
}

fn too_small(frame: &mut Frame, area: Rect, state: &State) {
    let lines = vec![
        Line::from(format!("hvd-lab needs {}x{}", LEAST.0, LEAST.1)).centered(),
        Line::from(format!("this is {}x{}", area.width, area.height)).centered(),
        Line::from(if state.replay.is_some() { "REPLAY: make it larger, or q" } else { "make it larger, or q" }).centered(),
    ];
    let [middle] = Layout::vertical([Constraint::Length(3)]).flex(Flex::Center).areas(area);
    frame.render_widget(Paragraph::new(lines), middle);
}
