//! Frames of panes and windows, and where they lie.

use std::borrow::Cow;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Padding};

use super::theme::Theme;
use crate::columns;
use crate::domain::printable;

/// Whether a pane has the keyboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Focus {
    /// The keys go to it, unless a window is in front.
    pub here: bool,
    /// A window is in front of the panes.
    pub behind: bool,
    /// It is the only pane on the screen.
    pub alone: bool,
}

impl Focus {
    /// The next key goes to it.
    pub fn has_keyboard(self) -> bool {
        self.here && !self.behind
    }
}

/// The frame of a pane: calm, blue with a bold title where the focus is.
pub fn pane(theme: Theme, name: &'static str, focus: Focus, extra: Vec<Span<'static>>) -> Block<'static> {
    let focused = focus.has_keyboard() || focus.alone;
    let style = if focused { theme.accent().add_modifier(Modifier::BOLD) } else { theme.strong() };
    let mut title = vec![Span::raw(" "), Span::styled(name, style), Span::raw(" ")];
    title.extend(extra);
    Block::bordered().border_type(theme.lines(focused)).border_style(theme.border(focused)).title(Line::from(title))
}

/// The column where [`pane`] puts what follows the name: behind the corner, and a space on either side of the name.
pub fn behind_name(name: &str, area: Rect) -> u16 {
    area.x + name.len() as u16 + 3
}

/// The frame of a window in front of the panes.
pub fn window(theme: Theme, title: &str) -> Block<'static> {
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.accent())
        .padding(Padding::horizontal(1))
        .title(Span::styled(format!(" {title} "), theme.key()))
}

/// `width` x `height` in the middle of `area`, smaller where it does not fit.
pub fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect::new(area.x + (area.width - width) / 2, area.y + (area.height - height) / 2, width, height)
}

/// The one of these pieces of a row that is under the pointer: the first begins at `from`, and each has its columns beside it.
pub fn under<T>(from: Position, pieces: impl IntoIterator<Item = (T, usize)>, at: Position) -> Option<T> {
    let mut end = from.x;
    let mut pieces = pieces.into_iter().filter(|_| at.y == from.y && at.x >= from.x);
    let under = pieces.find(|(_, columns)| {
        end += *columns as u16;
        at.x < end
    });
    under.map(|(piece, _)| piece)
}

/// One entry after the other, each whole in a line of at most `width` columns, if it is not wider itself.
pub fn flow<const N: usize>(
    first: Line<'static>,
    entries: impl IntoIterator<Item = [Span<'static>; N]>,
    width: usize,
) -> Vec<Line<'static>> {
    let mut lines = vec![first];
    for entry in entries {
        let wide: usize = entry.iter().map(Span::width).sum();
        match lines.last_mut() {
            Some(line) if line.width() + wide <= width => line.extend(entry),
            _ => lines.push(Line::from_iter(entry)),
        }
    }
    lines
}

/// Takes out whatever could do more on a terminal than be read, wherever on the screen it comes from.
pub fn safe_signs(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if let Cow::Owned(clean) = printable::line(cell.symbol()) {
            cell.set_symbol(if (1..=2).contains(&columns::width(&clean)) { &clean } else { " " });
        }
    }
}

/// A window over half of a wide sign leaves a space of it: the other half would push the border to the right.
pub fn whole_signs(buffer: &mut Buffer) {
    let area = buffer.area;
    for row in area.rows() {
        for x in row.x..row.right() {
            let is_wide = |cell: &Cell| cell.symbol().len() > 1 && columns::width(cell.symbol()) > 1;
            let has_room = x + 1 < row.right() && buffer[(x + 1, row.y)].symbol() == " ";
            if is_wide(&buffer[(x, row.y)]) && !has_room {
                buffer[(x, row.y)].set_symbol(" ");
            }
        }
    }
}
