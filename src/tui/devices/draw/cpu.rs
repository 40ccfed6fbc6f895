//! A host without a GPU: its cores, and what share of them each rank has.
//!
//! Never passes for a GPU: it says why there is none.

use super::parts::View;
use ratatui::text::{Line, Span};

use crate::columns::cut;
use crate::domain::device::{DeviceProcess, Reading};
use crate::domain::{safe, units};
use crate::tui::devices::draw::cells::{gib, percent_bar};
use crate::tui::devices::draw::graph;
use crate::tui::devices::state::Row;
use crate::tui::widgets::theme::Theme;

/// Columns of the use in the last two minutes, with its number.
const HISTORY: usize = 30;

/// Without the reason why there is no GPU where `why` is false.
pub fn lines(view: View, row: Row, width: usize, why: bool) -> Vec<Line<'static>> {
    let theme = view.theme;
    let device = row.device;
    let cores = device.core_percent.len();
    let memory = match (device.memory_used_bytes.value(), device.memory_total_bytes.value()) {
        (Some(used), Some(total)) => format!("{} of {} GiB", gib(*used), gib(*total)),
        _ => "memory N/A".to_owned(),
    };
    let mut lines = Vec::new();
    if view.devices.hosts().nth(1).is_some() {
        let chosen = view.devices.chosen().is_some_and(|chosen| chosen.sample.host == row.sample.host);
        let mark = if chosen && view.focus.here { "▸" } else { " " };
        lines.push(Line::styled(format!("{mark}{}", row.sample.host), theme.strong()));
    }
    let counted = units::counted(cores, "core");
    let mut facts = vec![Span::raw(" ")];
    facts.extend(graph::small(view, row, if width >= 70 { HISTORY } else { HISTORY / 2 }));
    let left = width.saturating_sub(facts.iter().map(Span::width).sum());
    facts.push(Span::raw(cut(&format!(" of {counted} · {memory} · {}", device.name.trim()), left)));
    lines.push(Line::from(facts));
    lines.extend(core_rows(theme, &device.core_percent, width));
    let ranks = device.processes.iter().filter(|process| process.rank.is_some());
    lines.extend(ranks.map(|process| rank(theme, process, cores, width)));
    if let Some(reason) = row.sample.gpu_missing.as_ref().filter(|reason| why && !reason.is_empty()) {
        lines.push(Line::styled(cut(&format!(" no GPU: {reason}"), width), theme.dim()));
    }
    lines
}

/// A rank's use of a core, and its share of the whole machine where there is room to say so.
fn rank(theme: Theme, process: &DeviceProcess, cores: usize, width: usize) -> Line<'static> {
    let rank = process.rank.unwrap_or_default();
    let bar_width = if width >= 70 { 24 } else { 14 };
    let mut spans = vec![Span::styled(format!(" rank {rank:<3}"), theme.accent())];
    spans.extend(percent_bar(theme, &process.utilization_percent, bar_width, theme.accent()));
    let memory = process.memory_bytes.value().map_or("N/A".to_owned(), |bytes| units::bytes(*bytes));
    let mut text = format!(" {memory:>8}");
    if let (Reading::Value(percent), true) = (&process.utilization_percent, cores > 0) {
        text.push_str(&format!("  {:.0} % of all", percent / cores as f64));
    }
    text.push_str(&format!("  pid {}  {}", process.pid, safe::line(&process.command)));
    let used: usize = spans.iter().map(Span::width).sum();
    spans.push(Span::raw(cut(&text, width.saturating_sub(used))));
    Line::from(spans)
}

/// Cores side by side, as many as fit; many cores become one sign each.
fn core_rows(theme: Theme, cores: &[f64], width: usize) -> Vec<Line<'static>> {
    const CELL: usize = 22;
    if cores.len() > 16 {
        const LEVELS: [&str; 9] = ["·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
        let signs: Vec<&str> =
            cores.iter().map(|percent| LEVELS[(percent / 100.0 * 8.0).round().clamp(0.0, 8.0) as usize]).collect();
        let per_row = width.saturating_sub(2).max(1);
        return signs.chunks(per_row).map(|row| Line::styled(format!(" {}", row.concat()), theme.accent())).collect();
    }
    let per_row = (width / CELL).clamp(1, 8);
    // What is left over makes the bars longer.
    let cell_width = (width / per_row).min(40);
    let cell = |(index, percent): (usize, &f64)| {
        let mut spans = vec![Span::styled(format!(" core {index:<2} "), theme.dim())];
        spans.extend(percent_bar(theme, &Reading::Value(*percent), cell_width.saturating_sub(9), theme.accent()));
        spans
    };
    let cells: Vec<Vec<Span>> = cores.iter().enumerate().map(cell).collect();
    cells.chunks(per_row).map(|row| Line::from(row.concat())).collect()
}
