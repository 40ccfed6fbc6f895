//! What each method took at the size under the cursor, in the columns of nccl-tests.

use ratatui::text::{Line, Span};

use super::super::state::Collectives;
use super::chart::Shown;
use super::{bandwidth, time};
use crate::columns::{cut, left, right};
use crate::domain::units;
use crate::tui::widgets::table::fitting;
use crate::tui::widgets::theme::Theme;

/// Columns of letter and method.
const METHOD: usize = 26;
/// Title, width, and how early it has to give way to the others.
const COLUMNS: [(&str, usize, u8); 5] =
    [("time", 10, 0), ("busbw", 11, 1), ("algbw", 11, 3), ("fastest", 10, 4), ("#wrong", 7, 2)];

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
    let Some(row) = own.measured.row(method, bytes) else { return "–".to_owned() };
    let fastest =
        || own.measured.rows.iter().filter(|row| row.bytes == bytes).map(|row| row.mean_s).fold(f64::INFINITY, f64::min);
    match column {
        0 => time(row.mean_s),
        1 => bandwidth(row.busbw(own.ranks)),
        2 => bandwidth(row.algbw()),
        3 if row.mean_s <= fastest() => "fastest".to_owned(),
        3 => format!("{:.2}×", row.mean_s / fastest()),
        _ => row.wrong.map_or("not seen".to_owned(), |wrong| wrong.to_string()),
    }
}
