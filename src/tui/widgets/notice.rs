//! A line above the footer's keys that says what happened or went wrong, until it is dismissed.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::frame;
use super::theme::Theme;
use crate::columns;
use crate::columns::wrap;

#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    pub text: String,
    pub is_error: bool,
}

/// Where it stands, and its text in lines.
fn laid_out(footer: Rect, notice: &Notice) -> (Rect, Vec<String>) {
    let width = footer.width.saturating_sub(4).min(100);
    let longest = columns::width(&notice.text).max(title(notice).len()) as u16 + 8;
    let width = width.min(longest);
    let lines = wrap(&notice.text, width.saturating_sub(6) as usize);
    let height = (lines.len() as u16 + 2).min(footer.y);
    (Rect::new(footer.x + footer.width.saturating_sub(width + 1), footer.y - height, width, height), lines)
}

fn title(notice: &Notice) -> &'static str {
    if notice.is_error { "Problem, Esc dismisses" } else { "Esc dismisses" }
}

/// The pointer is on it.
pub fn hit(notice: &Notice, footer: Rect, at: Position) -> bool {
    laid_out(footer, notice).0.contains(at)
}

pub fn draw(frame: &mut Frame, footer: Rect, theme: Theme, notice: &Notice) {
    let (sign, style) = if notice.is_error { ("✗ ", theme.warn()) } else { ("▸ ", theme.accent()) };
    let (place, lines) = laid_out(footer, notice);
    let text = lines
        .into_iter()
        .enumerate()
        .map(|(index, line)| Line::from(vec![Span::styled(if index == 0 { sign } else { "  " }, style), Span::raw(line)]));
    let block = frame::window(theme, title(notice)).border_style(style);
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(text.collect::<Vec<_>>()).block(block), place);
}
