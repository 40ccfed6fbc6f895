//! Speed-up by number of ranks against the ideal line, drawn with characters.
//!
//! Never joins runs by a line, and never needs a colour: signs say what is measured and what was published.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::runs::scaling::{Point, Scaling};
use crate::tui::widgets::theme::Theme;

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
    // Measured last: they lie above what was published.
    grid.points(&scaling.published, '○', theme.warn(), |_| String::new());
    grid.points(&scaling.measured, '■', theme.accent(), |point| point.label.trim_start_matches("run ").to_owned());
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

    /// A sign for each place, with the names of all points that share it, as far as they fit.
    fn points(&mut self, points: &[Point], sign: char, style: Style, name: impl Fn(&Point) -> String) {
        let mut places: std::collections::BTreeMap<(usize, usize), Vec<String>> = Default::default();
        for point in points {
            if let Some(row) = self.row(point.speedup) {
                places.entry((row, self.column(point.np as f64))).or_default().push(name(point));
            }
        }
        for ((row, column), names) in places {
            let text = format!("{sign}{}", names.join(","));
            for (cell, c) in self.cells[row].iter_mut().skip(column).zip(text.chars()) {
                *cell = (c, style);
            }
        }
    }

    fn lines(&self, theme: Theme) -> Vec<Line<'static>> {
        let last = self.cells.len().saturating_sub(1);
        let ticks = [0, last / 2, last];
        let mut lines: Vec<Line> = self
            .cells
            .iter()
            .enumerate()
            .map(|(row, cells)| {
                let speedup = (last - row) as f64 / last.max(1) as f64 * self.scaling.speedup_end;
                let label = if ticks.contains(&row) { format!("{speedup:.1}×") } else { String::new() };
                let mut spans = vec![Span::styled(format!("{label:>LABELS$}│"), theme.dim())];
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
        let mut text = format!("{:>width$}", "np", width = LABELS + 1);
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
