//! What a program printed, as text that can do nothing but be read.
//!
//! Never decides which characters those are: `domain::printable` does.

use crate::domain::printable;

/// Characters kept of one line.
pub const LINE: usize = 1_000;

/// A line without anything but what is to be read, cut after `LINE` characters.
pub fn safe(text: &str) -> String {
    // A progress line that rewrites itself: its last state counts.
    let text = text.trim_end_matches(['\r', '\n']).rsplit('\r').next().unwrap_or_default();
    let clean = printable::line(text);
    match clean.char_indices().nth(LINE) {
        Some((end, _)) => format!("{} …", &clean[..end]),
        None => clean.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_trainer_prints_can_move_the_cursor() {
        assert_eq!(safe("\x1b[31mred\x1b[0m\x1b[2J\x1b[H"), "red");
        assert_eq!(safe("\x1b]0;title\x07text\x1b]52;c;AAAA\x1b\\"), "text");
        assert_eq!(safe("10 %\r50 %\r100 %\r\n"), "100 %");
        assert_eq!(safe("a\tb\0c\x08"), "a    bc");
        assert_eq!(safe("\u{202e}evil"), "evil");
        assert!(!safe("\u{9b}31mred").contains('\u{9b}'));
    }

    #[test]
    fn a_long_line_is_cut_and_says_so() {
        let cut = safe(&"x".repeat(10_000));
        assert!(cut.ends_with("x …") && cut.chars().count() == LINE + 2);
        assert_eq!(safe(&"é".repeat(LINE)), "é".repeat(LINE));
    }
}
