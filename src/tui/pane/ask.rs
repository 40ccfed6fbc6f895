//! The line that is typed at the foot of the screen: a search, a filter, a name, a note, a file.
//!
//! Never covers what it changes.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::super::ask::Ask;
use super::super::keymap::Command;
use super::super::mode::Mode;
use super::super::state::State;
use crate::columns::{self, cut};

/// What is typed keeps so many columns beside an error.
const LEAST: usize = 12;

pub fn draw(frame: &mut Frame, footer: Rect, state: &State) {
    let parts = parts(state, footer.width as usize);
    if !parts.is_empty() {
        frame.render_widget(Clear, footer);
        frame.render_widget(Paragraph::new(Line::from_iter(parts.into_iter().map(|(_, span)| span))), footer);
    }
}

/// What a click on the line asks for; `None` while nothing is typed there.
pub fn hit(state: &State, footer: Rect, at: Position) -> Option<Option<Command>> {
    let parts = parts(state, footer.width as usize);
    let mut from = footer.x as usize;
    let hit = parts.iter().find(|(_, span)| {
        from += span.width();
        usize::from(at.x) < from
    });
    (!parts.is_empty()).then(|| hit.and_then(|(command, _)| *command))
}

/// From left to right, with what each answers to a click. Empty while nothing is typed.
fn parts(state: &State, width: usize) -> Vec<(Option<Command>, Span<'static>)> {
    let Mode::Ask { ask, text, error } = &state.mode else { return Vec::new() };
    let theme = state.theme;
    let label = format!(" {}: ", ask.label());
    // What is typed goes before any hint, and an error before what does not end there.
    let room = width.saturating_sub(columns::width(&label) + 1);
    let wide = columns::width(text);
    let (hints, room) = match error {
        Some(error) => {
            let typed = room.saturating_sub(columns::width(error) + 4).clamp(wide.min(LEAST), wide.max(LEAST)).min(room);
            let error = cut(&format!("  ! {error}"), room.saturating_sub(typed.min(wide)));
            (vec![(None, Span::styled(error, theme.warn()))], typed)
        }
        None => {
            let mut left = room.saturating_sub(wide);
            let fits = |(_, span): &(Option<Command>, Span)| {
                let rest = left.checked_sub(span.width());
                left = rest.unwrap_or(0);
                rest.is_some()
            };
            (hints(state, ask, theme.dim()).into_iter().take_while(fits).collect(), room)
        }
    };
    let mut parts = vec![
        (None, Span::styled(label, theme.strong())),
        (None, Span::styled(columns::end_of(text, room).to_owned(), theme.key())),
        (None, Span::styled(" ", theme.key().add_modifier(Modifier::REVERSED))),
    ];
    parts.extend(hints);
    parts
}

/// What matters most comes first: from the end they give way to what is typed.
fn hints(state: &State, ask: &Ask, style: Style) -> Vec<(Option<Command>, Span<'static>)> {
    let [enter, escape] = ask.answers();
    let key = |command, words: String| (Some(command), Span::styled(format!("  {words}"), style));
    let mut hints = Vec::new();
    if let Ask::Log { regex, .. } = ask {
        hints.push(key(Command::Regex, format!("Ctrl-R {}", if *regex { "plain text" } else { "regex" })));
    }
    hints.extend([key(Command::Accept, format!("Enter {enter}")), key(Command::Back, format!("Esc {escape}"))]);
    hints.push((None, Span::styled(format!("  {}", ask.hint(state)), style)));
    hints
}
