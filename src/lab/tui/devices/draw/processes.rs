//! The processes on the devices: ranks first, by number.
//!
//! Other users' processes are listed too.

use super::parts::View;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::columns::{self, cut};
use crate::domain::device::{DeviceProcess, Reading};
use crate::domain::{printable, units};
use crate::tui::devices::draw::cells::{left, right};
use crate::tui::devices::lane::DeviceRow;

/// The digits of the highest id that 32 bits hold, and a column before them.
const PID: usize = 11;
const OWNER: usize = 12;
/// `rank 511`
const WHO: usize = 8;
/// ` GPU-Util`
const UTIL: usize = 9;
/// A command of fewer columns says nothing.
const COMMAND: usize = 6;

/// The lines that fit. The last of them says how many more there are, or the head does if one
/// process is all that fits.
fn fitted(mut lines: Vec<Line<'static>>, all: usize, view: View, width: usize, height: usize) -> Vec<Line<'static>> {
    if all <= height || height < 2 {
        lines.truncate(height);
        return lines;
    }
    let style = view.theme.dim();
    let shown = if height > 2 { height - 1 } else { height };
    let rest = format!(" … {} more", all - shown);
    lines.truncate(shown);
    if height > 2 {
        lines.push(Line::styled(rest, style));
    } else {
        let head: String = lines[0].spans.iter().map(|span| span.content.as_ref()).collect();
        let left = width.saturating_sub(columns::width(&rest));
        // The title of a column stays whole or goes.
        let head =
            if columns::width(&head) > left { head.trim_end().rsplit_once("  ").map_or("", |(head, _)| head) } else { &head };
        lines[0] = Line::styled(format!("{}{rest}", columns::left(head, left)), style);
    }
    lines
}

/// Lines that would show all: a head and one a process; none where there is none.
pub fn count(rows: &[DeviceRow]) -> usize {
    match rows.iter().map(|row| row.device.processes.len()).sum() {
        0 => 0,
        processes => 1 + processes,
    }
}

/// Head and a line a process, ranks that failed first, as far as there is room.
pub fn lines(view: View, rows: &[DeviceRow], width: usize, height: usize) -> Vec<Line<'static>> {
    let theme = view.theme;
    let mut found: Vec<(&DeviceRow, &DeviceProcess)> =
        rows.iter().flat_map(|row| row.device.processes.iter().map(move |process| (row, process))).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let failed = |process: &DeviceProcess| view.failed(process).unwrap_or(usize::MAX);
    found.sort_by_key(|(row, process)| (failed(process), process.rank.is_none(), process.rank, row.device.index, process.pid));
    let all = 1 + found.len();
    let several_hosts = view.has_several_hosts();
    // Where it is narrow the owner goes, whom the details name too.
    let is_wide = width >= 70;
    let place_width = match (several_hosts, is_wide) {
        (true, _) => 18,
        (false, true) => 10,
        (false, false) => 7,
    };
    let longest = found.iter().map(|(_, process)| process.pid.to_string().len()).max().unwrap_or(0);
    let (pid_width, memory_width) = if is_wide { (PID, 10) } else { (longest.max(4) + 1, 9) };
    let line = |[who, pid, owner, place, memory, used]: [Span<'static>; 6], command: &str, style: Style| {
        let mut spans = vec![Span::raw(if is_wide { "     " } else { " " }), who, pid, Span::raw("  ")];
        spans.extend(is_wide.then_some(owner));
        spans.extend([place, memory, used, Span::raw("  ")]);
        let taken: usize = spans.iter().map(Span::width).sum();
        let left = width.saturating_sub(taken);
        spans.push(Span::styled(if left < COMMAND { String::new() } else { cut(command, left) }, style));
        Line::from(spans)
    };
    let (text, dim) = (theme.text(), theme.dim());
    let titles = [
        left("rank", WHO, dim),
        right("pid", pid_width, dim),
        left("owner", OWNER, dim),
        left("on", place_width, dim),
        right("memory", memory_width, dim),
        right(rows[0].device.load_name(), UTIL, dim),
    ];
    let mut lines = vec![line(titles, "command", dim)];
    for (row, process) in found.into_iter().take(height) {
        let (who, style) = match process.rank {
            Some(rank) if view.failed(process).is_some() => (format!("✗ {rank}"), theme.warn()),
            Some(rank) => (format!("rank {rank}"), theme.accent()),
            None => ("other".to_owned(), dim),
        };
        let place = if several_hosts { format!("{} {}", row.sample.host, row.title()) } else { row.title() };
        let known = |reading: Reading<String>, width, put: fn(&str, usize, Style) -> Span<'static>| match reading {
            Reading::Value(value) => put(&value, width, text),
            Reading::Missing { .. } => put("N/A", width, dim),
        };
        let cells = [
            left(&who, WHO, style),
            right(&process.pid.to_string(), pid_width, text),
            known(process.owner.map(|name| cut(name, OWNER - 2)), OWNER, left),
            left(&place, place_width, text),
            known(process.memory_bytes.map(|bytes| units::bytes(*bytes)), memory_width, right),
            known(process.utilization_percent.map(|percent| format!("{percent:.0} %")), UTIL, right),
        ];
        lines.push(line(cells, &printable::line(&process.command), text));
    }
    fitted(lines, all, view, width, height)
}
