//! What ranks gain, by their number, from 1 on: measured, published or simulated, beside what would be ideal.
//!
//! Each mark has its figure beside it. Runs are not joined by a line. Signs, not colours, tell measured points from others.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::canvas::{Line as CanvasLine, Points};

use crate::columns;
use crate::tui::widgets::Theme;
use crate::tui::widgets::axis::Axis;
use crate::tui::widgets::plot;

/// A run, a published result or a simulated size.
pub struct Mark {
    pub np: usize,
    pub value: f64,
    /// What stands beside it.
    pub label: String,
    pub is_measured: bool,
}

pub struct ScalingChart {
    /// Measured ones last: they lie in front.
    pub marks: Vec<Mark>,
    /// The right end.
    pub np_end: usize,
    /// Twice the ranks are as far apart everywhere.
    pub log_ranks: bool,
    /// Twice the value is as high everywhere.
    pub log_values: bool,
    pub is_joined: bool,
    pub ideal: Box<dyn Fn(f64) -> f64>,
    /// How a value reads at the axis, whose numbers are so far apart.
    pub figure: fn(f64, f64) -> String,
    /// There is nothing above it.
    pub most: f64,
}

/// As many lines as `height`: the last two are the axis and the numbers of ranks.
pub fn lines(chart: &ScalingChart, theme: Theme, width: usize, height: usize) -> Vec<Line<'static>> {
    let (width, height) = (width.clamp(24, 400) as u16, height.clamp(5, 200) as u16);
    let cells = height - 2;
    let ideal = [1.0, chart.np_end as f64].map(&chart.ideal);
    let values = || chart.marks.iter().map(|mark| mark.value).chain(ideal);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let axis = if chart.log_values { Axis::log(low, high, cells) } else { Axis::linear(low, high, cells) };
    let ticks = axis.ticks().filter(|tick| tick.value <= chart.most * (1.0 + 1e-9));
    let ticks: Vec<(u16, String)> = ticks.map(|tick| (tick.cell, (chart.figure)(tick.value, tick.step))).collect();
    let gutter = ticks.iter().map(|(_, label)| columns::width(label)).chain([RANKS.len()]).max().unwrap_or_default() as u16;
    let place = Rect::new(gutter + 1, 0, width - gutter - 1, cells);
    let mut drawing =
        Drawing { chart, theme, axis, plot: place, buffer: Buffer::empty(Rect::new(0, 0, width, height)), taken: Vec::new() };
    plot::axes(&mut drawing.buffer, place, 0, ticks.into_iter(), theme.dim());
    drawing.ranks();
    drawing.ideal();
    drawing.marks();
    plot::to_lines(&drawing.buffer)
}

const RANKS: &str = "ranks";
const IDEAL: &str = "ideal";
/// Columns of a label and of the room around it.
const LABEL: usize = 8;
/// Rows around a mark that its label may take.
const NEAR: [i32; 7] = [0, -1, 1, -2, 2, -3, 3];

struct Drawing<'a> {
    chart: &'a ScalingChart,
    theme: Theme,
    axis: Axis,
    plot: Rect,
    buffer: Buffer,
    /// Row, first column and last one of marks and labels.
    taken: Vec<(u16, u16, u16)>,
}

impl Drawing<'_> {
    fn along(&self, np: f64) -> f64 {
        if self.chart.log_ranks { np.ln() } else { np }
    }

    fn ends(&self) -> (f64, f64) {
        (self.along(1.0), self.along(self.chart.np_end.max(2) as f64))
    }

    /// Column and row on the drawing.
    fn cell(&self, np: f64, value: f64) -> Option<(u16, u16)> {
        let column = plot::column(self.plot.width, self.ends(), self.along(np))?;
        Some((self.plot.x + column, self.plot.y + plot::row(self.plot.height, self.axis.place(value)?)?))
    }

    /// Numbers of ranks below their places: where they are evenly spaced every one, every second and so on, else those that fit.
    fn ranks(&mut self) {
        let (chart, plot) = (self.chart, self.plot);
        let row = Rect { y: plot.bottom() + 1, height: 1, x: plot.x - 1, width: plot.width + 1 };
        let mut all: Vec<usize> = chart.marks.iter().map(|mark| mark.np).chain([1, chart.np_end]).collect();
        all.sort_unstable();
        all.dedup();
        let of = |every: usize| {
            let some = all.iter().step_by(every);
            some.filter_map(|np| Some((plot.x + plot::column(plot.width, self.ends(), self.along(*np as f64))?, np.to_string())))
                .collect::<Vec<_>>()
        };
        let fits = |labels: &Vec<(u16, String)>| plot::labels_below(row, labels).len() == labels.len();
        let even = (1..=all.len()).map(of).find(fits).filter(|_| chart.log_ranks);
        let labels = even.unwrap_or_else(|| of(1));
        for (from, place) in plot::labels_below(row, &labels) {
            self.buffer.set_string(labels[place].0, plot.bottom(), "┬", self.theme.dim());
            self.buffer.set_string(from, row.y, &labels[place].1, self.theme.dim());
        }
        self.buffer.set_string(plot.x - 1 - RANKS.len() as u16, row.y, RANKS, self.theme.dim());
    }

    fn ideal(&mut self) {
        let (from, to) = self.ends();
        let dots = i32::from(self.plot.width) * 2 - 1;
        let spots = (0..=dots).step_by(3).filter_map(|dot| {
            let along = from + (to - from) * f64::from(dot) / f64::from(dots);
            let np = if self.chart.log_ranks { along.exp() } else { along };
            Some((along, self.axis.place((self.chart.ideal)(np))?))
        });
        let coords: Vec<(f64, f64)> = spots.collect();
        let marker = if self.theme.ascii { Marker::Custom('.') } else { Marker::Braille };
        let curve = Points { coords: &coords, color: Color::Reset };
        plot::curves(&mut self.buffer, self.plot, marker, (from, to), self.theme.dim(), |context| context.draw(&curve));
    }

    fn marks(&mut self) {
        let chart = self.chart;
        if chart.is_joined {
            self.joined();
        }
        // Along a line the eye needs some figures only, and the last one.
        let room = usize::from(self.plot.width) / chart.marks.len().max(1);
        let every = if chart.is_joined { LABEL.div_ceil(room.max(1)) } else { 1 };
        let has_label = |place: usize| (chart.marks.len() - 1 - place).is_multiple_of(every);
        let mut places: Vec<((u16, u16), String, Style)> = Vec::new();
        for (place, mark) in chart.marks.iter().enumerate() {
            let Some(cell) = self.cell(mark.np as f64, mark.value) else { continue };
            let style = if mark.is_measured { self.theme.accent() } else { Style::new() };
            match mark.is_measured && !self.theme.ascii {
                true => self.dots(cell.0, mark.value, style),
                false => _ = self.buffer[cell].set_symbol(if mark.is_measured { "■" } else { "○" }).set_style(style),
            }
            self.taken.push((cell.1, cell.0, cell.0));
            // Marks that share a place share a label.
            match places.iter_mut().find(|(other, text, _)| *other == cell && !text.is_empty()) {
                Some((_, text, _)) if !mark.label.is_empty() => *text = format!("{text}, {}", mark.label),
                _ if has_label(place) => places.push((cell, mark.label.clone(), style)),
                _ => {}
            }
        }
        places.iter().filter(|(_, text, _)| !text.is_empty()).for_each(|(cell, text, style)| self.label(*cell, text, *style));
        if let Some(end) = self.cell(chart.np_end as f64, (chart.ideal)(chart.np_end as f64)) {
            self.label(end, IDEAL, self.theme.dim());
        }
    }

    /// A mark of two by three dots, around the dot of its value.
    fn dots(&mut self, column: u16, value: f64, style: Style) {
        let Some(place) = self.axis.place(value) else { return };
        let first = f64::from(column - self.plot.x) * 2.0;
        let coords: Vec<(f64, f64)> =
            [first, first + 1.0].iter().flat_map(|x| [-0.25, 0.0, 0.25].map(|up| (*x, place + up))).collect();
        let ends = (0.0, f64::from(self.plot.width) * 2.0 - 1.0);
        let mark = Points { coords: &coords, color: style.fg.unwrap_or(Color::Reset) };
        plot::curves(&mut self.buffer, self.plot, Marker::Braille, ends, style, |context| context.draw(&mark));
    }

    fn joined(&mut self) {
        let spots = self.chart.marks.iter().filter_map(|mark| Some((self.along(mark.np as f64), self.axis.place(mark.value)?)));
        let spots: Vec<(f64, f64)> = spots.collect();
        let (marker, ends) = (self.theme.marker(), self.ends());
        plot::curves(&mut self.buffer, self.plot, marker, ends, self.theme.accent(), |context| {
            for pair in spots.windows(2) {
                context.draw(&CanvasLine::new(pair[0].0, pair[0].1, pair[1].0, pair[1].1, Color::Reset));
            }
        });
    }

    /// Right of its mark, left of it, or above or below: where nothing is, or else where only a line is.
    fn label(&mut self, (column, row): (u16, u16), text: &str, style: Style) {
        let wide = columns::width(text) as u16;
        let middle = column.saturating_sub(wide / 2).clamp(self.plot.x, self.plot.right().saturating_sub(wide).max(self.plot.x));
        let places = NEAR.iter().flat_map(|down| {
            let at = i32::from(row) + down;
            let row = u16::try_from(at).ok().filter(|at| (self.plot.y..self.plot.bottom()).contains(at));
            let beside = [Some(column + 2), column.checked_sub(wide + 1)].map(|from| from.filter(|_| !self.chart.is_joined));
            let across = Some(middle).filter(|_| *down != 0);
            beside.into_iter().chain([across]).filter_map(move |from| Some((row?, from?)))
        });
        let has_room = |(row, from): &(u16, u16)| {
            let to = from + wide;
            let is_taken = |(at, first, last): &(u16, u16, u16)| at == row && *first <= to && last + 1 >= *from;
            *from >= self.plot.x && to <= self.plot.right() && !self.taken.iter().any(is_taken)
        };
        let places: Vec<(u16, u16)> = places.filter(has_room).collect();
        let is_blank = |(row, from): &&(u16, u16)| (*from..from + wide).all(|x| plot::is_blank(&self.buffer[(x, *row)]));
        if let Some((row, from)) = places.iter().find(is_blank).or(places.first()).copied() {
            self.buffer.set_string(from, row, text, style);
            self.taken.push((row, from, from + wide - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(marks: &[(usize, f64)], is_speedup: bool) -> ScalingChart {
        let mark = |(place, (np, value)): (usize, &(usize, f64))| {
            let label = format!("run {} {value:.2}x", place + 1);
            Mark { np: *np, value: *value, label, is_measured: true }
        };
        ScalingChart {
            np_end: marks.iter().map(|mark| mark.0).max().unwrap_or(2).max(2),
            marks: marks.iter().enumerate().map(mark).collect(),
            log_ranks: !is_speedup,
            log_values: false,
            is_joined: false,
            ideal: if is_speedup { Box::new(|np| np) } else { Box::new(|_| 1.0) },
            figure: crate::tui::widgets::axis::decimals,
            most: f64::INFINITY,
        }
    }

    fn text(chart: &ScalingChart, width: usize, height: usize) -> Vec<String> {
        let lines = lines(chart, Theme { colour: true, ..Theme::default() }, width, height);
        assert_eq!(lines.len(), height);
        lines.into_iter().map(|line| line.to_string()).collect()
    }

    #[test]
    fn each_mark_has_its_figure_beside_it_and_ranks_begin_at_one() {
        for (width, height) in [(50, 12), (56, 14), (76, 14), (140, 32)] {
            let text = text(&chart(&[(1, 1.0), (2, 1.89), (4, 3.1)], true), width, height);
            let at =
                |words: &str| text.iter().position(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {text:#?}"));
            assert!(at("run 3 3.10x") < at("run 2 1.89x") && at("run 2 1.89x") < at("run 1 1.00x"), "{text:#?}");
            assert!(text.concat().contains("ideal"));
            let ranks: Vec<&str> = text[height - 1].split_whitespace().collect();
            assert_eq!(ranks, ["ranks", "1", "2", "4"]);
            // The first of them stands below the axis.
            let corner = text[height - 2].chars().position(|c| c == '└').unwrap();
            let one = text[height - 1].chars().position(|c| c == '1').unwrap();
            assert!(one.abs_diff(corner + 1) <= 1, "{text:#?}");
        }
    }

    #[test]
    fn less_than_a_row_shows() {
        let drawn =
            |speedup: f64| text(&chart(&[(2, speedup), (4, 4.0)], true), 76, 14).concat().replace(|c: char| c.is_ascii(), "");
        assert!(drawn(1.50) != drawn(1.56), "a quarter of a row is a dot");
    }

    #[test]
    fn labels_are_whole_and_apart_whatever_is_measured() {
        let many: Vec<(usize, f64)> = (0..9).map(|run| (1 + run % 3, 0.8 + 0.07 * run as f64)).collect();
        for marks in [&many[..], &[(2, 1.9), (2, 1.9), (2, 1.89), (2, 1.88)], &[(1, 1.0)], &[(8, f64::NAN), (2, 1e9)], &[]] {
            for width in [24, 40, 60, 100] {
                for height in [5, 10, 30] {
                    let text = text(&chart(marks, true), width, height);
                    for line in &text {
                        assert!(columns::width(line) == width, "{line}");
                        // Every label is followed by a space, a dot of the plot or the end.
                        for (at, _) in line.match_indices("x") {
                            assert!(!line[at + 1..].starts_with(|c: char| c.is_ascii_alphanumeric()), "{line}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn powers_of_two_are_evenly_spaced() {
        let sizes: Vec<(usize, f64)> = (0..11).map(|power| (1 << power, 1.0 - 0.06 * power as f64)).collect();
        for width in [40, 76, 140] {
            let text = text(&chart(&sizes, false), width, 14);
            let last = text.last().unwrap();
            let middle = |word: &str| {
                let at = last.find(&format!(" {word} ")).or(last.find(&format!(" {word}"))).unwrap() + 1;
                at as f64 + word.len() as f64 / 2.0
            };
            let numbers: Vec<&str> = last.split_whitespace().skip(1).collect();
            // The last one ends with the plot.
            let places: Vec<f64> = numbers[..numbers.len() - 1].iter().map(|word| middle(word)).collect();
            let apart: Vec<f64> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(apart.len() >= 2 && apart.iter().all(|by| (by - apart[0]).abs() <= 2.0), "{last}");
        }
    }
}
