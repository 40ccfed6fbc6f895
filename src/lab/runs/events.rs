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
    /// Why there is not a line to read, although something is there.
    unreadable: Option<String>,
    /// Lines that no run can have written: too long, no events, or with impossible numbers. Half a line of a killed run, and events
    /// of a newer lab, are not among them.
    damaged: usize,
    /// What is wrong with the first of them.
    problem: String,
}

impl Events {
    /// All events of a file; none of a run that has not begun.
    pub(super) fn of(path: PathBuf) -> Events {
        let unreadable = read::open(&path).err().filter(|error| error.kind() != io::ErrorKind::NotFound);
        let unreadable = unreadable.map(|error| format!("its events {} cannot be read: {error}", path.display()));
        Events { lines: Lines::new(path, LONGEST_LINE), at: 0, is_over: true, unreadable, damaged: 0, problem: String::new() }
    }

    /// What was skipped so far: `2 damaged events were skipped: process 4000000000 is beyond 4095`.
    pub fn damaged(&self) -> Option<String> {
        let were = if self.damaged == 1 { "was" } else { "were" };
        let skipped = || format!("{} {were} skipped: {}", units::counted(self.damaged, "damaged event"), self.problem);
        self.unreadable.clone().or_else(|| (self.damaged > 0).then(skipped))
    }

    /// Whether what was read is still the start of the file, which may have been cut or may not be readable.
    pub(super) fn can_go_on(&mut self) -> bool {
        self.unreadable.is_none() && self.lines.length() >= self.at
    }
}

impl Iterator for Events {
    type Item = EventLine;

    fn next(&mut self) -> Option<EventLine> {
        loop {
            let Line { bytes, end, is_too_long } = self.lines.line(self.at, self.is_over)?;
            self.at = end;
            let problem = match std::str::from_utf8(bytes).map(EventLine::read) {
                _ if is_too_long => format!("a line has more than {}", units::bytes(LONGEST_LINE as u64)),
                Ok(Ok(Some(event))) => return Some(event),
                Ok(Ok(None)) => continue,
                Ok(Err(problem)) => problem,
                Err(_) => "a line is not UTF-8 text".to_owned(),
            };
            if self.damaged == 0 {
                self.problem = printable::excerpt(&problem).into_owned();
            }
            self.damaged += 1;
        }
    }
}
