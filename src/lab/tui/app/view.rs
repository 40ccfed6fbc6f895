//! The whole screen of one moment.

use ratatui::Frame;
use ratatui::layout::{Constraint, Flex, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::layout::{self, LEAST, Places};
use super::{features, footer, gain, meaning, places, projector, windows};
use crate::columns;
use crate::domain::run::RunState;
use crate::tui::actions::Pane;
use crate::tui::help;
use crate::tui::state::State;
use crate::tui::widgets::frame::{Focus, safe_signs, whole_signs};
use crate::tui::widgets::{fitted, notice, slot, to_ascii};

pub fn draw(frame: &mut Frame, state: &State) {
    let area = frame.area();
    match places::in_area(state, area) {
        None => too_small(frame, area, state),
        Some(places) => {
            // Nothing covers the two lines on top: what the ranks gained, and what that means, with the key to press next.
            let width = usize::from(area.width);
            for (row, parts) in places.header.rows().zip([gain::parts(state, width), meaning::parts(state)]) {
                frame.render_widget(fitted::line(parts, width), row);
            }
            let place_of = |wanted: Pane| places.panes.iter().find(|(pane, _)| *pane == wanted).map(|(_, rect)| *rect);
            let quiet = if layout::is_compact(area) {
                Some(places.body)
            } else {
                place_of(help::tour::place(&state.help)).or(places.shared)
            };
            let quiet = quiet.or(places.panes.first().map(|(_, rect)| *rect));
            let kept = kept_in_sight(state, &places);
            let panes = if state.projector { Vec::new() } else { places.panes };
            for (pane, rect) in &panes {
                draw_pane(frame, *rect, *pane, state, places.turns);
            }
            if state.projector {
                projector::draw(frame, places.body, state);
            } else if let (Some(rect), Some(shown)) = (places.shared, layout::in_turn(area, state.slot)) {
                slot::draw(frame, rect, state.shared.theme, places.turns, shown);
            }
            if let Some(rect) = quiet.filter(|_| state.windows.is_empty()) {
                help::tour::draw(frame, rect, places.body, &state.help, &state.shared);
            }
            footer::draw(frame, places.footer, state);
            windows::draw(frame, area, places.footer, state);
            // In front of all: what came of a key in a window is said there too.
            if let Some(said) = &state.shared.notice {
                notice::draw(frame, places.body, state.shared.theme, said, kept);
            }
        }
    }
    safe_signs(frame.buffer_mut());
    whole_signs(frame.buffer_mut());
    if state.shared.theme.ascii {
        to_ascii(frame.buffer_mut());
    }
}

/// Settings that are being changed: no notice covers them.
pub fn kept_in_sight(state: &State, places: &Places) -> Option<Rect> {
    let is_settings = |(pane, _): &&(Pane, Rect)| *pane == Pane::Settings && state.focus == Pane::Settings;
    places.panes.iter().find(is_settings).map(|(_, rect)| *rect)
}

/// One pane in its place, which it may take in turn with others.
pub fn draw_pane(frame: &mut Frame, area: Rect, pane: Pane, state: &State, turns: &[Pane]) {
    features::draw(frame, area, pane, state, focus(state, pane), turns);
}

/// Whether a pane has the keyboard.
pub fn focus(state: &State, pane: Pane) -> Focus {
    // The tour points at the pane that it speaks of.
    let focused = help::tour::pane(&state.help).unwrap_or(state.focus);
    Focus { here: focused == pane, behind: !state.windows.is_empty(), alone: state.zoom }
}

fn too_small(frame: &mut Frame, area: Rect, state: &State) {
    let replay = if state.shared.replay.is_some() { "REPLAY: " } else { "" };
    let text =
        format!("{replay}the lab needs {}x{}, this terminal has {}x{}; q quits", LEAST.0, LEAST.1, area.width, area.height);
    let lines = columns::wrap(&text, area.width.max(1) as usize);
    let [middle] = Layout::vertical([Constraint::Length(lines.len() as u16)]).flex(Flex::Center).areas(area);
    let lines: Vec<Line> = lines.into_iter().map(|line| Line::from(line).centered()).collect();
    frame.render_widget(Paragraph::new(lines), middle);
}

/// For the terminal's title: what the shown run does.
pub fn title(state: &State) -> String {
    let run = state.shared.watched.as_ref().and_then(|watched| Some((watched, state.shared.watched_state(watched.id)?)));
    let Some((watched, now)) = run else { return "hvd-lab".into() };
    let place = watched.place().filter(|_| now == RunState::Running);
    format!("hvd-lab: run {} {}", watched.id, place.as_deref().unwrap_or(now.name()))
}
