//! Images as the network sees them: random shift and flip, then centred and scaled.
//!
//! Never names a tensor: bytes in, floats out. About a microsecond per image, far below the cost of a training step,
//! so no worker threads are needed on a CPU.

use rand_chacha::ChaCha8Rng;

use super::random::unit;
use crate::dataset::{IMAGE_BYTES as PIXELS, SIDE};

/// Greatest shift along each axis, as a fraction of the side.
const SHIFT: f32 = 0.2;
/// Columns kept on both sides of a row so that a shifted row needs no bounds checks.
const MARGIN: usize = 7;

/// Scalar mean and standard deviation of the training set, over raw values 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalization {
    pub mean: f32,
    pub std: f32,
}

impl Normalization {
    /// From all pixels of the training set. The test set uses the same two numbers.
    pub fn of(images: &[u8]) -> Normalization {
        let mut histogram = [0u64; 256];
        images.iter().for_each(|&pixel| histogram[pixel as usize] += 1);
        let count = images.len().max(1) as f64;
        let moment =
            |power| histogram.iter().zip(0..).map(|(&n, value)| n as f64 * f64::powi(f64::from(value), power)).sum::<f64>();
        let mean = moment(1) / count;
        Normalization { mean: mean as f32, std: (moment(2) / count - mean * mean).max(0.0).sqrt() as f32 }
    }

    fn apply(&self, pixels: &mut [f32]) {
        let scale = 1.0 / (self.std + 1e-6);
        pixels.iter_mut().for_each(|pixel| *pixel = (*pixel - self.mean) * scale);
    }
}

/// The chosen images, unchanged but for the normalisation.
///
/// # Shapes
/// `images`: n x 28 x 28 bytes. Returns `picks.len()` x 28 x 28.
pub fn plain(images: &[u8], picks: &[u32], normalization: &Normalization) -> Vec<f32> {
    let mut out = Vec::with_capacity(picks.len() * PIXELS);
    for &pick in picks {
        out.extend(image(images, pick).iter().map(|&pixel| f32::from(pixel)));
    }
    normalization.apply(&mut out);
    out
}

/// The chosen images, each shifted by up to a fifth of its side along both axes (bilinear, edges repeated) and flipped
/// left to right half of the time, then normalised.
///
/// # Shapes
/// As [`plain`].
pub fn augmented(images: &[u8], picks: &[u32], normalization: &Normalization, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let mut out = vec![0.0; picks.len() * PIXELS];
    for (&pick, target) in picks.iter().zip(out.chunks_exact_mut(PIXELS)) {
        let mut shift = || (unit(rng) * 2.0 - 1.0) * SHIFT * SIDE as f32;
        let (down, right) = (shift(), shift());
        shifted(image(images, pick), down, right, target);
        if unit(rng) < 0.5 {
            target.chunks_exact_mut(SIDE).for_each(<[f32]>::reverse);
        }
    }
    normalization.apply(&mut out);
    out
}

fn image(images: &[u8], pick: u32) -> &[u8] {
    &images[pick as usize * PIXELS..][..PIXELS]
}

/// Target pixel (y, x) is the source at (y - down, x - right): one blend of two rows, then one of two columns.
fn shifted(source: &[u8], down: f32, right: f32, target: &mut [f32]) {
    let (rows, row_part) = split(-down);
    let (columns, column_part) = split(-right);
    let clamp = |row: isize| row.clamp(0, SIDE as isize - 1) as usize * SIDE;
    let mut wide = [0.0f32; SIDE + 2 * MARGIN];
    let first = (MARGIN as isize + columns) as usize;
    for (y, line) in target.chunks_exact_mut(SIDE).enumerate() {
        let above = &source[clamp(y as isize + rows)..][..SIDE];
        let below = &source[clamp(y as isize + rows + 1)..][..SIDE];
        for ((blend, &a), &b) in wide[MARGIN..].iter_mut().zip(above).zip(below) {
            *blend = f32::from(a) * (1.0 - row_part) + f32::from(b) * row_part;
        }
        let (left_edge, right_edge) = (wide[MARGIN], wide[MARGIN + SIDE - 1]);
        wide[..MARGIN].fill(left_edge);
        wide[MARGIN + SIDE..].fill(right_edge);
        let near = &wide[first..first + SIDE];
        let far = &wide[first + 1..first + 1 + SIDE];
        for ((pixel, a), b) in line.iter_mut().zip(near).zip(far) {
            *pixel = a * (1.0 - column_part) + b * column_part;
        }
    }
}

/// Whole part (rounded down) and fraction. Shifts stay below 0.2 * 28 = 5.6, well inside the margin.
fn split(offset: f32) -> (isize, f32) {
    let whole = offset.floor();
    (whole as isize, offset - whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trainer::random::{Purpose, stream};

    fn ramp() -> Vec<u8> {
        (0..PIXELS).map(|index| (index % SIDE * 9) as u8).collect()
    }

    /// The textbook definition, pixel by pixel.
    fn reference(source: &[u8], down: f32, right: f32) -> Vec<f32> {
        let at = |y: isize, x: isize| f32::from(source[y.clamp(0, 27) as usize * SIDE + x.clamp(0, 27) as usize]);
        (0..PIXELS)
            .map(|index| {
                let (y, x) = ((index / SIDE) as f32 - down, (index % SIDE) as f32 - right);
                let (y0, x0) = (y.floor(), x.floor());
                let (fy, fx) = (y - y0, x - x0);
                let (y0, x0) = (y0 as isize, x0 as isize);
                let row = |y| at(y, x0) * (1.0 - fx) + at(y, x0 + 1) * fx;
                row(y0) * (1.0 - fy) + row(y0 + 1) * fy
            })
            .collect()
    }

    #[test]
    fn shifting_is_bilinear_with_repeated_edges() {
        let source: Vec<u8> = (0..PIXELS).map(|index| (index * 7919 % 256) as u8).collect();
        for (down, right) in [(0.0, 0.0), (5.6, -5.6), (-5.6, 5.6), (0.5, 1.25), (-3.0, 2.0), (-0.001, 0.001)] {
            let mut got = vec![0.0; PIXELS];
            shifted(&source, down, right, &mut got);
            for (got, want) in got.iter().zip(reference(&source, down, right)) {
                assert!((got - want).abs() < 1e-2, "shift {down} {right}: {got} {want}");
            }
        }
    }

    #[test]
    fn half_of_the_images_are_flipped() {
        let images = ramp();
        let flat = Normalization { mean: 0.0, std: 1.0 };
        let picks = vec![0; 2000];
        let out = augmented(&images, &picks, &flat, &mut stream(0, 0, 0, Purpose::Augmentation));
        let flipped = out.chunks(PIXELS).filter(|image| image[0] > image[SIDE - 1]).count();
        assert!((850..1150).contains(&flipped), "{flipped} of 2000");
    }

    #[test]
    fn normalised_images_have_mean_0_and_deviation_1() {
        let images = ramp();
        let normalization = Normalization::of(&images);
        let out = plain(&images, &[0], &normalization);
        let mean = out.iter().sum::<f32>() / PIXELS as f32;
        let variance = out.iter().map(|value| value * value).sum::<f32>() / PIXELS as f32;
        assert!(mean.abs() < 1e-4 && (variance - 1.0).abs() < 1e-3);
    }
}
