//! What a host without a GPU has below its lanes: why there is no GPU, and each core.

use ratatui::text::{Line, Span};

use crate::columns::cut;
use crate::domain::device::{Reading, TelemetrySample};
use crate::tui::devices::draw::cells::{self, percent_bar};
use crate::tui::widgets::Theme;

/// The lines that have room.
pub fn lines(theme: Theme, sample: &TelemetrySample, width: usize, height: usize) -> Vec<Line<'static>> {
    let reason = sample.gpu_missing.iter().filter(|reason| !reason.is_empty());
    let mut lines: Vec<Line> =
        reason.map(|reason| Line::styled(cut(&format!(" no GPU: {reason}"), width), theme.dim())).take(height).collect();
    let cores: Vec<Line> = sample.devices.iter().flat_map(|device| rows(theme, &device.core_percent, width)).collect();
    // Half of the cores would look like all of them.
    lines.extend(Some(cores).filter(|cores| lines.len() + cores.len() <= height).into_iter().flatten());
    lines
}

/// Cores side by side, as many as fit; many cores become one sign each.
fn rows(theme: Theme, cores: &[f64], width: usize) -> Vec<Line<'static>> {
    const CELL: usize = 22;
    if cores.len() > 16 {
        let sign = |percent: &f64| Span::styled(cells::sign(*percent), cells::load(theme, *percent));
        let per_row = width.saturating_sub(2).max(1);
        return cores
            .chunks(per_row)
            .map(|row| Line::from_iter([Span::raw(" ")].into_iter().chain(row.iter().map(sign))))
            .collect();
    }
    let per_row = (width / CELL).clamp(1, 8);
    // What is left over makes the bars longer.
    let cell_width = (width / per_row).min(40);
    let cell = |(index, percent): (usize, &f64)| {
        let mut spans = vec![Span::styled(format!(" core {index:<2} "), theme.dim())];
        spans.extend(percent_bar(theme, &Reading::Value(*percent), cell_width.saturating_sub(9)));
        spans
    };
    let cells: Vec<Vec<Span>> = cores.iter().enumerate().map(cell).collect();
    cells.chunks(per_row).map(|row| Line::from(row.concat())).collect()
}
