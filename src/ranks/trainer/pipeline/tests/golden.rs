//! The operations against TensorFlow 2.21: tests/golden/images.json holds what it made of the same numbers.

use std::collections::HashMap;

use serde::Deserialize;

use super::super::colour::{Distortion, Order, distort};
use super::super::crop::{self, Cropping};
use super::super::decode::{Dct, Decoding, Pixels, Window};
use super::super::resize::{Corners, Resizer};
use super::{decoder, jpegs};
use crate::dataset::example::BoundingBox;
use crate::dataset::jpeg;
use crate::trainer::random::{Purpose, stream, unit};

#[derive(Deserialize)]
pub(super) struct Golden {
    image: Vec<u8>,
    resize: Vec<Resized>,
    colours: Vec<f32>,
    distort: Vec<Distorted>,
    pub(super) decode: Vec<Decoded>,
    crop: HashMap<String, Drawn>,
    central: Vec<[u32; 4]>,
}

#[derive(Deserialize)]
struct Resized {
    side: usize,
    legacy: Vec<f32>,
    half_pixel: Vec<f32>,
}

#[derive(Deserialize)]
struct Distorted {
    brightness: f32,
    saturation: f32,
    hue: f32,
    contrast: f32,
    contrast_last: Vec<f32>,
    contrast_first: Vec<f32>,
}

#[derive(Deserialize)]
pub(super) struct Decoded {
    pub(super) name: String,
    /// In hexadecimal digits.
    pub(super) jpeg: String,
    /// CRC-32 of the pixels, by how they were decoded.
    #[serde(flatten)]
    sums: HashMap<String, u32>,
}

/// Of 20,000 crops of a photo of 500 x 375: left, top, width and height.
#[derive(Deserialize)]
struct Drawn {
    mean: [f64; 4],
    deviation: [f64; 4],
}

pub(super) fn golden() -> Golden {
    serde_json::from_str(include_str!("../../../../../tests/golden/images.json")).unwrap()
}

fn assert_close(found: &[f32], expected: &[f32], within: f32, what: &str) {
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= within, "{what}, number {at}: {found} and not {expected}");
    }
}

#[test]
fn resizing_is_tensorflows_from_either_corner_and_mirrored() {
    let golden = golden();
    let pixels = Pixels { bytes: &golden.image, row: 27, left: 0, width: 9, height: 7 };
    for Resized { side, legacy, half_pixel } in &golden.resize {
        for (corners, expected) in [(Corners::Legacy, legacy), (Corners::HalfPixel, half_pixel)] {
            let mut planes = vec![0.0; 3 * side * side];
            Resizer::new(*side, corners).resize(&pixels, false, [1.0, 0.0], &mut planes);
            assert_close(&planes, expected, 1e-3, &format!("{corners:?} {side}"));
            let mut mirrored = vec![0.0; planes.len()];
            Resizer::new(*side, corners).resize(&pixels, true, [2.0 / 255.0, -1.0], &mut mirrored);
            mirrored.chunks_mut(*side).for_each(<[f32]>::reverse);
            let scaled: Vec<f32> = expected.iter().map(|value| value / 127.5 - 1.0).collect();
            assert_close(&mirrored, &scaled, 1e-5, "mirrored and scaled");
        }
    }
}

#[test]
fn colours_are_tensorflows_in_both_orders() {
    let golden = golden();
    for row in &golden.distort {
        let Distorted { brightness, saturation, hue, contrast, .. } = *row;
        for (order, expected) in [(Order::ContrastLast, &row.contrast_last), (Order::ContrastFirst, &row.contrast_first)] {
            let mut planes: Vec<f32> = golden.colours.iter().map(|value| value / 255.0).collect();
            distort(&mut planes, Distortion { brightness, saturation, hue, contrast, order });
            assert_close(&planes, expected, 2e-5, &format!("{order:?} {brightness} {hue}"));
        }
    }
}

#[test]
fn what_is_drawn_for_colours_covers_its_ranges_evenly() {
    let mut rng = stream(1, 0, 0, Purpose::Augmentation);
    let drawn: Vec<Distortion> = (0..20_000).map(|_| Distortion::draw(&mut rng, Order::ContrastLast)).collect();
    type Part = (fn(&Distortion) -> f32, f32, f32);
    let parts: [Part; 4] =
        [(|d| d.brightness, 0.0, 32.0 / 255.0), (|d| d.saturation, 1.0, 0.5), (|d| d.hue, 0.0, 0.2), (|d| d.contrast, 1.0, 0.5)];
    for (part, middle, reach) in parts {
        let values: Vec<f32> = drawn.iter().map(|drawn| (part(drawn) - middle) / reach).collect();
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        let square = values.iter().map(|value| value * value).sum::<f32>() / values.len() as f32;
        assert!(values.iter().all(|value| value.abs() <= 1.0 + 1e-6));
        // Of what is even between -1 and 1.
        assert!(mean.abs() < 0.02 && (square - 1.0 / 3.0).abs() < 0.01, "{mean} {square}");
    }
}

#[test]
fn crops_have_the_sizes_and_places_of_tensorflows() {
    let golden = golden();
    let object = BoundingBox { ymin: 0.5, xmin: 0.55, ymax: 0.9, xmax: 0.95 };
    for (name, boxes) in [("box", &[object][..]), ("none", &[])] {
        let mut rng = stream(2, 0, 0, Purpose::Augmentation);
        let crops: Vec<Window> = (0..20_000).map(|_| crop::sample(&Cropping::default(), 500, 375, boxes, &mut rng)).collect();
        for part in &crops {
            assert!(part.x + part.width <= 500 && part.y + part.height <= 375, "{part:?}");
            let (aspect, area) = (part.width as f32 / part.height as f32, (part.width * part.height) as f32 / 187_500.0);
            assert!((0.78..1.28).contains(&aspect) && (0.0999..=1.0).contains(&area), "{part:?}");
        }
        let expected = &golden.crop[name];
        let numbers: [fn(&Window) -> u32; 4] = [|w| w.x, |w| w.y, |w| w.width, |w| w.height];
        for (at, number) in numbers.into_iter().enumerate() {
            let values: Vec<f64> = crops.iter().map(|part| f64::from(number(part))).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
            // Five standard errors of the difference of two means: what chance does, and no more.
            let within = 5.0 * expected.deviation[at] * (2.0 / values.len() as f64).sqrt();
            assert!((mean - expected.mean[at]).abs() < within, "{name} {at}: {mean} and not {}", expected.mean[at]);
            assert!(
                (deviation - expected.deviation[at]).abs() < within,
                "{name} {at}: {deviation} and not {}",
                expected.deviation[at]
            );
        }
    }
}

#[test]
fn every_crop_shows_a_tenth_of_an_object_or_is_the_whole_image() {
    let mut rng = stream(3, 0, 0, Purpose::Augmentation);
    let object = BoundingBox { ymin: 0.0, xmin: 0.0, ymax: 0.3, xmax: 0.2 };
    for _ in 0..2000 {
        let part = crop::sample(&Cropping::default(), 200, 100, &[object], &mut rng);
        let common = |from: u32, size: u32, end: u32| f64::from((from + size).min(end).saturating_sub(from));
        let shown = common(part.x, part.width, 40) * common(part.y, part.height, 30) / 1200.0;
        assert!(shown >= 0.1, "{part:?}");
    }
    let impossible = Cropping { min_object_covered: 1.1, ..Cropping::default() };
    assert_eq!(crop::sample(&impossible, 200, 100, &[], &mut rng), Window { x: 0, y: 0, width: 200, height: 100 });
}

#[test]
fn the_middle_is_tensorflows() {
    for [width, height, cut_width, cut_height] in golden().central {
        let part = crop::central(width, height, 224.0 / 256.0);
        assert_eq!((part.width, part.height), (cut_width, cut_height), "{width} x {height}");
        assert_eq!((part.x, part.y), ((width - cut_width) / 2, (height - cut_height) / 2));
    }
}

fn sum(pixels: &Pixels) -> u32 {
    let mut sum = flate2::Crc::new();
    (0..pixels.height).for_each(|y| sum.update(pixels.line(y)));
    sum.sum()
}

#[test]
fn pixels_are_tensorflows_to_the_last_bit() {
    let golden = golden();
    for (row, (name, bytes)) in golden.decode.iter().zip(jpegs()) {
        for (dct, dct_name) in [(Dct::Fast, "INTEGER_FAST"), (Dct::Accurate, "INTEGER_ACCURATE")] {
            for (fancy_upsampling, ending) in [(false, ""), (true, "_fancy")] {
                let Some(mut decoder) = decoder(Decoding { dct, fancy_upsampling }) else { return };
                let pixels = decoder.decode(&bytes, Window::whole(jpeg::head(&bytes).unwrap()), 1).unwrap();
                assert_eq!(sum(&pixels), row.sums[&format!("{dct_name}{ending}")], "{name} {dct_name}{ending}");
            }
        }
        let Some(mut decoder) = decoder(Decoding { dct: Dct::Accurate, fancy_upsampling: false }) else { return };
        for times in [2, 4, 8] {
            let pixels = decoder.decode(&bytes, Window::whole(jpeg::head(&bytes).unwrap()), times).unwrap();
            assert_eq!(sum(&pixels), row.sums[&format!("scaled_{times}")], "{name} {times}");
        }
    }
}

#[test]
fn a_part_is_that_part_of_the_whole_bit_for_bit() {
    let mut rng = stream(4, 0, 0, Purpose::Augmentation);
    let mut below = |end: u32| (unit(&mut rng) * end as f32) as u32;
    let Some((mut one, mut other)) = decoder(Decoding::default()).zip(decoder(Decoding::default())) else { return };
    let jpegs = jpegs();
    // One image after another: nothing of the one before may be left.
    for round in 0..200 {
        for (name, bytes) in &jpegs {
            let all = Window::whole(jpeg::head(bytes).unwrap());
            let times = [1, 1, 2, 4, 8][round % 5];
            let (x, y) = (below(all.width), below(all.height));
            let window = Window { x, y, width: 1 + below(all.width - x), height: 1 + below(all.height - y) };
            let part = one.decode(bytes, window, times).unwrap();
            let whole = other.decode(bytes, all, times).unwrap().part(window.smaller(times));
            assert_eq!((part.width, part.height), (whole.width, whole.height));
            for y in 0..part.height {
                assert_eq!(part.line(y), whole.line(y), "{name}, row {y} of {window:?} at 1/{times}");
            }
        }
    }
}
