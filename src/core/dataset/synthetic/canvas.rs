//! A 28x28 canvas that fills outlines with cloth: scan lines with exact horizontal coverage.
//!
//! Never knows what it draws. Outlines are in garment units: -1 to 1 across, -1 (collar) to 1 (hem) down.

use super::dice::Dice;
use crate::dataset::split::FASHION_MNIST;

const SIDE: usize = FASHION_MNIST.width;
const IMAGE_BYTES: usize = FASHION_MNIST.numbers();

pub(super) type Point = (f32, f32);

/// Scan lines per row of pixels.
const LINES: usize = 4;
/// Most corners of an outline.
const CORNERS: usize = 24;

/// Where the garment lies: pixel coordinate = a * across + b * down + c, for x and y.
pub(super) struct Pose {
    pub x: [f32; 3],
    pub y: [f32; 3],
}

/// What a garment is made of, in garment units.
pub(super) struct Cloth {
    /// Mean grey, 0 to 1.
    pub shade: f32,
    /// 0 to 2 plain, 3 striped, 4 checked, 5 mottled.
    pub weave: usize,
    pub contrast: f32,
    /// Width of a stripe.
    pub pitch: f32,
    /// Direction across the stripes.
    pub tilt: [f32; 2],
    pub phase: f32,
    /// Change of brightness over the garment, across and down.
    pub light: [f32; 2],
}

/// How an outline is filled.
#[derive(Clone, Copy)]
pub(super) enum Ink {
    /// The garment's cloth, darker (below 1) or brighter.
    Cloth(f32),
    /// The garment's mean grey times this, without weave: trims, soles, prints.
    Trim(f32),
    /// The background shows through.
    Hole,
}

pub(super) struct Canvas {
    pixels: [f32; IMAGE_BYTES],
    pose: Pose,
    cloth: Cloth,
    /// From pixels back to garment units.
    inverse: [f32; 4],
}

impl Canvas {
    pub fn new(pose: Pose, cloth: Cloth) -> Canvas {
        let determinant = pose.x[0] * pose.y[1] - pose.x[1] * pose.y[0];
        let inverse = [pose.y[1], -pose.x[1], -pose.y[0], pose.x[0]].map(|entry| entry / determinant);
        Canvas { pixels: [0.0; IMAGE_BYTES], pose, cloth, inverse }
    }

    /// To bytes, with grain and light.
    pub fn develop(&self, grain: f32, gain: f32, dice: &mut Dice, image: &mut [u8]) {
        for (byte, &value) in image.iter_mut().zip(&self.pixels) {
            // Grain sits on the cloth, faintly beside it: the sum of two uniform draws.
            let noise = (dice.fraction() + dice.fraction() - 1.0) * if value > 0.02 { grain } else { grain * 0.25 };
            *byte = ((value * gain + noise).clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
        }
    }

    /// Fills an outline (even-odd) over what is there.
    pub fn fill(&mut self, outline: &[Point], ink: Ink) {
        let mut corners = [(0.0, 0.0); CORNERS];
        let count = outline.len().min(CORNERS);
        let (mut top, mut bottom) = (f32::MAX, f32::MIN);
        for (corner, &(across, down)) in corners.iter_mut().zip(outline) {
            let (x, y) = (&self.pose.x, &self.pose.y);
            *corner = (x[0] * across + x[1] * down + x[2], y[0] * across + y[1] * down + y[2]);
            (top, bottom) = (top.min(corner.1), bottom.max(corner.1));
        }
        let corners = &corners[..count];
        let rows = top.max(0.0) as usize..(bottom.min(SIDE as f32 - 0.001).max(-1.0) + 1.0) as usize;
        for row in rows {
            let mut cover = [0.0_f32; SIDE];
            for line in 0..LINES {
                let y = row as f32 + (line as f32 + 0.5) / LINES as f32;
                add_line(corners, y, &mut cover);
            }
            for (column, &part) in cover.iter().enumerate() {
                if part > 0.0 {
                    let part = (part / LINES as f32).min(1.0);
                    let value = self.ink_at(ink, column as f32 + 0.5, row as f32 + 0.5);
                    let pixel = &mut self.pixels[row * SIDE + column];
                    *pixel += (value - *pixel) * part;
                }
            }
        }
    }

    /// Fills a garment's outline from its right half, downwards: the left half is its mirror image.
    pub fn fill_symmetric(&mut self, half: &[Point], ink: Ink) {
        let left = half.iter().rev().map(|(across, down)| (-across, *down));
        let outline: Vec<Point> = half.iter().copied().chain(left).collect();
        self.fill(&outline, ink);
    }

    /// A straight strap of this width.
    pub fn stroke(&mut self, from: Point, to: Point, width: f32, ink: Ink) {
        let (across, down) = (to.0 - from.0, to.1 - from.1);
        let half = width / 2.0 / (across * across + down * down).sqrt().max(1e-3);
        let (side, rise) = (-down * half, across * half);
        self.fill(
            &[
                (from.0 + side, from.1 + rise),
                (to.0 + side, to.1 + rise),
                (to.0 - side, to.1 - rise),
                (from.0 - side, from.1 - rise),
            ],
            ink,
        );
    }

    /// A line of straps through all points.
    pub fn strap(&mut self, points: &[Point], width: f32, ink: Ink) {
        for pair in points.windows(2) {
            self.stroke(pair[0], pair[1], width, ink);
        }
    }

    fn ink_at(&self, ink: Ink, x: f32, y: f32) -> f32 {
        let (x, y) = (x - self.pose.x[2], y - self.pose.y[2]);
        let (across, down) = (self.inverse[0] * x + self.inverse[1] * y, self.inverse[2] * x + self.inverse[3] * y);
        let light = 1.0 + self.cloth.light[0] * across + self.cloth.light[1] * down;
        let grey = match ink {
            Ink::Hole => 0.0,
            Ink::Trim(factor) => self.cloth.shade * factor * light,
            Ink::Cloth(factor) => self.cloth.at(across, down) * factor * light,
        };
        grey.clamp(0.0, 1.0)
    }
}

impl Cloth {
    fn at(&self, across: f32, down: f32) -> f32 {
        let along = across * self.tilt[0] + down * self.tilt[1];
        let beside = down * self.tilt[0] - across * self.tilt[1];
        let pattern = match self.weave {
            3 => self.wave(along),
            4 => (self.wave(along) + self.wave(beside)) / 2.0,
            5 => self.wave(along * 2.3) * self.wave(beside * 1.7 + along),
            _ => 0.0,
        };
        self.shade * (1.0 + self.contrast * pattern)
    }

    /// A triangle wave between -1 and 1.
    fn wave(&self, place: f32) -> f32 {
        let turns = place / (2.0 * self.pitch) + self.phase;
        let part = turns - turns.floor();
        4.0 * (part - 0.5).abs() - 1.0
    }
}

/// Adds the part of each pixel that one scan line covers.
fn add_line(corners: &[Point], y: f32, cover: &mut [f32; SIDE]) {
    let mut crossings = [0.0_f32; CORNERS];
    let mut count = 0;
    let mut previous = corners[corners.len() - 1];
    for &corner in corners {
        if (previous.1 <= y) != (corner.1 <= y) {
            crossings[count] = previous.0 + (y - previous.1) / (corner.1 - previous.1) * (corner.0 - previous.0);
            count += 1;
        }
        previous = corner;
    }
    let crossings = &mut crossings[..count];
    crossings.sort_unstable_by(f32::total_cmp);
    for pair in crossings.chunks_exact(2) {
        let (from, to) = (pair[0].clamp(0.0, SIDE as f32), pair[1].clamp(0.0, SIDE as f32));
        let (first, last) = (from as usize, (to as usize).min(SIDE - 1));
        for (column, part) in cover.iter_mut().enumerate().take(last + 1).skip(first) {
            let column = column as f32;
            *part += (to.min(column + 1.0) - from.max(column)).max(0.0);
        }
    }
}
