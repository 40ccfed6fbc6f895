//! What the devices are doing, in whatever room there is: a table, totals, graphs of the last minutes, processes.
//!
//! Never shows 0 for what a device does not tell: `N/A`, and why under the cursor.

use crate::tui::actions::pane::Pane;
use crate::tui::devices::state::Devices;
use crate::tui::shared::state::Shared;
use crate::tui::widgets::frame::{self, Focus};
use parts::{LEAST_GRAPH, Placed, View, is_gpu};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::columns;
use crate::columns::cut;
use crate::domain::device::Reading;
use crate::tui::devices::state::{DeviceOrder, Row};
use crate::tui::widgets::theme::Theme;

mod cells;
mod cpu;
mod graph;
mod parts;
mod processes;
mod table;
mod totals;

/// What the pane would like to have for a graph.
const WISHED_GRAPH: u16 = 5;

pub fn draw(frame: &mut Frame, area: Rect, devices: &Devices, shared: &Shared, focus: Focus) {
    let view = View { devices, theme: shared.theme, focus };
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
            _ => "no device, rank or process has the text of the filter: / changes it",
        };
        return say(frame, inner, theme, text);
    }
    let [upper, focus] = upper_and_focus(view, inner);
    match rows.iter().any(|row| is_gpu(row.device)) {
        true => gpus(frame, upper, view, &rows),
        false => cpus(frame, upper, view, &rows),
    }
    if let Some(row) = view.devices.chosen().filter(|_| focus.height > 0) {
        frame.render_widget(fact_line(view, row, inner.width as usize), focus);
    }
}

/// The devices, and the line under the cursor below them.
fn upper_and_focus(view: View, inner: Rect) -> [Rect; 2] {
    let under_cursor = u16::from(view.focus.here && inner.height >= 4);
    Layout::vertical([Constraint::Fill(1), Constraint::Length(under_cursor)]).areas(inner)
}

/// The device whose line is under the pointer, by its place among all.
pub fn hit(devices: &Devices, shared: &Shared, focus: Focus, inner: Rect, at: Position) -> Option<usize> {
    let view = View { devices, theme: shared.theme, focus };
    let rows = view.devices.rows();
    let [upper, _] = upper_and_focus(view, inner);
    let lines = match rows.iter().any(|row| is_gpu(row.device)) {
        true => {
            let below = Below::of(view, &rows, upper.width as usize);
            let (table, [at_table, ..]) = gpu_places(upper, view, &rows, &below);
            table.lines(view, &rows, at_table.height as usize)
        }
        false => cpu_lines(upper, view, &rows).0,
    };
    lines.get(usize::from(at.y - inner.y)).and_then(|(place, _)| *place)
}

fn gpus(frame: &mut Frame, area: Rect, view: View, rows: &[Row]) {
    let below = Below::of(view, rows, area.width as usize);
    let (table, [at_table, at_totals, at_graphs, at_processes]) = gpu_places(area, view, rows, &below);
    let lines = table.lines(view, rows, at_table.height as usize).into_iter().map(|(_, line)| line);
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), at_table);
    frame.render_widget(Paragraph::new(below.totals), at_totals);
    graph::grid(frame, at_graphs, view, rows);
    frame.render_widget(Paragraph::new(below.processes), at_processes);
}

/// Lines that stand below the table, as far as there is room.
struct Below {
    totals: Vec<Line<'static>>,
    processes: Vec<Line<'static>>,
}

impl Below {
    fn of(view: View, rows: &[Row], width: usize) -> Below {
        // Several hosts have their totals as headings in the table.
        let several_hosts = view.devices.hosts().nth(1).is_some();
        let totals = match rows {
            [first, _, ..] if !several_hosts => vec![totals::line(view.theme, first.sample, width)],
            _ => Vec::new(),
        };
        Below { totals, processes: processes::lines(view, rows, width) }
    }
}

/// The table above; below it, by importance, what there is room for: totals, graphs, processes.
fn gpu_places(area: Rect, view: View, rows: &[Row], below: &Below) -> (table::Table, [Rect; 4]) {
    let (width, height) = (area.width as usize, area.height as usize);
    let Below { totals, processes } = below;
    let two_lines = 2 * (rows.len() + 2) + usize::from(WISHED_GRAPH) <= height;
    let table = table::Table::fitting(width, two_lines);
    let table_height = table.height_of(view, rows).min(height);
    let mut left = height - table_height;
    let totals_height = if left >= totals.len() { totals.len() } else { 0 };
    left -= totals_height;
    let least_graph = usize::from(LEAST_GRAPH);
    let (graph_height, processes_height) = match left {
        // A head without a process under it says nothing.
        few if few < least_graph => (0, if few >= 2 { few.min(processes.len()) } else { 0 }),
        some => {
            let processes_height = processes.len().min((some - least_graph).max(some / 3)).min(some - least_graph);
            let processes_height = if processes_height < 2 { 0 } else { processes_height };
            (some - processes_height, processes_height)
        }
    };
    let lengths = [table_height, totals_height, graph_height, processes_height].map(|length| Constraint::Length(length as u16));
    (table, Layout::vertical(lengths).areas(area))
}

/// Hosts without a GPU, one below the other; a graph of the chosen one where there is room.
fn cpus(frame: &mut Frame, area: Rect, view: View, rows: &[Row]) {
    let (lines, room) = cpu_lines(area, view, rows);
    let [text, graphs] = Layout::vertical([Constraint::Length(room), Constraint::Fill(1)]).areas(area);
    frame.render_widget(Paragraph::new(lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>()), text);
    graph::grid(frame, graphs, view, rows);
}

/// The lines of all hosts, and the room that they get.
fn cpu_lines(area: Rect, view: View, rows: &[Row]) -> (Vec<Placed<Line<'static>>>, u16) {
    let height = area.height as usize;
    let of_hosts = |why: bool| -> Vec<Placed<Line<'static>>> {
        let of_row = |(place, row): (usize, &Row)| {
            cpu::lines(view, *row, area.width as usize, why).into_iter().map(move |line| (Some(place), line))
        };
        rows.iter().enumerate().flat_map(of_row).collect()
    };
    // Ranks come before the reason why there is no GPU.
    let mut lines = Some(of_hosts(true)).filter(|lines| lines.len() <= height).unwrap_or_else(|| of_hosts(false));
    let graph_height = height.saturating_sub(lines.len());
    let graph_height = if graph_height < usize::from(LEAST_GRAPH) { 0 } else { graph_height };
    let room = height - graph_height;
    if lines.len() > room {
        let hidden = lines.len() + 1 - room.min(lines.len());
        lines.truncate(room.saturating_sub(1));
        let hidden = format!(" … {hidden} more lines: z gives this pane the screen");
        lines.push((None, Line::styled(hidden, view.theme.dim())));
    }
    (lines, room as u16)
}

fn say(frame: &mut Frame, area: Rect, theme: Theme, text: &str) {
    let lines = crate::columns::wrap(text, area.width.saturating_sub(1) as usize);
    let lines: Vec<Line> = lines.into_iter().map(|line| Line::styled(format!(" {line}"), theme.dim())).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// What kind, where, and in what order.
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
fn fact_line(view: View, row: Row, width: usize) -> Line<'static> {
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
