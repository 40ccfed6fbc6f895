//! Colour distortion, as TensorFlow's example for ImageNet and nvcnn have it: brightness, saturation, hue and contrast by chance,
//! in one of two orders, and at the end the values that the model sees.
//!
//! Works on planes of red, green and blue in 0 to 1. Saturation and hue are one pass: both keep the largest of the three colours
//! and turn the rest around it, so doing them one after the other gives the same.

use rand_chacha::ChaCha8Rng;

use super::wide::wide;
use crate::trainer::random::unit;

/// What is drawn for one image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distortion {
    /// Added, where white is 1: up to 32/255 either way.
    pub brightness: f32,
    /// 0.5 to 1.5 times as much colour.
    pub saturation: f32,
    /// Turned by up to a fifth of the circle of colours, either way.
    pub hue: f32,
    /// 0.5 to 1.5 times as far from the mean of each colour.
    pub contrast: f32,
    pub order: Order,
}

/// Of the steps; brightness comes first in both. Contrast looks at means, so that it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Brightness, saturation, hue, contrast: even threads in nvcnn.
    ContrastLast,
    /// Brightness, contrast, saturation, hue: odd threads.
    ContrastFirst,
}

impl Distortion {
    pub fn draw(rng: &mut ChaCha8Rng, order: Order) -> Distortion {
        let mut around = |middle: f32, reach: f32| middle + reach * (2.0 * unit(rng) - 1.0);
        let brightness = around(0.0, 32.0 / 255.0);
        let saturation = around(1.0, 0.5);
        let hue = around(0.0, 0.2);
        Distortion { brightness, saturation, hue, contrast: around(1.0, 0.5), order }
    }
}

/// Distorts an image, cuts the values off at black and white, and scales them to -1 to 1.
///
/// # Panics
/// If `planes` are not three of the same length.
pub fn distort(planes: &mut [f32], distortion: Distortion) {
    let pixels = planes.len() / 3;
    assert_eq!(planes.len(), 3 * pixels);
    let (red, rest) = planes.split_at_mut(pixels);
    let (green, blue) = rest.split_at_mut(pixels);
    let Distortion { brightness, saturation, hue, contrast, order } = distortion;
    match order {
        Order::ContrastLast => {
            turn(red, green, blue, 1.0, [brightness; 3], saturation, hue);
            for plane in [red, green, blue] {
                let mean = mean(plane);
                finish(plane, mean - mean * contrast, contrast);
            }
        }
        Order::ContrastFirst => {
            // (x + b - m) c + m where m is the mean of x + b: one product and one sum.
            let base = [&*red, &*green, &*blue].map(|plane| {
                let mean = mean(plane) + brightness;
                brightness * contrast + mean - mean * contrast
            });
            turn(red, green, blue, contrast, base, saturation, hue);
            for plane in [red, green, blue] {
                finish(plane, 0.0, 1.0);
            }
        }
    }
}

/// In blocks, whose sums are exact enough to be added up in double precision.
fn mean(plane: &[f32]) -> f32 {
    let mut total = 0.0;
    for block in plane.chunks(4096) {
        let mut sum = 0.0;
        add_up(block, &mut sum);
        total += f64::from(sum);
    }
    (total / plane.len().max(1) as f64) as f32
}

wide! {
    fn add_up(values: &[f32], sum: &mut f32) {
        let mut lanes = [0.0f32; 32];
        let (blocks, rest) = values.as_chunks::<32>();
        for block in blocks {
            for lane in 0..32 {
                lanes[lane] += block[lane];
            }
        }
        *sum = lanes.iter().sum::<f32>() + rest.iter().sum::<f32>();
    }
}

wide! {
    /// Multiplies and adds, cuts off at 0 and 1, and scales to what the model sees: -1 to 1, as in nvcnn.
    fn finish(plane: &mut [f32], base: f32, factor: f32) {
        for value in plane {
            *value = (*value * factor + base).clamp(0.0, 1.0) * 2.0 - 1.0;
        }
    }
}

wide! {
    /// First each colour times `factor` plus its `base`; then saturation and hue.
    ///
    /// Hue is where a colour stands on a circle of six parts. Each of the three colours goes over it as a trapezium: so a turn is
    /// computed without asking in which part it begins or ends, eight pixels at a time.
    fn turn(red: &mut [f32], green: &mut [f32], blue: &mut [f32], factor: f32, base: [f32; 3], saturation: f32, hue: f32) {
        for ((red, green), blue) in red.iter_mut().zip(green).zip(blue) {
            let (r, g, b) = (*red * factor + base[0], *green * factor + base[1], *blue * factor + base[2]);
            let largest = r.max(g).max(b);
            let range = largest - r.min(g).min(b);
            let share = 1.0 / if range > 1e-12 { range } else { 1e-12 };
            let from_blue = if largest == g { 2.0 + (b - r) * share } else { 4.0 + (r - g) * share };
            let place = if largest == r { (g - b) * share } else { from_blue };
            let place = place * (1.0 / 6.0) + hue;
            let place = (place - place.floor()) * 6.0;
            // As TensorFlow has it: what is darker than black has no colour, and no colour is more than full.
            let colourful = if largest > 0.0 { (range / largest * saturation).clamp(0.0, 1.0) } else { 0.0 };
            let range = colourful * largest;
            let smallest = largest - range;
            *red = smallest + range * ((place - 3.0).abs() - 1.0).clamp(0.0, 1.0);
            *green = smallest + range * (2.0 - (place - 2.0).abs()).clamp(0.0, 1.0);
            *blue = smallest + range * (2.0 - (place - 4.0).abs()).clamp(0.0, 1.0);
        }
    }
}
