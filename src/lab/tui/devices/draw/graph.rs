//! The last two minutes of each device with scale and time axis: its load, and memory or power beside it where that is asked for.
//!
//! A gap in the measurements stays empty.

use super::parts::{LEAST_GRAPH, View, known};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Color;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use ratatui::widgets::canvas::{Canvas, Line as Stroke};

use crate::columns::{self, cut};
use crate::telemetry::Point;
use crate::tui::devices::lane::DeviceRow;
use crate::tui::devices::state::BESIDE;
use crate::tui::widgets::Theme;

const SPAN_S: f64 = 120.0;
/// Below this width the time axis has no room for its words.
const LEAST_WIDTH: u16 = 30;
/// Graphs of fewer lines rather stand side by side.
const FLAT: usize = 8;
/// Higher graphs tell no more.
const MOST_HEIGHT: u16 = 24;
/// Scale and axis left of the graph.
const SCALE: u16 = 5;

/// How many graphs of so many devices stand side by side and one below the other; `None` where there is no room for any.
fn laid_out(width: usize, height: usize, devices: usize) -> Option<(usize, usize)> {
    let (least_width, least_height) = (usize::from(LEAST_WIDTH), usize::from(LEAST_GRAPH));
    if width < least_width || height < least_height || devices == 0 {
        return None;
    }
    let most_across = (width / least_width).clamp(1, devices);
    // As wide as they can be without being flat.
    let is_flat = |across: usize| height / devices.div_ceil(across) < FLAT;
    let across = (1..most_across).find(|across| !is_flat(*across)).unwrap_or(most_across);
    Some((across, devices.div_ceil(across).min(height / least_height)))
}

/// The lines in which each device gets its graph.
pub fn least_height(width: usize, devices: usize) -> usize {
    devices.div_ceil((width / usize::from(LEAST_WIDTH)).max(1)) * usize::from(LEAST_GRAPH)
}

/// Draws as many graphs as fit, the chosen device's among them, and says how many do not.
pub fn grid(frame: &mut Frame, area: Rect, view: View, rows: &[DeviceRow]) {
    let Some((across, down)) = laid_out(area.width.into(), area.height.into(), rows.len()) else { return };
    let shown = (across * down).min(rows.len());
    let chosen = view.chosen.and_then(|chosen| rows.iter().position(|row| row.is_of(&chosen.identity())));
    let first = (chosen.unwrap_or(0) + 1).saturating_sub(shown).min(rows.len() - shown);
    let hidden = rows.len() - shown;
    let height = (area.height / down as u16).min(MOST_HEIGHT);
    let lines = Layout::vertical(vec![Constraint::Length(height); down]).split(area);
    let columns = Layout::horizontal(vec![Constraint::Ratio(1, across as u32); across]);
    let places: Vec<Rect> = lines.iter().flat_map(|line| columns.split(*line).to_vec()).take(shown).collect();
    for (place, row) in places.iter().zip(&rows[first..]) {
        graph(frame, *place, view, row);
    }
    if let Some(last) = places.last().filter(|_| hidden > 0) {
        let words = Span::styled(format!(" {hidden} more "), view.theme.dim());
        frame.render_widget(Line::from(words).right_aligned(), Rect { height: 1, ..*last });
    }
}

/// The load of the last two minutes in one line.
pub fn small(view: View, row: &DeviceRow, width: usize) -> Span<'static> {
    let theme = view.theme;
    let history = view.devices.history.of(&row.sample.host, &row.device);
    let Some(history) = history else { return Span::raw(" ".repeat(width)) };
    let of_use = |columns| history.columns(|point| point.utilization_percent, row.sample.time_s, SPAN_S, columns);
    let text: String = match theme.ascii {
        true => of_use(width).into_iter().map(|part| BLOCKS[filled(part, 8)]).collect(),
        false => {
            let dots = |part| filled(part, 4);
            of_use(2 * width).chunks(2).map(|pair| braille(dots(pair[0]), dots(pair[1]))).collect()
        }
    };
    Span::styled(text, theme.accent())
}

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How many of the `parts` of a line are filled: at least one for a measured value, none for a gap.
fn filled(percent: Option<f64>, parts: usize) -> usize {
    percent.map_or(0, |percent| ((percent / 100.0 * parts as f64).round() as usize).clamp(1, parts))
}

/// Two columns of up to four dots, from below.
fn braille(left: usize, right: usize) -> char {
    const LEFT: [u32; 5] = [0, 0x40, 0x44, 0x46, 0x47];
    const RIGHT: [u32; 5] = [0, 0x80, 0xa0, 0xb0, 0xb8];
    match LEFT[left.min(4)] | RIGHT[right.min(4)] {
        0 => ' ',
        dots => char::from_u32(0x2800 | dots).unwrap_or(' '),
    }
}

/// The load, and what was asked for beside it: neither lies over the other. Where there is no room for both, it is what was asked for.
fn graph(frame: &mut Frame, area: Rect, view: View, row: &DeviceRow) {
    let Some(other) = view.devices.beside else { return plot(frame, area, view, row, None, false) };
    let halves = match area {
        _ if area.width >= 2 * LEAST_WIDTH => Layout::horizontal([Constraint::Fill(1); 2]).areas(area),
        _ if area.height >= 2 * LEAST_GRAPH => Layout::vertical([Constraint::Fill(1); 2]).areas(area),
        _ => [Rect::ZERO, area],
    };
    let alone = halves[0].is_empty();
    for (area, figure) in halves.into_iter().zip([None, Some(other)]).filter(|(area, _)| !area.is_empty()) {
        plot(frame, area, view, row, figure, alone);
    }
}

/// `alone` where it has taken the place of the load.
fn plot(frame: &mut Frame, area: Rect, view: View, row: &DeviceRow, figure: Option<usize>, alone: bool) {
    let theme = view.theme;
    let [title, body, axis] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(1)]).areas(area);
    frame.render_widget(legend(view, row, area, figure, alone), title);
    let [scale, plot] = Layout::horizontal([Constraint::Length(SCALE), Constraint::Fill(1)]).areas(body);
    frame.render_widget(Paragraph::new(scale_lines(theme, scale.height)), scale);
    frame.render_widget(Line::styled(time_axis(area.width.saturating_sub(1)), theme.dim()), axis);
    let Some(history) = view.devices.history.of(&row.sample.host, &row.device) else { return };
    // A column is left free, so that graphs side by side do not touch.
    let plot = Rect { width: plot.width.saturating_sub(1), ..plot };
    let columns = plot.width as usize * if theme.ascii { 1 } else { 2 };
    let limit = row.device.power_limit_watts.value().copied().filter(|watts| *watts > 0.0);
    let percent = |point: &Point| figure.map_or(point.utilization_percent, |beside| BESIDE[beside].1(point, limit));
    let parts = history.columns(percent, row.sample.time_s, SPAN_S, columns);
    // The words above say which figure it is: orange would mean trouble.
    let color = theme.accent().fg.unwrap_or(Color::Reset);
    let canvas = Canvas::default().marker(theme.marker()).y_bounds([0.0, 100.0]);
    let canvas = canvas.x_bounds([0.0, columns.saturating_sub(1) as f64]).paint(|context| {
        for (x, y) in parts.iter().enumerate().filter_map(|(x, part)| Some((x as f64, (*part)?.clamp(0.0, 100.0)))) {
            context.draw(&Stroke { x1: x, y1: 0.0, x2: x, y2: y, color });
        }
    });
    frame.render_widget(canvas, plot);
}

/// Which device and which figure, with the newest ones.
fn legend(view: View, row: &DeviceRow, area: Rect, figure: Option<usize>, alone: bool) -> Line<'static> {
    let theme = view.theme;
    let device = &row.device;
    let figure = figure.map_or(device.load_name(), |beside| BESIDE[beside].0);
    let drawn = format!("{figure} {}", known(&device.facts(), figure).unwrap_or_else(|| "N/A".to_owned()));
    let host =
        if view.has_several_hosts() { format!("{} ", cut(&row.sample.host, area.width as usize / 3)) } else { String::new() };
    let name = format!(" {host}{}  ", row.title());
    let left = (area.width as usize).saturating_sub(columns::width(&name));
    let drawn = cut(&drawn, left);
    let rest = if alone { format!("  (no room for {})", device.load_name()) } else { String::new() };
    let rest = cut(&rest, left.saturating_sub(columns::width(&drawn)));
    Line::from(vec![Span::styled(name, theme.strong()), Span::styled(drawn, theme.accent()), Span::styled(rest, theme.dim())])
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
