//! What the devices are doing, in the room that there is: a table, totals, graphs of the last minutes, processes.
//!
//! A figure that a device does not give is `N/A`, not 0; under the cursor the reason is shown.

use crate::tui::actions::Pane;
use crate::tui::devices::state::{Devices, ORDERS, PACKED_FROM};
use crate::tui::shared::{Shared, ranks};
use crate::tui::widgets::frame::{self, Focus};
use parts::{LEAST_GRAPH, Segment, View, devices_of, is_gpu, joined, place_at};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use steps::Steps;

use crate::columns::{self, cut};
use crate::domain::device::Reading;
use crate::tui::devices::lane::DeviceRow;
use crate::tui::widgets::indented;

mod cells;
mod graph;
mod grid;
mod lanes;
mod parts;
mod processes;
mod steps;
mod table;
mod totals;

pub fn draw(frame: &mut Frame, area: Rect, devices: &Devices, shared: &Shared, focus: Focus) {
    let (failed, steps) = (ranks::failed(shared), Steps::of(shared));
    // Made once: of hundreds of ranks each row is a copy.
    let rows = devices.rows();
    let cursor = devices.place_among(&rows);
    let chosen = rows.get(cursor);
    let view = View { devices, theme: shared.theme, focus, cursor, chosen, failed: &failed, steps: &steps };
    let theme = view.theme;
    let mut block = frame::pane(theme, Pane::Devices.title(), view.focus, heading(view, area.width as usize));
    if let Some(line) = filter_line(view) {
        block = block.title_bottom(line.right_aligned());
    }
    let inner = block.inner(area);
    let wrong = match view.devices.filter.as_str() {
        _ if view.devices.hosts().next().is_none() => Some("looking for devices …"),
        _ if !rows.is_empty() => None,
        "" => Some("this host lists no devices"),
        _ => Some("no device, rank or process matches the filter: / changes it"),
    };
    if let Some(text) = wrong {
        frame.render_widget(block, area);
        let lines = indented(text, usize::from(inner.width).saturating_sub(1), theme.dim());
        return frame.render_widget(Paragraph::new(lines), inner);
    }
    let [upper, focus] = upper_and_focus(view, inner, &rows);
    let all = laid_out(upper, view, &rows);
    if all.legend_left && view.devices.filter.is_empty() {
        block = block.title_bottom(steps.legend(theme));
    }
    frame.render_widget(block, area);
    let [at_devices, at_graphs, at_processes] =
        Layout::vertical(all.heights.map(|length| Constraint::Length(length as u16))).areas(upper);
    frame.render_widget(Paragraph::new(all.lines.into_iter().map(joined).collect::<Vec<_>>()), at_devices);
    let devices = devices_of(&rows);
    graph::grid(frame, at_graphs, view, &devices);
    let processes = processes::lines(view, &devices, at_processes.width.into(), at_processes.height.into());
    frame.render_widget(Paragraph::new(processes), at_processes);
    if let Some(row) = view.chosen.filter(|_| focus.height > 0) {
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

/// The devices, and the line under the cursor below them: always where a device is a cell only, but never in the place of a lane.
fn upper_and_focus(view: View, inner: Rect, rows: &[DeviceRow]) -> [Rect; 2] {
    let height = usize::from(inner.height);
    let has_lanes = !is_grid(rows) && !view.focus.alone && rows.len() <= height;
    let has_room = height >= if has_lanes { (rows.len() + 2).max(4) } else { 4 };
    let under_cursor = u16::from((view.focus.here || is_grid(rows)) && has_room);
    Layout::vertical([Constraint::Fill(1), Constraint::Length(under_cursor)]).areas(inner)
}

/// The device whose line is under the pointer, by its place among all.
pub fn hit(devices: &Devices, shared: &Shared, focus: Focus, inner: Rect, at: Position) -> Option<usize> {
    let steps = Steps::of(shared);
    let rows = devices.rows();
    let cursor = devices.place_among(&rows);
    let view = View { devices, theme: shared.theme, focus, cursor, chosen: rows.get(cursor), failed: &[], steps: &steps };
    let (line, column) = (usize::from(at.y - inner.y), usize::from(at.x - inner.x));
    let [upper, _] = upper_and_focus(view, inner, &rows);
    place_at(laid_out(upper, view, &rows).lines.get(line)?, column)
}

/// What lies where.
struct Laid {
    lines: Vec<Vec<Segment>>,
    /// Of the lines, the graphs and the processes.
    heights: [usize; 3],
    /// The lanes have no room for the legend of their bars.
    legend_left: bool,
}

/// Lanes or the table above; below them, by importance, what there is room for: graphs and processes.
///
/// ```text
/// node 8 GPUs · mean 61 %                          (lanes, the table, several devices in a line, or a cell each)
///   0 GPU0  ███  91 %  61/141G  ████████████░░░   16 ms
/// GPU 0  GPU-Util 91 %
/// 100 ┤⣿⣿⣿
///   0 ┤⣿⣿⣿
///     └-2 min ─── -1 min ─── now
///   rank 0   4711  ada  GPU 0  61 GiB  91 %  hvd-train
/// ```
fn laid_out(area: Rect, view: View, rows: &[DeviceRow]) -> Laid {
    let (width, height) = (area.width as usize, area.height as usize);
    let devices = devices_of(rows);
    let processes = processes::count(&devices);
    // Alone on the screen GPUs have nvidia-smi's table; all else has a lane each.
    if view.focus.alone && !is_grid(rows) && rows.iter().any(|row| is_gpu(&row.device)) {
        return tabled(view, rows, (width, height), (devices.len(), processes));
    }
    let (mut lines, legend_left) = lanes_or_cells(view, rows, width, height);
    if let Some(first) = rows.first().filter(|_| !is_grid(rows) && !view.has_several_hosts()) {
        let below = lanes::below(view.theme, first.sample, width, height.saturating_sub(lines.len()));
        lines.extend(below.into_iter().map(|line| Segment::line(None, line)));
    }
    let heights = below(lines.len(), height, processes);
    Laid { lines, heights, legend_left }
}

/// The table on two lines a device or on one, with each graph below it; else with a small graph in each line, and the room is the
/// processes'.
fn tabled(view: View, rows: &[DeviceRow], (width, height): (usize, usize), (devices, processes): (usize, usize)) -> Laid {
    for shape in [2, 1] {
        let Some(lines) = table(view, rows, width, height, shape, true) else { continue };
        let (above, left) = (lines.len(), height.saturating_sub(lines.len()));
        let heights = match left.checked_sub(graph::least_height(width, devices)) {
            // Each process goes before a second line for each device.
            Some(spare) if shape == 2 && spare < processes => continue,
            Some(spare) => {
                let processes = if spare >= 2 { processes.min(spare) } else { 0 };
                [above, left - processes, processes]
            }
            None if view.devices.beside.is_some() => below(above, height, processes),
            None => continue,
        };
        return Laid { lines, heights, legend_left: false };
    }
    let lines = table(view, rows, width, height, 1, false);
    let lines = lines.unwrap_or_else(|| lanes_or_cells(view, rows, width, height).0);
    let (taken, left) = (lines.len(), height.saturating_sub(lines.len()));
    Laid { lines, heights: [taken, 0, if left >= 2 { left.min(processes) } else { 0 }], legend_left: false }
}

/// The heights of the lines above, the graphs and the processes.
fn below(above: usize, height: usize, processes: usize) -> [usize; 3] {
    let least_graph = usize::from(LEAST_GRAPH);
    match height.saturating_sub(above) {
        // A head without a process under it says nothing.
        few if few < least_graph => [above, 0, if few >= 2 { few.min(processes) } else { 0 }],
        some => {
            let processes = processes.min((some - least_graph).max(some / 3)).min(some - least_graph);
            let processes = if processes < 2 { 0 } else { processes };
            [above, some - processes, processes]
        }
    }
}

/// The table and the sum of its host; `None` where not all rows have room.
fn table(view: View, rows: &[DeviceRow], width: usize, height: usize, lines: usize, graphs: bool) -> Option<Vec<Vec<Segment>>> {
    let table = table::Table::fitting(width, lines, graphs, rows)?;
    // Several hosts have their totals as headings in the table.
    let total = Some(totals::host(view.theme, rows[0].sample, width)).filter(|_| !view.has_several_hosts());
    let table_height = table.height_of(view, rows);
    if table_height + usize::from(total.is_some()) > height && rows.len() > 1 {
        return None;
    }
    let mut lines = table.lines(view, rows, table_height.min(height));
    lines.extend(total.filter(|_| table_height < height).map(|line| Segment::line(None, line)));
    Some(lines)
}

/// The lines that show most of every lane without hiding any, and whether a legend is still to be shown.
fn lanes_or_cells(view: View, rows: &[DeviceRow], width: usize, height: usize) -> (Vec<Vec<Segment>>, bool) {
    if is_grid(rows) {
        return (grid::lines(view, rows, width, height), false);
    }
    if let Some((lines, has_legend)) = lanes::lines(view, rows, width, height) {
        return (lines, !has_legend && !view.steps.is_empty());
    }
    let columns = grid::side_by_side(view, rows, width, height);
    (columns.unwrap_or_else(|| grid::lines(view, rows, width, height)), false)
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
        0 => String::new(),
        order => format!("· by {} ", ORDERS[order].0),
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
fn fact_line(view: View, row: &DeviceRow, width: usize) -> Line<'static> {
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
