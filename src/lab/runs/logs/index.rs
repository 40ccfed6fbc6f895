//! Where every so-many-th line of the logs begins, so that any line is a short walk away.
//!
//! Never holds text: a mark is a few numbers.

use super::files::{Cursor, LogFiles, RawLine};
use crate::runs::RunFolder;

/// Lines between two marks.
pub const BLOCK: usize = 256;

#[derive(Debug)]
pub(super) struct Mark {
    pub(super) cursor: Cursor,
    /// When its first line came; 0 where that is unknown.
    time_ms: u64,
}

#[derive(Debug)]
pub struct LogIndex {
    pub(super) files: LogFiles,
    pub(super) marks: Vec<Mark>,
    end: Cursor,
    /// Lines found so far.
    pub(super) lines: usize,
    until_ms: Option<u64>,
}

impl LogIndex {
    pub fn new(folder: RunFolder) -> LogIndex {
        let files = LogFiles::new(folder);
        LogIndex { files, marks: Vec::new(), end: Cursor::default(), lines: 0, until_ms: None }
    }

    /// Only lines that came until then count, for a run that is played again. Returns whether lines are gone by that.
    pub fn set_until(&mut self, until_ms: Option<u64>) -> bool {
        let earlier = until_ms.unwrap_or(u64::MAX) < self.until_ms.unwrap_or(u64::MAX);
        self.until_ms = until_ms;
        if earlier {
            let keep = self.marks.partition_point(|mark| mark.time_ms <= until_ms.unwrap_or(u64::MAX));
            // The last block that remains may reach beyond: it is walked through again.
            self.marks.truncate(keep);
            self.end = self.marks.pop().map(|last| last.cursor).unwrap_or_default();
            self.lines = self.marks.len() * BLOCK;
        }
        earlier
    }

    /// Index at most `most` further blocks; whether the end was reached.
    pub fn extend(&mut self, most: usize) -> bool {
        for _ in 0..most {
            let begun = self.lines % BLOCK;
            let start = (begun == 0).then(|| self.end.clone());
            let mut time_ms = None;
            let mut first = |line: RawLine| {
                time_ms.get_or_insert(line.time_ms.unwrap_or(0));
            };
            let found = self.files.walk(&mut self.end, BLOCK - begun, self.until_ms, &mut first);
            self.lines += found;
            if let (Some(cursor), Some(time_ms)) = (start, time_ms) {
                self.marks.push(Mark { cursor, time_ms });
            }
            if begun + found < BLOCK {
                return true;
            }
        }
        false
    }

    /// Look behind the end for lines whose times were not recorded; whether there are any.
    pub fn find_unlisted(&mut self) -> bool {
        self.files.find_unlisted(&self.end)
    }

    /// Every line of a block, in order.
    pub fn read(&mut self, block: usize, visit: &mut dyn FnMut(RawLine)) {
        let Some(mark) = self.marks.get(block) else { return };
        let most = BLOCK.min(self.lines - block * BLOCK);
        self.files.walk(&mut mark.cursor.clone(), most, self.until_ms, visit);
    }
}
