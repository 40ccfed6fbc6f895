//! A question in front of the panes, and the keys that answer it.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::frame;
use super::theme::Theme;
use crate::columns::wrap;
use crate::tui::actions::{Binding, Command};

/// Columns of the frame and of the space beside the text.
const FRAME: u16 = 6;

/// The keys that the question names.
fn answers(keys: &[Binding]) -> impl Iterator<Item = &Binding> {
    keys.iter().filter(|binding| !binding.label.is_empty())
}

/// Text that is too wide for the screen goes on in the next line.
fn lines(area: Rect, theme: Theme, text: &[String], keys: &[Binding]) -> Vec<Line<'static>> {
    let text = text.iter().flat_map(|line| wrap(line, usize::from(area.width.saturating_sub(FRAME)))).map(Line::raw);
    let mut lines: Vec<Line> = std::iter::once(Line::raw("")).chain(text).chain([Line::raw("")]).collect();
    lines.push(Line::from_iter(
        answers(keys).flat_map(|answer| [Span::styled(answer.key, theme.key()), Span::raw(format!(" {}   ", answer.label))]),
    ));
    lines
}

pub fn place(area: Rect, theme: Theme, text: &[String], keys: &[Binding]) -> Rect {
    let lines = lines(area, theme, text, keys);
    let width = lines.iter().map(Line::width).max().unwrap_or(0) as u16 + FRAME;
    frame::centred(area, width, lines.len() as u16 + 2)
}

/// The answer under the pointer, in a question drawn at `place`.
pub fn hit(place: Rect, keys: &[Binding], at: Position) -> Option<Command> {
    // Behind the frame and its padding, and with room between them.
    let from = Position::new(place.x + 2, place.bottom().saturating_sub(2));
    let width = |answer: &Binding| answer.key.chars().count() + 1 + answer.label.chars().count();
    let pieces = answers(keys).flat_map(|answer| [(Some(answer.command), width(answer)), (None, 3)]);
    frame::under(from, pieces, at).flatten()
}

pub fn draw(frame: &mut Frame, area: Rect, theme: Theme, title: &str, text: &[String], keys: &[Binding]) {
    let place = place(area, theme, text, keys);
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines(area, theme, text, keys)).block(frame::window(theme, title)), place);
}
