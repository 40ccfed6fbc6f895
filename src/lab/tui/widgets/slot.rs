//! The names on the lower border of the place that some panes take in turn.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::frame::under;
use super::theme::Theme;
use crate::tui::actions::Pane;

/// Columns of all the names.
pub fn width(turns: &[Pane]) -> usize {
    turns.iter().map(|pane| pane.title().len() + 2).sum()
}

pub fn draw(frame: &mut Frame, area: Rect, theme: Theme, turns: &[Pane], shown: Pane) {
    let name = |pane: &Pane| {
        let style = if *pane == shown { theme.strong() } else { theme.dim() };
        Span::styled(format!(" {} ", pane.title()), style)
    };
    let line = Line::from_iter(turns.iter().map(name));
    let width = (line.width() as u16).min(area.width.saturating_sub(2));
    let at = Rect::new(area.x + 1, area.bottom().saturating_sub(1), width, 1);
    frame.render_widget(line, at);
    // What the pane says there goes as a whole where the names cover the beginning of it.
    let border = frame.buffer_mut()[(area.x, area.y)].style();
    for x in at.right()..area.right().saturating_sub(1) {
        let cell = &mut frame.buffer_mut()[(x, at.y)];
        if ["─", "━"].contains(&cell.symbol()) {
            break;
        }
        cell.set_symbol("─").set_style(border);
    }
}

/// The pane whose name is under the pointer.
pub fn hit(area: Rect, turns: &[Pane], at: Position) -> Option<Pane> {
    let from = Position::new(area.x + 1, area.bottom().saturating_sub(1));
    under(from, turns.iter().map(|pane| (*pane, pane.title().len() + 2)), at)
}
