//! An SVG drawing with two axes: the parts that the drawing of runs and that of collectives share.

use std::fmt::{Arguments, Write};

use crate::domain::markup;

pub const HEIGHT: f64 = 480.0;
pub const GREY: &str = "#6b6b6b";

/// The edges of the plot inside a drawing, in pixels.
#[derive(Clone, Copy)]
pub struct Frame {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

/// An SVG document that is being written.
pub struct Drawing {
    svg: String,
    frame: Frame,
}

impl Drawing {
    pub fn new(width: f64, frame: Frame, title: &str) -> Drawing {
        let mut drawing = Drawing { svg: String::new(), frame };
        drawing.put(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" font-family="sans-serif" font-size="13" role="img">"#
        ));
        drawing.put(format_args!("<title>{title}</title>"));
        // A page behind it may be dark.
        drawing.put(format_args!(r#"<rect width="{width}" height="{HEIGHT}" fill="white"/>"#));
        drawing
    }

    /// One element, on a line of its own.
    pub fn put(&mut self, element: Arguments) {
        // Into a string: it cannot fail.
        let _ = writeln!(self.svg, "{element}");
    }

    pub fn label(&mut self, x: f64, y: f64, anchor: &str, colour: &str, text: &str) {
        let text = markup::xml(text);
        self.put(format_args!(r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{colour}">{text}</text>"#));
    }

    /// A line across the plot, with its value on the left.
    pub fn tick_at_y(&mut self, y: f64, value: &str) {
        let Frame { left, right, .. } = self.frame;
        self.put(format_args!(r##"<line x1="{left}" y1="{y:.1}" x2="{right}" y2="{y:.1}" stroke="#e4e4e4"/>"##));
        self.label(left - 8.0, y + 4.0, "end", GREY, value);
    }

    /// A mark below the plot, with its value.
    pub fn tick_at_x(&mut self, x: f64, value: &str) {
        let bottom = self.frame.bottom;
        self.put(format_args!(r#"<line x1="{x:.1}" y1="{bottom}" x2="{x:.1}" y2="{:.1}" stroke="{GREY}"/>"#, bottom + 5.0));
        self.label(x, bottom + 20.0, "middle", GREY, value);
    }

    /// The two axes, with the name of the lower one.
    pub fn axes(&mut self, name: &str) {
        let Frame { left, top, right, bottom } = self.frame;
        self.put(format_args!(r#"<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="{GREY}"/>"#));
        self.label((left + right) / 2.0, bottom + 42.0, "middle", "black", name);
    }

    /// The document, with a note at its foot.
    pub fn finish(mut self, note: &str) -> String {
        self.label(self.frame.left, HEIGHT - 12.0, "start", GREY, note);
        self.svg.push_str("</svg>\n");
        self.svg
    }
}
