//! Lines of the log as rows of the pane: wrapped, or cut and scrolled sideways.
//!
//! Never leaves text out without a mark where it is.

use std::ops::Range;

use crate::columns::{self, fitting};

/// A row of the pane: a piece of a line of the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Index in the page.
    pub index: usize,
    /// Bytes of its text.
    pub piece: Range<usize>,
    /// It is the first of its line.
    pub is_first: bool,
    /// More text lies to the left of the pane, or to its right: a column there says so.
    pub before: bool,
    pub after: bool,
    /// Empty columns before the piece: half of a wide character has no place there.
    pub pad: usize,
}

/// Pieces of at most `width` columns, broken behind spaces where there are any; nothing is left out.
pub fn wrapped(text: &str, width: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    loop {
        let end = start + fitting(&text[start..], width.max(2));
        if end == text.len() {
            pieces.push(start..end);
            return pieces;
        }
        // Not so early that most of the row stays empty.
        let space = text[start..end].rfind(' ').map(|place| start + place + 1).filter(|place| place - start > (end - start) / 2);
        let end = space.unwrap_or(end);
        pieces.push(start..end);
        start = end;
    }
}

/// The part of a line that shows when so many of its columns are out of sight on the left.
pub fn sideways(text: &str, left: usize, width: usize) -> Row {
    let mut row = Row { is_first: true, piece: 0..text.len(), ..Row::default() };
    if left > 0 && !text.is_empty() {
        // The first column says that there is more on the left.
        let (mut start, mut column) = (0, 0);
        for sign in columns::signs(text) {
            if column > left {
                break;
            }
            start += sign.len();
            column += columns::width(sign);
        }
        let pad = column.saturating_sub(left + 1).min(width.saturating_sub(2));
        row = Row { piece: start..text.len(), before: true, pad, ..row };
    }
    let room = width.saturating_sub(usize::from(row.before) + row.pad);
    let rest = &text[row.piece.start..];
    if fitting(rest, room) == rest.len() {
        return row;
    }
    let end = row.piece.start + fitting(rest, room.saturating_sub(1));
    Row { piece: row.piece.start..end, after: true, ..row }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_pieces_fit_and_lose_nothing() {
        for text in [
            "",
            "    indented   and spaced",
            "日本語の長い行はどこでも折れる",
            "mpirun -np 2 /a/path/that/does/not/fit",
            "a\u{301}e\u{301}",
        ] {
            for width in 2..24 {
                let pieces = wrapped(text, width);
                let whole: String = pieces.iter().map(|piece| &text[piece.clone()]).collect();
                assert_eq!(whole, text);
                assert!(pieces.iter().all(|piece| columns::width(&text[piece.clone()]) <= width), "{width}: {pieces:?}");
            }
        }
    }

    #[test]
    fn a_cut_line_shows_its_columns_in_their_places_and_says_where_it_goes_on() {
        let draw = |text: &str, left, width| {
            let Row { piece, before, after, pad, .. } = sideways(text, left, width);
            let mark = |is_cut| if is_cut { "…" } else { "" };
            format!("{}{}{}{}", mark(before), " ".repeat(pad), &text[piece], mark(after))
        };
        for (text, left, width, expected) in [
            ("0123456789", 0, 10, "0123456789"),
            ("0123456789", 0, 6, "01234…"),
            ("0123456789", 2, 6, "…3456…"),
            ("0123456789", 4, 6, "…56789"),
            ("0123", 6, 6, "…"),
            ("", 6, 6, ""),
            ("日本語だ", 0, 6, "日本…"),
            ("日本語だ", 1, 8, "…本語だ"),
            ("日本語だ", 2, 6, "… 語だ"),
            ("ae\u{301}io", 1, 9, "…io"),
        ] {
            assert_eq!(draw(text, left, width), expected, "{text} from {left} in {width}");
        }
        for left in 0..30 {
            for width in 1..20 {
                let text = "loss 日本 0.25 e\u{301} 語語 end";
                let Row { piece, before, after, pad, .. } = sideways(text, left, width);
                let drawn = columns::width(&text[piece]) + pad + usize::from(before) + usize::from(after);
                assert!(drawn <= width.max(2), "{left} {width}: {drawn}");
            }
        }
    }
}
