//! A line as a terminal would have shown it, and the rank that a launcher's tag names.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// A line with the rank in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagged<'a> {
    pub rank: usize,
    pub text: &'a str,
}

/// Escape sequences, and what a progress bar takes back.
#[expect(clippy::unwrap_used, reason = "a constant, and a test uses it")]
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| Regex::new("\x1b\\[[0-9;?]*[A-Za-z]|\x1b\\][^\x07]*\x07|\x08").unwrap());

/// Open MPI 4 and 5 and horovodrun, MPICH's `-prepend-rank`, `torchrun --tee 3`, `srun -l`.
#[expect(clippy::unwrap_used, reason = "a constant, and a test uses it")]
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    let tags = r"^(?:\[(?:[^\]\s]*@)?\d+,\s*(\d+)\]<std(?:out|err|diag)>: ?|\[(\d+)\]<std(?:out|err)>: ?|\[default(\d+)\]: ?|\[(\d+)\] |\s*(\d+): )";
    Regex::new(tags).unwrap()
});

/// What stays on a terminal: behind the last return of the carriage, without colours.
pub fn as_seen(line: &str) -> Cow<'_, str> {
    let is_drawn = |part: &&str| !part.trim_matches(['\x08', ' ']).is_empty();
    let last = line.trim_end_matches(['\n', '\r']).rsplit('\r').find(is_drawn).unwrap_or("");
    match last.contains(['\x1b', '\x08']) {
        true => ESCAPES.replace_all(last, ""),
        false => Cow::Borrowed(last),
    }
}

/// The rank that a launcher put in front of a line; `None` where there is none.
pub fn tagged(line: &str) -> Option<Tagged<'_>> {
    let found = TAG.captures(line)?;
    let rank = found.iter().skip(1).flatten().next()?.as_str().parse().ok()?;
    Some(Tagged { rank, text: &line[found.get(0)?.end()..] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tags_of_all_launchers_are_known() {
        for line in [
            "[1,3]<stdout>: x",
            "[1,3]<stderr>:x",
            "[prterun-vm-12@1,3]<stdout>: x",
            "[3]<stdout>:x",
            "[3] x",
            "3: x",
            "[default3]: x",
            "[default3]:x",
        ] {
            assert_eq!(tagged(line), Some(Tagged { rank: 3, text: "x" }), "{line}");
        }
        for line in ["x", "[x] 3", "epoch 3: x", "[2026-01-01] x", "3 : x"] {
            assert_eq!(tagged(line), None, "{line}");
        }
    }

    #[test]
    fn a_bar_that_was_drawn_many_times_is_what_was_drawn_last() {
        assert_eq!(as_seen("\r 10%\r 20%\r"), " 20%");
        assert_eq!(as_seen("\u{1b}[1m5/5\u{1b}[0m \u{1b}[32m━━\u{1b}[0m\x08\x08 x\n"), "5/5 ━━ x");
        assert_eq!(as_seen(""), "");
    }
}
