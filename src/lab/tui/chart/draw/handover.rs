//! Where a run went on with another number of ranks: a line across the plot, with that number.
//!
//! Curves are drawn over it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::columns;
use crate::tui::chart::draw::trace::View;
use crate::tui::shared::curves::Curves;
use crate::tui::widgets::theme::Theme;

pub fn draw(buffer: &mut Buffer, plot: Rect, curves: &Curves, view: &View, theme: Theme) {
    let sign = if theme.ascii { ":" } else { "┊" };
    // Where two are close, the first label leaves no room for the second: its line is there all the same.
    let mut free = 0;
    for point in &curves.handovers {
        let Some(column) = view.column(point.x(view.along)) else { continue };
        for row in plot.top()..plot.bottom() {
            buffer.set_string(plot.x + column, row, sign, theme.dim());
        }
        let label = format!("np {}", point.value);
        let end = usize::from(column) + 1 + columns::width(&label);
        if usize::from(column) >= free && end <= usize::from(plot.width) {
            free = end;
            buffer.set_string(plot.x + column + 1, plot.y, label, theme.dim());
        }
    }
}
