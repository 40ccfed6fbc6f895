//! The curves of all methods on scales of logarithms, each under its letter; what MPI does by itself in dashes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::canvas::Line as CanvasLine;

use super::super::crossing::crossings;
use super::super::state::{Collectives, Show};
use super::figures::{Shown, bandwidth, time};
use crate::domain::collective::bus_bandwidth;
use crate::domain::units;
use crate::tui::widgets::axis::Axis;
use crate::tui::widgets::{Theme, plot};

/// Columns of the numbers at the axis.
const GUTTER: u16 = 11;
/// A dash and the gap behind it, as parts of the whole width.
const DASH: f64 = 1.0 / 60.0;

/// Where the values are: sizes by their logarithms, and what was measured above the axis line.
#[derive(Clone, Copy)]
struct Grid {
    plot: Rect,
    sizes: (f64, f64),
    up: Axis,
}

impl Grid {
    fn of(plot: Rect, points: &[(f64, f64)]) -> Option<Grid> {
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
        };
        let (small, large) = ends(&mut points.iter().map(|point| point.0.ln()));
        let (low, high) = ends(&mut points.iter().map(|point| point.1));
        // One size stands in the middle.
        let apart = if large - small < 1e-9 { 1.0 } else { 0.0 };
        let up = Axis::log(low, high, plot.height);
        (low <= high).then_some(Grid { plot, sizes: (small - apart, large + apart), up })
    }

    fn column(&self, bytes: f64) -> Option<u16> {
        Some(self.plot.x + plot::column(self.plot.width, self.sizes, bytes.ln())?)
    }

    fn cell(&self, (bytes, value): (f64, f64)) -> Option<(u16, u16)> {
        Some((self.column(bytes)?, self.plot.y + plot::row(self.plot.height, self.up.place(value)?)?))
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
    let points: Vec<(f64, f64)> = all.iter().flatten().chain(&predicted).copied().collect();
    let Some(grid) = Grid::of(plot, &points) else {
        return vec![Line::styled(
            if own.ranks < 2 { "nothing to draw: one rank alone has no bandwidth" } else { "nothing to draw: no row has a time" },
            theme.dim(),
        )];
    };
    axes(&mut buffer, &grid, own, theme, show);
    crossing_lines(&mut buffer, &grid, own, theme);
    if let Some(column) = own.shown_size().and_then(|bytes| grid.column(bytes.max(1) as f64)) {
        (plot.y..plot.bottom()).for_each(|row| put(&mut buffer, Some((column, row)), "│", theme.strong(), true));
    }
    // The first lies in front.
    for (method, points) in shown.iter().zip(&all).rev() {
        line(&mut buffer, &grid, method, points, theme);
    }
    predicted.iter().for_each(|point| put(&mut buffer, grid.cell(*point), "×", theme.strong(), false));
    for (method, points) in shown.iter().zip(&all).rev() {
        let (letter, style) = (method.letter.to_string(), method.style.patch(theme.strong()));
        points.iter().for_each(|point| put(&mut buffer, grid.cell(*point), &letter, style, false));
    }
    plot::to_lines(&buffer)
}

/// A time at a size, or the bus bandwidth that it means.
fn shown_as(show: Show, ranks: usize, bytes: u64, seconds: f64) -> f64 {
    if show == Show::Time { seconds } else { bus_bandwidth(bytes, seconds, ranks) }
}

/// Where predictions are.
fn predicted(own: &Collectives, show: Show) -> Vec<(f64, f64)> {
    let rows = own.measured.rows.iter().filter_map(|row| Some((row.report.bytes, row.predicted_s.ok()?)));
    let points = rows.map(|(bytes, seconds)| (bytes.max(1) as f64, shown_as(show, own.ranks, bytes, seconds)));
    points.filter(|(_, value)| *value > 0.0 && value.is_finite()).collect()
}

fn put(buffer: &mut Buffer, at: Option<(u16, u16)>, sign: &str, style: Style, only_where_empty: bool) {
    if let Some(cell) = at.and_then(|at| buffer.cell_mut(at))
        && (!only_where_empty || plot::is_blank(cell))
    {
        cell.set_symbol(sign).set_style(style);
    }
}

fn axes(buffer: &mut Buffer, grid: &Grid, own: &Collectives, theme: Theme, show: Show) {
    let figure = if show == Show::Time { time } else { bandwidth };
    let plot = grid.plot;
    // `10 µs`, without decimals where there are none.
    let label = |value: f64| figure(value).replace(".0 ", " ").replace(".00 ", " ");
    plot::axes(buffer, plot, 0, grid.up.ticks().map(|tick| (tick.cell, label(tick.value))), theme.dim());
    let sizes = own.measured.sizes();
    let places: Vec<(u16, String)> =
        sizes.iter().filter_map(|bytes| Some((grid.column((*bytes).max(1) as f64)?, units::bytes(*bytes)))).collect();
    // The first label may begin below the numbers of the axis.
    let below = Rect::new(GUTTER / 2, plot.bottom() + 1, plot.width + GUTTER - GUTTER / 2, 1);
    for (from, place) in plot::labels_below(below, &places) {
        let (column, label) = &places[place];
        buffer.set_string(from, below.y, label, theme.dim());
        put(buffer, Some((*column, plot.bottom())), "┴", theme.dim(), false);
    }
}

/// Where another method becomes the fastest.
fn crossing_lines(buffer: &mut Buffer, grid: &Grid, own: &Collectives, theme: Theme) {
    for column in crossings(&own.measured).iter().filter_map(|crossing| grid.column(crossing.bytes)) {
        (grid.plot.y..grid.plot.bottom()).for_each(|row| put(buffer, Some((column, row)), "·", theme.strong(), true));
        put(buffer, Some((column, grid.plot.bottom())), "▲", theme.strong(), false);
    }
}

fn line(buffer: &mut Buffer, grid: &Grid, method: &Shown, points: &[(f64, f64)], theme: Theme) {
    let colour = method.style.fg.unwrap_or(Color::Reset);
    let (small, large) = grid.sizes;
    let spots: Vec<(f64, f64)> = points.iter().filter_map(|point| Some((point.0.ln(), grid.up.place(point.1)?))).collect();
    plot::curves(buffer, grid.plot, theme.marker(), grid.sizes, Style::new(), |context| {
        for pair in spots.windows(2) {
            let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
            let mut from = x1;
            // One piece, or many short ones.
            let step = if method.is_reference { DASH * (large - small) } else { f64::INFINITY };
            while from < x2 {
                let to = (from + step / 2.0).min(x2);
                let at = |x: f64| y1 + (y2 - y1) * (x - x1) / (x2 - x1);
                context.draw(&CanvasLine::new(from, at(from), to, at(to), colour));
                from += step;
            }
        }
    });
}
