//! The panes, one file each: pure functions from the state to cells.
//!
//! Never changes the state, and never writes outside the given area.

use ratatui::Frame;
use ratatui::layout::{Margin, Position, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Padding};

use super::settings::Field;
use super::state::{Pane, State};
use crate::domain::step::Step;
use crate::runs::RunId;

pub mod ask;
pub mod chart;
pub mod compare;
pub mod details;
pub mod devices;
pub mod diff;
pub mod exercise;
pub mod footer;
pub mod header;
pub mod help;
pub mod lesson;
pub mod log;
pub mod notice;
pub mod palette;
pub mod projector;
pub mod runs;
pub mod scaling;
pub mod series;
pub mod settings;
pub mod steps;
pub mod tour;
pub mod window;

/// What of a pane lies under the pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hit {
    Step {
        step: Step,
        /// On its mark, which toggles.
        mark: bool,
    },
    Field(Field),
    Run(RunId),
}

/// What a click at `at` means in a pane drawn in `area`. A pane without an answer just gets the focus.
pub fn hit(state: &State, pane: Pane, area: Rect, at: Position) -> Option<Hit> {
    let inner = area.inner(Margin::new(1, 1));
    if !inner.contains(at) {
        return None;
    }
    match pane {
        Pane::Steps => steps::hit(inner, at),
        Pane::Settings => settings::hit(state, inner, at),
        Pane::Runs => runs::hit(state, inner, at),
        Pane::Devices | Pane::Chart | Pane::Log => None,
    }
}

/// The frame of a pane: calm, blue with a bold title where the focus is.
fn frame_of(state: &State, pane: Pane, extra: Vec<Span<'static>>) -> Block<'static> {
    let focused = state.focus == pane && state.mode == super::mode::Mode::Normal || state.zoom;
    let theme = state.theme;
    let style = if focused { theme.accent().add_modifier(Modifier::BOLD) } else { theme.strong() };
    let mut title = vec![Span::raw(" "), Span::styled(pane.title(), style), Span::raw(" ")];
    title.extend(extra);
    Block::bordered().border_type(theme.lines(focused)).border_style(theme.border(focused)).title(Line::from(title))
}

/// Says on the lower border which panes take turns in this place.
pub fn shared_by(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme;
    let panes = Pane::ALL.into_iter().filter(|pane| pane.shares_slot());
    let names = panes
        .map(|pane| Span::styled(format!(" {} ", pane.title()), if pane == state.slot { theme.strong() } else { theme.dim() }));
    let line = Line::from_iter(names);
    let width = (line.width() as u16).min(area.width.saturating_sub(2));
    let place = Rect::new(area.x + 1, area.bottom().saturating_sub(1), width, 1);
    frame.render_widget(line, place);
}

/// The pane whose name on the lower border of the shared place is under the pointer.
pub fn shared_hit(area: Rect, at: Position) -> Option<Pane> {
    let mut from = area.x + 1;
    Pane::ALL.into_iter().filter(|pane| pane.shares_slot()).find(|pane| {
        let name = Rect::new(from, area.bottom().saturating_sub(1), pane.title().len() as u16 + 2, 1);
        from += name.width;
        name.contains(at)
    })
}

/// The frame of a window in front of the panes.
fn window_frame(state: &State, title: &str) -> Block<'static> {
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(state.theme.accent())
        .padding(Padding::horizontal(1))
        .title(Span::styled(format!(" {title} "), state.theme.key()))
}

/// `width` x `height` in the middle of `area`, smaller where it does not fit.
fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect::new(area.x + (area.width - width) / 2, area.y + (area.height - height) / 2, width, height)
}

/// Text cut to `width` columns, with a sign where something is missing.
fn cut(text: &str, width: usize) -> String {
    if Span::raw(text).width() <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        // Room for the sign; a character may take two columns.
        if Span::raw(short.as_str()).width() > width.saturating_sub(1) {
            short.pop();
            break;
        }
    }
    if width > 0 {
        short.push('…');
    }
    short
}

/// Text broken into lines of at most `width` columns, at spaces where there are any.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let last = lines.last_mut().map_or(0, |line| line.chars().count());
            let space = usize::from(last > 0);
            if last + space + word.len() <= width {
                if let Some(line) = lines.last_mut() {
                    line.extend(std::iter::repeat_n(' ', space).chain(word));
                }
                break;
            }
            if last > 0 {
                lines.push(String::new());
                continue;
            }
            if let Some(line) = lines.last_mut() {
                line.extend(word.drain(..width));
            }
            lines.push(String::new());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_fit_and_lose_no_word() {
        for width in 1..30 {
            let text = "mpirun -np 2 /a/very/long/path/that/does/not/fit --steps 1-10";
            let lines = wrap(text, width);
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{width}: {lines:?}");
            let squeeze = |text: &str| text.replace(' ', "");
            assert_eq!(squeeze(&lines.concat()), squeeze(text));
        }
    }
}
