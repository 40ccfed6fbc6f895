//! A line as a terminal would have shown it.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Escape sequences, and what a progress bar takes back.
#[expect(clippy::unwrap_used, reason = "a constant, and a test uses it")]
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| Regex::new("\x1b\\[[0-9;?]*[A-Za-z]|\x1b\\][^\x07]*\x07|\x08").unwrap());

/// What stays on a terminal: behind the last return of the carriage, without colours.
pub fn as_seen(line: &str) -> Cow<'_, str> {
    let is_drawn = |part: &&str| !part.trim_matches(['\x08', ' ']).is_empty();
    let last = line.trim_end_matches(['\n', '\r']).rsplit('\r').find(is_drawn).unwrap_or("");
    if last.contains(['\x1b', '\x08']) { ESCAPES.replace_all(last, "") } else { Cow::Borrowed(last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_that_was_drawn_many_times_is_what_was_drawn_last() {
        assert_eq!(as_seen("\r 10%\r 20%\r"), " 20%");
        assert_eq!(as_seen("\u{1b}[1m5/5\u{1b}[0m \u{1b}[32m━━\u{1b}[0m\x08\x08 x\n"), "5/5 ━━ x");
        assert_eq!(as_seen(""), "");
    }
}
