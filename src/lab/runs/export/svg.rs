//! A report as a drawing: speed-up by number of ranks, with the ideal line.
//!
//! Never joins runs by a line: each is a measurement of its own. Published results are hollow, and named as such.

use std::fmt::Write;

use super::report::Report;
use crate::domain::markup;
use crate::runs::scaling::{Point, Scaling};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
/// Left, top, right and bottom of the drawing itself.
const FRAME: (f64, f64, f64, f64) = (70.0, 56.0, 600.0, 410.0);
const BLUE: &str = "#0072b2";
const ORANGE: &str = "#b34700";
const GREY: &str = "#6b6b6b";

pub fn write(report: &Report) -> String {
    let scaling = Scaling::new(report);
    let mut svg = Svg { text: String::new(), scaling: &scaling };
    svg.open();
    svg.axes();
    svg.ideal();
    svg.points(&scaling.measured, BLUE, true);
    svg.points(&scaling.published, ORANGE, false);
    svg.legend();
    svg.text.push_str("</svg>\n");
    svg.text
}

struct Svg<'a> {
    text: String,
    scaling: &'a Scaling,
}

impl Svg<'_> {
    fn put(&mut self, element: std::fmt::Arguments) {
        // Into a string: it cannot fail.
        let _ = self.text.write_fmt(element);
        self.text.push('\n');
    }

    fn x(&self, np: f64) -> f64 {
        FRAME.0 + np / self.scaling.np_end * (FRAME.2 - FRAME.0)
    }

    fn y(&self, speedup: f64) -> f64 {
        FRAME.3 - speedup / self.scaling.speedup_end * (FRAME.3 - FRAME.1)
    }

    fn open(&mut self) {
        let baseline = self.scaling.baseline;
        self.put(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13" role="img">"#
        ));
        self.put(format_args!("<title>Speed-up over run {baseline} by number of ranks</title>"));
        // A page behind it may be dark.
        self.put(format_args!(r#"<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>"#));
        self.label(FRAME.0, 30.0, "start", "black", &format!("Speed-up over run {baseline} by number of ranks"), true);
    }

    fn label(&mut self, x: f64, y: f64, anchor: &str, colour: &str, text: &str, bold: bool) {
        let weight = if bold { r#" font-weight="bold""# } else { "" };
        let text = markup::xml(text);
        self.put(format_args!(r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{colour}"{weight}>{text}</text>"#));
    }

    fn axes(&mut self) {
        let (left, top, right, bottom) = FRAME;
        for speedup in ticks(self.scaling.speedup_end) {
            let y = self.y(speedup);
            self.put(format_args!(r##"<line x1="{left}" y1="{y:.1}" x2="{right}" y2="{y:.1}" stroke="#e4e4e4"/>"##));
            self.label(left - 8.0, y + 4.0, "end", GREY, &format!("{speedup}×"), false);
        }
        for np in ticks(self.scaling.np_end).into_iter().filter(|np| np.fract() == 0.0 && *np > 0.0) {
            let x = self.x(np);
            self.put(format_args!(r#"<line x1="{x:.1}" y1="{bottom}" x2="{x:.1}" y2="{:.1}" stroke="{GREY}"/>"#, bottom + 5.0));
            self.label(x, bottom + 20.0, "middle", GREY, &np.to_string(), false);
        }
        self.put(format_args!(r#"<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="{GREY}"/>"#));
        self.label((left + right) / 2.0, bottom + 42.0, "middle", "black", "ranks (np)", false);
    }

    fn ideal(&mut self) {
        let end = self.scaling.np_end.min(self.scaling.speedup_end * self.scaling.baseline_np as f64);
        let (x, y) = (self.x(end), self.y(self.scaling.ideal(end)));
        let (left, bottom) = (self.x(0.0), self.y(0.0));
        self.put(format_args!(
            r#"<line x1="{left:.1}" y1="{bottom:.1}" x2="{x:.1}" y2="{y:.1}" stroke="{GREY}" stroke-dasharray="6 4"/>"#
        ));
    }

    fn points(&mut self, points: &[Point], colour: &str, filled: bool) {
        let mut points: Vec<&Point> = points.iter().collect();
        points.sort_by(|a, b| a.np.cmp(&b.np).then(b.speedup.total_cmp(&a.speedup)));
        let mut last: Option<(usize, f64)> = None;
        for point in points {
            let (x, y) = (self.x(point.np as f64), self.y(point.speedup));
            let fill = if filled { colour } else { "white" };
            self.put(format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="5" fill="{fill}" stroke="{colour}" stroke-width="2"/>"#));
            // Names under each other where points of one np lie close together.
            let below = last.filter(|(np, _)| *np == point.np).map_or(y, |(_, last)| y.max(last + 15.0));
            last = Some((point.np, below));
            let name = format!("{} {:.2}×", point.label, point.speedup);
            match filled {
                true => self.label(x + 10.0, below + 4.0, "start", colour, &name, false),
                false => self.label(x - 10.0, below + 4.0, "end", colour, &name, false),
            }
        }
    }

    fn legend(&mut self) {
        let (y, published) = (HEIGHT - 12.0, !self.scaling.published.is_empty());
        let mut said = vec!["dashed: ideal", "filled: measured"];
        said.extend(published.then_some("hollow: published elsewhere"));
        let left_out = match self.scaling.left_out {
            0 => String::new(),
            1 => "; 1 run left out: not comparable, or no throughput".into(),
            runs => format!("; {runs} runs left out: not comparable, or no throughput"),
        };
        self.label(FRAME.0, y, "start", GREY, &format!("{}{left_out}", said.join(", ")), false);
    }
}

/// From 0 to `end` in round steps, ten at most.
fn ticks(end: f64) -> Vec<f64> {
    let steps = (-1..9).flat_map(|power| [1.0, 2.0, 5.0].map(|step: f64| step * 10f64.powi(power)));
    let step = steps.into_iter().find(|step| end / step <= 10.0).unwrap_or(end);
    (0..=(end / step) as usize).map(|index| (index as f64 * step * 10.0).round() / 10.0).collect()
}
