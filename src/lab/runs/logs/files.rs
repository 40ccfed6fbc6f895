//! The log files of a run, walked through line by line from any place, in the order of `arrivals.txt`.
//!
//! Never reads more than it is asked for, and never writes.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::{Arrival, LogSource};
use crate::host::read;
use crate::runs::RunFolder;

/// Bytes read at once.
const CHUNK: usize = 1 << 14;
/// Bytes kept of one line: the rest of a longer one is skipped.
const LONGEST: usize = 1 << 16;

/// A place between two lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Bytes of `arrivals.txt` that are done with.
    listed: u64,
    /// Entries of [`LogFiles::unlisted`] that are done with.
    unlisted: usize,
    /// Bytes done with: of the launcher's log, then of each process's.
    positions: Vec<u64>,
}

#[cfg(test)]
impl Cursor {
    pub fn bytes(&self) -> usize {
        self.positions.capacity() * size_of::<u64>()
    }
}

/// One line as it stands in its file.
#[derive(Clone, Copy, Debug)]
pub struct RawLine<'a> {
    pub source: LogSource,
    /// Unix time; `None` where nobody wrote it down.
    pub time_ms: Option<u64>,
    pub bytes: &'a [u8],
}

#[derive(Debug)]
pub struct LogFiles {
    folder: RunFolder,
    arrivals: Lines,
    /// The launcher's log, then each process's.
    logs: Vec<Lines>,
    /// What no entry of `arrivals.txt` tells: lines of a run that wrote no times, or whose supervisor was killed.
    unlisted: Vec<Arrival>,
    /// Nothing is written any more: what is missing will not come.
    over: bool,
}

impl LogFiles {
    pub fn new(folder: RunFolder) -> LogFiles {
        let arrivals = Lines::new(folder.arrivals_file());
        let launcher = Lines::new(folder.launcher_log());
        LogFiles { folder, arrivals, logs: vec![launcher], unlisted: Vec::new(), over: false }
    }

    /// Go on from a place: each line goes to `visit`, at most so many, none that came later than `until_ms`. Returns how
    /// many there were.
    pub fn walk(&mut self, at: &mut Cursor, most: usize, until_ms: Option<u64>, visit: &mut dyn FnMut(RawLine)) -> usize {
        let mut visited = 0;
        while visited < most {
            let Some((arrival, next)) = self.entry(at) else { break };
            if until_ms.is_some_and(|until| arrival.time_ms > until) {
                break;
            }
            let slot = self.slot(arrival.source);
            if at.positions.len() <= slot {
                at.positions.resize(slot + 1, 0);
            }
            let position = at.positions[slot];
            let line = if position < arrival.end { self.logs[slot].line(position) } else { None };
            match line {
                Some((bytes, end)) => {
                    let time_ms = (arrival.time_ms > 0).then_some(arrival.time_ms);
                    visit(RawLine { source: arrival.source, time_ms, bytes });
                    at.positions[slot] = end;
                    visited += 1;
                }
                // Not written yet.
                None if position < arrival.end && !self.over => break,
                None => (at.listed, at.unlisted) = next,
            }
        }
        visited
    }

    /// The entry at a place, and the place behind it.
    fn entry(&mut self, at: &Cursor) -> Option<(Arrival, (u64, usize))> {
        let mut listed = at.listed;
        while let Some((line, end)) = self.arrivals.line(listed) {
            match Arrival::parse(line) {
                Some(arrival) => return Some((arrival, (end, at.unlisted))),
                // Not an entry of this version.
                None => listed = end,
            }
        }
        Some((*self.unlisted.get(at.unlisted)?, (listed, at.unlisted + 1)))
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    fn slot(&mut self, source: LogSource) -> usize {
        let slot = match source {
            LogSource::Launcher => 0,
            LogSource::Process(process) => process + 1,
        };
        while self.logs.len() <= slot {
            self.logs.push(Lines::new(self.folder.rank_log(self.logs.len() - 1)));
        }
        slot
    }

    /// Find lines that `arrivals.txt` will never tell of, behind `at`, the end of what it does tell; whether there
    /// are new ones.
    pub fn find_unlisted(&mut self, at: &Cursor) -> bool {
        let untold = !self.folder.arrivals_file().exists();
        self.over = self.folder.read_status().is_ok_and(|status| status.state.is_over());
        if !(untold || self.over) {
            return false;
        }
        let known = self.unlisted.len();
        while self.folder.rank_log(self.logs.len() - 1).exists() {
            self.slot(LogSource::Process(self.logs.len() - 1));
        }
        // Ranks first: what they print is what one looks for.
        for slot in (1..self.logs.len()).chain([0]) {
            let source = if slot == 0 { LogSource::Launcher } else { LogSource::Process(slot - 1) };
            let end = self.logs[slot].length();
            let told = self.unlisted.iter().rfind(|arrival| arrival.source == source).map_or(0, |arrival| arrival.end);
            let done = at.positions.get(slot).copied().unwrap_or(0);
            if end > told.max(done) {
                self.unlisted.push(Arrival { time_ms: 0, source, end });
            }
        }
        self.unlisted.len() > known
    }
}

/// One growing file of lines, read from any byte.
#[derive(Debug)]
struct Lines {
    path: PathBuf,
    file: Option<File>,
    /// Bytes from `start` on.
    buffer: Vec<u8>,
    start: u64,
}

impl Lines {
    fn new(path: PathBuf) -> Lines {
        Lines { path, file: None, buffer: Vec::new(), start: 0 }
    }

    fn length(&mut self) -> u64 {
        self.open();
        self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |metadata| metadata.len())
    }

    fn open(&mut self) {
        if self.file.is_none() {
            self.file = read::open(&self.path).ok();
        }
    }

    /// The whole line that begins at a byte, without its end, and where the next one begins.
    fn line(&mut self, at: u64) -> Option<(&[u8], u64)> {
        if at < self.start || at > self.start + self.buffer.len() as u64 {
            self.buffer.clear();
            self.start = at;
        }
        let mut searched = (at - self.start) as usize;
        let (text, end) = loop {
            let from = (at - self.start) as usize;
            if let Some(place) = self.buffer[searched..].iter().position(|byte| *byte == b'\n') {
                break (from..searched + place, self.start + (searched + place) as u64 + 1);
            }
            // What is before the line is done with.
            self.buffer.drain(..from);
            self.start = at;
            searched = self.buffer.len();
            if searched >= LONGEST {
                let end = self.end_of_line(at + searched as u64)?;
                break (0..searched, end);
            }
            if !self.fill() {
                return None;
            }
        };
        Some((&self.buffer[text], end))
    }

    /// More bytes behind those that are there; false at the end of the file.
    fn fill(&mut self) -> bool {
        self.open();
        let Some(file) = &self.file else { return false };
        let have = self.buffer.len();
        self.buffer.resize(have + CHUNK, 0);
        let read = file.read_at(&mut self.buffer[have..], self.start + have as u64).unwrap_or(0);
        self.buffer.truncate(have + read);
        if read < CHUNK {
            // Of hundreds of short logs no chunk stays in memory.
            self.buffer.shrink_to_fit();
        }
        read > 0
    }

    /// Behind the next line end, looked for without keeping what is before it.
    fn end_of_line(&self, mut at: u64) -> Option<u64> {
        let mut chunk = [0; CHUNK];
        loop {
            let read = self.file.as_ref()?.read_at(&mut chunk, at).ok().filter(|read| *read > 0)?;
            match chunk[..read].iter().position(|byte| *byte == b'\n') {
                Some(place) => return Some(at + place as u64 + 1),
                None => at += read as u64,
            }
        }
    }
}
