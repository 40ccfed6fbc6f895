//! Devices side by side in columns, each with its load, its memory and its rank: for a node whose rows do not all fit one below the other.

use ratatui::text::{Line, Span};

use super::cells;
use super::parts::{Segment, View, marked};
use super::totals;
use crate::columns::cut;
use crate::domain::device::DeviceProcess;
use crate::tui::devices::state::Row;

/// Index, a short bar, the load and a column between two devices.
const LEAST: usize = INDEX + 4 + cells::NUMBER + 1;
/// The mark of the cursor, `12` or `1:0`.
const INDEX: usize = 4;
/// ` r12`
const RANK: usize = 4;
/// ` 100°C`
const TEMPERATURE: usize = 6;
const LEAST_BAR: usize = 4;

/// Every device, in as few columns as fit into `height`; `None` where not all fit.
pub fn lines(view: View, rows: &[Row], width: usize, height: usize) -> Option<Vec<Vec<Segment>>> {
    let across = (2..=width / LEAST).find(|across| height_of(rows, *across) <= height)?;
    let mut lines = Vec::new();
    let mut from = 0;
    for host in rows.chunk_by(|a, b| a.sample.host == b.sample.host) {
        lines.push(vec![Segment::heading(totals::line(view.theme, host[0].sample, width), width)]);
        let down = host.len().div_ceil(across);
        let cell_width = width / across;
        for line in 0..down {
            // One column after the other is read from above, as the cursor goes.
            let places = (0..across).map(|column| column * down + line).filter(|place| *place < host.len());
            lines.push(places.map(|place| segment(view, host[place], from + place, cell_width)).collect());
        }
        from += host.len();
    }
    Some(lines)
}

fn height_of(rows: &[Row], across: usize) -> usize {
    rows.chunk_by(|a, b| a.sample.host == b.sample.host).map(|host| 1 + host.len().div_ceil(across)).sum()
}

fn segment(view: View, row: Row, place: usize, width: usize) -> Segment {
    let (theme, device) = (view.theme, row.device);
    let index = row.slice().map_or(device.index.to_string(), |slice| format!("{}:{slice}", device.index));
    let mut spans = vec![marked(view, place, &index, INDEX)];
    // A space behind the index, and one before the next device.
    let mut left = width.saturating_sub(INDEX + 1);
    if let Some(why) = device.lost() {
        spans.push(Span::styled(cut(&format!(" ✗ {why}"), left), theme.warn()));
    } else {
        let mut takes = |wanted: usize, keep: usize| left.checked_sub(wanted + keep).map(|_| left -= wanted).is_some();
        let rank = takes(RANK, cells::NUMBER + LEAST_BAR + 1);
        let memory = takes(cells::MEMORY, cells::NUMBER + LEAST_BAR + 1);
        let temperature = takes(TEMPERATURE, cells::NUMBER + 2 * LEAST_BAR + 2);
        let bars = left.saturating_sub(cells::NUMBER + 1);
        let of_memory = if memory && bars > 2 * LEAST_BAR { bars / 2 } else { 0 };
        spans.push(Span::raw(" "));
        spans.extend(cells::utilisation(theme, device, cells::NUMBER + bars - of_memory));
        if memory {
            let gap = usize::from(of_memory > 0);
            spans.push(Span::raw(" ".repeat(gap)));
            spans.extend(cells::memory(theme, device, cells::MEMORY + of_memory - gap));
        }
        if temperature {
            spans.extend(cells::temperature(theme, device, TEMPERATURE));
        }
        if rank {
            spans.push(cells::left(&badge(&device.processes), RANK, theme.key()));
        }
    }
    Segment::new(Some(place), Line::from(spans), width)
}

/// ` r3`, or a sign for somebody else's process.
fn badge(processes: &[DeviceProcess]) -> String {
    let mut ranks = processes.iter().filter_map(|process| process.rank);
    match (ranks.next(), ranks.next()) {
        (Some(rank), None) => format!(" r{rank}"),
        (Some(rank), Some(_)) => format!(" r{rank}…"),
        _ if processes.is_empty() => String::new(),
        _ => " •".to_owned(),
    }
}
