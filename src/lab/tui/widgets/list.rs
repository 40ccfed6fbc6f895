//! A window to choose a command from a list by typing: what is typed, and the rows that it finds.

use ratatui::Frame;
use ratatui::layout::{Margin, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::frame;
use super::theme::Theme;
use crate::columns::{self, cut};

const ROWS: usize = 14;
const KEY: usize = 7;
/// What is typed, and how many it finds.
const HEAD: usize = 2;

#[derive(Clone, Debug, Default)]
pub struct List {
    pub typed: String,
    /// How many there are; a warning where there is none.
    pub count: String,
    pub rows: Vec<ListRow>,
    pub chosen: usize,
}

#[derive(Clone, Debug, Default)]
pub struct ListRow {
    pub key: String,
    pub text: String,
    /// Where it belongs, at the right end.
    pub place: &'static str,
}

pub fn place(area: Rect) -> Rect {
    let height = ROWS as u16 + 4;
    // Header and footer stay visible.
    let between = Rect { y: area.y + 2, height: area.height.saturating_sub(3), ..area };
    frame::centred(if between.height < height { between } else { area }, 76, height)
}

/// The first row that shows: the chosen one stays in view.
fn first(chosen: usize, rows: usize) -> usize {
    (chosen + 1).saturating_sub(rows)
}

/// The place of the row under the pointer.
pub fn hit(list: &List, area: Rect, at: Position) -> Option<usize> {
    let inner = place(area).inner(Margin::new(1, 1));
    let rows = (inner.height as usize).saturating_sub(HEAD);
    // Below what is typed and what it finds.
    let row = usize::from(at.y).checked_sub(usize::from(inner.y) + HEAD).filter(|row| *row < rows && inner.contains(at))?;
    let chosen = first(list.chosen, rows) + row;
    (chosen < list.rows.len()).then_some(chosen)
}

pub fn draw(frame: &mut Frame, area: Rect, theme: Theme, list: &List) {
    let place = place(area);
    let block = frame::window(theme, "Commands");
    let inner = block.inner(place);
    let rows = (inner.height as usize).saturating_sub(HEAD);
    let width = inner.width as usize;
    let typed = Span::styled(format!("{}_", list.typed), theme.strong());
    let mut lines = vec![Line::from(vec![Span::styled(": ", theme.key()), typed])];
    lines.push(Line::styled(list.count.clone(), if list.rows.is_empty() { theme.warn() } else { theme.dim() }));
    for (index, row) in list.rows.iter().enumerate().skip(first(list.chosen, rows)).take(rows) {
        let text = cut(&row.text, width.saturating_sub(KEY + row.place.len() + 2));
        let fill = width.saturating_sub(KEY + columns::width(&text) + row.place.len() + 1);
        if index == list.chosen {
            let line = format!("{:<KEY$}{text}{:fill$}{} ", row.key, "", row.place);
            lines.push(Line::styled(line, theme.cursor(true)));
        } else {
            lines.push(Line::from(vec![
                Span::styled(format!("{:<KEY$}", row.key), theme.key()),
                Span::raw(format!("{text}{:fill$}", "")),
                Span::styled(row.place, theme.dim()),
            ]));
        }
    }
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(block), place);
}
