//! Which part of an image is trained on: a random one that shows enough of its object.
//!
//! TensorFlow's `sample_distorted_bounding_box`, with the numbers of nvcnn.

use rand_chacha::ChaCha8Rng;
use rand_core::Rng;

use super::decode::Window;
use crate::dataset::example::BoundingBox;
use crate::trainer::random::unit;

/// What a part may be.
#[derive(Clone, Copy, Debug)]
pub struct Cropping {
    /// The least part of an object that it shows.
    pub min_object_covered: f32,
    /// Width by height.
    pub aspect: (f32, f32),
    /// As a part of the image.
    pub area: (f32, f32),
    /// After so many, it is the whole image.
    pub attempts: usize,
}

impl Default for Cropping {
    fn default() -> Cropping {
        Cropping { min_object_covered: 0.1, aspect: (0.8, 1.25), area: (0.1, 1.0), attempts: 100 }
    }
}

/// In whole pixels; right and bottom are outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rectangle {
    left: i64,
    top: i64,
    right: i64,
    bottom: i64,
}

impl Rectangle {
    fn area(self) -> f32 {
        ((self.right - self.left).max(0) * (self.bottom - self.top).max(0)) as f32
    }

    fn common(self, other: Rectangle) -> Rectangle {
        Rectangle {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        }
    }
}

/// Draws a part of an image of `width` x `height`. Without objects, the whole image is the object.
pub fn sample(cropping: &Cropping, width: u32, height: u32, boxes: &[BoundingBox], rng: &mut ChaCha8Rng) -> Window {
    let whole = Rectangle { left: 0, top: 0, right: i64::from(width), bottom: i64::from(height) };
    let (w, h) = (width as f32, height as f32);
    let pixels = |area: &BoundingBox| Rectangle {
        left: (area.xmin * w) as i64,
        top: (area.ymin * h) as i64,
        right: (area.xmax * w) as i64,
        bottom: (area.ymax * h) as i64,
    };
    let objects: Vec<Rectangle> = if boxes.is_empty() { vec![whole] } else { boxes.iter().map(pixels).collect() };
    let shows = |part: Rectangle| {
        let shown = |object: &Rectangle| {
            object.area() >= 1.0 && part.common(*object).area() / object.area() >= cropping.min_object_covered
        };
        part.area() >= 1.0 && objects.iter().any(shown)
    };
    let (narrowest, widest) = cropping.aspect;
    for _ in 0..cropping.attempts {
        let aspect = unit(rng) * (widest - narrowest) + narrowest;
        if let Some(part) = part(cropping.area, whole, aspect, rng).filter(|part| shows(*part)) {
            let [x, y, right, bottom] = [part.left, part.top, part.right, part.bottom].map(|side| side as u32);
            return Window { x, y, width: right - x, height: bottom - y };
        }
    }
    Window { x: 0, y: 0, width, height }
}

/// A part of this aspect, with a height and a place by chance. None where no height fits.
fn part(area: (f32, f32), whole: Rectangle, aspect: f32, rng: &mut ChaCha8Rng) -> Option<Rectangle> {
    let (width, height) = (whole.right, whole.bottom);
    let (least, most) = (area.0 * width as f32 * height as f32, area.1 * width as f32 * height as f32);
    let round = |value: f32| value.round_ties_even() as i64;
    let width_of = |height: i64| round(height as f32 * aspect);
    let lowest = round((least / aspect).sqrt());
    let mut highest = round((most / aspect).sqrt());
    if width_of(highest) > width {
        // The largest height whose width still fits, rounded.
        highest = ((width as f32 + 0.5 - 1e-7) / aspect) as i64;
        if width_of(highest) > width {
            highest -= 1;
        }
    }
    highest = highest.min(height);
    let mut tall = lowest.min(highest);
    if tall < highest {
        tall += below(rng, highest - tall + 1);
    }
    // Rounding may have left the range by a little.
    let size = |tall: i64| (width_of(tall) * tall) as f32;
    if size(tall) < least {
        tall += 1;
    }
    if size(tall) > most {
        tall -= 1;
    }
    let wide = width_of(tall);
    if size(tall) < least || size(tall) > most || wide > width || tall > height || wide <= 0 || tall <= 0 {
        return None;
    }
    let top = if tall < height { below(rng, height - tall) } else { 0 };
    let left = if wide < width { below(rng, width - wide) } else { 0 };
    Some(Rectangle { left, top, right: left + wide, bottom: top + tall })
}

fn below(rng: &mut ChaCha8Rng, count: i64) -> i64 {
    ((u64::from(rng.next_u32()) * count as u64) >> 32) as i64
}

/// The middle of an image, with this part of each side: what validation looks at (nvcnn: 224/256).
///
/// As TensorFlow's `central_crop`: what is cut off is the same on both sides, in whole pixels.
pub fn central(width: u32, height: u32, part: f64) -> Window {
    let cut = |side: u32| ((f64::from(side) - f64::from(side) * part) / 2.0) as u32;
    let (x, y) = (cut(width), cut(height));
    Window { x, y, width: width - 2 * x, height: height - 2 * y }
}
