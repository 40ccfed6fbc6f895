//! A report as a drawing: speed-up by number of ranks, with the ideal line.
//!
//! Runs are not joined by a line: each is a measurement of its own. Published results are hollow, and named as such.

use super::drawing::{Drawing, Frame, GREY};
use crate::runs::Report;
use crate::runs::scaling::{Point, Scaling};

const FRAME: Frame = Frame { left: 70.0, top: 56.0, right: 600.0, bottom: 410.0 };
const BLUE: &str = "#0072b2";
const ORANGE: &str = "#b34700";

pub fn write(report: &Report) -> String {
    let scaling = Scaling::new(report);
    let x = |np: f64| FRAME.left + np / scaling.np_end * (FRAME.right - FRAME.left);
    let y = |speedup: f64| FRAME.bottom - speedup / scaling.speedup_end * (FRAME.bottom - FRAME.top);
    let title = format!("Speed-up over run {} by number of ranks", scaling.baseline);
    let mut svg = Drawing::new(760.0, FRAME, &title);
    svg.put(format_args!(
        r#"<text x="{:.1}" y="30.0" text-anchor="start" fill="black" font-weight="bold">{title}</text>"#,
        FRAME.left
    ));
    for speedup in ticks(scaling.speedup_end) {
        svg.tick_at_y(y(speedup), &format!("{speedup}x"));
    }
    for np in ticks(scaling.np_end).into_iter().filter(|np| np.fract() == 0.0 && *np > 0.0) {
        svg.tick_at_x(x(np), &np.to_string());
    }
    svg.axes("ranks (np)");
    let end = scaling.np_end.min(scaling.speedup_end * scaling.baseline_np as f64);
    let (left, bottom, right, top) = (x(0.0), y(0.0), x(end), y(scaling.ideal(end)));
    svg.put(format_args!(
        r#"<line x1="{left:.1}" y1="{bottom:.1}" x2="{right:.1}" y2="{top:.1}" stroke="{GREY}" stroke-dasharray="6 4"/>"#
    ));
    let place = |point: &Point| (x(point.np as f64), y(point.speedup));
    points(&mut svg, &scaling.measured, place, (BLUE, BLUE), ("start", 10.0));
    points(&mut svg, &scaling.published, place, (ORANGE, "white"), ("end", -10.0));
    let published = if scaling.published.is_empty() { "" } else { ", hollow: published elsewhere" };
    let left_out = match scaling.left_out {
        0 => String::new(),
        1 => "; 1 run left out: not comparable, or no throughput".into(),
        runs => format!("; {runs} runs left out: not comparable, or no throughput"),
    };
    svg.finish(&format!("dashed: ideal, filled: measured{published}{left_out}"))
}

/// Circles with their names beside them, the names of one np under each other where they lie close together.
fn points(
    svg: &mut Drawing,
    points: &[Point],
    place: impl Fn(&Point) -> (f64, f64),
    (colour, fill): (&str, &str),
    (anchor, beside): (&str, f64),
) {
    let mut points: Vec<&Point> = points.iter().collect();
    points.sort_by(|a, b| a.np.cmp(&b.np).then(b.speedup.total_cmp(&a.speedup)));
    let mut last: Option<(usize, f64)> = None;
    for point in points {
        let (x, y) = place(point);
        svg.put(format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="5" fill="{fill}" stroke="{colour}" stroke-width="2"/>"#));
        let below = last.filter(|(np, _)| *np == point.np).map_or(y, |(_, last)| y.max(last + 15.0));
        last = Some((point.np, below));
        svg.label(x + beside, below + 4.0, anchor, colour, &format!("{} {:.2}x", point.label, point.speedup));
    }
}

/// From 0 to `end` in round steps, ten at most.
fn ticks(end: f64) -> Vec<f64> {
    let steps = (-1..9).flat_map(|power| [1.0, 2.0, 5.0].map(|step: f64| step * 10f64.powi(power)));
    let step = steps.into_iter().find(|step| end / step <= 10.0).unwrap_or(end);
    (0..=(end / step) as usize).map(|index| (index as f64 * step * 10.0).round() / 10.0).collect()
}
