//! The events of a run, read from its file: what cannot be used is skipped and counted.

use std::io;
use std::path::PathBuf;

use super::lines::{Line, Lines};
use crate::domain::event::EventLine;
use crate::domain::{printable, units};
use crate::host::read::{self, LONGEST_LINE};

/// The lines of one file that can be read as events, in their order. At the end of a growing file, a later call continues with
/// the lines that were added.
#[derive(Debug)]
pub struct Events {
    lines: Lines,
    /// Where the next line begins.
    at: u64,
    /// Half a line at the end counts: nothing is written any more.
    pub(super) is_over: bool,
    damaged: Damaged,
}

/// Lines that no run can have written: too long, no events, or with impossible numbers. Half a line of a killed run, and events
/// of a newer lab, are not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damaged {
    /// Why there is not a line to read, although something is there.
    unreadable: Option<String>,
    lines: usize,
    /// What is wrong with the first of them.
    first: String,
}

impl Damaged {
    fn take(&mut self, problem: String) {
        if self.lines == 0 {
            self.first = printable::excerpt(&problem).into_owned();
        }
        self.lines += 1;
    }

    /// `2 damaged events were skipped: process 4000000000 is beyond 4095`.
    pub fn in_words(&self) -> Option<String> {
        let were = if self.lines == 1 { "was" } else { "were" };
        let skipped = || format!("{} {were} skipped: {}", units::counted(self.lines, "damaged event"), self.first);
        self.unreadable.clone().or_else(|| (self.lines > 0).then(skipped))
    }
}

impl Events {
    /// All events of a file; none of a run that has not begun.
    pub(super) fn of(path: PathBuf) -> Events {
        let unreadable = read::open(&path).err().filter(|error| error.kind() != io::ErrorKind::NotFound);
        let unreadable = unreadable.map(|error| format!("its events {} cannot be read: {error}", path.display()));
        let damaged = Damaged { unreadable, ..Damaged::default() };
        Events { lines: Lines::new(path, LONGEST_LINE), at: 0, is_over: true, damaged }
    }

    /// What was skipped so far.
    pub fn damaged(&self) -> &Damaged {
        &self.damaged
    }

    /// Whether what was read is still the start of the file, which may have been cut or may not be readable.
    pub(super) fn can_go_on(&mut self) -> bool {
        self.damaged.unreadable.is_none() && self.lines.length() >= self.at
    }
}

impl Iterator for Events {
    type Item = EventLine;

    fn next(&mut self) -> Option<EventLine> {
        loop {
            let Line { bytes, end, is_too_long } = self.lines.line(self.at, self.is_over)?;
            self.at = end;
            match std::str::from_utf8(bytes).map(EventLine::read) {
                _ if is_too_long => self.damaged.take(format!("a line has more than {}", units::bytes(LONGEST_LINE as u64))),
                Ok(Ok(Some(event))) => return Some(event),
                Ok(Err(problem)) => self.damaged.take(problem),
                Ok(Ok(None)) => {}
                Err(_) => self.damaged.take("a line is not UTF-8 text".to_owned()),
            }
        }
    }
}
