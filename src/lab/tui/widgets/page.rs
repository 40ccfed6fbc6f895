//! A window of lines: scrolled where not all fit.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph};

use super::frame;
use super::theme::Theme;
use crate::columns::cut;

/// The last line that a page can be scrolled to, drawn at `place`.
pub fn last(place: Rect, lines: usize) -> usize {
    lines.saturating_sub(usize::from(place.height.saturating_sub(2)))
}

/// What Page down moves by: all but one line of what is shown, so that the eye finds its place.
pub fn step(place: Rect) -> usize {
    usize::from(place.height).saturating_sub(3).max(1)
}

/// In the middle of `body`, as high as its lines.
pub fn place(body: Rect, columns: u16, lines: usize) -> Rect {
    frame::centred(body, columns, u16::try_from(lines + 2).unwrap_or(u16::MAX))
}

pub fn draw(frame: &mut Frame, place: Rect, theme: Theme, title: &str, lines: Vec<Line<'static>>, scroll: usize) {
    let (hidden, all) = (last(place, lines.len()), lines.len());
    let scroll = scroll.min(hidden);
    let mut block = frame::window(theme, &cut(title, usize::from(place.width).saturating_sub(4)));
    if hidden > 0 {
        let position = format!(" {} to {} of {all} lines, ↑↓ ", scroll + 1, all - hidden + scroll);
        block = block.title_bottom(Line::styled(position, theme.dim()).right_aligned());
    }
    let shown: Vec<Line> = lines.into_iter().skip(scroll).collect();
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(shown).block(block), place);
}
