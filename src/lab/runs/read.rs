//! The one reader of the lab's small records: whatever is in such a file, what comes back is in bounds.
//!
//! Never writes. What cannot be used is an error that names the file and says what is wrong with it.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::path::Path;

use serde::de::DeserializeOwned;

use super::StoreError;
use crate::domain::bounds::Bounded;
use crate::domain::event::EventLine;
use crate::domain::{safe, units};
use crate::host::read::{self, LONGEST_LINE, NextLine, next_line};

/// No record of any run is larger.
const MOST_BYTES: u64 = 16 << 20;

/// A record as JSON.
///
/// # Errors
/// [`StoreError::Io`]; [`StoreError::Damaged`] for a text that is no such record, or a number that no run can have.
pub fn read_json<T: DeserializeOwned + Bounded>(path: &Path) -> Result<T, StoreError> {
    let damaged = |cause: String| StoreError::damaged(path, &cause);
    let text = match read::small_file(path, MOST_BYTES) {
        Ok(text) => text,
        // Not the system's refusal: what is there is no record.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
            return Err(damaged(error.to_string()));
        }
        Err(error) => return Err(StoreError::io("cannot read", path)(error)),
    };
    let record: T = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    match record.out_of_bounds() {
        Some(problem) => Err(damaged(problem)),
        None => Ok(record),
    }
}

/// The lines of one file that can be read as events, in their order. What is skipped is counted.
#[derive(Debug)]
pub struct Events {
    lines: Option<BufReader<Take<File>>>,
    line: Vec<u8>,
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
            self.first = safe::excerpt(&problem).into_owned();
        }
        self.lines += 1;
    }

    /// `2 damaged events were skipped: process 4000000000 is beyond 4095`.
    pub fn in_words(&self) -> Option<String> {
        if self.unreadable.is_some() {
            return self.unreadable.clone();
        }
        let were = if self.lines == 1 { "was" } else { "were" };
        (self.lines > 0).then(|| format!("{} {were} skipped: {}", units::counted(self.lines, "damaged event"), self.first))
    }
}

impl Events {
    pub(super) fn of(path: &Path) -> Events {
        let file = read::open(path);
        // A run that has not begun has none.
        let unreadable = file.as_ref().err().filter(|error| error.kind() != io::ErrorKind::NotFound);
        let unreadable = unreadable.map(|error| format!("its events {} cannot be read: {error}", path.display()));
        let lines = file.ok().map(|file| BufReader::with_capacity(1 << 16, file.take(u64::MAX)));
        Events { lines, line: Vec::new(), damaged: Damaged { unreadable, ..Damaged::default() } }
    }

    /// The whole lines behind the first so many bytes, as far as there are any now, and how many bytes they end behind. Of a run
    /// that is over half a line at the end is one of them. What was damaged before them counts. `None` where the file cannot be
    /// read, or is shorter than that.
    pub(super) fn behind(path: &Path, read: u64, is_over: bool, damaged: &Damaged) -> Option<(Events, u64)> {
        let mut file = read::open(path).ok()?;
        let length = file.metadata().ok()?.len();
        let mut end = length;
        let mut block = Vec::new();
        while end > read && !is_over {
            let from = end.saturating_sub(1 << 16).max(read);
            block.clear();
            file.seek(SeekFrom::Start(from)).ok()?;
            file.by_ref().take(end - from).read_to_end(&mut block).ok()?;
            if let Some(place) = block.iter().rposition(|byte| *byte == b'\n') {
                end = from + place as u64 + 1;
                break;
            }
            end = from;
        }
        if length < read {
            return None;
        }
        file.seek(SeekFrom::Start(read)).ok()?;
        let lines = Some(BufReader::with_capacity(1 << 16, file.take(end - read)));
        Some((Events { lines, line: Vec::new(), damaged: damaged.clone() }, end))
    }

    /// What was skipped so far.
    pub fn damaged(&self) -> &Damaged {
        &self.damaged
    }
}

impl Iterator for Events {
    type Item = EventLine;

    fn next(&mut self) -> Option<EventLine> {
        loop {
            match next_line(self.lines.as_mut()?, &mut self.line, LONGEST_LINE).ok()? {
                NextLine::End => return None,
                NextLine::TooLong => self.damaged.take(format!("a line has more than {}", units::bytes(LONGEST_LINE as u64))),
                NextLine::Whole => match std::str::from_utf8(&self.line).map(EventLine::read) {
                    Ok(Ok(Some(event))) => return Some(event),
                    Ok(Err(problem)) => self.damaged.take(problem),
                    Ok(Ok(None)) => {}
                    Err(_) => self.damaged.take("a line is not UTF-8 text".to_owned()),
                },
            }
        }
    }
}
