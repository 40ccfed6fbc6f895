//! Marks beside the curves: how a run ended that did not end well, and where it went on with another number of ranks.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::columns;
use crate::domain::run::RunState;
use crate::runs::RunId;
use crate::tui::chart::draw::trace::View;
use crate::tui::chart::state::Chart;
use crate::tui::shared::{Curves, Shared};
use crate::tui::widgets::{Theme, sign};

/// The mark, as in the table of runs where that has one, and the word. `None` for a run that finished or is still learning.
pub fn ending(chart: &Chart, shared: &Shared, run: RunId) -> Option<(&'static str, &'static str)> {
    let now = shared.watched_state(run).or_else(|| shared.summary(run).map(|run| run.status.state))?;
    let loss = chart.curves(shared, run).and_then(|curves| curves.loss.last());
    match now {
        RunState::Failed => Some((sign(now), now.name())),
        // Whatever became of it since.
        _ if loss.is_some_and(|point| !point.value.is_finite()) => Some(("!", "diverged")),
        RunState::Stopped => Some((sign(now), now.name())),
        RunState::Preparing | RunState::Running | RunState::Stopping | RunState::Finished => None,
    }
}

/// Lines across the plot with the new number of ranks. Curves are drawn over them.
pub fn handovers(buffer: &mut Buffer, plot: Rect, curves: &Curves, view: &View, theme: Theme) {
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
