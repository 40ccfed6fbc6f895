//! One line of keys with their words, as many as have room.
//!
//! Never leaves out what matters most.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::theme::Theme;
use crate::columns;

/// A key and its word.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub key: &'static str,
    pub label: &'static str,
    /// The lowest stay longest.
    pub rank: u8,
}

/// From this on a key is left out rather than that the words get shorter.
pub const LESSER: u8 = 3;

/// Where not all words have room.
fn short(label: &'static str) -> &'static str {
    match label {
        "choose" => "move",
        "toggle" => "on/off",
        "before/after" => "b/a",
        "before and after" => "both",
        "run before" => "before",
        "run after" => "after",
        "details" => "info",
        "compare" => "vs.",
        "delete" => "del",
        "filter" => "only",
        "search" => "find",
        "process" => "rank",
        "x axis" => "axis",
        "cursor" => "read",
        "measure" => "run",
        label => label,
    }
}

pub fn draw(frame: &mut Frame, area: Rect, theme: Theme, entries: &[Entry]) {
    let spans = shown(entries, area.width).into_iter().flat_map(|(_, entry)| {
        [Span::styled(format!(" {}", entry.key), theme.key()), Span::styled(format!(" {} ", entry.label), theme.dim())]
    });
    frame.render_widget(Paragraph::new(Line::from_iter(spans)), area);
}

/// The place of the entry under the pointer.
pub fn hit(area: Rect, at: Position, entries: &[Entry]) -> Option<usize> {
    let mut from = area.x;
    let under = shown(entries, area.width).into_iter().find(|(_, entry)| {
        from += width(entry) as u16;
        at.x < from
    });
    under.map(|(index, _)| index)
}

fn width(entry: &Entry) -> usize {
    columns::width(entry.key) + columns::width(entry.label) + 3
}

/// Those that there is room for: with their words, or with shorter ones where that saves one that matters.
fn shown(entries: &[Entry], columns: u16) -> Vec<(usize, Entry)> {
    let columns = columns as usize;
    let matter = entries.iter().filter(|entry| entry.rank < LESSER).map(width).sum::<usize>();
    let fitted = |entry: &Entry| Entry { label: if matter <= columns { entry.label } else { short(entry.label) }, ..*entry };
    let all: Vec<Entry> = entries.iter().map(fitted).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&index| all[index].rank);
    let (mut chosen, mut left) = (Vec::new(), columns);
    for index in order {
        if width(&all[index]) <= left {
            left -= width(&all[index]);
            chosen.push(index);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|index| (index, all[index])).collect()
}
