//! The command palette: what is typed, and the commands that it finds with their keys.
//!
//! Never runs one.

use ratatui::Frame;
use ratatui::layout::{Margin, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::super::palette::found;
use super::super::state::{Pane, State};
use super::{centred, cut, window_frame};
use crate::columns;

const ROWS: usize = 14;
const KEY: usize = 7;
/// What is typed, and how many it finds.
const HEAD: usize = 2;

pub fn place(area: Rect) -> Rect {
    centred(area, 76, ROWS as u16 + 4)
}

/// The first entry that shows: the chosen one stays in view.
fn first(chosen: usize, rows: usize) -> usize {
    (chosen + 1).saturating_sub(rows)
}

/// The place of the entry under the pointer.
pub fn hit(area: Rect, at: Position, typed: &str, chosen: usize) -> Option<usize> {
    let inner = place(area).inner(Margin::new(1, 1));
    let rows = (inner.height as usize).saturating_sub(HEAD);
    // Below what is typed and what it finds.
    let row = usize::from(at.y).checked_sub(usize::from(inner.y) + HEAD).filter(|row| *row < rows && inner.contains(at))?;
    let entry = first(chosen, rows) + row;
    (entry < found(typed).len()).then_some(entry)
}

pub fn draw(frame: &mut Frame, area: Rect, state: &State, typed: &str, chosen: usize) {
    let theme = state.theme;
    let place = place(area);
    let block = window_frame(state, "Commands");
    let inner = block.inner(place);
    let rows = (inner.height as usize).saturating_sub(HEAD);
    let width = inner.width as usize;
    let entries = found(typed);
    let mut lines = vec![Line::from(vec![Span::styled(": ", theme.key()), Span::styled(format!("{typed}_"), theme.strong())])];
    lines.push(match entries.len() {
        0 => Line::styled("no command has these words: Backspace takes some away", theme.warn()),
        1 => Line::styled("1 command", theme.dim()),
        many => Line::styled(format!("{many} commands, ↑↓ chooses, Enter runs it"), theme.dim()),
    });
    let first = first(chosen, rows);
    for (index, entry) in entries.iter().enumerate().skip(first).take(rows) {
        let pane = entry.pane().map_or("", Pane::title);
        let text = cut(&entry.text, width.saturating_sub(KEY + pane.len() + 2));
        let fill = width.saturating_sub(KEY + columns::width(&text) + pane.len() + 1);
        if index == chosen {
            let line = format!("{:<KEY$}{text}{:fill$}{pane} ", entry.key, "");
            lines.push(Line::styled(line, theme.cursor(true)));
        } else {
            lines.push(Line::from(vec![
                Span::styled(format!("{:<KEY$}", entry.key), theme.key()),
                Span::raw(format!("{text}{:fill$}", "")),
                Span::styled(pane, theme.dim()),
            ]));
        }
    }
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(block), place);
}
