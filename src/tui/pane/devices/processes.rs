//! The processes on the devices: ranks first, by number.
//!
//! Never leaves out who else uses a device.

use ratatui::text::{Line, Span};

use super::super::super::devices_view::Row;
use super::super::super::state::State;
use super::super::cut;
use super::cells::{left, right};
use crate::domain::device::{DeviceProcess, Reading};
use crate::domain::units;
use crate::runs::safe;

/// Head and a line a process; nothing where there is none.
pub fn lines(state: &State, rows: &[Row], width: usize) -> Vec<Line<'static>> {
    let theme = state.theme;
    let mut found: Vec<(Row, &DeviceProcess)> =
        rows.iter().flat_map(|row| row.device.processes.iter().map(|process| (*row, process))).collect();
    if found.is_empty() {
        return Vec::new();
    }
    found.sort_by_key(|(row, process)| (process.rank.is_none(), process.rank, row.device.index, process.pid));
    let several_hosts = state.devices.hosts().count() > 1;
    let place_width = if several_hosts { 18 } else { 9 };
    let head = format!("     {:<8} {:>8}  {:<place_width$} {:>9} {:>6}  command", "rank", "pid", "on", "memory", "use");
    let mut lines = vec![Line::styled(cut(&head, width), theme.dim())];
    for (row, process) in found {
        let who = process.rank.map_or("other".to_owned(), |rank| format!("rank {rank}"));
        let style = if process.rank.is_some() { theme.accent() } else { theme.dim() };
        let place = if several_hosts { format!("{} {}", row.sample.host, row.title()) } else { row.title() };
        let figure = |reading: Reading<String>, width| match reading {
            Reading::Value(text) => right(&text, width, theme.text()),
            Reading::Missing { .. } => right("N/A", width, theme.dim()),
        };
        let mut spans = vec![
            Span::raw("     "),
            left(&who, 8, style),
            right(&process.pid.to_string(), 9, theme.text()),
            Span::raw("  "),
            left(&place, place_width, theme.text()),
            figure(process.memory_bytes.map(|bytes| units::bytes(*bytes)), 10),
            figure(process.utilization_percent.map(|percent| format!("{percent:.0} %")), 7),
            Span::raw("  "),
        ];
        let used: usize = spans.iter().map(Span::width).sum();
        spans.push(Span::styled(cut(&safe(&process.command), width.saturating_sub(used)), theme.text()));
        lines.push(Line::from(spans));
    }
    lines
}
