//! What a query finds in each block of lines: counted once, so that the n-th found line is a short walk away.
//!
//! Never keeps the lines: two small numbers a block.

use super::files::RawLine;
use super::index::{BLOCK, LogIndex};
use super::{LogSource, Pattern, safe};

/// Which lines are shown, and which of them are found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogQuery {
    /// `None` for all.
    pub source: Option<LogSource>,
    pub filter: Option<LogFilter>,
    pub search: Option<Pattern>,
}

/// Shows the lines with a text, or those without.
#[derive(Clone, Debug, PartialEq)]
pub struct LogFilter {
    pub pattern: Pattern,
    pub inverse: bool,
}

/// A line, safe to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    /// Its place among all lines, from 0.
    pub number: usize,
    pub source: LogSource,
    /// Unix time in seconds, where it was written down.
    pub time_s: Option<f64>,
    pub text: String,
}

impl LogQuery {
    fn shows(&self, line: &str) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.pattern.is_in(line) != filter.inverse)
    }

    fn finds(&self, line: &str) -> bool {
        self.search.as_ref().is_some_and(|pattern| pattern.is_in(line))
    }
}

#[derive(Debug, Default)]
pub struct Scan {
    pub query: LogQuery,
    /// Lines of each block that are shown, and how many of those are found.
    pub(super) blocks: Vec<(u16, u16)>,
    /// Lines looked at: less than a block more than `blocks` of them.
    pub(super) looked_at: usize,
    /// Lines that are shown, of those looked at.
    pub(super) shown: usize,
    /// Shown lines that are found, of those looked at.
    pub(super) found: usize,
}

impl Scan {
    pub fn new(query: LogQuery) -> Scan {
        Scan { query, ..Scan::default() }
    }

    /// Scan at most `most` further blocks; whether all blocks are scanned.
    pub fn advance(&mut self, index: &mut LogIndex, most: usize) -> bool {
        for _ in 0..most {
            let lines = index.lines;
            if self.looked_at >= lines {
                return true;
            }
            // A block that has grown is looked at again.
            let block = self.looked_at / BLOCK;
            if let Some((shown, found)) = self.blocks.get(block) {
                self.shown -= usize::from(*shown);
                self.found -= usize::from(*found);
                self.blocks.truncate(block);
            }
            let (mut shown, mut found) = (0, 0);
            let query = &self.query;
            let needs_text = query.filter.is_some() || query.search.is_some();
            match (query.source, needs_text) {
                (None, false) => shown = BLOCK.min(lines - block * BLOCK) as u16,
                _ => index.read(block, &mut |line| {
                    if query.source.is_some_and(|source| source != line.source) {
                        return;
                    }
                    let text = if needs_text { text_of(line) } else { String::new() };
                    if query.shows(&text) {
                        shown += 1;
                        found += u16::from(query.finds(&text));
                    }
                }),
            }
            self.blocks.push((shown, found));
            self.shown += usize::from(shown);
            self.found += usize::from(found);
            self.looked_at = ((block + 1) * BLOCK).min(lines);
        }
        self.looked_at >= index.lines
    }

    /// At most `most` shown lines from the `first`-th on, each with whether it is found.
    pub fn lines(&self, index: &mut LogIndex, first: usize, most: usize) -> Vec<(LogLine, bool)> {
        let (home, before) = self.block_of(first);
        let lines = (home..self.blocks.len()).flat_map(|block| self.block(index, block));
        lines.skip(first - before).take(most).collect()
    }

    /// The first found line at or behind `from`, a place among the shown lines, or else the last one before it. With it comes
    /// how many are found before it.
    pub fn found_line(&self, index: &mut LogIndex, from: usize, forward: bool) -> Option<(usize, usize)> {
        let (home, _) = self.block_of(from);
        let hit = |block: usize| {
            let (shown, found) = self.before(block);
            let lines = self.block(index, block);
            let places = lines.iter().enumerate().filter(|(_, (_, is_found))| *is_found).map(|(place, _)| shown + place);
            let mut places = places.enumerate().map(|(nth, place)| (place, found + nth));
            if forward { places.find(|(place, _)| *place >= from) } else { places.filter(|(place, _)| *place < from).last() }
        };
        let has_found = |block: &usize| self.blocks.get(*block).is_some_and(|(_, found)| *found > 0);
        if forward {
            (home..self.blocks.len()).filter(has_found).find_map(hit)
        } else {
            (0..=home).rev().filter(has_found).find_map(hit)
        }
    }

    /// How many shown lines are before the line of this number.
    pub fn shown_before(&self, index: &mut LogIndex, number: usize) -> usize {
        let block = (number / BLOCK).min(self.blocks.len());
        self.before(block).0 + self.block(index, block).iter().filter(|(line, _)| line.number < number).count()
    }

    /// Lines before a block: those that are shown, and those that are found.
    fn before(&self, block: usize) -> (usize, usize) {
        let add = |(shown, found), block: &(u16, u16)| (shown + usize::from(block.0), found + usize::from(block.1));
        self.blocks[..block].iter().fold((0, 0), add)
    }

    /// The block with the `nth` shown line, and how many are shown before the block.
    fn block_of(&self, nth: usize) -> (usize, usize) {
        let mut before = 0;
        for (index, (shown, _)) in self.blocks.iter().enumerate() {
            let lines = usize::from(*shown);
            if before + lines > nth {
                return (index, before);
            }
            before += lines;
        }
        (self.blocks.len(), before)
    }

    /// The shown lines of a block.
    fn block(&self, index: &mut LogIndex, block: usize) -> Vec<(LogLine, bool)> {
        let mut lines = Vec::new();
        let mut number = block * BLOCK;
        index.read(block, &mut |line| {
            // Lines that came after the scan are not counted yet.
            if number < self.looked_at && self.query.source.is_none_or(|source| source == line.source) {
                let text = text_of(line);
                if self.query.shows(&text) {
                    let found = self.query.finds(&text);
                    let time_s = line.time_ms.map(|time_ms| time_ms as f64 / 1e3);
                    lines.push((LogLine { number, source: line.source, time_s, text }, found));
                }
            }
            number += 1;
        });
        lines
    }
}

fn text_of(line: RawLine) -> String {
    safe(&String::from_utf8_lossy(line.bytes))
}
