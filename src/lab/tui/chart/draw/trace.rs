//! Where a curve runs through the cells of a plot: lines, lone points, and marks where values were no numbers.
//!
//! Two points with a gap between them are not joined.

use ratatui::layout::Rect;

use crate::tui::shared::{Along, Curve};
use crate::tui::widgets::axis::Axis;
use crate::tui::widgets::plot;

/// What part of a curve is shown, and where.
#[derive(Clone, Copy, Debug)]
pub struct View {
    pub along: Along,
    pub from: f64,
    pub to: f64,
    pub axis: Axis,
    /// Where the curves are, above the axis line.
    pub plot: Rect,
}

/// x, and the height above the axis line in cells.
pub type Spot = (f64, f64);

impl View {
    pub fn column(&self, x: f64) -> Option<u16> {
        plot::column(self.plot.width, (self.from, self.to), x)
    }

    /// The middle of a column.
    pub fn x(&self, column: u16) -> f64 {
        let dots = f64::from(self.plot.width) * 2.0 - 1.0;
        self.from + (f64::from(column) * 2.0 + 0.5) / dots * (self.to - self.from)
    }

    pub fn row(&self, place: f64) -> Option<u16> {
        plot::row(self.plot.height, place)
    }

    pub fn cell(&self, (x, place): Spot) -> Option<(u16, u16)> {
        Some((self.column(x)?, self.row(place)?))
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    pub lines: Vec<(Spot, Spot)>,
    /// Points without a neighbour to be joined with.
    pub lone: Vec<Spot>,
    /// Every point in sight.
    pub points: Vec<Spot>,
    /// x where a value was no number.
    pub gaps: Vec<f64>,
}

impl Trace {
    pub fn new(curve: &Curve, view: &View) -> Trace {
        let mut trace = Trace::default();
        // The end of the line so far, and whether it has been joined with anything.
        let mut pen: Option<(Spot, bool)> = None;
        let in_sight = |x: f64| x >= view.from && x <= view.to;
        for bucket in curve.buckets() {
            if let Some(gap) = bucket.gap {
                trace.lift(pen.take());
                trace.gaps.extend(Some(gap.x(view.along)).filter(|x| in_sight(*x)));
            }
            for point in bucket.points() {
                let x = point.x(view.along);
                let Some(place) = view.axis.place(point.value) else {
                    trace.lift(pen.take());
                    continue;
                };
                let spot = (x, place);
                if in_sight(x) && trace.points.last() != Some(&spot) {
                    trace.points.push(spot);
                }
                match pen {
                    // A bucket with a gap: what lies between its points is unknown.
                    _ if bucket.gap.is_some() => trace.lone.push(spot),
                    Some((from, _)) if from == spot => {}
                    Some((from, _)) => {
                        if x >= view.from && from.0 <= view.to {
                            trace.lines.push((from, spot));
                        }
                        pen = Some((spot, true));
                    }
                    None => pen = Some((spot, false)),
                }
            }
        }
        trace.lift(pen);
        trace
    }

    fn lift(&mut self, pen: Option<(Spot, bool)>) {
        self.lone.extend(pen.filter(|(_, joined)| !joined).map(|(spot, _)| spot));
    }

    /// The row of the curve in each column that it goes through.
    pub fn rows(&self, view: &View) -> Vec<Option<u16>> {
        let mut rows = vec![None; view.plot.width as usize];
        let mut put = |spot: Spot| {
            if let Some((column, row)) = view.cell(spot)
                && let Some(place) = rows.get_mut(column as usize)
            {
                *place = Some(row);
            }
        };
        let column = (view.to - view.from) / f64::from(view.plot.width.max(1));
        for (from, to) in &self.lines {
            let steps = (((to.0.min(view.to) - from.0.max(view.from)) / column).ceil()).clamp(1.0, 1000.0) as usize;
            let (start, end) = (from.0.max(view.from), to.0.min(view.to));
            for step in 0..=steps {
                let x = start + (end - start) * step as f64 / steps as f64;
                let part = if to.0 > from.0 { (x - from.0) / (to.0 - from.0) } else { 1.0 };
                put((x, from.1 + (to.1 - from.1) * part));
            }
        }
        self.lone.iter().for_each(|spot| put(*spot));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::shared::curves::Point;

    fn trace(values: &[f64]) -> Trace {
        let mut curve = Curve::default();
        for (step, value) in values.iter().enumerate() {
            let step = step as f64;
            curve.push(Point { epoch: step, step, seconds: step, value: *value });
        }
        let plot = Rect::new(0, 0, 10, 5);
        let view = View { along: Along::Step, from: 0.0, to: 9.0, axis: Axis::linear(0.0, 10.0, 5), plot };
        Trace::new(&curve, &view)
    }

    #[test]
    fn no_line_goes_through_a_gap() {
        let nan = f64::NAN;
        let trace = trace(&[1.0, 2.0, nan, 4.0, f64::INFINITY, 6.0, 7.0]);
        let ends: Vec<(f64, f64)> = trace.lines.iter().map(|(from, to)| (from.0, to.0)).collect();
        assert_eq!(ends, [(0.0, 1.0), (5.0, 6.0)]);
        assert_eq!(trace.gaps, [2.0, 4.0]);
        assert_eq!(trace.lone, [(3.0, 2.0)], "a point between two gaps still shows");
    }

    #[test]
    fn a_single_point_shows_and_nothing_else_is_invented() {
        assert_eq!(trace(&[5.0]), Trace { lone: vec![(0.0, 2.5)], points: vec![(0.0, 2.5)], ..Trace::default() });
        assert_eq!(trace(&[]), Trace::default());
        assert_eq!(trace(&[f64::NAN]), Trace { gaps: vec![0.0], ..Trace::default() });
    }
}
