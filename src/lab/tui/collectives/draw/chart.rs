//! Time or bus bandwidth by size: the curves, where one method becomes faster than another, and the figures at one size.
//!
//! Curves lie on scales of logarithms, each under its letter; what MPI does by itself in dashes. The figures stand in the columns
//! of nccl-tests.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::canvas::Line as CanvasLine;

use super::super::crossing::{crossings, is_reference, sentence};
use super::super::state::{Collectives, Show};
use crate::columns::{cut, left, right};
use crate::domain::collective::bus_bandwidth;
use crate::domain::{measured, units};
use crate::tui::widgets::axis::Axis;
use crate::tui::widgets::{Theme, fitting, plot, wrapped};

/// Rows of a plot that can be read, with its axis; of one that leaves room for explanations.
const LEAST_PLOT: usize = 6;
const GOOD_PLOT: usize = 13;

const SIGNS: &str = "A letter is what was measured, × what was predicted. Dashes: the library's own allreduce, for reference.";

/// A method as the chart shows it.
struct Shown<'a> {
    method: &'a str,
    letter: char,
    style: Style,
}

pub fn lines(own: &Collectives, theme: Theme, width: usize, height: usize) -> Vec<Line<'static>> {
    let letters = own.methods().into_iter().zip(('a'..='z').cycle()).enumerate();
    let shown: Vec<Shown> = letters.map(|(place, (method, letter))| Shown { method, letter, style: theme.run(place) }).collect();
    let said = sentence(&own.measured).map(|text| wrapped(&text, width, theme.strong())).unwrap_or_default();
    // The table as far as the curves leave room for it: its heading and three rows at least.
    let wanted = shown.len() + 1;
    let room = height.saturating_sub(said.len());
    let rows = wanted.min(room.saturating_sub(LEAST_PLOT)).min((room / 2).max(4));
    // Why there is no prediction, each reason once, where there is room for it.
    let refused = own.shown_size().map_or(Vec::new(), |bytes| measured::refusals(own.measured.at(bytes)));
    let refused = refused.into_iter().map(|(reason, methods)| format!("No prediction for {}: {reason}.", methods.join(", ")));
    let why: Vec<Line> = refused.chain([SIGNS.to_owned()]).flat_map(|text| wrapped(&text, width, theme.dim())).collect();
    let why = if rows == wanted && room >= rows + why.len() + GOOD_PLOT { why } else { Vec::new() };
    let mut lines = curves(own, &shown, theme, width, room.saturating_sub(rows + why.len()));
    lines.extend(said);
    lines.extend(table(own, &shown, theme, width, rows));
    lines.extend(why);
    lines
}

/// Columns of the numbers at the axis.
const GUTTER: u16 = 11;
/// A dash and the gap behind it, as parts of the whole width.
const DASH: f64 = 1.0 / 60.0;

/// A plot as it is drawn: sizes lie by their logarithms, and what was measured above the axis line.
struct Drawing {
    buffer: Buffer,
    plot: Rect,
    sizes: (f64, f64),
    up: Axis,
}

fn curves(own: &Collectives, shown: &[Shown], theme: Theme, width: usize, height: usize) -> Vec<Line<'static>> {
    let width = width.clamp(usize::from(GUTTER) + 4, u16::MAX.into()) as u16;
    let height = height.clamp(4, 200) as u16;
    let points = |method: &Shown| -> Vec<(f64, f64)> {
        let rows = own.measured.sizes().into_iter().filter_map(|bytes| own.measured.row(method.method, bytes));
        rows.filter_map(|row| spot(own, row.report.bytes, row.report.median_s)).collect()
    };
    let all: Vec<Vec<(f64, f64)>> = shown.iter().map(points).collect();
    let rows = own.measured.rows.iter();
    let predicted: Vec<(f64, f64)> = rows.filter_map(|row| spot(own, row.report.bytes, row.predicted_s.ok()?)).collect();
    let values = || all.iter().flatten().chain(&predicted);
    let ends = |of: fn(&(f64, f64)) -> f64| {
        (values().map(of).fold(f64::INFINITY, f64::min), values().map(of).fold(f64::NEG_INFINITY, f64::max))
    };
    let ((small, large), (low, high)) = (ends(|spot| spot.0.ln()), ends(|spot| spot.1));
    if values().next().is_none() {
        let why = if own.ranks < 2 { "one rank alone has no bandwidth" } else { "no row has a time" };
        return vec![Line::styled(format!("nothing to draw: {why}"), theme.dim())];
    }
    // One size stands in the middle.
    let apart = if large - small < 1e-9 { 1.0 } else { 0.0 };
    let plot = Rect::new(GUTTER, 0, width - GUTTER, height - 2);
    let mut drawing = Drawing {
        buffer: Buffer::empty(Rect::new(0, 0, width, height)),
        plot,
        sizes: (small - apart, large + apart),
        up: Axis::log(low, high, plot.height),
    };
    drawing.axes(own, theme);
    // Where another method becomes the fastest.
    for crossing in crossings(&own.measured) {
        if let Some(column) = drawing.upright(crossing.bytes, "·", theme.strong()) {
            drawing.put(Some((column, plot.bottom())), "▲", theme.strong());
        }
    }
    if let Some(bytes) = own.shown_size() {
        drawing.upright(bytes.max(1) as f64, "│", theme.strong());
    }
    // The first lies in front.
    for (method, points) in shown.iter().zip(&all).rev() {
        drawing.line(method, points, theme);
    }
    predicted.iter().for_each(|spot| drawing.put(drawing.cell(*spot), "×", theme.strong()));
    for (method, points) in shown.iter().zip(&all).rev() {
        let (letter, style) = (method.letter.to_string(), method.style.patch(theme.strong()));
        points.iter().for_each(|spot| drawing.put(drawing.cell(*spot), &letter, style));
    }
    plot::to_lines(&drawing.buffer)
}

/// A size, and the time there or the bus bandwidth that it means; `None` for what has no place on the axes.
fn spot(own: &Collectives, bytes: u64, seconds: f64) -> Option<(f64, f64)> {
    let value = if own.show == Show::Time { seconds } else { bus_bandwidth(bytes, seconds, own.ranks) };
    (value > 0.0 && value.is_finite()).then_some((bytes.max(1) as f64, value))
}

impl Drawing {
    fn column(&self, bytes: f64) -> Option<u16> {
        Some(self.plot.x + plot::column(self.plot.width, self.sizes, bytes.ln())?)
    }

    fn cell(&self, (bytes, value): (f64, f64)) -> Option<(u16, u16)> {
        Some((self.column(bytes)?, self.plot.y + plot::row(self.plot.height, self.up.place(value)?)?))
    }

    fn put(&mut self, at: Option<(u16, u16)>, sign: &str, style: Style) {
        if let Some(cell) = at.and_then(|at| self.buffer.cell_mut(at)) {
            cell.set_symbol(sign).set_style(style);
        }
    }

    /// A line through the whole plot at a size, wherever nothing is drawn yet. Gives back its column.
    fn upright(&mut self, bytes: f64, sign: &str, style: Style) -> Option<u16> {
        let column = self.column(bytes)?;
        for row in self.plot.y..self.plot.bottom() {
            self.put(Some((column, row)).filter(|at| plot::is_blank(&self.buffer[*at])), sign, style);
        }
        Some(column)
    }

    fn axes(&mut self, own: &Collectives, theme: Theme) {
        let figure = if own.show == Show::Time { time } else { bandwidth };
        let plot = self.plot;
        // `10 µs`, without decimals where there are none.
        let label = |value: f64| figure(value).replace(".0 ", " ").replace(".00 ", " ");
        plot::axes(&mut self.buffer, plot, 0, self.up.ticks().map(|tick| (tick.cell, label(tick.value))), theme.dim());
        let sizes = own.measured.sizes().into_iter();
        let places: Vec<(u16, String)> =
            sizes.filter_map(|bytes| Some((self.column(bytes.max(1) as f64)?, units::bytes(bytes)))).collect();
        // The first label may begin below the numbers of the axis.
        let below = Rect::new(GUTTER / 2, plot.bottom() + 1, plot.width + GUTTER - GUTTER / 2, 1);
        for (from, place) in plot::labels_below(below, &places) {
            let (column, label) = &places[place];
            self.buffer.set_string(from, below.y, label, theme.dim());
            self.put(Some((*column, plot.bottom())), "┴", theme.dim());
        }
    }

    fn line(&mut self, method: &Shown, points: &[(f64, f64)], theme: Theme) {
        let colour = method.style.fg.unwrap_or(Color::Reset);
        // One piece, or many short ones.
        let dash = DASH * (self.sizes.1 - self.sizes.0);
        let step = if is_reference(method.method) { dash } else { f64::INFINITY };
        let spots = points.iter().filter_map(|(bytes, value)| Some((bytes.ln(), self.up.place(*value)?)));
        let spots: Vec<(f64, f64)> = spots.collect();
        plot::curves(&mut self.buffer, self.plot, theme.marker(), self.sizes, Style::new(), |context| {
            for pair in spots.windows(2) {
                let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
                let mut from = x1;
                while from < x2 {
                    let to = (from + step / 2.0).min(x2);
                    let at = |x: f64| y1 + (y2 - y1) * (x - x1) / (x2 - x1);
                    context.draw(&CanvasLine::new(from, at(from), to, at(to), colour));
                    from += step;
                }
            }
        });
    }
}

/// Columns of letter and method.
const METHOD: usize = 26;
/// Title, width, and how early it has to give way to the others.
const COLUMNS: [(&str, usize, u8); 7] = [
    ("time", 9, 0),
    ("busbw", 10, 1),
    ("algbw", 10, 5),
    ("to fastest", 10, 6),
    ("#wrong", 6, 4),
    ("predicted", 9, 2),
    ("error", 6, 3),
];

/// What each method took at the size under the cursor.
fn table(own: &Collectives, shown: &[Shown], theme: Theme, width: usize, height: usize) -> Vec<Line<'static>> {
    let Some(bytes) = own.shown_size().filter(|_| height > 1) else { return Vec::new() };
    let columns = fitting(width.saturating_sub(METHOD), COLUMNS.iter().map(|(_, width, rank)| (*width, *rank)));
    let head: String = columns.iter().map(|column| right(COLUMNS[*column].0, COLUMNS[*column].1 + 1)).collect();
    let rows = height - 1;
    let first = own.scroll.min(shown.len().saturating_sub(rows));
    let more = if shown.len() > rows { format!(" ({}-{} of {})", first + 1, first + rows, shown.len()) } else { String::new() };
    let mut lines =
        vec![Line::styled(format!("{}{head}", left(&format!("at {}{more}", units::bytes(bytes)), METHOD)), theme.strong())];
    for method in shown.iter().skip(first).take(rows) {
        let figures: String =
            columns.iter().map(|column| right(&figure(own, method.method, bytes, *column), COLUMNS[*column].1 + 1)).collect();
        lines.push(Line::from(vec![
            Span::styled(format!("{} ", method.letter), method.style),
            Span::raw(left(method.method, METHOD - 2)),
            Span::raw(cut(&figures, width.saturating_sub(METHOD))),
        ]));
    }
    lines
}

fn figure(own: &Collectives, method: &str, bytes: u64, column: usize) -> String {
    let none = || "–".to_owned();
    let Some(row) = own.measured.row(method, bytes) else { return none() };
    let report = &row.report;
    let fastest = || own.measured.at(bytes).map(|other| other.report.median_s).fold(f64::INFINITY, f64::min);
    match column {
        0 => time(report.median_s),
        1 => bandwidth(bus_bandwidth(report.bytes, report.median_s, own.ranks)),
        2 => bandwidth(report.bytes as f64 / report.median_s),
        3 if report.median_s <= fastest() => "fastest".to_owned(),
        3 => format!("{:.2}x", report.median_s / fastest()),
        4 => report.wrong.map_or_else(none, |wrong| wrong.to_string()),
        5 => row.predicted_s.map_or_else(|_| none(), time),
        _ => row.error().map_or_else(none, |error| format!("{:+.0} %", 100.0 * error)),
    }
}

/// `12.3 µs`, `4.50 ms`, `1.20 s`.
pub fn time(seconds: f64) -> String {
    match seconds {
        _ if !seconds.is_finite() => "–".to_owned(),
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// `1.25 GB/s` as nccl-tests counts them, in powers of ten.
fn bandwidth(bytes_a_second: f64) -> String {
    match bytes_a_second {
        _ if !bytes_a_second.is_finite() => "–".to_owned(),
        b if b < 1e6 => format!("{:.1} kB/s", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB/s", b / 1e6),
        b => format!("{:.2} GB/s", b / 1e9),
    }
}
