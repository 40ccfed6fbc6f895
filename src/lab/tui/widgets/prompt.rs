//! A line that is typed at the foot of the screen, with what is wrong with it or which keys end it.
//!
//! It does not cover what it changes.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::frame::under;
use super::theme::Theme;
use crate::columns::{self, cut};
use crate::tui::actions::{On, Typing};

/// The typed text keeps this many columns beside an error.
const LEAST: usize = 12;

#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// What it is typed for.
    pub label: String,
    pub text: String,
    /// Characters of it behind the caret.
    pub behind: usize,
    /// Why the text will not do, if it will not.
    pub error: Option<String>,
    /// Keys and what they do, the most important first.
    pub keys: Vec<(On, String)>,
    /// What else there is to know.
    pub hint: String,
}

pub fn draw(frame: &mut Frame, footer: Rect, theme: Theme, prompt: &Prompt) {
    let parts = parts(prompt, theme, footer.width as usize);
    frame.render_widget(Clear, footer);
    frame.render_widget(Paragraph::new(Line::from_iter(parts.into_iter().map(|(_, span)| span))), footer);
}

/// The key whose words are under the pointer.
pub fn hit(prompt: &Prompt, theme: Theme, footer: Rect, at: Position) -> Option<On> {
    let parts = parts(prompt, theme, footer.width as usize).into_iter().map(|(on, span)| (on, span.width()));
    under(footer.as_position(), parts, at).flatten()
}

/// From left to right, with the key that a click stands for.
fn parts(prompt: &Prompt, theme: Theme, width: usize) -> Vec<(Option<On>, Span<'static>)> {
    let label = format!(" {}: ", prompt.label);
    let text = &prompt.text;
    // What is typed goes before any hint, and an error before what does not end there.
    let room = width.saturating_sub(columns::width(&label) + 1);
    let wide = columns::width(text);
    let (hints, room) = match &prompt.error {
        Some(error) => {
            let typed = room.saturating_sub(columns::width(error) + 4).clamp(wide.min(LEAST), wide.max(LEAST)).min(room);
            let error = cut(&format!("  ! {error}"), room.saturating_sub(typed.min(wide)));
            (vec![(None, Span::styled(error, theme.warn()))], typed)
        }
        None => {
            let mut left = room.saturating_sub(wide);
            let fits = |(_, span): &(Option<On>, Span)| {
                let rest = left.checked_sub(span.width());
                left = rest.unwrap_or(0);
                rest.is_some()
            };
            // From the end they give way to what is typed.
            let keys = prompt.keys.iter().map(|(on, words)| (Some(*on), words)).chain([(None, &prompt.hint)]);
            let hints = keys.map(|(on, words)| (on, Span::styled(format!("  {words}"), theme.dim())));
            (hints.take_while(fits).collect(), room)
        }
    };
    let (before, behind) = text.split_at(Typing::caret(text, prompt.behind));
    let mut behind = behind.chars();
    let caret = behind.next().unwrap_or(' ').to_string();
    // What is before the caret has the room first, but for the next words.
    let behind = cut(behind.as_str(), room.saturating_sub(columns::width(before)).max(room / 3));
    let before = columns::end_of(before, room.saturating_sub(columns::width(&behind)));
    let mut parts = vec![
        (None, Span::styled(label, theme.strong())),
        (None, Span::styled(before.to_owned(), theme.key())),
        (None, Span::styled(caret, theme.key().add_modifier(Modifier::REVERSED))),
        (None, Span::styled(behind, theme.key())),
    ];
    parts.extend(hints);
    parts
}
