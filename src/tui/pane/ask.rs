//! The line that is typed at the foot of the screen: a filter, a name, a note, a file.
//!
//! Never covers what it changes.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::super::mode::Mode;
use super::super::runs_view::Ask;
use super::super::state::State;
use crate::columns;

pub fn draw(frame: &mut Frame, footer: Rect, state: &State) {
    let Mode::Ask { ask, text, error } = &state.mode else { return };
    let theme = state.theme;
    let (label, hint) = match ask {
        Ask::Filter { .. } => ("Filter".to_owned(), found(state)),
        Ask::Name(run) => (format!("Name of run {run}"), "empty takes it away".to_owned()),
        Ask::Note(run) => (format!("Note on run {run}"), "empty takes it away".to_owned()),
        Ask::Export => ("Export to".to_owned(), ".md .csv .json .svg".to_owned()),
    };
    let (hint, style) = match error {
        Some(error) => (format!("! {error}"), theme.warn()),
        None => (format!("Enter take over  Esc leave  {hint}"), theme.dim()),
    };
    let label = format!(" {label}: ");
    let hint_width = columns::width(&hint) + 3;
    let width = footer.width as usize;
    // What is typed goes before any hint.
    let room = width.saturating_sub(columns::width(&label) + 1);
    let hint_fits = columns::width(text) + hint_width <= room || error.is_some();
    let room = if hint_fits { room.saturating_sub(hint_width).max(8) } else { room };
    let mut spans = vec![
        Span::styled(label, theme.strong()),
        Span::styled(columns::end_of(text, room).to_owned(), theme.key()),
        Span::styled(" ", theme.key().add_modifier(Modifier::REVERSED)),
    ];
    if hint_fits {
        spans.push(Span::styled(format!("  {hint}"), style));
    }
    frame.render_widget(Clear, footer);
    frame.render_widget(Paragraph::new(Line::from(spans)), footer);
}

fn found(state: &State) -> String {
    let shown = state.runs_view.shown(&state.runs).len();
    format!("{shown} of {} fit  (np:2  failed  !name:old)", state.runs.len())
}
