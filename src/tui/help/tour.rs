//! The tour: a page at a time, in a place that is empty at first.
//!
//! Never takes a key but Enter and Escape: any other ends the tour and does what it always does.

use crossterm::event::KeyCode;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::state::{Help, TOUR};
use crate::columns::wrap;
use crate::tui::widgets::frame::{self, centred};
use crate::tui::widgets::theme::Theme;

/// A key while a page may be on the screen: true where the tour takes it for itself.
pub fn takes(help: &mut Help, key: KeyCode) -> bool {
    let Some(page) = help.tour.take() else { return false };
    if key == KeyCode::Enter {
        help.tour = (page + 1 < TOUR.len()).then_some(page + 1);
    }
    matches!(key, KeyCode::Enter | KeyCode::Esc)
}

pub fn draw(frame: &mut Frame, area: Rect, theme: Theme, help: &Help) {
    let Some((page, (title, text))) = help.tour.and_then(|page| Some((page, TOUR.get(page)?))) else { return };
    let width = area.width.min(46);
    let mut lines: Vec<Line> = wrap(text, width.saturating_sub(4) as usize).into_iter().map(Line::raw).collect();
    lines.push(Line::raw(""));
    let last = page + 1 == TOUR.len();
    let keys = [("Enter", if last { "ends the tour" } else { "goes on" }), ("Esc", "skips it")];
    lines.push(Line::from_iter(
        keys.into_iter()
            .take(if last { 1 } else { 2 })
            .flat_map(|(key, what)| [Span::styled(key, theme.key()), Span::styled(format!(" {what}   "), theme.dim())]),
    ));
    let place = centred(area, width, lines.len() as u16 + 2);
    let block = frame::window(theme, &format!("Tour {} of {}: {title}", page + 1, TOUR.len()));
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(block), place);
}
