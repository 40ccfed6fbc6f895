//! Speed-up by number of ranks against the ideal line, drawn with characters.
//!
//! Runs are not joined by a line. Signs, not colours, tell measured points from published ones.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::runs::scaling::{Point, Scaling};
use crate::tui::widgets::Theme;

/// Columns left of the drawing, for the speed-ups.
const LABELS: usize = 7;

pub fn lines(scaling: &Scaling, theme: Theme, width: usize, height: usize) -> Vec<Line<'static>> {
    let columns = width.saturating_sub(LABELS + 1).max(8);
    let mut grid = Grid { scaling, cells: vec![vec![(' ', Style::new()); columns]; height] };
    for column in 0..columns {
        let np = column as f64 / (columns - 1) as f64 * scaling.np_end;
        if let Some(row) = grid.row(scaling.ideal(np)) {
            grid.cells[row][column] = ('·', theme.dim());
        }
    }
    grid.label_ideal(theme.dim());
    // Measured last: they lie above what was published.
    grid.points(&scaling.published, '○', theme.warn(), |_| String::new());
    grid.points(&scaling.measured, '■', theme.accent(), |point| point.label.clone());
    grid.lines(theme)
}

struct Grid<'a> {
    scaling: &'a Scaling,
    /// Rows from the top, each of columns.
    cells: Vec<Vec<(char, Style)>>,
}

impl Grid<'_> {
    fn row(&self, speedup: f64) -> Option<usize> {
        let last = self.cells.len().checked_sub(1)?;
        let from_below = (speedup / self.scaling.speedup_end * last as f64).round();
        (from_below >= 0.0 && from_below <= last as f64).then(|| last - from_below as usize)
    }

    fn column(&self, np: f64) -> usize {
        let last = self.cells.first().map_or(0, |row| row.len().saturating_sub(1));
        ((np / self.scaling.np_end * last as f64).round() as usize).min(last)
    }

    /// Left of its upper end, where nothing else is.
    fn label_ideal(&mut self, style: Style) {
        const LABEL: &str = "ideal ";
        let Some(cells) = self.cells.iter_mut().find(|cells| cells.iter().any(|(c, _)| *c == '·')) else { return };
        let Some(end) = cells.iter().position(|(c, _)| *c == '·') else { return };
        let Some(from) = end.checked_sub(LABEL.len()) else { return };
        for (cell, c) in cells[from..end].iter_mut().zip(LABEL.chars()) {
            *cell = (c, style);
        }
    }

    /// A sign for each place, with the names of all points that share it: right of it, or left where that has no room.
    fn points(&mut self, points: &[Point], sign: char, style: Style, name: impl Fn(&Point) -> String) {
        let mut places: std::collections::BTreeMap<(usize, usize), Vec<String>> = Default::default();
        for point in points {
            if let Some(row) = self.row(point.speedup) {
                places.entry((row, self.column(point.np as f64))).or_default().push(name(point));
            }
        }
        for ((row, column), names) in places {
            let names = names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
            let (wide, columns) = (names.chars().count() + 1, self.cells[row].len());
            let (from, text) = match names.as_str() {
                "" => (column, sign.to_string()),
                _ if column + wide >= columns && wide <= column => (column - wide, format!("{names} {sign}")),
                _ => (column, format!("{sign} {names}")),
            };
            for (cell, c) in self.cells[row].iter_mut().skip(from).zip(text.chars()) {
                *cell = (c, style);
            }
        }
    }

    /// Round speed-ups, at most six of them, and the row of each.
    fn ticks(&self) -> std::collections::BTreeMap<usize, String> {
        let end = self.scaling.speedup_end;
        let steps = (0..20).flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(decade)));
        // Where hardly anything is gained, half of it is worth a line.
        let mut steps = Some(0.5).filter(|_| end < 1.5).into_iter().chain(steps);
        let step = steps.find(|step| end / step < 6.0).unwrap_or(end);
        let ticks = (0..6).map(|index| f64::from(index) * step).filter(|tick| *tick <= end);
        ticks.filter_map(|tick| Some((self.row(tick)?, format!("{tick}x")))).collect()
    }

    fn lines(&self, theme: Theme) -> Vec<Line<'static>> {
        let ticks = self.ticks();
        let mut lines: Vec<Line> = self
            .cells
            .iter()
            .enumerate()
            .map(|(row, cells)| {
                let (label, axis) = ticks.get(&row).map_or(("", '│'), |label| (label.as_str(), '┤'));
                let mut spans = vec![Span::styled(format!("{label:>LABELS$}{axis}"), theme.dim())];
                spans.extend(
                    cells
                        .chunk_by(|a, b| a.1 == b.1)
                        .map(|run| Span::styled(run.iter().map(|(c, _)| *c).collect::<String>(), run[0].1)),
                );
                Line::from(spans)
            })
            .collect();
        let columns = self.cells.first().map_or(0, Vec::len);
        lines.push(Line::styled(format!("{}└{}", " ".repeat(LABELS), "─".repeat(columns)), theme.dim()));
        lines.push(Line::styled(self.ranks(columns), theme.dim()));
        lines
    }

    /// Numbers of ranks below their places, as many as fit.
    fn ranks(&self, columns: usize) -> String {
        let mut text = format!("{:>width$}", "ranks", width = LABELS + 1);
        let mut all: Vec<usize> = self.scaling.measured.iter().chain(&self.scaling.published).map(|point| point.np).collect();
        all.push(self.scaling.baseline_np);
        all.sort_unstable();
        all.dedup();
        for np in all {
            let (column, written) = (self.column(np as f64) + LABELS + 1, text.chars().count());
            let label = np.to_string();
            if (column == written || column > written + 1) && column + label.len() <= columns + LABELS + 1 {
                text.push_str(&" ".repeat(column - written));
                text.push_str(&label);
            }
        }
        text
    }
}
