//! What each method took at the size under the cursor, in the columns of nccl-tests.

use ratatui::text::{Line, Span};

use super::super::state::Collectives;
use super::figures::{Shown, bandwidth, time};
use crate::columns::{cut, left, right};
use crate::domain::collective::bus_bandwidth;
use crate::domain::{measured, units};
use crate::tui::widgets::{Theme, fitting};

/// Columns of letter and method.
const METHOD: usize = 26;
/// Title, width, and how early it has to give way to the others.
const COLUMNS: [(&str, usize, u8); 7] = [
    ("time", 9, 0),
    ("busbw", 10, 1),
    ("algbw", 10, 5),
    ("to fastest", 10, 6),
    ("#wrong", 6, 4),
    ("predicted", 9, 2),
    ("error", 6, 3),
];

pub fn lines(own: &Collectives, shown: &[Shown], theme: Theme, width: usize, height: usize) -> Vec<Line<'static>> {
    let Some(bytes) = own.shown_size().filter(|_| height > 1) else { return Vec::new() };
    let columns = fitting(width.saturating_sub(METHOD), COLUMNS.iter().map(|(_, width, rank)| (*width, *rank)));
    let head: String = columns.iter().map(|column| right(COLUMNS[*column].0, COLUMNS[*column].1 + 1)).collect();
    let rows = height - 1;
    let first = own.scroll.min(shown.len().saturating_sub(rows));
    let more = if shown.len() > rows { format!(" ({}-{} of {})", first + 1, first + rows, shown.len()) } else { String::new() };
    let mut lines =
        vec![Line::styled(format!("{}{head}", left(&format!("at {}{more}", units::bytes(bytes)), METHOD)), theme.strong())];
    for method in shown.iter().skip(first).take(rows) {
        let figures: String =
            columns.iter().map(|column| right(&figure(own, method.method, bytes, *column), COLUMNS[*column].1 + 1)).collect();
        lines.push(Line::from(vec![
            Span::styled(format!("{} ", method.letter), method.style),
            Span::raw(left(method.method, METHOD - 2)),
            Span::raw(cut(&figures, width.saturating_sub(METHOD))),
        ]));
    }
    lines
}

fn figure(own: &Collectives, method: &str, bytes: u64, column: usize) -> String {
    let none = || "–".to_owned();
    let Some(row) = own.measured.row(method, bytes) else { return none() };
    let report = &row.report;
    let fastest = || own.measured.at(bytes).map(|other| other.report.median_s).fold(f64::INFINITY, f64::min);
    match column {
        0 => time(report.median_s),
        1 => bandwidth(bus_bandwidth(report.bytes, report.median_s, own.ranks)),
        2 => bandwidth(report.bytes as f64 / report.median_s),
        3 if report.median_s <= fastest() => "fastest".to_owned(),
        3 => format!("{:.2}x", report.median_s / fastest()),
        4 => report.wrong.map_or_else(none, |wrong| wrong.to_string()),
        5 => row.predicted_s.map_or_else(|_| none(), time),
        _ => row.error().map_or_else(none, |error| format!("{:+.0} %", 100.0 * error)),
    }
}

/// Why methods have no prediction at a size, each reason once.
pub fn refusals(own: &Collectives, bytes: u64) -> Vec<String> {
    let reasons = measured::refusals(own.measured.at(bytes));
    reasons.into_iter().map(|(reason, methods)| format!("No prediction for {}: {reason}.", methods.join(", "))).collect()
}
