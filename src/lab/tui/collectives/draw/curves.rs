//! The curves of all methods on scales of logarithms, each under its letter; what MPI does by itself in dashes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::canvas::{Canvas, Line as CanvasLine};

use super::super::crossing::crossings;
use super::super::show::Show;
use super::super::state::Collectives;
use super::figures::{Shown, bandwidth, time};
use crate::domain::units;
use crate::tui::widgets::{Theme, plot};

/// Columns of the numbers at the axis.
const GUTTER: u16 = 11;
/// A dash and the gap behind it, as parts of the whole width.
const DASH: f64 = 1.0 / 60.0;

/// From the least to the most, as logarithms.
#[derive(Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>) -> Option<Scale> {
        let ends = values.filter(|value| *value > 0.0 && value.is_finite()).map(f64::ln);
        let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        // One value stands in the middle.
        let apart = if high - low < 1e-9 { 1.0 } else { 0.0 };
        (low <= high).then_some(Scale { low: low - apart, high: high + apart })
    }

    /// 0 to 1.
    fn place(self, value: f64) -> f64 {
        (value.max(f64::MIN_POSITIVE).ln() - self.low) / (self.high - self.low)
    }

    /// Round numbers, as many as there is room for.
    fn ticks(self, most: usize) -> Vec<f64> {
        let decades = (self.low / 10_f64.ln()).floor() as i32..=(self.high / 10_f64.ln()).ceil() as i32;
        let of = |digits: &'static [f64]| {
            let all = decades.clone().flat_map(move |power| digits.iter().map(move |digit| digit * 10_f64.powi(power)));
            all.filter(|tick| (-1e-9..=1.0 + 1e-9).contains(&self.place(*tick))).collect::<Vec<f64>>()
        };
        let choices = [of(&[1.0, 2.0, 5.0]), of(&[1.0])];
        choices.into_iter().find(|ticks| ticks.len() <= most).unwrap_or_else(|| of(&[1.0]).into_iter().step_by(2).collect())
    }
}

pub fn lines(own: &Collectives, shown: &[Shown], theme: Theme, show: Show, width: usize, height: usize) -> Vec<Line<'static>> {
    let (width, height) =
        (u16::try_from(width).unwrap_or(u16::MAX).max(GUTTER + 4), u16::try_from(height).unwrap_or(u16::MAX).clamp(4, 200));
    let area = Rect::new(0, 0, width, height);
    let plot = Rect::new(GUTTER, 0, width - GUTTER, height - 2);
    let mut buffer = Buffer::empty(area);
    let points = |method: &str| -> Vec<(f64, f64)> {
        let rows = own.measured.sizes().into_iter().filter_map(|bytes| own.measured.row(method, bytes));
        rows.map(|row| (row.report.bytes.max(1) as f64, shown_as(show, own.ranks, row.report.bytes, row.report.median_s)))
            .filter(|(_, value)| *value > 0.0 && value.is_finite())
            .collect()
    };
    let all: Vec<Vec<(f64, f64)>> = shown.iter().map(|method| points(method.method)).collect();
    let predicted = predicted(own, show);
    let scales = Scale::of(all.iter().flatten().map(|point| point.0))
        .zip(Scale::of(all.iter().flatten().chain(&predicted).map(|point| point.1)));
    let Some((x, y)) = scales else {
        return vec![Line::styled(
            if own.ranks < 2 { "nothing to draw: one rank alone has no bandwidth" } else { "nothing to draw: no row has a time" },
            theme.dim(),
        )];
    };
    axes(&mut buffer, plot, own, x, y, theme, show);
    crossing_lines(&mut buffer, plot, own, x, theme);
    if let Some(bytes) = own.shown_size() {
        let column = cell(plot, x.place(bytes.max(1) as f64), 0.0).0;
        for row in 0..plot.height {
            put(&mut buffer, (column, plot.y + row), "│", theme.strong(), true);
        }
    }
    // The first lies in front.
    for (method, points) in shown.iter().zip(&all).rev() {
        line(&mut buffer, plot, method, points, x, y, theme);
    }
    for point in &predicted {
        let place = cell(plot, x.place(point.0), y.place(point.1));
        put(&mut buffer, place, "×", theme.strong(), false);
    }
    for (method, points) in shown.iter().zip(&all).rev() {
        for point in points {
            let place = cell(plot, x.place(point.0), y.place(point.1));
            put(&mut buffer, place, &method.letter.to_string(), method.style.patch(theme.strong()), false);
        }
    }
    to_lines(&buffer)
}

/// A time at a size, or the bus bandwidth that it means.
fn shown_as(show: Show, ranks: usize, bytes: u64, seconds: f64) -> f64 {
    let ranks = ranks as f64;
    if show == Show::Time { seconds } else { bytes as f64 / seconds * 2.0 * (ranks - 1.0) / ranks }
}

/// Where predictions are.
fn predicted(own: &Collectives, show: Show) -> Vec<(f64, f64)> {
    let rows = own.measured.rows.iter().filter_map(|row| Some((row.report.bytes, row.predicted_s.ok()?)));
    let points = rows.map(|(bytes, seconds)| (bytes.max(1) as f64, shown_as(show, own.ranks, bytes, seconds)));
    points.filter(|(_, value)| *value > 0.0 && value.is_finite()).collect()
}

/// The cell of a place from 0 to 1 both ways.
fn cell(plot: Rect, x: f64, y: f64) -> (u16, u16) {
    let along = |part: f64, cells: u16| (part.clamp(0.0, 1.0) * f64::from(cells.saturating_sub(1))).round() as u16;
    (plot.x + along(x, plot.width), plot.bottom() - 1 - along(y, plot.height))
}

fn put(buffer: &mut Buffer, at: (u16, u16), sign: &str, style: Style, only_where_empty: bool) {
    if let Some(cell) = buffer.cell_mut(at)
        && (!only_where_empty || plot::is_blank(cell))
    {
        cell.set_symbol(sign).set_style(style);
    }
}

fn axes(buffer: &mut Buffer, plot: Rect, own: &Collectives, x: Scale, y: Scale, theme: Theme, show: Show) {
    let figure = if show == Show::Time { time } else { bandwidth };
    let ticks = y.ticks(usize::from(plot.height / 2).max(2)).into_iter().map(|tick| {
        // `10 µs`, without decimals where there are none.
        (cell(plot, 0.0, y.place(tick)).1, figure(tick).replace(".0 ", " ").replace(".00 ", " "))
    });
    plot::axes(buffer, plot, 0, ticks, "", theme.dim());
    let mut end = 0;
    let sizes = own.measured.sizes();
    let places = sizes.iter().map(|bytes| (cell(plot, x.place((*bytes).max(1) as f64), 0.0).0, units::bytes(*bytes)));
    for (column, label) in places {
        let wide = label.chars().count() as u16;
        let from = column.saturating_sub(wide / 2).min(plot.right().saturating_sub(wide));
        if from >= end {
            buffer.set_string(from, plot.bottom() + 1, &label, theme.dim());
            put(buffer, (column, plot.bottom()), "┴", theme.dim(), false);
            end = from + wide + 1;
        }
    }
}

/// Where another method becomes the fastest.
fn crossing_lines(buffer: &mut Buffer, plot: Rect, own: &Collectives, x: Scale, theme: Theme) {
    for crossing in crossings(&own.measured) {
        let column = cell(plot, x.place(crossing.bytes), 0.0).0;
        for row in plot.y..plot.bottom() {
            put(buffer, (column, row), "·", theme.warn(), true);
        }
        put(buffer, (column, plot.bottom()), "▲", theme.warn(), false);
    }
}

fn line(buffer: &mut Buffer, plot: Rect, method: &Shown, points: &[(f64, f64)], x: Scale, y: Scale, theme: Theme) {
    let colour = method.style.fg.unwrap_or(Color::Reset);
    let canvas = Canvas::default().marker(theme.marker()).x_bounds([0.0, 1.0]).y_bounds([0.0, 1.0]);
    let canvas = canvas.paint(|context| {
        for pair in points.windows(2) {
            let [(x1, y1), (x2, y2)] = [pair[0], pair[1]].map(|point| (x.place(point.0), y.place(point.1)));
            let mut from = x1;
            // One piece, or many short ones.
            let step = if method.is_reference { DASH } else { f64::INFINITY };
            while from < x2 {
                let to = (from + step / 2.0).min(x2);
                let at = |x: f64| y1 + (y2 - y1) * (x - x1) / (x2 - x1);
                context.draw(&CanvasLine::new(from, at(from), to, at(to), colour));
                from += step;
            }
        }
    });
    plot::overlay(buffer, plot, canvas, Style::new());
}

/// Cells of one style in a row are one piece of text.
fn to_lines(buffer: &Buffer) -> Vec<Line<'static>> {
    let row = |row: Rect| {
        let cells: Vec<(&str, Style)> = row.positions().map(|at| (buffer[at].symbol(), buffer[at].style())).collect();
        let pieces = cells.chunk_by(|a, b| a.1 == b.1);
        Line::from_iter(pieces.map(|piece| Span::styled(piece.iter().map(|(sign, _)| *sign).collect::<String>(), piece[0].1)))
    };
    buffer.area.rows().map(row).collect()
}
