//! Time by size, both on logarithmic axes: a line for each method of each run.

use std::fmt::Write;

use crate::domain::{markup, units};
use crate::runs::measurement::Measurements;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 480.0;
/// Left, upper, right and lower edge of the plot; the names stand to the right of it.
const FRAME: (f64, f64, f64, f64) = (80.0, 50.0, 600.0, 410.0);
/// Told apart by those who see no red or green, too.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f"];
const DASHES: [&str; 3] = ["none", "6 3", "2 3"];
const GREY: &str = "#6b6b6b";
/// Names that fit under each other.
const MOST_LINES: usize = 20;

/// A logarithmic axis between two positive numbers.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, base: f64) -> Axis {
        let powers: Vec<f64> = values.filter(|value| value.is_finite() && *value > 0.0).map(|value| value.log(base)).collect();
        let low = powers.iter().copied().fold(f64::INFINITY, f64::min).floor();
        let high = powers.iter().copied().fold(f64::NEG_INFINITY, f64::max).ceil();
        match low.is_finite() {
            true => Axis { low, high: high.max(low + 1.0) },
            false => Axis { low: 0.0, high: 1.0 },
        }
    }

    fn part(&self, value: f64, base: f64) -> f64 {
        (value.log(base) - self.low) / (self.high - self.low)
    }

    /// Whole powers, ten at most.
    fn ticks(&self) -> impl Iterator<Item = f64> + '_ {
        let step = ((self.high - self.low) / 10.0).ceil().max(1.0);
        (0..=10).map(move |tick| self.low + step * f64::from(tick)).take_while(|power| *power <= self.high)
    }
}

pub fn write(all: &Measurements) -> String {
    let points = || all.cells().map(|cell| (cell.row.report.bytes as f64, cell.row.report.median_s));
    let (sizes, times) = (Axis::new(points().map(|(bytes, _)| bytes), 4.0), Axis::new(points().map(|(_, time)| time), 10.0));
    let (left, top, right, bottom) = FRAME;
    let x = |bytes: f64| left + sizes.part(bytes, 4.0) * (right - left);
    let y = |seconds: f64| bottom - times.part(seconds, 10.0) * (bottom - top);
    let mut svg = String::new();
    // Into a string: it cannot fail.
    let mut put = |element: std::fmt::Arguments| _ = writeln!(svg, "{element}");
    let label = |x: f64, y: f64, anchor: &str, colour: &str, text: &str| {
        let text = markup::xml(text);
        format!(r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{colour}">{text}</text>"#)
    };
    put(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13" role="img">"#
    ));
    put(format_args!("<title>Time of an allreduce by size</title>"));
    // A page behind it may be dark.
    put(format_args!(r#"<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>"#));
    put(format_args!("{}", label(left, 30.0, "start", "black", "Time of an allreduce by size, median")));
    for power in times.ticks() {
        let (seconds, place) = (10f64.powf(power), y(10f64.powf(power)));
        put(format_args!(r##"<line x1="{left}" y1="{place:.1}" x2="{right}" y2="{place:.1}" stroke="#e4e4e4"/>"##));
        put(format_args!("{}", label(left - 8.0, place + 4.0, "end", GREY, &units::short_time(seconds))));
    }
    for power in sizes.ticks() {
        let place = x(4f64.powf(power));
        put(format_args!(r#"<line x1="{place:.1}" y1="{bottom}" x2="{place:.1}" y2="{:.1}" stroke="{GREY}"/>"#, bottom + 5.0));
        put(format_args!("{}", label(place, bottom + 20.0, "middle", GREY, &units::bytes(4f64.powf(power) as u64))));
    }
    put(format_args!(r#"<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="{GREY}"/>"#));
    put(format_args!("{}", label((left + right) / 2.0, bottom + 42.0, "middle", "black", "bytes of each rank")));
    let mut methods: Vec<&str> = Vec::new();
    all.keys().iter().for_each(|(method, _)| {
        if !methods.contains(method) {
            methods.push(method)
        }
    });
    let mut place = 0;
    for (index, run) in all.runs().iter().enumerate() {
        let dash = DASHES[index % DASHES.len()];
        for (method, colour) in methods.iter().zip(COLOURS.iter().cycle()) {
            let rows = run.measured.rows.iter().filter(|row| row.report.method == *method && row.report.median_s > 0.0);
            let line: Vec<String> =
                rows.map(|row| format!("{:.1},{:.1}", x(row.report.bytes as f64), y(row.report.median_s))).collect();
            if line.is_empty() {
                continue;
            }
            put(format_args!(
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>"#,
                line.join(" ")
            ));
            if place < MOST_LINES {
                let name = if all.runs().len() > 1 { format!("{method} (run {})", run.id) } else { (*method).to_owned() };
                put(format_args!("{}", label(right + 14.0, top + 18.0 * place as f64, "start", colour, &name)));
            }
            place += 1;
        }
    }
    if place > MOST_LINES {
        let more = format!("and {} more", place - MOST_LINES);
        put(format_args!("{}", label(right + 14.0, top + 18.0 * MOST_LINES as f64, "start", GREY, &more)));
    }
    let links = all.runs().iter().filter_map(|run| Some(format!("run {} {}", run.id, run.spec.link()?)));
    put(format_args!("{}", label(left, HEIGHT - 12.0, "start", GREY, &links.collect::<Vec<_>>().join("; "))));
    svg.push_str("</svg>\n");
    svg
}
