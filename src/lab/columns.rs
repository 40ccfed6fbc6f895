//! Text by the columns that a terminal gives it: measured, cut, filled up and broken into lines; and begun as a sentence is.
//!
//! Never splits what is one sign to the eye: a wide sign has two columns or none, and a mark stays on its letter. What it makes
//! holds nothing but what can be read.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::domain::printable;

/// Columns of a text.
pub fn width(text: &str) -> usize {
    // What the lab says itself is ASCII for the most part, and long logs are.
    if is_plain(text.as_bytes()) { text.len() } else { text.graphemes(true).map(of_sign).sum() }
}

/// Bytes of the longest beginning that fits into `width` columns.
pub fn fitting(text: &str, width: usize) -> usize {
    // Look no further than needed: breaking a text into lines calls this once for each line.
    let head = &text.as_bytes()[..text.len().min(width.saturating_add(1))];
    if is_plain(head) {
        return text.len().min(width);
    }
    let mut used = 0;
    let mut signs = text.grapheme_indices(true);
    let beyond = signs.find(|(_, sign)| {
        used += of_sign(sign);
        used > width
    });
    beyond.map_or(text.len(), |(place, _)| place)
}

/// Text cut to `width` columns, with a sign where something is missing.
pub fn cut(text: &str, width: usize) -> String {
    let text = &*printable::line(text);
    match (fitting(text, width) == text.len(), width) {
        (true, _) => text.to_owned(),
        (false, 0) => String::new(),
        (false, width) => format!("{}…", &text[..fitting(text, width - 1)]),
    }
}

/// As much of the end as fits: that is where one types.
pub fn end_of(text: &str, width: usize) -> &str {
    let mut used = 0;
    let fitting = text.grapheme_indices(true).rev().take_while(|(_, sign)| {
        used += of_sign(sign);
        used <= width
    });
    &text[fitting.last().map_or(text.len(), |(place, _)| place)..]
}

/// What is one sign to the eye, one after the other.
pub fn signs(text: &str) -> impl Iterator<Item = &str> {
    text.graphemes(true)
}

/// Exactly `width` columns, at the left: cut, or filled up with spaces.
pub fn left(text: &str, width: usize) -> String {
    let text = cut(text, width);
    let spaces = " ".repeat(width - self::width(&text));
    text + &spaces
}

/// Exactly `width` columns, at the right.
pub fn right(text: &str, width: usize) -> String {
    let text = cut(text, width);
    " ".repeat(width - self::width(&text)) + &text
}

/// Pieces of at most `width` columns, but never without a sign: one too wide for a narrow column stands alone.
pub fn chunks(text: &str, width: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.graphemes(true).next() {
        let (piece, after) = rest.split_at(fitting(rest, width).max(first.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Text broken into lines of at most `width` columns, at spaces where there are any; one line at least.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let (mut lines, mut line, mut used) = (Vec::new(), String::new(), 0);
    for word in printable::line(text).split(' ') {
        let (space, wide) = (usize::from(used > 0), self::width(word));
        if used + space + wide <= width {
            line.extend([&" "[..space], word]);
            used += space + wide;
            continue;
        }
        if used > 0 {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        for (index, piece) in chunks(word, width).into_iter().enumerate() {
            if index > 0 {
                lines.push(std::mem::take(&mut line));
            }
            line += piece;
            used = self::width(piece);
        }
    }
    lines.push(line);
    lines
}

/// With a large letter, as a sentence begins.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|byte| (b' '..=b'~').contains(byte))
}

/// As the screen draws it: controls not at all, and the sound marks of half-wide kana in a column of their own.
fn of_sign(sign: &str) -> usize {
    let marks = sign.chars().filter(|c| matches!(c, '\u{ff9e}' | '\u{ff9f}')).count();
    if sign.contains(char::is_control) { 0 } else { sign.width() + marks }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wide, combined, joined, flags, ambiguous, plain, and controls.
    const TEXTS: [&str; 8] = [
        "",
        "mpirun -np 2 /a/very/long/path/that/does/not/fit --steps 1-10",
        "日本語の長い行 はどこでも折れる",
        "e\u{301}a\u{308}o\u{302} combining ma\u{301}rks",
        "👩‍👩‍👧‍👦 family 👍🏽 thumbs 🇩🇪 flag",
        "mixed 学習 run ✓ ü … 完",
        "한국어 실행 이름",
        "⚠\u{fe0f} emoji by a selector",
    ];

    /// What is one sign to the eye.
    fn is_whole(text: &str, part: &str) -> bool {
        text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).any(|at| at == part.len()) && text.starts_with(part)
    }

    #[test]
    fn every_width_is_kept_and_no_sign_is_split() {
        for text in TEXTS {
            for columns in 0..40 {
                let short = cut(text, columns);
                assert!(width(&short) <= columns, "{columns}: {short}");
                let is_short = width(text) > columns;
                assert_eq!(short.ends_with('…') && short != text, is_short && columns > 0, "{columns}: {short}");
                if is_short && columns > 0 {
                    assert!(is_whole(text, short.strip_suffix('…').unwrap()), "{columns}: {short}");
                }
                assert_eq!((width(&left(text, columns)), width(&right(text, columns))), (columns, columns), "{text}");
                let end = end_of(text, columns);
                assert!(text.ends_with(end) && width(end) <= columns, "{columns}: {end}");
                assert!(is_whole(text, &text[..text.len() - end.len()]), "{columns}: {end}");
            }
        }
    }

    #[test]
    fn wrapped_lines_fit_and_lose_no_word() {
        for text in TEXTS {
            // A wide sign needs two columns.
            for columns in 2..30 {
                let lines = wrap(text, columns);
                assert!(lines.iter().all(|line| width(line) <= columns), "{columns}: {lines:?}");
                let squeeze = |text: &str| text.replace(' ', "");
                assert_eq!(squeeze(&lines.concat()), squeeze(text));
                assert!(chunks(text, columns).iter().all(|piece| width(piece) <= columns));
                assert_eq!(chunks(text, columns).concat(), text);
            }
        }
        assert_eq!(wrap("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(chunks("日本", 1), ["日", "本"], "better too wide than for ever");
        // A file may hold anything: the time grows with its length alone, not with the square of it.
        let begin = std::time::Instant::now();
        assert_eq!(chunks(&"x".repeat(8 << 20), 80).len(), (8 << 20) / 80 + 1);
        assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
    }

    #[test]
    fn a_combined_letter_is_one_column_and_a_joined_picture_two() {
        assert_eq!((width("e\u{301}"), width("👩‍👩‍👧‍👦"), width("日"), width("\u{7}")), (1, 2, 2, 0));
        assert_eq!(cut("日本語", 4), "日…", "half a sign is none");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(left("日本", 5), "日本 ");
        assert_eq!(right("日本語", 4), " 日…");
    }

    #[test]
    fn what_is_made_can_do_nothing_but_be_read() {
        let hostile = "\x1b[31mred\tand\u{202e}bell\x07";
        assert_eq!(cut(hostile, 40), "red    andbell");
        assert_eq!(left(hostile, 15), "red    andbell ");
        assert_eq!(right(hostile, 6), "red  …");
        assert_eq!(wrap("one\ntwo\x1b]0;title\x07 three", 7), ["one two", "three"]);
    }
}
