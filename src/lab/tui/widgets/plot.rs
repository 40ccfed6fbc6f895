//! What plots share: the drawing of axes, and curves that lie over what is drawn already.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Context};

use crate::columns;

/// Where the middle of the axis line's cell lies below the lowest dot of the cells above it, in cells of four dots.
const BELOW: f64 = 0.37;
const ABOVE: f64 = 0.38;

/// Without a sign, or with a braille sign that has no dots.
pub fn is_blank(cell: &Cell) -> bool {
    matches!(cell.symbol(), " " | "\u{2800}")
}

/// The plot with its axis line, on which the lowest values lie.
pub fn with_axis(plot: Rect) -> Rect {
    Rect { height: plot.height + 1, ..plot }
}

/// Draws the axes left of `plot` and below it, with the labels of the ticks from column `left` on.
pub fn axes(buffer: &mut Buffer, plot: Rect, left: u16, ticks: impl Iterator<Item = (u16, String)>, style: Style) {
    let gutter = usize::from(plot.x - left) - 1;
    for row in plot.y..plot.bottom() {
        buffer.set_string(plot.x - 1, row, "│", style);
    }
    buffer.set_string(plot.x - 1, plot.bottom(), format!("└{}", "─".repeat(plot.width.into())), style);
    for (cell, label) in ticks.filter(|(cell, _)| *cell <= plot.height) {
        let corner = if cell == 0 { "└" } else { "┤" };
        buffer.set_string(left, plot.bottom() - cell, format!("{label:>gutter$}{corner}"), style);
    }
}

/// Which of these labels have room in a row, each in the middle below its column and apart from those before it, and where
/// they begin.
pub fn labels_below(area: Rect, labels: &[(u16, String)]) -> Vec<(u16, usize)> {
    let mut free = 0;
    let mut kept = Vec::new();
    for (place, (column, label)) in labels.iter().enumerate() {
        let wide = columns::width(label) as u16;
        let most = area.right().saturating_sub(wide).max(area.x);
        let from = column.saturating_sub(wide / 2).clamp(area.x, most);
        if from >= free && wide <= area.width {
            kept.push((from, place));
            free = from + wide + 1;
        }
    }
    kept
}

/// The column of what lies between the ends of a plot, with two dots a column.
pub fn column(width: u16, (from, to): (f64, f64), x: f64) -> Option<u16> {
    let dots = f64::from(width) * 2.0 - 1.0;
    let dot = (x - from) / (to - from) * dots;
    (dot > -0.5 && dot < dots + 0.5).then_some((dot.round() as u16) / 2)
}

/// The row, counted from the upper one of the plot, of what lies so many cells above the axis line.
pub fn row(height: u16, place: f64) -> Option<u16> {
    let dots = f64::from(height) * 4.0 + 3.0;
    let dot = (f64::from(height) + ABOVE - place) / (f64::from(height) + ABOVE + BELOW) * dots;
    (dot > -0.5 && dot < dots + 0.5).then_some((dot.round() as u16) / 4)
}

/// Draws curves in this style over a plot and its axis line: up is counted in cells above that. Cells that they leave blank keep what
/// they show; in all others nothing of it remains.
pub fn curves(
    buffer: &mut Buffer,
    plot: Rect,
    marker: Marker,
    (from, to): (f64, f64),
    style: Style,
    paint: impl Fn(&mut Context),
) {
    let mut apart = Buffer::empty(with_axis(plot));
    let canvas = Canvas::default().marker(marker).x_bounds([from, to]).y_bounds([-BELOW, f64::from(plot.height) + ABOVE]);
    canvas.paint(paint).render(apart.area, &mut apart);
    for at in apart.area.positions().filter(|at| !is_blank(&apart[*at])) {
        buffer[at] = apart[at].clone();
        buffer[at].set_style(style);
    }
}

/// Lines of text of what was drawn: cells of one style in a row are one piece.
pub fn to_lines(buffer: &Buffer) -> Vec<Line<'static>> {
    let row = |row: Rect| {
        let cells: Vec<(&str, Style)> = row.positions().map(|at| (buffer[at].symbol(), buffer[at].style())).collect();
        let pieces = cells.chunk_by(|a, b| a.1 == b.1);
        Line::from_iter(pieces.map(|piece| Span::styled(piece.iter().map(|(sign, _)| *sign).collect::<String>(), piece[0].1)))
    };
    buffer.area.rows().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_below_never_touch() {
        let area = Rect::new(3, 0, 20, 1);
        let labels: Vec<(u16, String)> = (3..23).map(|column| (column, "10.5 s".to_owned())).collect();
        let kept = labels_below(area, &labels);
        assert!(kept.len() >= 2 && kept.windows(2).all(|pair| pair[1].0 >= pair[0].0 + 7), "{kept:?}");
        assert!(kept.iter().all(|(from, _)| *from >= 3 && from + 6 <= 23));
    }
}
