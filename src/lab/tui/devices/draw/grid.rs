//! Many devices: as one cell each, coloured by load, for a rack or the hosts of a run one below the other; or side by side in
//! columns, each with its load, its memory and its rank, for a node whose rows do not all fit one below the other.

use ratatui::text::{Line, Span};

use super::parts::{Segment, View, is_gpu, known, marked};
use super::{cells, totals};
use crate::columns::{self, cut};
use crate::domain::device::{DeviceSample, Reading};
use crate::domain::units;
use crate::tui::devices::lane::DeviceRow;
use crate::tui::widgets::Theme;

/// Columns of a cell: a number, a sign and a space, or the sign alone.
const CELLS: [usize; 3] = [4, 2, 1];
/// The index of the first device in a line.
const FIRST: usize = 5;
/// A host's name before its cells, and the mean behind them.
const NAME: std::ops::RangeInclusive<usize> = 8..=24;
const MEAN: usize = 7;
/// The ranks of a host that has one device, whose mean is its figure.
const RANKS: usize = 11;

/// As many devices as fit: all of them if possible.
pub fn lines(view: View, rows: &[DeviceRow], width: usize, height: usize) -> Vec<Vec<Segment>> {
    let hosts: Vec<&[DeviceRow]> = rows.chunk_by(|a, b| a.sample.host == b.sample.host).collect();
    let drawn = match hosts.len() {
        0 | 1 => None,
        _ => CELLS.into_iter().find_map(|cell| by_host(view, &hosts, width, height, cell)),
    };
    drawn.unwrap_or_else(|| packed(view, rows, &hosts, width, height))
}

/// A line a host: its name, its devices, their mean. `None` where not all hosts have room, also not side by side.
fn by_host(view: View, hosts: &[&[DeviceRow]], width: usize, height: usize, cell: usize) -> Option<Vec<Vec<Segment>>> {
    let most = hosts.iter().map(|rows| rows.len()).max()?;
    let needed = |name: usize| 1 + name + 1 + most * cell + if most == 1 { RANKS } else { MEAN } + 1;
    let down = height.saturating_sub(1);
    let across = hosts.len().div_ceil(down.max(1));
    let each = width / across.max(1);
    if down == 0 || needed(*NAME.start()) > each {
        return None;
    }
    let longest = hosts.iter().map(|rows| columns::width(&rows[0].sample.host)).max()?;
    let name = longest.clamp(*NAME.start(), *NAME.end()).min(each - needed(0));
    // What is left over stays at the right, so that cells stand below cells.
    let each = each.min(needed(name) + 2);
    let down = hosts.len().div_ceil(across);
    let first = starts(hosts);
    let mut lines = vec![Segment::line(None, total(view.theme, hosts, width))];
    for line in 0..down {
        let places = (0..across).map(|column| column * down + line).filter(|place| *place < hosts.len());
        lines.push(places.flat_map(|place| host(view, hosts[place], first[place], name, most, cell, each)).collect());
    }
    Some(lines)
}

/// All hosts together.
fn total(theme: Theme, hosts: &[&[DeviceRow]], width: usize) -> Line<'static> {
    let what = what(&hosts.concat());
    totals::line(theme, &hosts.iter().map(|rows| rows[0].sample).collect::<Vec<_>>(), Some(what), width)
}

/// The place of each host's first device among all.
fn starts(hosts: &[&[DeviceRow]]) -> Vec<usize> {
    hosts.iter().scan(0, |next, rows| Some(std::mem::replace(next, *next + rows.len()))).collect()
}

fn host(view: View, rows: &[DeviceRow], first: usize, name: usize, most: usize, cell: usize, width: usize) -> Vec<Segment> {
    let theme = view.theme;
    let processes = || rows.iter().flat_map(|row| &row.device.processes);
    let has_failed = processes().any(|process| view.failed(process).is_some());
    let (mark, style) = if has_failed { ("✗", theme.warn()) } else { (" ", theme.strong()) };
    let title = Span::styled(columns::left(&format!("{mark}{}", cut(&rows[0].sample.host, name)), name + 2), style);
    let mut parts = vec![Segment::new(None, Line::from(title), name + 2)];
    parts.extend(rows.iter().enumerate().map(|(at, row)| one(view, row, first + at, cell)));
    let devices: Vec<&DeviceSample> = rows.iter().map(|row| &*row.device).collect();
    let mean = match most {
        1 => format!(" {}", units::ranges(&processes().filter_map(|process| process.rank).collect::<Vec<_>>())),
        _ => format!(" {}", totals::mean(&devices)),
    };
    let left = width.saturating_sub(name + 2 + rows.len() * cell);
    let mean = cut(&format!("{}{mean}", " ".repeat((most - rows.len()) * cell)), left);
    let mean = columns::left(&mean, left);
    parts.push(Segment::new(None, Line::styled(mean, theme.dim()), left));
    parts
}

/// All devices one after the other, in lines of eights where that hides none, each with the index of its first.
fn packed(view: View, rows: &[DeviceRow], hosts: &[&[DeviceRow]], width: usize, height: usize) -> Vec<Vec<Segment>> {
    let theme = view.theme;
    let room = |cell: usize| (width.saturating_sub(FIRST + 1) / cell).max(1);
    let eights = |cell: usize| if room(cell) < 8 { room(cell) } else { room(cell) / 8 * 8 };
    let fits = |per_line: usize| rows.len().div_ceil(per_line) < height;
    let cell = CELLS.into_iter().find(|cell| fits(eights(*cell))).unwrap_or(1);
    let per_line = if fits(eights(cell)) { eights(cell) } else { room(cell) };
    let shown = rows.len().min(per_line * height.saturating_sub(1));
    // Those around the cursor.
    let first = (view.cursor + 1).saturating_sub(shown).div_ceil(per_line) * per_line;
    let shown = &rows[first..rows.len().min(first + shown)];
    let hidden = match rows.len() - shown.len() {
        0 => String::new(),
        hidden => format!(" … {hidden} not shown"),
    };
    let left = width.saturating_sub(columns::width(&hidden));
    let mut heading = total(theme, hosts, left);
    heading.push_span(Span::styled(hidden, theme.warn()));
    let mut lines = vec![Segment::line(None, heading)];
    for (line, part) in shown.chunks(per_line).enumerate() {
        let first = first + line * per_line;
        // An index says nothing of one host among several.
        let number = if hosts.len() > 1 { first.to_string() } else { part[0].number() };
        let label = columns::right(&format!("{number} "), FIRST);
        let mut parts = vec![Segment::new(None, Line::styled(label, theme.dim()), FIRST)];
        parts.extend(part.iter().enumerate().map(|(at, row)| one(view, row, first + at, cell)));
        lines.push(parts);
    }
    lines
}

fn one(view: View, row: &DeviceRow, place: usize, cell: usize) -> Segment {
    let (theme, device) = (view.theme, &*row.device);
    let (text, style) = match (&device.utilization_percent, device.lost()) {
        (_, Some(_)) => ("✗".to_owned(), theme.warn()),
        (Reading::Missing { .. }, None) => ("?".to_owned(), theme.dim()),
        (Reading::Value(percent), None) if cell >= 4 => (format!("{percent:.0}"), cells::load(theme, *percent)),
        (Reading::Value(percent), None) => (cells::sign(*percent).to_owned(), cells::load(theme, *percent)),
    };
    let has_failed = device.processes.iter().any(|process| view.failed(process).is_some());
    // Where it is a sign only, nothing else on the line says so.
    let text = if has_failed && cell < 4 { "✗".to_owned() } else { text };
    let width = if cell > 1 { cell - 1 } else { 1 };
    let style = match has_failed {
        _ if place == view.cursor => theme.cursor(view.focus.here),
        true => theme.warn(),
        false => style,
    };
    let mut spans = vec![cells::right(&text, width, style)];
    spans.extend((cell > 1).then(|| Span::raw(" ")));
    Segment::new(Some(place), Line::from(spans), cell)
}

/// The device under the cursor in words, for what its cell does not say.
pub fn words(theme: Theme, row: &DeviceRow, several_hosts: bool, width: usize) -> Line<'static> {
    let host = if several_hosts { format!("{} ", row.sample.host) } else { String::new() };
    let device = &row.device;
    let figures = [device.load_name(), "memory", "temperature", "power"];
    let facts = device.facts();
    let figures = figures.into_iter().filter_map(|figure| known(&facts, figure));
    let who = Some(cells::who(&device.processes)).filter(|who| !who.is_empty());
    let text = match device.lost() {
        Some(why) => why.to_owned(),
        None => figures.chain(who).collect::<Vec<_>>().join(", "),
    };
    let name = format!(" ▸ {host}{}: ", row.title());
    let left = width.saturating_sub(columns::width(&name));
    Line::from(vec![Span::styled(cut(&name, width), theme.strong()), Span::raw(cut(&text, left))])
}

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
pub fn side_by_side(view: View, rows: &[DeviceRow], width: usize, height: usize) -> Option<Vec<Vec<Segment>>> {
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
fn what(rows: &[DeviceRow]) -> String {
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
