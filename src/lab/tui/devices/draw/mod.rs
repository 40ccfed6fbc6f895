//! What the devices are doing, in the room that there is: a table, totals, graphs of the last minutes, processes.
//!
//! A figure that a device does not give is `N/A`, not 0; under the cursor the reason is shown.

use crate::tui::actions::Pane;
use crate::tui::devices::state::Devices;
use crate::tui::shared::Shared;
use crate::tui::shared::ranks;
use crate::tui::widgets::frame::{self, Focus};
use parts::{LEAST_GRAPH, Segment, View, is_gpu, joined, place_at};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::columns::{self, cut};
use crate::domain::device::Reading;
use crate::tui::devices::state::{DeviceOrder, DeviceRow, PACKED_FROM};
use crate::tui::widgets::Theme;

mod brief;
mod cells;
mod cpu;
mod graph;
mod grid;
mod parts;
mod processes;
mod table;
mod totals;

/// The lines that a graph should have.
const WISHED_GRAPH: u16 = 5;

pub fn draw(frame: &mut Frame, area: Rect, devices: &Devices, shared: &Shared, focus: Focus) {
    let failed = ranks::failed(shared);
    let view = View::new(devices, shared.theme, focus, &failed);
    let theme = view.theme;
    let mut block = frame::pane(theme, Pane::Devices.title(), view.focus, heading(view, area.width as usize));
    if let Some(line) = filter_line(view) {
        block = block.title_bottom(line.right_aligned());
    }
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let rows = view.devices.rows();
    if view.devices.hosts().next().is_none() {
        return say(frame, inner, theme, "looking for devices …");
    }
    if rows.is_empty() {
        let text = match view.devices.filter.as_str() {
            "" => "this host lists no devices",
            _ => "no device, rank or process matches the filter: / changes it",
        };
        return say(frame, inner, theme, text);
    }
    let [upper, focus] = upper_and_focus(view, inner, &rows);
    let (lines, heights) = laid_out(upper, view, &rows);
    let [at_devices, at_graphs, at_processes] =
        Layout::vertical(heights.map(|length| Constraint::Length(length as u16))).areas(upper);
    frame.render_widget(Paragraph::new(lines.into_iter().map(joined).collect::<Vec<_>>()), at_devices);
    graph::grid(frame, at_graphs, view, &rows);
    let processes = processes::lines(view, &rows, at_processes.width.into(), at_processes.height.into());
    frame.render_widget(Paragraph::new(processes), at_processes);
    if let Some(row) = view.devices.chosen().filter(|_| focus.height > 0) {
        let width = inner.width as usize;
        let line = match is_grid(&rows) {
            true => grid::words(theme, row, view.has_several_hosts(), width),
            false => fact_line(view, row, width),
        };
        frame.render_widget(line, focus);
    }
}

fn is_grid(rows: &[DeviceRow]) -> bool {
    rows.len() >= PACKED_FROM
}

/// The devices, and the line under the cursor below them: always where a device is a cell only.
fn upper_and_focus(view: View, inner: Rect, rows: &[DeviceRow]) -> [Rect; 2] {
    let under_cursor = u16::from((view.focus.here || is_grid(rows)) && inner.height >= 4);
    Layout::vertical([Constraint::Fill(1), Constraint::Length(under_cursor)]).areas(inner)
}

/// The device whose line is under the pointer, by its place among all.
pub fn hit(devices: &Devices, shared: &Shared, focus: Focus, inner: Rect, at: Position) -> Option<usize> {
    let view = View::new(devices, shared.theme, focus, &[]);
    let rows = view.devices.rows();
    let (line, column) = (usize::from(at.y - inner.y), usize::from(at.x - inner.x));
    let [upper, _] = upper_and_focus(view, inner, &rows);
    place_at(laid_out(upper, view, &rows).0.get(line)?, column)
}

/// Devices above; below them, by importance, what there is room for: graphs and processes. With the heights of all three.
///
/// ```text
/// node · 8 GPUs · mean 61 %                         (a table, several devices in a line, or a cell each)
///   0 H200  ███████  91 %  ██████  61/141G  rank 0
/// GPU 0  GPU-Util 91 %
/// 100 ┤⣿⣿⣿
///   0 ┤⣿⣿⣿
///     └-2 min ─── -1 min ─── now
///   rank 0   4711  ada  GPU 0  61 GiB  91 %  hvd-train
/// ```
fn laid_out(area: Rect, view: View, rows: &[DeviceRow]) -> (Vec<Vec<Segment>>, [usize; 3]) {
    let (width, height) = (area.width as usize, area.height as usize);
    if !is_grid(rows) && !rows.iter().any(|row| is_gpu(row.device)) {
        return cpus(view, rows, width, height);
    }
    let (lines, devices) = gpus(view, rows, width, height);
    let processes = processes::count(rows);
    let least_graph = usize::from(LEAST_GRAPH);
    let heights = match height.saturating_sub(devices) {
        // A head without a process under it says nothing.
        few if few < least_graph => [devices, 0, if few >= 2 { few.min(processes) } else { 0 }],
        some => {
            let processes = processes.min((some - least_graph).max(some / 3)).min(some - least_graph);
            let processes = if processes < 2 { 0 } else { processes };
            [devices, some - processes, processes]
        }
    };
    (lines, heights)
}

/// The lines that show most of every device without hiding any, and the room that they get.
fn gpus(view: View, rows: &[DeviceRow], width: usize, height: usize) -> (Vec<Vec<Segment>>, usize) {
    let two_lines = 2 * (rows.len() + 2) + usize::from(WISHED_GRAPH) <= height;
    let table = table::Table::fitting(width, two_lines, rows);
    // Several hosts have their totals as headings in the table.
    let total = match rows {
        [first, _, ..] if view.devices.hosts().nth(1).is_none() => Some(totals::line(view.theme, &[first.sample], width)),
        _ => None,
    };
    let table_height = table.height_of(view, rows);
    let all = table_height + usize::from(total.is_some());
    if rows.len() < PACKED_FROM && all <= height || rows.len() <= 1 {
        let mut lines = table.lines(view, rows, table_height.min(height));
        lines.extend(total.map(|line| Segment::line(None, line)));
        return (lines, all.min(height));
    }
    let brief = if rows.len() < PACKED_FROM { brief::lines(view, rows, width, height) } else { None };
    let lines = brief.unwrap_or_else(|| grid::lines(view, rows, width, height));
    let taken = lines.len();
    (lines, taken)
}

/// Hosts without a GPU, one below the other; a graph of the chosen one where there is room.
fn cpus(view: View, rows: &[DeviceRow], width: usize, height: usize) -> (Vec<Vec<Segment>>, [usize; 3]) {
    let of_hosts = |why: bool| -> Vec<Vec<Segment>> {
        let lines =
            |(place, row)| cpu::lines(view, row, width, why).into_iter().map(move |line| Segment::line(Some(place), line));
        rows.iter().copied().enumerate().flat_map(lines).collect()
    };
    // Ranks come before the reason why there is no GPU.
    let mut lines = Some(of_hosts(true)).filter(|lines| lines.len() <= height).unwrap_or_else(|| of_hosts(false));
    let graphs = Some(height.saturating_sub(lines.len())).filter(|left| *left >= usize::from(LEAST_GRAPH)).unwrap_or(0);
    let room = height - graphs;
    if lines.len() > room {
        let hidden = format!(" … {} more lines: z gives this pane the screen", lines.len() + 1 - room);
        lines.truncate(room.saturating_sub(1));
        lines.push(Segment::line(None, Line::styled(hidden, view.theme.dim())));
    }
    (lines, [room, graphs, 0])
}

fn say(frame: &mut Frame, area: Rect, theme: Theme, text: &str) {
    let lines = columns::wrap(text, area.width.saturating_sub(1) as usize);
    let lines: Vec<Line> = lines.into_iter().map(|line| Line::styled(format!(" {line}"), theme.dim())).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// The kind of devices, their hosts and their order.
fn heading(view: View, width: usize) -> Vec<Span<'static>> {
    let theme = view.theme;
    let mut hosts = view.devices.hosts();
    let Some(first) = hosts.next() else { return Vec::new() };
    let has_gpu = view.devices.hosts().any(|sample| sample.devices.iter().any(is_gpu));
    let kind = if has_gpu { "GPU" } else { "CPU" };
    let more = match hosts.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let order = match view.devices.order {
        DeviceOrder::Index => String::new(),
        order => format!("· by {} ", order.name()),
    };
    // Borders, the pane's own name, and what stands around the host's.
    let host = cut(&first.host, width.saturating_sub(21 + more.len() + order.len()));
    vec![Span::styled(format!("{kind} · {host}{more} {order}"), theme.dim())]
}

/// The filter that is in force, on the lower border.
fn filter_line(view: View) -> Option<Line<'static>> {
    if view.devices.filter.is_empty() {
        return None;
    }
    let hidden = match view.devices.hidden() {
        0 => String::new(),
        hidden => format!(" {hidden} hidden"),
    };
    let text = Span::styled(format!(" /{}", view.devices.filter), view.theme.key());
    Some(Line::from(vec![text, Span::styled(format!("{hidden} "), view.theme.dim())]))
}

/// The figure under the cursor in full: its value, or why there is none.
fn fact_line(view: View, row: DeviceRow, width: usize) -> Line<'static> {
    let theme = view.theme;
    let facts = row.device.facts();
    let Some((name, fact)) = facts.get(view.devices.field.min(facts.len().saturating_sub(1))) else { return Line::raw("") };
    let subject = format!(" ▸ {} · {name}: ", row.title());
    let (value, style) = match fact {
        Reading::Value(text) => (text.clone(), theme.strong()),
        Reading::Missing { missing } => (format!("N/A, {missing}"), theme.warn()),
    };
    let left = width.saturating_sub(columns::width(&subject));
    Line::from(vec![Span::styled(subject, theme.dim()), Span::styled(cut(&value, left), style)])
}
