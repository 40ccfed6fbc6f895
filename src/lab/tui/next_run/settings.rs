//! The settings of the next run, one a line, edited in place.
//!
//! Never shows a value that the run would not use.

use crate::tui::actions::Pane;
use crate::tui::state::State;
use crate::tui::widgets::{Focus, frame, indented};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::edit::Edit;
use super::fields::{Field, NextRun};
use crate::columns::{self, cut};

const LABEL: usize = 15;

pub fn draw(frame: &mut Frame, area: Rect, state: &State, focus: Focus) {
    let theme = state.shared.theme;
    let block = frame::pane(theme, Pane::Settings.title(), focus, Vec::new());
    let inner = block.inner(area);
    let note = note(state, inner.width as usize, inner.height);
    let [list, below] = Layout::vertical([Constraint::Fill(1), Constraint::Length(note.len() as u16)]).areas(inner);
    let hidden = Field::ALL.len().saturating_sub(list.height as usize);
    let more = if hidden > 0 { format!(" {hidden} more, ↑↓ ") } else { String::new() };
    frame.render_widget(block.title_bottom(Line::styled(more, theme.dim()).right_aligned()), area);
    let rows = visible(&state.next_run, list).map(|field| row(state, focus, *field, list.width as usize));
    frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()), list);
    frame.render_widget(Paragraph::new(note), below);
}

/// The cursor stays in view where not all fields fit.
fn visible(next_run: &NextRun, list: Rect) -> impl Iterator<Item = &'static Field> {
    let cursor = Field::ALL.iter().position(|field| *field == next_run.field).unwrap_or(0);
    let rows = list.height as usize;
    let first = (cursor + 1).saturating_sub(rows).min(Field::ALL.len().saturating_sub(rows));
    Field::ALL.iter().skip(first).take(rows)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// The row of a setting.
    Field(Field),
    /// An arrow beside the value of the chosen setting.
    Change { up: bool },
}

pub fn hit(state: &State, focus: Focus, inner: Rect, at: Position) -> Option<Hit> {
    let State { next_run, shared, .. } = state;
    let note = note(state, inner.width as usize, inner.height).len() as u16;
    let list = Rect { height: inner.height.saturating_sub(note), ..inner };
    let field = visible(next_run, list).nth(usize::from(at.y - inner.y)).copied()?;
    if next_run.field == field && focus.here && list.contains(at) {
        // The arrows around the value under the cursor.
        let value = cut(&field.value(&shared.spec, &shared.preset), (list.width as usize).saturating_sub(LABEL + 6));
        let left = inner.x + LABEL as u16 + 2;
        let right = left + Span::raw(value).width() as u16 + 3;
        if at.x == left || at.x == right {
            return Some(Hit::Change { up: at.x == right });
        }
    }
    Some(Hit::Field(field))
}

fn row(State { next_run, shared, windows, .. }: &State, focus: Focus, field: Field, width: usize) -> Line<'static> {
    let theme = shared.theme;
    // Room for the arrows around the value under the cursor.
    let room = width.saturating_sub(LABEL + 6);
    if let Some(Edit { text, .. }) = windows.get().filter(|edited: &&Edit| edited.field == field) {
        return Line::from(vec![
            Span::styled(format!(" {:<LABEL$} ", field.label()), theme.strong()),
            Span::styled(columns::end_of(text, width.saturating_sub(LABEL + 3)).to_owned(), theme.key()),
            Span::styled(" ", theme.key().add_modifier(Modifier::REVERSED)),
        ]);
    }
    let value = cut(&field.value(&shared.spec, &shared.preset), room);
    if next_run.field == field {
        let focused = focus.has_keyboard();
        let value = if focused { format!("‹ {value} ›") } else { value };
        let line = format!(" {:<LABEL$} {}", field.label(), columns::left(&value, width.saturating_sub(LABEL + 2)));
        return Line::styled(line, theme.cursor(focused));
    }
    Line::from(vec![Span::styled(format!(" {:<LABEL$} ", field.label()), theme.dim()), Span::raw(value)])
}

/// What is wrong with the typed text, else what the chosen numbers mean together.
fn note(State { shared, windows, .. }: &State, width: usize, height: u16) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let lines = |text: &str, style| indented(text, width.saturating_sub(2), style).into_iter().take(3).collect::<Vec<_>>();
    match windows.get() {
        Some(Edit { error: Some(error), .. }) => lines(&format!("! {error}"), theme.warn()),
        Some(Edit { field, .. }) => lines(field.hint(), theme.dim()),
        None => match shared.advice() {
            Err(advice) => lines(&format!("! {advice}"), theme.warn()),
            Ok(advice) if height as usize > Field::ALL.len() => lines(&advice, theme.dim()),
            Ok(_) => Vec::new(),
        },
    }
}
