//! How the log is looked at: which lines, from where, wrapped or not, what is searched for, and the page that was read.
//!
//! Never reads a file: requests go out as effects, pages come in as messages.

use ratatui::layout::Rect;
use std::ops::Range;

use crate::columns;
use crate::runs::{Found, Jump, LogFilter, LogLine, LogPage, LogQuery, LogRequest, LogSource, Pattern, Place};
use crate::tui::log::rows::{Row, sideways, wrapped};
use crate::tui::shared::{Shared, ranks};

/// Columns of a time before its line.
const TIME: usize = 9;

/// Where the pane would lie, if it were on the screen.
const UNSEEN: Rect = Rect { x: 0, y: 0, width: 80, height: 24 };

/// Which lines the log shows: of one source, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogTab(pub Option<LogSource>);

impl LogTab {
    /// Process 0, which speaks for all.
    pub const ROOT: LogTab = LogTab::of(0);
    /// mpirun and the supervisor.
    pub const LAUNCHER: LogTab = LogTab(Some(LogSource::Launcher));
    pub const ALL: LogTab = LogTab(None);

    pub const fn of(process: usize) -> LogTab {
        LogTab(Some(LogSource::Process(process)))
    }

    /// `None` of what is no process.
    pub fn process(self) -> Option<usize> {
        match self.0 {
            Some(LogSource::Process(process)) => Some(process),
            _ => None,
        }
    }

    pub fn name(self) -> String {
        match self.0 {
            Some(LogSource::Process(0)) => "root".to_owned(),
            Some(LogSource::Process(process)) => process.to_string(),
            Some(LogSource::Launcher) => "mpirun".to_owned(),
            None => "all".to_owned(),
        }
    }

    /// The one that a run is shown with: all ranks where each of them prints, else the root.
    pub fn opening(shared: &Shared) -> LogTab {
        if ranks::count(shared) > 1 && ranks::all_print(shared) == Some(true) { LogTab::ALL } else { LogTab::ROOT }
    }
}

impl Default for LogTab {
    fn default() -> LogTab {
        LogTab::ROOT
    }
}

/// Tabs of the log: root, the processes that failed, the others, the launcher, all.
pub fn tabs(shared: &Shared) -> Vec<LogTab> {
    let (failed, count) = (ranks::failed(shared), ranks::count(shared));
    let mut tabs = vec![LogTab::ROOT];
    tabs.extend(failed.iter().filter(|process| (1..count).contains(*process)).map(|process| LogTab::of(*process)));
    tabs.extend((1..count).filter(|process| !failed.contains(process)).map(LogTab::of));
    tabs.extend([LogTab::LAUNCHER, LogTab::ALL]);
    tabs
}

/// Digits of the highest process.
pub fn digits(shared: &Shared) -> usize {
    (ranks::count(shared) - 1).to_string().len()
}

/// What was typed there, as a pattern; nothing typed is none.
pub fn pattern(text: &str, regex: bool) -> Result<Option<Pattern>, String> {
    match (text, regex) {
        ("", _) => Ok(None),
        (text, false) => Ok(Some(Pattern::new(text))),
        (text, true) => Pattern::regex(text).map(Some),
    }
}

#[derive(Clone, Debug, Default)]
pub struct Log {
    pub tab: LogTab,
    /// The first row, or the end, where new lines come.
    pub place: Place,
    pub filter: Option<LogFilter>,
    pub search: Option<Pattern>,
    /// The match that one is at.
    pub found: Option<Found>,
    /// Long lines are cut, rather than wrapped.
    pub cuts: bool,
    /// Columns of the lines that are out of sight on the left, where lines are cut.
    pub left: usize,
    pub shows_times: bool,
    /// Shown lines that are marked: where the marking began, and where it is.
    pub marked: Option<(usize, usize)>,
    /// What was read last.
    pub page: LogPage,
    /// The most lines that any tab of the run had.
    most_lines: usize,
    /// Where the pane lies, if it is on the screen.
    pub area: Option<Rect>,
    asked: u64,
}

impl Log {
    /// How lines are drawn is a matter of taste and stays; what is looked for belongs to a run.
    pub fn of_another_run(&self, tab: LogTab) -> Log {
        let Log { cuts, shows_times, asked, area, .. } = *self;
        Log { tab, cuts, shows_times, asked, area, ..Log::default() }
    }

    /// Columns for text and rows for lines, as the pane lies now: what it takes for frame, signs, times and names of processes is no
    /// room for text.
    pub fn room(&self, shared: &Shared) -> (usize, usize) {
        let area = self.area.unwrap_or(UNSEEN);
        let width = (area.width as usize).saturating_sub(2 + self.gutter(shared));
        // The last row says what is marked, searched for or filtered by.
        let has_status = self.marked.is_some() || self.search.is_some() || self.filter.is_some();
        (width, (area.height as usize).saturating_sub(2 + usize::from(has_status)))
    }

    /// Columns before the text: a sign, the time, the writer.
    pub fn gutter(&self, shared: &Shared) -> usize {
        let writer = if self.tab == LogTab::ALL { digits(shared) + 2 } else { 0 };
        1 + writer + if self.shows_times { TIME } else { 0 }
    }

    /// Lines that the pane would like to have; in steps, so that the screen does not move with each line.
    pub fn wished_rows(&self) -> u16 {
        const STEP: usize = 8;
        (self.most_lines.div_ceil(STEP) * STEP).try_into().unwrap_or(u16::MAX / 2)
    }

    pub fn query(&self) -> LogQuery {
        LogQuery { source: self.tab.0, filter: self.filter.clone(), search: self.search.clone() }
    }

    /// What to ask for next; its answer replaces the page.
    pub fn request(&mut self, rows: usize, jump: Option<Jump>, until_ms: Option<u64>) -> LogRequest {
        self.asked += 1;
        LogRequest { number: self.asked, query: self.query(), place: self.place, jump, rows, until_ms }
    }

    /// The page was read for what the log should show now.
    pub fn is_current(&self) -> bool {
        self.page.query == self.query()
    }

    /// Takes a page, unless something else was asked for since.
    pub fn take(&mut self, page: LogPage) -> bool {
        if page.number != self.asked {
            return false;
        }
        if let (Place::Number(_), Some(top)) = (self.place, page.top) {
            self.place = Place::Line(top);
        }
        self.found = page.jumped.or(self.found);
        self.most_lines = self.most_lines.max(page.shown);
        self.page = page;
        true
    }

    /// The marked lines, the lower first.
    pub fn marked_lines(&self) -> Option<Range<usize>> {
        self.marked.map(|(from, to)| from.min(to)..from.max(to) + 1)
    }

    /// What is on the screen, with `width` columns for text.
    pub fn rows(&self, width: usize, height: usize) -> Vec<Row> {
        let lines = &self.page.lines;
        let pieces = |index: usize| -> Vec<Row> {
            let text = lines[index].text.as_str();
            if self.cuts {
                return vec![Row { index, ..sideways(text, self.left, width) }];
            }
            let row = |piece: Range<usize>| Row { index, is_first: piece.start == 0, piece, ..Row::default() };
            wrapped(text, width).into_iter().map(row).collect()
        };
        match self.place {
            Place::Line(top) => {
                let from = top.saturating_sub(self.page.first).min(lines.len());
                (from..lines.len()).flat_map(pieces).take(height).collect()
            }
            Place::End | Place::Number(_) => {
                let mut rows: Vec<Row> =
                    (0..lines.len()).rev().flat_map(|index| pieces(index).into_iter().rev()).take(height).collect();
                rows.reverse();
                rows
            }
        }
    }

    /// Shown lines that are on the screen, wholly or in part.
    pub fn visible(&self, width: usize, height: usize) -> Range<usize> {
        let rows = self.rows(width, height);
        match (rows.first(), rows.last()) {
            (Some(first), Some(last)) => self.page.first + first.index..self.page.first + last.index + 1,
            _ => 0..0,
        }
    }

    /// The first line of the screen that shows the end.
    pub fn last_top(&self, width: usize, height: usize) -> usize {
        if self.page.first + self.page.lines.len() != self.page.shown {
            return self.page.shown.saturating_sub(height);
        }
        let mut rows = 0;
        let fits = |line: &&LogLine| {
            rows += if self.cuts { 1 } else { wrapped(&line.text, width).len() };
            rows <= height
        };
        let fitting = self.page.lines.iter().rev().take_while(fits).count();
        self.page.first + (self.page.lines.len() - fitting).min(self.page.lines.len().saturating_sub(1))
    }

    /// Scrolls cut lines sideways, by half of what is to be seen and no further than the longest line.
    pub fn turn_sideways(&mut self, rightwards: bool, width: usize, height: usize) {
        let step = (width / 2).max(1);
        if !rightwards {
            self.left = self.left.saturating_sub(step);
            return;
        }
        let rows = self.rows(width, height);
        let longest = rows.iter().map(|row| columns::width(&self.page.lines[row.index].text)).max().unwrap_or(0);
        self.left = (self.left + step).min(longest.saturating_sub(width).max(self.left));
    }

    /// Brings what is found in a line into sight, where lines are cut.
    pub fn reveal(&mut self, shown: usize, width: usize) {
        let place = self.line(shown).zip(self.search.as_ref()).and_then(|(line, pattern)| {
            let place = pattern.places(&line.text).into_iter().next()?;
            Some(columns::width(&line.text[..place.start])..columns::width(&line.text[..place.end]))
        });
        let Some(place) = place.filter(|_| self.cuts) else { return };
        // The outer columns may say that there is more.
        let is_in_sight = place.end < self.left + width && (place.start > self.left || self.left == 0);
        if !is_in_sight {
            self.left = if place.end < width { 0 } else { place.start.saturating_sub(width / 3) };
        }
    }

    pub fn line(&self, shown: usize) -> Option<&LogLine> {
        self.page.lines.get(shown.checked_sub(self.page.first)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_something_else_is_not_taken() {
        let mut view = Log::default();
        let first = view.request(10, None, None);
        let page = |request: &LogRequest, shown| LogPage {
            number: request.number,
            query: request.query.clone(),
            shown,
            ..LogPage::default()
        };
        let second = view.request(10, None, None);
        assert!(!view.take(page(&first, 1)) && view.page.shown == 0);
        assert!(view.take(page(&second, 2)) && view.page.shown == 2);
    }
}
