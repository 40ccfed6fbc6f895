//! Rows of laid out Markdown in the colours of the theme.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::theme::Theme;
use crate::course::{Piece, Role};

/// A row of laid out Markdown.
pub fn styled(theme: Theme, row: &[Piece]) -> Line<'static> {
    Line::from_iter(row.iter().map(|piece| Span::styled(piece.text.clone(), look(theme, piece.role))))
}

fn look(theme: Theme, role: Role) -> Style {
    match role {
        Role::Text => theme.text(),
        Role::Heading => theme.key(),
        Role::Strong => theme.strong(),
        Role::Emphasis => theme.text().add_modifier(Modifier::ITALIC),
        Role::Code => theme.accent(),
        Role::Link => theme.text().add_modifier(Modifier::UNDERLINED),
        Role::Sign => theme.dim(),
    }
}
