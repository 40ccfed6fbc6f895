//! How much room the log has: what its pane takes for frame, signs, times and names of processes is no room for text.

use ratatui::layout::Rect;

use super::state::{Log, LogTab};
use crate::tui::shared::{Shared, ranks};

/// Columns of a time before its line.
pub const TIME: usize = 9;

/// Where the pane would lie, if it were on the screen.
const UNSEEN: Rect = Rect { x: 0, y: 0, width: 80, height: 24 };

/// Columns for text and rows for lines, as the pane lies now.
pub fn room(log: &Log, shared: &Shared) -> (usize, usize) {
    let area = log.area.unwrap_or(UNSEEN);
    let width = (area.width as usize).saturating_sub(2 + gutter(log, shared));
    let rows = (area.height as usize).saturating_sub(2 + usize::from(has_status(log)));
    (width, rows)
}

/// The last row says what is marked, searched for or filtered by.
pub fn has_status(log: &Log) -> bool {
    log.marked.is_some() || log.search.is_some() || log.filter.is_some()
}

/// Columns before the text: a sign, the time, the writer.
pub fn gutter(log: &Log, shared: &Shared) -> usize {
    let writer = if log.tab == LogTab::ALL { digits(shared) + 2 } else { 0 };
    1 + writer + if log.shows_times { TIME } else { 0 }
}

/// Digits of the highest process.
pub fn digits(shared: &Shared) -> usize {
    (ranks::count(shared) - 1).to_string().len()
}
