//! A line whose parts go one after the other where there is no room: half a figure would be wrong.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::columns::{self, cut};
use crate::domain::printable;

/// Words of a line that stay or go together.
#[derive(Clone, Debug)]
pub struct Part {
    /// The highest go first; those of 0 stay.
    pub rank: u8,
    pub span: Span<'static>,
}

impl Part {
    pub fn new(rank: u8, text: impl AsRef<str>, style: Style) -> Part {
        Part { rank, span: Span::styled(printable::line(text.as_ref()).into_owned(), style) }
    }

    /// The parts of a text in which keys stand between backticks.
    pub fn with_keys(rank: u8, text: &str, key: Style, word: Style) -> Vec<Part> {
        let pieces = text.split('`').enumerate().filter(|(_, piece)| !piece.is_empty());
        pieces.map(|(place, piece)| Part::new(rank, piece, if place % 2 == 1 { key } else { word })).collect()
    }
}

/// Columns of all parts.
pub fn width(parts: &[Part]) -> usize {
    parts.iter().map(|part| columns::width(&part.span.content)).sum()
}

/// The parts that there is room for; what has to stay is cut with a sign.
pub fn line(mut parts: Vec<Part>, columns: usize) -> Line<'static> {
    while width(&parts) > columns
        && let Some(rank) = parts.iter().map(|part| part.rank).max().filter(|rank| *rank > 0)
    {
        parts.retain(|part| part.rank < rank);
    }
    let (mut spans, mut left) = (Vec::new(), columns);
    for Part { span, .. } in parts {
        let text = cut(&span.content, left);
        left -= columns::width(&text).min(left);
        spans.push(Span::styled(text, span.style));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rank_goes_first_and_what_stays_is_cut_with_a_sign() {
        let part = |rank, text| Part::new(rank, text, Style::new());
        let parts = || vec![part(2, "lab "), part(0, "1.89x"), part(1, " of 2x")];
        for (columns, text) in [(15, "lab 1.89x of 2x"), (14, "1.89x of 2x"), (10, "1.89x"), (4, "1.8…"), (0, "")] {
            assert_eq!(line(parts(), columns).to_string(), text);
        }
    }
}
