//! The last lines of every process, made safe to draw.
//!
//! Never grows past [`PER_PROCESS`] and [`ALL`] lines of at most [`LINE`] characters.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Lines kept of one process.
pub const PER_PROCESS: usize = 2_000;
/// Lines kept in the mixed view of all processes.
pub const ALL: usize = 6_000;
/// Characters kept of one line.
pub const LINE: usize = 1_000;

/// Lines with their place in the whole stream, so that a view stays where it is while old lines go.
#[derive(Clone, Debug, Default)]
pub struct Ring {
    lines: VecDeque<LogLine>,
    dropped: usize,
}

impl Ring {
    fn push(&mut self, line: LogLine, limit: usize) {
        if self.lines.len() == limit {
            self.lines.pop_front();
            self.dropped += 1;
        }
        self.lines.push_back(line);
    }

    /// Place of the first line that is still there.
    pub fn start(&self) -> usize {
        self.dropped
    }

    /// One past the place of the last line.
    pub fn end(&self) -> usize {
        self.dropped + self.lines.len()
    }

    pub fn get(&self, place: usize) -> Option<&LogLine> {
        self.lines.get(place.checked_sub(self.dropped)?)
    }
}

/// Who wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Process(usize),
    /// mpirun and the supervisor.
    Launcher,
}

/// A line with its writer.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    pub source: Source,
    pub text: Arc<str>,
}

#[derive(Clone, Debug, Default)]
pub struct Logs {
    all: Ring,
    by_source: BTreeMap<Source, Ring>,
}

impl Logs {
    pub fn push(&mut self, source: Source, text: &str) {
        let line = LogLine { source, text: safe(text).into() };
        self.by_source.entry(source).or_default().push(line.clone(), PER_PROCESS);
        self.all.push(line, ALL);
    }

    /// The lines of one writer, or of all.
    pub fn ring(&self, source: Option<Source>) -> Option<&Ring> {
        match source {
            Some(source) => self.by_source.get(&source),
            None => Some(&self.all),
        }
    }
}

/// What a program printed, without anything that could move the cursor, change colours or reorder text.
pub fn safe(text: &str) -> String {
    // A progress line that rewrites itself: its last state counts.
    let text = text.trim_end_matches(['\r', '\n']).rsplit('\r').next().unwrap_or_default();
    let plain = anstream::adapter::strip_str(text).to_string();
    let mut clean = String::with_capacity(plain.len().min(LINE));
    for c in plain.chars().take(LINE) {
        match c {
            '\t' => clean.push_str("    "),
            // Directional overrides and invisible characters could make a line read as another.
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {}
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    clean
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
        assert_eq!(safe(&"x".repeat(10_000)).len(), LINE);
    }

    #[test]
    fn memory_is_bounded_and_places_stay() {
        let mut logs = Logs::default();
        for line in 0..ALL + 10 {
            logs.push(Source::Process(line % 2), &line.to_string());
        }
        let all = logs.ring(None).unwrap();
        assert_eq!((all.start(), all.end()), (10, ALL + 10));
        assert_eq!(all.get(9), None);
        assert_eq!(&*all.get(10).unwrap().text, "10");
        let one = logs.ring(Some(Source::Process(1))).unwrap();
        assert_eq!(one.end() - one.start(), PER_PROCESS);
        assert_eq!(&*one.get(one.end() - 1).unwrap().text, (ALL + 9).to_string());
    }
}
