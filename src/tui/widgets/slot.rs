//! The names on the lower border of the place that some panes take in turn.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::theme::Theme;
use crate::tui::actions::pane::Pane;

fn panes() -> impl Iterator<Item = Pane> {
    Pane::ALL.into_iter().filter(|pane| pane.shares_slot())
}

/// Columns of all the names.
pub fn width() -> usize {
    panes().map(|pane| pane.title().len() + 2).sum()
}

pub fn draw(frame: &mut Frame, area: Rect, theme: Theme, shown: Pane) {
    let name = |pane: Pane| {
        let style = if pane == shown { theme.strong() } else { theme.dim() };
        Span::styled(format!(" {} ", pane.title()), style)
    };
    let line = Line::from_iter(panes().map(name));
    let width = (line.width() as u16).min(area.width.saturating_sub(2));
    frame.render_widget(line, Rect::new(area.x + 1, area.bottom().saturating_sub(1), width, 1));
}

/// The pane whose name is under the pointer.
pub fn hit(area: Rect, at: Position) -> Option<Pane> {
    let mut from = area.x + 1;
    panes().find(|pane| {
        let name = Rect::new(from, area.bottom().saturating_sub(1), pane.title().len() as u16 + 2, 1);
        from += name.width;
        name.contains(at)
    })
}
