//! What plots share: their axes, and curves that lie over what is drawn already.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

/// Without a sign, or with a braille sign that has no dots.
pub fn is_blank(cell: &Cell) -> bool {
    matches!(cell.symbol(), " " | "\u{2800}")
}

/// Draws the axes left of `plot` and below it. Labels start in column `left`: one for each of `ticks`, by its row in the plot,
/// and `lower` at the corner.
pub fn axes(buffer: &mut Buffer, plot: Rect, left: u16, ticks: impl Iterator<Item = (u16, String)>, lower: &str, style: Style) {
    let gutter = usize::from(plot.x - left) - 1;
    for row in plot.y..plot.bottom() {
        buffer.set_string(plot.x - 1, row, "│", style);
    }
    for (row, label) in ticks {
        buffer.set_string(left, plot.y + row, format!("{label:>gutter$}┤"), style);
    }
    buffer.set_string(left, plot.bottom(), format!("{lower:>gutter$}└{}", "─".repeat(plot.width.into())), style);
}

/// Draws curves in this style. Cells that they leave blank keep what they show; in all others nothing of it remains.
pub fn overlay(buffer: &mut Buffer, plot: Rect, curves: impl Widget, style: Style) {
    let mut apart = Buffer::empty(plot);
    curves.render(plot, &mut apart);
    for at in plot.positions().filter(|at| !is_blank(&apart[*at])) {
        buffer[at] = apart[at].clone();
        buffer[at].set_style(style);
    }
}
