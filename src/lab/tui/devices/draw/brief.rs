//! Devices side by side in columns, each with its load, its memory and its rank: for a node whose rows do not all fit one below the other.

use ratatui::text::{Line, Span};

use super::parts::{Segment, View, is_gpu, marked};
use super::{cells, totals};
use crate::columns::cut;
use crate::domain::device::{DeviceSample, Reading};
use crate::domain::units;
use crate::tui::devices::lane::DeviceRow;
use crate::tui::widgets::Theme;

/// Index, a short bar, the load and a column between two devices.
const LEAST: usize = INDEX + 4 + cells::NUMBER + 1;
/// `12███ 95`, with one cell for the bar.
const TIGHT: usize = TIGHT_INDEX + 1 + TIGHT_NUMBER;
const TIGHT_INDEX: usize = 3;
const TIGHT_NUMBER: usize = 3;
/// The mark of the cursor, `12` or `1:0`.
const INDEX: usize = 4;
/// ` r12`
const RANK: usize = 4;
/// ` 100 C`
const TEMPERATURE: usize = 6;
const LEAST_BAR: usize = 4;

/// Every device, in as few columns as fit into `height`; `None` where not all fit.
pub fn lines(view: View, rows: &[DeviceRow], width: usize, height: usize) -> Option<Vec<Vec<Segment>>> {
    // A GPU of a hundred, or a part of one, has a longer index.
    let is_short = rows.iter().all(|row| row.slice().is_none() && row.device.index < 100);
    let most = width / if is_short { TIGHT } else { LEAST };
    let across = (2..=most).find(|across| height_of(rows, *across) <= height)?;
    let mut lines = Vec::new();
    let mut from = 0;
    for host in rows.chunk_by(|a, b| a.sample.host == b.sample.host) {
        lines.push(Segment::line(None, totals::line(view.theme, &[host[0].sample], Some(what(host)), width)));
        let down = host.len().div_ceil(across);
        let cell_width = width / across;
        for line in 0..down {
            // One column after the other is read from above, as the cursor goes.
            let places = (0..across).map(|column| column * down + line).filter(|place| *place < host.len());
            lines.push(places.map(|place| segment(view, &host[place], from + place, cell_width)).collect());
        }
        from += host.len();
    }
    Some(lines)
}

/// What the number of each cell is: `16 ranks, use %`.
pub fn what(rows: &[DeviceRow]) -> String {
    let ranks = rows.iter().filter(|row| row.rank.is_some()).count();
    let gpus = rows.iter().filter(|row| is_gpu(&row.device) && row.slice().is_none()).count();
    let count = match (gpus, ranks) {
        (0, 0) => String::new(),
        (0, ranks) => format!("{}, ", units::counted(ranks, "rank")),
        (gpus, _) => format!("{}, ", units::counted(gpus, "GPU")),
    };
    let has_load = rows.iter().any(|row| row.device.utilization_percent.value().is_some());
    format!("{count}{}", if has_load { "use %" } else { "not running" })
}

fn height_of(rows: &[DeviceRow], across: usize) -> usize {
    rows.chunk_by(|a, b| a.sample.host == b.sample.host).map(|host| 1 + host.len().div_ceil(across)).sum()
}

fn segment(view: View, row: &DeviceRow, place: usize, width: usize) -> Segment {
    let (theme, device) = (view.theme, &*row.device);
    // The head says that no rank is running.
    let is_over = !is_gpu(device) && row.rank.is_some() && device.processes.is_empty();
    if width < LEAST {
        let mut spans = vec![marked(view, place, &row.number(), TIGHT_INDEX)];
        spans.extend(match is_over {
            true => vec![cells::right("–", width - TIGHT_INDEX - 1, theme.dim())],
            false => tight(theme, device, width - TIGHT_INDEX),
        });
        return Segment::new(Some(place), Line::from(spans), width);
    }
    let mut spans = vec![marked(view, place, &row.number(), INDEX)];
    // A space behind the index, and one before the next device.
    let mut left = width.saturating_sub(INDEX + 1);
    if let Some(why) = device.lost() {
        spans.push(Span::styled(cut(&format!(" ✗ {why}"), left), theme.warn()));
    } else if is_over {
        spans.push(Span::styled(" –", theme.dim()));
    } else {
        let mut takes = |wanted: usize, keep: usize| left.checked_sub(wanted + keep).map(|_| left -= wanted).is_some();
        let rank = is_gpu(device) && takes(RANK, cells::NUMBER + LEAST_BAR + 1);
        let memory = takes(cells::MEMORY, cells::NUMBER + LEAST_BAR + 1);
        let temperature = is_gpu(device) && takes(TEMPERATURE, cells::NUMBER + 2 * LEAST_BAR + 2);
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
            spans.push(cells::left(&badge(row), RANK, theme.key()));
        }
    }
    Segment::new(Some(place), Line::from(spans), width)
}

/// A bar, or one sign as high as the load, and the number without its unit.
fn tight(theme: Theme, device: &DeviceSample, width: usize) -> Vec<Span<'static>> {
    if device.lost().is_some() {
        return vec![cells::right("✗", width, theme.warn())];
    }
    let Reading::Value(percent) = device.utilization_percent else { return vec![cells::right("N/A", width, theme.dim())] };
    let style = cells::load(theme, percent);
    let mut spans = match width - TIGHT_NUMBER {
        1 => vec![Span::styled(cells::sign(percent), style)],
        few @ 2..=3 => cells::bar_of(theme, &device.utilization_percent, few, style),
        wide => {
            let bar = cells::bar_of(theme, &device.utilization_percent, wide - 1, style);
            std::iter::once(Span::raw(" ")).chain(bar).collect()
        }
    };
    spans.push(cells::right(&format!("{percent:.0}"), TIGHT_NUMBER, theme.text()));
    spans
}

/// ` r3`, or a sign for a process that is not a rank.
fn badge(row: &DeviceRow) -> String {
    match row.rank {
        Some(rank) => format!(" r{rank}"),
        None if row.device.processes.is_empty() => String::new(),
        None => " •".to_owned(),
    }
}
