//! The last two minutes of each device: use as an area, memory as a line over it, with scale and time axis.
//!
//! Never draws over a gap: what was not measured stays empty.

use super::parts::{LEAST_GRAPH, View};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use ratatui::widgets::canvas::{Canvas, Line as Stroke, Points};

use crate::columns;
use crate::columns::cut;
use crate::domain::device::Reading;
use crate::telemetry::DeviceHistory;
use crate::tui::devices::draw::cells;
use crate::tui::devices::state::Row;
use crate::tui::widgets::theme::Theme;

const SPAN_S: f64 = 120.0;
/// Below this width the time axis has no room for its words.
const LEAST_WIDTH: u16 = 30;
/// Graphs of fewer lines rather stand side by side.
const FLAT: usize = 8;
/// With fewer lines the line of the memory would hide the area below it.
const LEAST_FOR_MEMORY: u16 = 5;
/// Higher graphs tell no more.
const MOST_HEIGHT: u16 = 14;
/// Scale and axis left of the graph.
const SCALE: u16 = 5;

/// As many graphs as have room, the chosen device's among them.
pub fn grid(frame: &mut Frame, area: Rect, view: View, rows: &[Row]) {
    if area.height < LEAST_GRAPH || area.width < LEAST_WIDTH || rows.is_empty() {
        return;
    }
    let most_across = usize::from(area.width / LEAST_WIDTH).clamp(1, rows.len());
    let most_down = usize::from(area.height / LEAST_GRAPH).max(1);
    // As wide as they can be without being flat.
    let is_flat = |across: usize| usize::from(area.height) / rows.len().div_ceil(across) < FLAT;
    let across = (1..most_across).find(|across| !is_flat(*across)).unwrap_or(most_across);
    let down = rows.len().div_ceil(across).min(most_down);
    let shown = (across * down).min(rows.len());
    let first = (view.devices.cursor() + 1).saturating_sub(shown).min(rows.len() - shown);
    let height = (area.height / down as u16).min(MOST_HEIGHT);
    let lines = Layout::vertical(vec![Constraint::Length(height); down]).split(area);
    let mut left = rows[first..first + shown].iter();
    for line in lines.iter() {
        let places = Layout::horizontal(vec![Constraint::Ratio(1, across as u32); across]).split(*line);
        for place in places.iter() {
            if let Some(row) = left.next() {
                graph(frame, *place, view, *row);
            }
        }
    }
}

/// The use of the last two minutes in one line, and what it is now: as high as the line is 100 %.
pub fn small(view: View, row: Row, width: usize) -> Vec<Span<'static>> {
    let theme = view.theme;
    let now = match &row.device.utilization_percent {
        Reading::Value(percent) => cells::right(&format!("{percent:.0} %"), cells::NUMBER.min(width), theme.text()),
        Reading::Missing { .. } => cells::right("N/A", cells::NUMBER.min(width), theme.dim()),
    };
    let signs = width.saturating_sub(cells::NUMBER);
    let history = view.devices.history.of(&row.sample.host, row.device);
    let of_use =
        |columns| history.map(|history| history.columns(|point| point.utilization_percent, row.sample.time_s, SPAN_S, columns));
    let line = match theme.ascii {
        true => of_use(signs).map(|parts| parts.into_iter().map(block).collect()),
        false => of_use(2 * signs).map(|parts| parts.chunks(2).map(|pair| braille(pair[0], pair[1])).collect()),
    };
    vec![Span::styled(line.unwrap_or_else(|| " ".repeat(signs)), theme.accent()), now]
}

/// How many of so many parts are filled: one at least for what was measured, none for a gap.
fn filled(percent: Option<f64>, parts: usize) -> usize {
    percent.map_or(0, |percent| ((percent / 100.0 * parts as f64).round() as usize).clamp(1, parts))
}

fn block(percent: Option<f64>) -> char {
    [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][filled(percent, 8)]
}

/// Two columns of up to four dots, from below.
fn braille(left: Option<f64>, right: Option<f64>) -> char {
    const LEFT: [u32; 5] = [0, 0x40, 0x44, 0x46, 0x47];
    const RIGHT: [u32; 5] = [0, 0x80, 0xa0, 0xb0, 0xb8];
    match LEFT[filled(left, 4)] | RIGHT[filled(right, 4)] {
        0 => ' ',
        dots => char::from_u32(0x2800 | dots).unwrap_or(' '),
    }
}

fn graph(frame: &mut Frame, area: Rect, view: View, row: Row) {
    let theme = view.theme;
    let [title, body, axis] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(1)]).areas(area);
    frame.render_widget(legend(theme, row, area), title);
    let [scale, plot] = Layout::horizontal([Constraint::Length(SCALE), Constraint::Fill(1)]).areas(body);
    frame.render_widget(Paragraph::new(scale_lines(theme, scale.height)), scale);
    frame.render_widget(Line::styled(time_axis(area.width.saturating_sub(1)), theme.dim()), axis);
    let Some(history) = view.devices.history.of(&row.sample.host, row.device) else { return };
    // A column is left free, so that graphs side by side do not touch.
    let plot = Rect { width: plot.width.saturating_sub(1), ..plot };
    area_and_line(frame, plot, theme, history, row.sample.time_s);
}

fn area_and_line(frame: &mut Frame, plot: Rect, theme: Theme, history: &DeviceHistory, end_s: f64) {
    let columns = plot.width as usize * if theme.ascii { 1 } else { 2 };
    let of_use = history.columns(|point| point.utilization_percent, end_s, SPAN_S, columns);
    let of_memory = history.columns(|point| point.memory_percent, end_s, SPAN_S, columns);
    let colour = |style: Style| style.fg.unwrap_or(Color::Reset);
    let hides_nothing = of_use.iter().all(Option::is_none);
    let has_line = plot.height >= LEAST_FOR_MEMORY || hides_nothing;
    let canvas = Canvas::default().marker(theme.marker()).y_bounds([0.0, 100.0]);
    let canvas = canvas.x_bounds([0.0, columns.saturating_sub(1) as f64]).paint(|context| {
        for (x, y) in measured(&of_use) {
            context.draw(&Stroke { x1: x, y1: 0.0, x2: x, y2: y, color: colour(theme.accent()) });
        }
        if has_line {
            // A layer of its own: the line stands free of the area, so that it shows without colour as well.
            context.layer();
            let memory: Vec<(f64, f64)> = measured(&of_memory).collect();
            context.draw(&Points { coords: &memory, color: colour(theme.warn()) });
        }
    });
    frame.render_widget(canvas, plot);
}

fn measured(columns: &[Option<f64>]) -> impl Iterator<Item = (f64, f64)> {
    columns.iter().enumerate().filter_map(|(x, y)| Some((x as f64, y.as_ref()?.clamp(0.0, 100.0))))
}

/// Which device, and what the two colours mean, with the newest figures.
fn legend(theme: Theme, row: Row, area: Rect) -> Line<'static> {
    let percent = |reading: &Reading<f64>| reading.value().map_or("N/A".to_owned(), |percent| format!("{percent:.0} %"));
    let of_use = format!("█ use {}", percent(&row.device.utilization_percent));
    // The line's sign only where there is a line: title and axis are not part of the plot.
    let has_line = area.height >= LEAST_FOR_MEMORY + 2 || row.device.utilization_percent.value().is_none();
    let sign = if has_line { "─ " } else { "" };
    let of_memory = format!("  {sign}memory {}", percent(&row.device.memory_percent()));
    let name = format!(" {}  ", row.title());
    let left = (area.width as usize).saturating_sub(columns::width(&name) + columns::width(&of_use));
    Line::from(vec![
        Span::styled(name, theme.strong()),
        Span::styled(of_use, theme.accent()),
        Span::styled(cut(&of_memory, left), theme.warn()),
    ])
}

/// 100, 50 where there is room, and 0, each at its height.
fn scale_lines(theme: Theme, height: u16) -> Vec<Line<'static>> {
    let last = height.saturating_sub(1);
    let label = |line: u16| match line {
        0 => "100 ┤",
        line if line == last => "  0 ┤",
        line if last >= 4 && line == last.div_ceil(2) => " 50 ┤",
        _ => "    │",
    };
    (0..height).map(|line| Line::styled(label(line), theme.dim())).collect()
}

fn time_axis(width: u16) -> String {
    let room = (width as usize).saturating_sub(SCALE as usize);
    let (start, middle, end) = ("-2 min", "-1 min", "now");
    let first = (room / 2).saturating_sub(start.len() + middle.len() / 2);
    let second = room.saturating_sub(start.len() + first + middle.len() + end.len());
    format!("{:>5}{start}{}{middle}{}{end}", "└", "─".repeat(first), "─".repeat(second))
}
