//! The log files of a run, walked through line by line from any place, in the order of `arrivals.txt`.
//!
//! Never reads more than it is asked for, and never writes.

use super::{Arrival, LogSource};
use crate::runs::RunFolder;
use crate::runs::lines::{Line, Lines};

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
    pub(super) positions: Vec<u64>,
}

/// One line as it stands in its file.
#[derive(Clone, Copy, Debug)]
pub struct RawLine<'a> {
    pub source: LogSource,
    /// Unix time; `None` if it was not recorded.
    pub time_ms: Option<u64>,
    pub bytes: &'a [u8],
}

#[derive(Debug)]
pub struct LogFiles {
    folder: RunFolder,
    arrivals: Lines,
    /// The launcher's log, then each process's.
    logs: Vec<Lines>,
    /// Lines without an entry in `arrivals.txt`: the run recorded no times, or its supervisor was killed.
    unlisted: Vec<Arrival>,
    /// Nothing is written any more: what is missing will not come.
    pub(super) over: bool,
}

impl LogFiles {
    pub fn new(folder: RunFolder) -> LogFiles {
        let arrivals = Lines::new(folder.arrivals_file(), LONGEST);
        let launcher = Lines::new(folder.launcher_log(), LONGEST);
        LogFiles { folder, arrivals, logs: vec![launcher], unlisted: Vec::new(), over: false }
    }

    /// Walk from a place: each line goes to `visit`, at most `most` lines, and none that came later than `until_ms`. Returns the
    /// number of lines.
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
            let line = if position < arrival.end { self.logs[slot].line(position, false) } else { None };
            match line {
                Some(Line { bytes, end, .. }) => {
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
        while let Some(Line { bytes, end, .. }) = self.arrivals.line(listed, false) {
            match Arrival::parse(bytes) {
                Some(arrival) => return Some((arrival, (end, at.unlisted))),
                // Not an entry of this version.
                None => listed = end,
            }
        }
        Some((*self.unlisted.get(at.unlisted)?, (listed, at.unlisted + 1)))
    }

    fn slot(&mut self, source: LogSource) -> usize {
        let slot = match source {
            LogSource::Launcher => 0,
            LogSource::Process(process) => process + 1,
        };
        while self.logs.len() <= slot {
            self.logs.push(Lines::new(self.folder.rank_log(self.logs.len() - 1), LONGEST));
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
