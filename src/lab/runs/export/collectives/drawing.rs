//! Time by size, both on logarithmic axes: a line for each method of each run.

use crate::domain::units;
use crate::runs::export::drawing::{Drawing, Frame, GREY};
use crate::runs::measurement::Measurements;

/// The names stand to the right of it.
const FRAME: Frame = Frame { left: 80.0, top: 50.0, right: 600.0, bottom: 410.0 };
/// Colours that people who see no red or green can tell apart.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f"];
const DASHES: [&str; 3] = ["none", "6 3", "2 3"];
/// Names that fit under each other.
const MOST_LINES: usize = 20;

/// A logarithmic axis between two positive numbers.
struct Axis {
    base: f64,
    low: f64,
    high: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, base: f64) -> Axis {
        let powers: Vec<f64> = values.filter(|value| value.is_finite() && *value > 0.0).map(|value| value.log(base)).collect();
        let low = powers.iter().copied().fold(f64::INFINITY, f64::min).floor();
        let high = powers.iter().copied().fold(f64::NEG_INFINITY, f64::max).ceil();
        if low.is_finite() { Axis { base, low, high: high.max(low + 1.0) } } else { Axis { base, low: 0.0, high: 1.0 } }
    }

    /// How far a value lies along the axis: 0 at its start, 1 at its end.
    fn part(&self, value: f64) -> f64 {
        (value.log(self.base) - self.low) / (self.high - self.low)
    }

    /// Whole powers, ten at most.
    fn ticks(&self) -> impl Iterator<Item = f64> + '_ {
        let step = ((self.high - self.low) / 10.0).ceil().max(1.0);
        let powers = (0..=10).map(move |tick| self.low + step * f64::from(tick)).take_while(|power| *power <= self.high);
        powers.map(|power| self.base.powf(power))
    }
}

pub fn write(all: &Measurements) -> String {
    let points = || all.cells().map(|cell| (cell.row.report.bytes as f64, cell.row.report.median_s));
    let (sizes, times) = (Axis::new(points().map(|(bytes, _)| bytes), 4.0), Axis::new(points().map(|(_, time)| time), 10.0));
    let Frame { left, top, right, bottom } = FRAME;
    let x = |bytes: f64| left + sizes.part(bytes) * (right - left);
    let y = |seconds: f64| bottom - times.part(seconds) * (bottom - top);
    let mut svg = Drawing::new(860.0, FRAME, "Time of an allreduce by size");
    svg.label(left, 30.0, "start", "black", "Time of an allreduce by size, median");
    for seconds in times.ticks() {
        svg.tick_at_y(y(seconds), &units::short_time(seconds));
    }
    for bytes in sizes.ticks() {
        svg.tick_at_x(x(bytes), &units::bytes(bytes as u64));
    }
    svg.axes("bytes of each rank");
    let mut methods: Vec<&str> = Vec::new();
    for (method, _) in all.keys() {
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    let mut lines = 0;
    for (run, dash) in all.runs().iter().zip(DASHES.iter().cycle()) {
        for (method, colour) in methods.iter().zip(COLOURS.iter().cycle()) {
            let rows = run.measured.rows.iter().filter(|row| row.report.method == *method && row.report.median_s > 0.0);
            let points: Vec<String> =
                rows.map(|row| format!("{:.1},{:.1}", x(row.report.bytes as f64), y(row.report.median_s))).collect();
            if points.is_empty() {
                continue;
            }
            svg.put(format_args!(
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>"#,
                points.join(" ")
            ));
            if lines < MOST_LINES {
                let name = if all.runs().len() > 1 { format!("{method} (run {})", run.id) } else { (*method).to_owned() };
                svg.label(right + 14.0, top + 18.0 * lines as f64, "start", colour, &name);
            }
            lines += 1;
        }
    }
    if lines > MOST_LINES {
        let more = format!("and {} more", lines - MOST_LINES);
        svg.label(right + 14.0, top + 18.0 * MOST_LINES as f64, "start", GREY, &more);
    }
    let links = all.runs().iter().filter_map(|run| Some(format!("run {} {}", run.id, run.spec.link()?)));
    svg.finish(&links.collect::<Vec<_>>().join("; "))
}
