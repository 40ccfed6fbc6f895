//! The menu of faults: what each does, what will happen, and what came of those that were made.
//!
//! Never says who was named before the record of the run does.

use ratatui::text::Line;

use super::windows::Menu;
use crate::columns::{left, wrap};
use crate::domain::fault::{DEFAULT_SECONDS, FaultKind, FaultRecord};
use crate::domain::units;
use crate::runs::RunRecord;
use crate::tui::shared::state::Shared;
use crate::tui::widgets::theme::Theme;

/// Columns of a fault's name.
const NAME: usize = 20;
/// Faults that were made: the last ones.
const SHOWN: usize = 3;

pub fn lines(menu: &Menu, shared: &Shared, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let row = |(place, kind): (usize, &FaultKind)| {
        let is_chosen = place == menu.chosen;
        let sign = if is_chosen { "▶" } else { " " };
        let whom = format!("rank {}", kind.victim(Some(menu.rank), menu.np));
        let whom = if is_chosen { whom } else { String::new() };
        let text = format!(" {sign} {}{whom}", left(kind.name(), NAME));
        if is_chosen { Line::styled(left(&text, width), theme.cursor(true)) } else { Line::raw(text) }
    };
    let mut lines: Vec<Line> = FaultKind::ALL.iter().enumerate().map(row).collect();
    lines.push(Line::raw(""));
    let kind = FaultKind::ALL[menu.chosen];
    let rank = kind.victim(Some(menu.rank), menu.np).to_string();
    let is_elastic = record(menu, shared).is_some_and(|record| record.spec.resources.survives_a_loss());
    lines.extend(wrap(&kind.expected_of(&rank, is_elastic), width).into_iter().map(Line::raw));
    if kind.lasts() {
        let text = format!("It lasts {}, and is then undone.", units::seconds(DEFAULT_SECONDS));
        lines.push(Line::styled(text, theme.dim()));
    }
    lines.extend(made(menu, shared, theme, width));
    lines
}

fn record<'a>(menu: &Menu, shared: &'a Shared) -> Option<&'a RunRecord> {
    shared.summary(menu.run)?.record.as_ref()
}

/// The last faults of the run, newest last.
fn made(menu: &Menu, shared: &Shared, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let record = record(menu, shared);
    let faults: Vec<&FaultRecord> =
        record.iter().flat_map(|record| &record.attempts).flat_map(|attempt| &attempt.faults).collect();
    if faults.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::styled("Made in this run", theme.strong())];
    for fault in &faults[faults.len().saturating_sub(SHOWN)..] {
        let style = if fault.found_after_s.is_some() { theme.text() } else { theme.warn() };
        lines.extend(wrap(&in_words(fault), width).into_iter().map(|line| Line::styled(line, style)));
    }
    lines
}

/// `freeze in rank 1: found after 0.4 s: process 1 is stopped by a signal`.
fn in_words(fault: &FaultRecord) -> String {
    let what = format!("{} in rank {}", fault.request.kind, fault.request.process);
    match (fault.found_after_s, &fault.found_by) {
        (Some(after), Some(words)) => format!("{what}: found after {}: {words}", units::seconds(after)),
        _ => format!("{what}: nobody has named this rank yet"),
    }
}
