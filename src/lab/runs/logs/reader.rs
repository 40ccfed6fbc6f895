//! Answers what the screen asks of the logs, a little at a time, so that a search never keeps a scroll waiting.
//!
//! Never waits, and never works without being called.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::index::LogIndex;
use super::scan::{LogLine, LogQuery, Scan};
use crate::host::files;
use crate::runs::RunFolder;

/// Blocks walked through in one piece of work: some milliseconds.
const PIECE: usize = 48;
/// Lines in a page above and below those that show, so that scrolling needs no other page at once.
const MARGIN: usize = 150;

/// What the screen wants to see.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRequest {
    /// Counts up; the answer has the same.
    pub number: u64,
    pub query: LogQuery,
    pub place: Place,
    pub jump: Option<Jump>,
    /// Lines that fit on the screen.
    pub rows: usize,
    /// Only lines that came until then, in Unix milliseconds.
    pub until_ms: Option<u64>,
}

/// Where to look, in shown lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// The last lines, and new ones as they come.
    #[default]
    End,
    /// From this shown line on.
    Line(usize),
    /// From the shown line on that is this one of all lines, or the next.
    Number(usize),
}

/// To the next found line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// The first at or behind this shown line; the first of all where there is none.
    Forward(usize),
    /// The last before this shown line; the last of all where there is none.
    Back(usize),
}

/// A found line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its place among the shown lines.
    pub line: usize,
    /// Its place among the found, from 1.
    pub nth: usize,
}

/// A part of the shown lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogPage {
    pub number: u64,
    pub query: LogQuery,
    /// Place of the first line here among the shown.
    pub first: usize,
    pub lines: Vec<LogLine>,
    /// All shown lines, and how many of them are found.
    pub shown: usize,
    pub found: usize,
    /// Part of the logs that was looked at, 0 to 1: below 1 the two counts will grow.
    pub done: f64,
    /// Where [`Place::Number`] led.
    pub top: Option<usize>,
    /// Where the jump led.
    pub jumped: Option<Found>,
}

#[derive(Debug)]
pub struct LogReader {
    index: LogIndex,
    scan: Scan,
    request: Option<LogRequest>,
    /// The request is answered, and nothing that it is about has changed since.
    told: bool,
    settled: bool,
}

impl LogReader {
    pub fn new(folder: RunFolder) -> LogReader {
        LogReader { index: LogIndex::new(folder), scan: Scan::default(), request: None, told: true, settled: false }
    }

    /// The run is over and all its lines are found: nothing comes any more.
    pub fn is_over(&self) -> bool {
        self.settled && self.index.files.over
    }

    /// Memory that finding any line again takes, apart from what is read at the moment.
    #[cfg(test)]
    pub fn index_bytes(&self) -> usize {
        let marks = self.index.marks.iter().map(|mark| size_of_val(mark) + mark.cursor.positions.capacity() * size_of::<u64>());
        marks.sum::<usize>() + self.scan.blocks.capacity() * size_of::<(u16, u16)>()
    }

    /// The newest request counts.
    pub fn ask(&mut self, request: LogRequest) {
        if self.index.set_until(request.until_ms) || self.scan.query != request.query {
            self.scan = Scan::new(request.query.clone());
        }
        self.request = Some(request);
        (self.told, self.settled) = (false, false);
    }

    /// Do a piece of the work that there is; false when there is no more for now.
    pub fn work(&mut self) -> bool {
        let before = (self.index.lines, self.scan.looked_at);
        let indexed = self.index.extend(PIECE) && !self.index.find_unlisted();
        let scanned = self.scan.advance(&mut self.index, PIECE);
        let settled = indexed && scanned;
        let changed = before != (self.index.lines, self.scan.looked_at);
        self.told &= !changed && settled == self.settled;
        self.settled = settled;
        changed || !settled
    }

    /// The answer to the last request, as far as it can be given now, unless it was given already.
    pub fn answer(&mut self) -> Option<LogPage> {
        let request = self.request.clone().filter(|_| !self.told)?;
        self.told = true;
        let (index, scan) = (&mut self.index, &self.scan);
        let shown = scan.shown;
        // Places are known once all was looked at: until then the view stays where it is.
        let settled = self.settled;
        let mut page = LogPage {
            number: request.number,
            query: scan.query.clone(),
            shown,
            found: scan.found,
            done: if settled { 1.0 } else { scan.looked_at as f64 / index.lines.max(scan.looked_at + 1) as f64 },
            ..LogPage::default()
        };
        if let Some(jump) = request.jump.filter(|_| settled) {
            let hit = match jump {
                Jump::Forward(from) => scan.found_line(index, from, true).or_else(|| scan.found_line(index, 0, true)),
                Jump::Back(from) => scan.found_line(index, from, false).or_else(|| scan.found_line(index, usize::MAX, false)),
            };
            page.jumped = hit.map(|(line, before)| Found { line, nth: before + 1 });
            if let Some(request) = &mut self.request {
                request.jump = None;
                if let Some(found) = page.jumped {
                    request.place = Place::Line(found.line);
                }
            }
        }
        let top = match (page.jumped, request.place) {
            (Some(found), _) => found.line,
            (None, Place::Line(line)) => line.min(shown),
            (None, Place::End) => shown.saturating_sub(request.rows),
            (None, Place::Number(number)) => {
                let line = scan.shown_before(index, number);
                page.top = settled.then_some(line);
                line
            }
        };
        page.first = top.saturating_sub(MARGIN);
        let most = top - page.first + request.rows + MARGIN;
        page.lines = scan.lines(index, page.first, most).into_iter().map(|(line, _)| line).collect();
        Some(page)
    }

    /// Write every shown line of a query into a new file in the first of these folders that takes it.
    ///
    /// # Errors
    /// The last folder's.
    pub fn save(&mut self, query: &LogQuery, name: &str, folders: &[PathBuf]) -> io::Result<(PathBuf, usize)> {
        let none = Err(io::ErrorKind::NotFound.into());
        folders.iter().fold(none, |saved, folder| saved.or_else(|_| self.save_in(query, name, folder)))
    }

    /// In a file that was not there before: `name.txt`, `name-2.txt` and so on.
    fn save_in(&mut self, query: &LogQuery, name: &str, folder: &Path) -> io::Result<(PathBuf, usize)> {
        let mut number = 1;
        loop {
            let end = if number == 1 { String::new() } else { format!("-{number}") };
            let path = folder.join(format!("{name}{end}.txt"));
            let mut written = 0;
            let saved = files::export(&path, false, |file| {
                written = self.copy(query, file)?;
                Ok(())
            });
            match saved {
                Ok(()) => return Ok((path, written)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The lines that fit; how many there are.
    fn copy(&mut self, query: &LogQuery, file: &mut std::fs::File) -> io::Result<usize> {
        let mut scan = Scan::new(query.clone());
        let mut out = BufWriter::new(file);
        let mut written = 0;
        loop {
            let done = scan.advance(&mut self.index, PIECE);
            for (line, _) in scan.lines(&mut self.index, written, usize::MAX) {
                writeln!(out, "{}", line.text)?;
                written += 1;
            }
            if done {
                break;
            }
        }
        out.flush()?;
        Ok(written)
    }
}
