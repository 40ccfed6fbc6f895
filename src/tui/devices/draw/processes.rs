//! The processes on the devices: ranks first, by number.
//!
//! Never leaves out who else uses a device.

use super::parts::View;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::columns::cut;
use crate::domain::device::{DeviceProcess, Reading};
use crate::domain::{safe, units};
use crate::tui::devices::draw::cells::{left, right};
use crate::tui::devices::state::Row;

/// The digits of the highest id that 32 bits hold, and a column before them.
const PID: usize = 11;
const OWNER: usize = 12;

/// Head and a line a process; nothing where there is none.
pub fn lines(view: View, rows: &[Row], width: usize) -> Vec<Line<'static>> {
    let theme = view.theme;
    let mut found: Vec<(Row, &DeviceProcess)> =
        rows.iter().flat_map(|row| row.device.processes.iter().map(|process| (*row, process))).collect();
    if found.is_empty() {
        return Vec::new();
    }
    found.sort_by_key(|(row, process)| (process.rank.is_none(), process.rank, row.device.index, process.pid));
    let several_hosts = view.devices.hosts().count() > 1;
    // Where it is narrow the owner goes, whom the details name too.
    let is_wide = width >= 70;
    let place_width = match (several_hosts, is_wide) {
        (true, _) => 18,
        (false, true) => 10,
        (false, false) => 7,
    };
    let line = |[who, pid, owner, place, memory, used]: [Span<'static>; 6], command: &str, style: Style| {
        let mut spans = vec![Span::raw(if is_wide { "     " } else { " " }), who, pid, Span::raw("  ")];
        spans.extend(is_wide.then_some(owner));
        spans.extend([place, memory, used, Span::raw("  ")]);
        let taken: usize = spans.iter().map(Span::width).sum();
        spans.push(Span::styled(cut(command, width.saturating_sub(taken)), style));
        Line::from(spans)
    };
    let (text, dim) = (theme.text(), theme.dim());
    let titles = [
        left("rank", 8, dim),
        right("pid", PID, dim),
        left("owner", OWNER, dim),
        left("on", place_width, dim),
        right("memory", 10, dim),
        right("util", 7, dim),
    ];
    let mut lines = vec![line(titles, "command", dim)];
    for (row, process) in found {
        let who = process.rank.map_or("other".to_owned(), |rank| format!("rank {rank}"));
        let place = if several_hosts { format!("{} {}", row.sample.host, row.title()) } else { row.title() };
        let known = |reading: Reading<String>, width, put: fn(&str, usize, Style) -> Span<'static>| match reading {
            Reading::Value(value) => put(&value, width, text),
            Reading::Missing { .. } => put("N/A", width, dim),
        };
        let cells = [
            left(&who, 8, if process.rank.is_some() { theme.accent() } else { dim }),
            right(&process.pid.to_string(), PID, text),
            known(process.owner.map(|name| cut(name, OWNER - 2)), OWNER, left),
            left(&place, place_width, text),
            known(process.memory_bytes.map(|bytes| units::bytes(*bytes)), 10, right),
            known(process.utilization_percent.map(|percent| format!("{percent:.0} %")), 7, right),
        ];
        lines.push(line(cells, &safe::line(&process.command), text));
    }
    lines
}
