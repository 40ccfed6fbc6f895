//! A host without a GPU: its cores, and what share of them each rank has.
//!
//! It says why there is no GPU.

use super::parts::View;
use ratatui::text::{Line, Span};

use crate::columns::cut;
use crate::domain::device::{DeviceProcess, Reading};
use crate::domain::{printable, units};
use crate::tui::devices::draw::cells::{self, percent_bar};
use crate::tui::devices::draw::graph;
use crate::tui::devices::state::DeviceRow;
use crate::tui::widgets::Theme;

/// The lines of a host, with the reason why it has no GPU if `why`.
pub fn lines(view: View, row: DeviceRow, width: usize, why: bool) -> Vec<Line<'static>> {
    let theme = view.theme;
    let device = row.device;
    let cores = device.core_percent.len();
    let mut lines = Vec::new();
    if view.devices.hosts().nth(1).is_some() {
        let chosen = view.devices.chosen().is_some_and(|chosen| chosen.sample.host == row.sample.host);
        let mark = if chosen && view.focus.here { "▸" } else { " " };
        lines.push(Line::styled(format!("{mark}{}", row.sample.host), theme.strong()));
    }
    lines.push(whole(view, row, width));
    lines.extend(core_rows(theme, &device.core_percent, width));
    let ranks = device.processes.iter().filter(|process| process.rank.is_some());
    let total = device.memory_total_bytes.value().copied();
    lines.extend(ranks.map(|process| rank(theme, process, cores, total, width)));
    if let Some(reason) = row.sample.gpu_missing.as_ref().filter(|reason| why && !reason.is_empty()) {
        lines.push(Line::styled(cut(&format!(" no GPU: {reason}"), width), theme.dim()));
    }
    lines
}

/// All cores together: two minutes, load and memory as bars, and what processor it is.
fn whole(view: View, row: DeviceRow, width: usize) -> Line<'static> {
    let (theme, device) = (view.theme, row.device);
    let is_wide = width >= 70;
    let (history, load, memory) = if is_wide { (18, 14, 10) } else { (8, 4, 4) };
    let mut spans = vec![Span::raw(" "), graph::small(view, row, history, 1, 0), Span::raw(" ")];
    spans.extend(percent_bar(theme, &device.utilization_percent, load + cells::NUMBER));
    spans.push(Span::raw(format!(" of {} ", units::counted(device.core_percent.len(), "core"))));
    spans.extend(cells::memory(theme, device, memory + cells::MEMORY));
    let left = width.saturating_sub(spans.iter().map(Span::width).sum());
    spans.push(Span::styled(cut(&format!("  {}", device.name.trim()), left), theme.dim()));
    Line::from(spans)
}

/// A rank's load of a core and its memory of the host's, and its share of all cores where there is room to say so.
fn rank(theme: Theme, process: &DeviceProcess, cores: usize, total: Option<u64>, width: usize) -> Line<'static> {
    let rank = process.rank.unwrap_or_default();
    let (load, memory) = if width >= 70 { (14, 10) } else { (5, 4) };
    let mut spans = vec![Span::styled(format!(" rank {rank:<3}"), theme.key())];
    spans.extend(percent_bar(theme, &process.utilization_percent, load + cells::NUMBER));
    let of_all = match (&process.memory_bytes, total) {
        (Reading::Value(used), Some(total)) if total > 0 => Reading::Value(*used as f64 / total as f64 * 100.0),
        _ => Reading::missing(""),
    };
    spans.push(Span::raw("  "));
    spans.extend(cells::bar_of(theme, &of_all, memory, theme.accent()));
    let used = process.memory_bytes.value().map_or("N/A".to_owned(), |bytes| units::bytes(*bytes));
    let mut text = format!(" {used:>8}");
    if let (Reading::Value(percent), true) = (&process.utilization_percent, cores > 0 && width >= 70) {
        text.push_str(&format!("  {:.0} % of all", percent / cores as f64));
    }
    text.push_str(&format!("  pid {}  {}", process.pid, printable::line(&process.command)));
    let used: usize = spans.iter().map(Span::width).sum();
    spans.push(Span::raw(cut(&text, width.saturating_sub(used))));
    Line::from(spans)
}

/// Cores side by side, as many as fit; many cores become one sign each.
fn core_rows(theme: Theme, cores: &[f64], width: usize) -> Vec<Line<'static>> {
    const CELL: usize = 22;
    if cores.len() > 16 {
        let sign = |percent: &f64| Span::styled(cells::sign(*percent), cells::load(theme, *percent));
        let per_row = width.saturating_sub(2).max(1);
        return cores
            .chunks(per_row)
            .map(|row| Line::from_iter([Span::raw(" ")].into_iter().chain(row.iter().map(sign))))
            .collect();
    }
    let per_row = (width / CELL).clamp(1, 8);
    // What is left over makes the bars longer.
    let cell_width = (width / per_row).min(40);
    let cell = |(index, percent): (usize, &f64)| {
        let mut spans = vec![Span::styled(format!(" core {index:<2} "), theme.dim())];
        spans.extend(percent_bar(theme, &Reading::Value(*percent), cell_width.saturating_sub(9)));
        spans
    };
    let cells: Vec<Vec<Span>> = cores.iter().enumerate().map(cell).collect();
    cells.chunks(per_row).map(|row| Line::from(row.concat())).collect()
}
