//! One growing file of lines, read from any byte.
//!
//! Never waits, locks or writes. A line that is still being written is kept back until it is whole.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::host::read;

/// Bytes read at once.
const CHUNK: usize = 1 << 14;

#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    /// Bytes kept of one line: the rest of a longer one is skipped.
    longest: usize,
    file: Option<File>,
    /// Bytes from `start` on.
    buffer: Vec<u8>,
    start: u64,
    /// Where a line begins that is too long, and how far its end was looked for.
    too_long: (u64, u64),
}

/// A line without its end.
#[derive(Debug)]
pub struct Line<'a> {
    pub bytes: &'a [u8],
    /// Where the next line begins.
    pub end: u64,
    pub is_too_long: bool,
}

impl Lines {
    /// Of a file that need not be there yet.
    pub fn new(path: PathBuf, longest: usize) -> Lines {
        Lines { path, longest, file: None, buffer: Vec::new(), start: 0, too_long: (0, 0) }
    }

    /// Bytes that the file has now.
    pub fn length(&mut self) -> u64 {
        self.open();
        self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |metadata| metadata.len())
    }

    /// The file was cut: what it holds now is new.
    pub fn forget(&mut self) {
        self.buffer.clear();
        self.too_long = (0, 0);
    }

    /// The line that begins at a byte; `None` while it is not whole. With `takes_rest` what is written of it counts as whole.
    pub fn line(&mut self, at: u64, takes_rest: bool) -> Option<Line<'_>> {
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
            if searched > self.longest {
                break (0..searched, self.end_of_line(at, takes_rest)?);
            }
            if !self.fill() {
                if !takes_rest || searched == 0 {
                    return None;
                }
                break (0..searched, at + searched as u64);
            }
        };
        Some(Line { is_too_long: text.len() > self.longest, bytes: &self.buffer[text], end })
    }

    fn open(&mut self) {
        if self.file.is_none() {
            self.file = read::open(&self.path).ok();
        }
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

    /// Behind the end of a long line, looked for without keeping what is before it.
    fn end_of_line(&mut self, line: u64, takes_rest: bool) -> Option<u64> {
        if self.too_long.0 != line {
            self.too_long = (line, line + self.buffer.len() as u64);
        }
        let mut chunk = [0; CHUNK];
        loop {
            let at = self.too_long.1;
            let read = self.file.as_ref()?.read_at(&mut chunk, at).unwrap_or(0);
            if read == 0 {
                return takes_rest.then_some(at);
            }
            if let Some(place) = chunk[..read].iter().position(|byte| *byte == b'\n') {
                return Some(at + place as u64 + 1);
            }
            self.too_long.1 += read as u64;
        }
    }
}
