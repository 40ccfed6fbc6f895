//! Time or bus bandwidth by size: the curves, where one method becomes faster than another, and the figures at one size.

use ratatui::text::Line;

use super::super::crossing::{is_reference, sentence};
use super::super::state::{Collectives, Show};
use super::figures::Shown;
use super::{curves, table};
use crate::tui::widgets::{Theme, wrapped};

/// Rows of a plot that can be read, with its axis; of one that leaves room for explanations.
const LEAST_PLOT: usize = 6;
const GOOD_PLOT: usize = 13;

const SIGNS: &str = "A letter is what was measured, × what was predicted. Dashes: the library's own allreduce, for reference.";

pub fn shown<'a>(own: &'a Collectives, theme: Theme) -> Vec<Shown<'a>> {
    let methods = own.methods().into_iter().enumerate();
    let shown = methods.map(|(place, method)| Shown {
        method,
        letter: char::from(b'a' + (place % 26) as u8),
        style: theme.run(place),
        is_reference: is_reference(method),
    });
    shown.collect()
}

pub fn lines(own: &Collectives, theme: Theme, show: Show, width: usize, height: usize) -> Vec<Line<'static>> {
    let shown = shown(own, theme);
    let said = sentence(&own.measured).map(|text| wrapped(&text, width, theme.strong())).unwrap_or_default();
    // The table as far as the curves leave room for it: its heading and three rows at least.
    let wanted = shown.len() + 1;
    let room = height.saturating_sub(said.len());
    let rows = wanted.min(room.saturating_sub(LEAST_PLOT)).min((room / 2).max(4));
    // Why there is no prediction, where there is room for it.
    let why: Vec<Line> = own
        .shown_size()
        .map(|bytes| table::refusals(own, bytes))
        .unwrap_or_default()
        .iter()
        .chain(&[SIGNS.to_owned()])
        .flat_map(|text| wrapped(text, width, theme.dim()))
        .collect();
    let why = if rows == wanted && room >= rows + why.len() + GOOD_PLOT { why } else { Vec::new() };
    let mut lines = curves::lines(own, &shown, theme, show, width, room.saturating_sub(rows + why.len()));
    lines.extend(said);
    lines.extend(table::lines(own, &shown, theme, width, rows));
    lines.extend(why);
    lines
}
