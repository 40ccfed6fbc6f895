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

/// Where it stands, and its text in lines: above the footer, or below the header where it would cover what is kept in sight.
fn laid_out(body: Rect, notice: &Notice, kept: Option<Rect>) -> (Rect, Vec<String>) {
    let width = body.width.saturating_sub(4).min(100);
    let longest = columns::width(&notice.text).max(title(notice).len()) as u16 + 8;
    let width = width.min(longest);
    let lines = wrap(&notice.text, width.saturating_sub(6) as usize);
    let height = (lines.len() as u16 + 2).min(body.bottom());
    let below = Rect::new(body.x + body.width.saturating_sub(width + 1), body.bottom() - height, width, height);
    let above = Rect { y: body.y, ..below };
    let is_covered = |place: Rect| kept.is_some_and(|kept| kept.intersects(place));
    (if is_covered(below) && !is_covered(above) { above } else { below }, lines)
}

fn title(notice: &Notice) -> &'static str {
    if notice.is_error { "Problem, Esc dismisses" } else { "Esc dismisses" }
}

/// The pointer is on it.
pub fn hit(notice: &Notice, body: Rect, kept: Option<Rect>, at: Position) -> bool {
    laid_out(body, notice, kept).0.contains(at)
}

pub fn draw(frame: &mut Frame, body: Rect, theme: Theme, notice: &Notice, kept: Option<Rect>) {
    let (sign, style) = if notice.is_error { ("✗ ", theme.warn()) } else { ("▸ ", theme.accent()) };
    let (place, lines) = laid_out(body, notice, kept);
    let text = lines
        .into_iter()
        .enumerate()
        .map(|(index, line)| Line::from(vec![Span::styled(if index == 0 { sign } else { "  " }, style), Span::raw(line)]));
    let block = frame::window(theme, title(notice)).border_style(style);
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(text.collect::<Vec<_>>()).block(block), place);
}
