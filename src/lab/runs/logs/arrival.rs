//! When the lines of the logs came: one small line for several, beside the logs.
//!
//! Never repeats what the logs say. `1700000000123 0 4096` means: by then, in milliseconds of Unix time, `rank-0.log`
//! had 4096 bytes. Time 0 means unknown, for lines from before times were recorded.

use std::fmt;

use crate::domain::job::MAX_RANKS;

/// Who wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogSource {
    Process(usize),
    /// mpirun and the supervisor.
    Launcher,
}

impl fmt::Display for LogSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogSource::Process(process) => process.fmt(f),
            LogSource::Launcher => f.write_str("launcher"),
        }
    }
}

/// One entry of `arrivals.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub time_ms: u64,
    pub source: LogSource,
    /// Bytes of the source's log with what came.
    pub end: u64,
}

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.time_ms, self.source, self.end)
    }
}

impl Arrival {
    pub fn parse(line: &[u8]) -> Option<Arrival> {
        let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
        let mut word = || words.next();
        let (time_ms, source, end) = (word()?.parse().ok()?, word()?, word()?.parse().ok()?);
        let source = match source {
            "launcher" => LogSource::Launcher,
            process => LogSource::Process(process.parse().ok().filter(|process| *process < MAX_RANKS)?),
        };
        Some(Arrival { time_ms, source, end })
    }
}

/// Lines of one source that arrive within this time share an entry.
const TOGETHER_MS: u64 = 10;

/// Merges arrivals before they are written to the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrivals {
    open: Option<Arrival>,
}

impl Arrivals {
    /// Takes one; returns the entry before it once that is complete.
    pub fn take(&mut self, arrival: Arrival) -> Option<Arrival> {
        match &mut self.open {
            Some(open) if open.source == arrival.source && arrival.time_ms < open.time_ms + TOGETHER_MS => {
                open.end = arrival.end;
                None
            }
            open => open.replace(arrival),
        }
    }

    /// The entry that is still open.
    pub fn finish(&mut self) -> Option<Arrival> {
        self.open.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_no_run_has_is_no_entry() {
        assert!(Arrival::parse(b"1700000000123 4095 4096").is_some());
        for bad in ["1700000000123 4096 4096", "1 4000000000 1", "1 18446744073709551615 1", "-1 0 1", "1 0", "\u{feff}1 0 1"] {
            assert_eq!(Arrival::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
