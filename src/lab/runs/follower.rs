//! Follow a running run: what is new in its files since the last poll.
//!
//! Never blocks, never locks, never writes. A half-written line is kept back until it is whole.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use super::lines::{Line, Lines};
use super::{RunFolder, StoreError};
use crate::domain::device::TelemetrySample;
use crate::domain::event::EventLine;
use crate::domain::run::RunStatus;
use crate::host::read::LONGEST_LINE;

/// One thing that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunUpdate {
    Status(RunStatus),
    Event(EventLine),
    /// A human line of one process, without its end.
    Log {
        process: usize,
        text: String,
    },
    /// A line of mpirun or of the supervisor, without its end.
    Launcher {
        text: String,
    },
    /// Only from a recording; of this machine the screen has its own samples.
    Telemetry(TelemetrySample),
}

/// Bytes taken from one file in one poll: a long log is read in pieces, so the caller stays responsive, and what a piece becomes in
/// memory stays small.
const PIECE_BYTES: u64 = 128 << 10;

/// Remembers how far each file of a run was read.
#[derive(Debug)]
pub struct Follower {
    folder: RunFolder,
    events: Tail,
    launcher: Tail,
    logs: Vec<Tail>,
    /// Lines of the logs are reported too.
    tells_lines: bool,
    /// Modification time and size of the status file when it was last read.
    seen_status: Option<(SystemTime, u64, u64)>,
    /// The final status, held back until everything that was written before it is reported.
    ended: Option<RunStatus>,
}

impl Follower {
    pub fn new(folder: RunFolder) -> Follower {
        Follower {
            events: Tail::new(folder.events_file()),
            launcher: Tail::new(folder.launcher_log()),
            logs: Vec::new(),
            tells_lines: true,
            seen_status: None,
            ended: None,
            folder,
        }
    }

    /// Follow what is written from now on; the present status is reported first.
    pub fn from_here(folder: RunFolder) -> Follower {
        let mut follower = Follower::new(folder);
        follower.find_logs();
        let tails = [&mut follower.events, &mut follower.launcher];
        tails.into_iter().chain(&mut follower.logs).for_each(Tail::skip);
        follower
    }

    /// Follow all but the lines of the logs, which [`super::LogReader`] reads where they are wanted.
    pub fn without_lines(folder: RunFolder) -> Follower {
        Follower { tells_lines: false, ..Follower::new(folder) }
    }

    fn find_logs(&mut self) {
        while self.folder.rank_log(self.logs.len()).exists() {
            self.logs.push(Tail::new(self.folder.rank_log(self.logs.len())));
        }
    }

    /// What is new, in order within each file. Once the run is over its status comes last, after all that was written.
    pub fn poll(&mut self) -> Vec<RunUpdate> {
        let mut updates = Vec::new();
        // Read before the other files: what was written before the run ended is then in them.
        if let Some(status) = self.changed_status() {
            self.ended = None;
            if status.state.is_over() {
                self.ended = Some(status);
            } else {
                updates.push(RunUpdate::Status(status));
            }
        }
        let mut more = self.events.read(&mut |line| updates.extend(EventLine::parse_line(line).map(RunUpdate::Event)));
        if self.tells_lines {
            self.find_logs();
            more |= self.launcher.read(&mut |line| updates.push(RunUpdate::Launcher { text: line.to_owned() }));
            for (process, log) in self.logs.iter_mut().enumerate() {
                more |= log.read(&mut |line| updates.push(RunUpdate::Log { process, text: line.to_owned() }));
            }
        }
        if !more {
            updates.extend(self.ended.take().map(RunUpdate::Status));
        }
        updates
    }

    fn changed_status(&mut self) -> Option<RunStatus> {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::metadata(self.folder.status_file()).ok()?;
        let seen = Some((metadata.modified().ok()?, metadata.len(), metadata.ino()));
        if seen == self.seen_status {
            return None;
        }
        let status = self.folder.read_status();
        // A damaged one is not read again at every look, only once it is another.
        if matches!(status, Ok(_) | Err(StoreError::Damaged { .. })) {
            self.seen_status = seen;
        }
        status.ok()
    }
}

/// The lines of one growing file that are new.
#[derive(Debug)]
struct Tail {
    lines: Lines,
    /// Where the next line begins.
    offset: u64,
}

impl Tail {
    fn new(path: PathBuf) -> Tail {
        Tail { lines: Lines::new(path, LONGEST_LINE), offset: 0 }
    }

    fn skip(&mut self) {
        self.offset = self.lines.length();
    }

    /// Hand on each new whole line; whether there is more to read right away.
    fn read(&mut self, take: &mut dyn FnMut(&str)) -> bool {
        if self.lines.length() < self.offset {
            // Cut by someone else: what it holds now is new.
            self.lines.forget();
            self.offset = 0;
        }
        let until = self.offset + PIECE_BYTES;
        while let Some(Line { bytes, end, is_too_long }) = self.lines.line(self.offset, false) {
            // A line that is longer than any of ours is skipped.
            if !is_too_long {
                take(&String::from_utf8_lossy(bytes));
            }
            self.offset = end;
            if end >= until {
                return true;
            }
        }
        false
    }
}
