//! Images as the network sees them: random shift and flip, then centred and scaled.
//!
//! Never names a tensor: bytes in, floats out. It takes about a microsecond per image, far less than a training step, so no
//! worker threads are needed on a CPU.

use rand_chacha::ChaCha8Rng;

use super::random::unit;
use crate::dataset::{FASHION_MNIST, Split};
use crate::domain::images::InputShape;

/// Greatest shift along each axis, as a fraction of the side.
const SHIFT: f32 = 0.2;

/// Scalar mean and standard deviation of the training set, over raw values 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalization {
    pub mean: f32,
    pub std: f32,
}

impl Normalization {
    /// 0 to 1.
    pub const ZERO_TO_ONE: Normalization = Normalization { mean: 0.0, std: 255.0 };

    /// From all pixels of the training set. The test set uses the same two numbers.
    pub fn of(images: &[u8]) -> Normalization {
        // Whole numbers, in pieces short enough for sums of 32 bits: three times as fast as counting the values.
        let mut sums = [0u64; 2];
        for piece in images.chunks(1 << 12) {
            sums[0] += u64::from(piece.iter().map(|&pixel| u32::from(pixel)).sum::<u32>());
            sums[1] += u64::from(piece.iter().map(|&pixel| u32::from(pixel) * u32::from(pixel)).sum::<u32>());
        }
        let count = images.len().max(1) as f64;
        let [mean, mean_of_squares] = sums.map(|sum| sum as f64 / count);
        Normalization { mean: mean as f32, std: (mean_of_squares - mean * mean).max(0.0).sqrt() as f32 }
    }

    fn apply(&self, pixels: &mut [f32]) {
        let scale = 1.0 / (self.std + 1e-6);
        pixels.iter_mut().for_each(|pixel| *pixel = (*pixel - self.mean) * scale);
    }
}

/// The chosen images, only normalised.
///
/// # Shapes
/// Returns [picks, height, width, channels].
pub fn plain(split: &Split, picks: &[u32], normalization: &Normalization) -> Vec<f32> {
    let mut out = Vec::with_capacity(picks.len() * split.shape.numbers());
    for &pick in picks {
        out.extend(split.image(pick as usize).iter().map(|&pixel| f32::from(pixel)));
    }
    normalization.apply(&mut out);
    out
}

/// The chosen images, each shifted by up to a fifth of its height and width (bilinear, edges repeated) and flipped left to
/// right half of the time where they may be, then normalised.
///
/// # Shapes
/// As [`plain`].
pub fn augmented(split: &Split, picks: &[u32], normalization: &Normalization, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let mut out = vec![0.0; picks.len() * split.shape.numbers()];
    // Loops over rows whose length the compiler knows take two thirds of the time.
    match split.shape == FASHION_MNIST {
        true => shift_and_flip(FASHION_MNIST, split, picks, rng, &mut out),
        false => shift_and_flip(split.shape, split, picks, rng, &mut out),
    }
    normalization.apply(&mut out);
    out
}

/// The chosen images of this shape, shifted and flipped at random, into `out`.
#[inline(always)]
fn shift_and_flip(shape: InputShape, split: &Split, picks: &[u32], rng: &mut ChaCha8Rng, out: &mut [f32]) {
    let mut shifter = Shifter::new(shape);
    for (&pick, target) in picks.iter().zip(out.chunks_exact_mut(shape.numbers())) {
        let mut shift = |side: usize| (unit(rng) * 2.0 - 1.0) * SHIFT * side as f32;
        let (down, right) = (shift(shape.height), shift(shape.width));
        shifter.shift(split.image(pick as usize), down, right, target);
        // Drawn either way: the same images are shifted alike.
        if unit(rng) < 0.5 && split.may_mirror {
            flip(target, shape);
        }
    }
}

/// Mirrors an image left to right.
#[inline(always)]
fn flip(image: &mut [f32], InputShape { channels, width, .. }: InputShape) {
    for row in image.chunks_exact_mut(width * channels) {
        row.reverse();
        if channels > 1 {
            row.chunks_exact_mut(channels).for_each(<[f32]>::reverse);
        }
    }
}

/// Shifts images of one shape, with room for a row that is wider by a margin on both sides: then no shift leaves the row.
struct Shifter {
    shape: InputShape,
    row: Vec<f32>,
}

impl Shifter {
    #[inline(always)]
    fn new(shape: InputShape) -> Shifter {
        Shifter { shape, row: vec![0.0; (shape.width + 2 * margin(shape)) * shape.channels] }
    }

    /// Target pixel (y, x) is the source at (y - down, x - right): one blend of two rows, then one of two columns.
    #[inline(always)]
    fn shift(&mut self, source: &[u8], down: f32, right: f32, target: &mut [f32]) {
        let shape = self.shape;
        let InputShape { channels, height, width } = shape;
        let (rows, row_part) = split(-down);
        let (columns, column_part) = split(-right);
        let (length, margin) = (width * channels, margin(shape) * channels);
        let clamp = |row: isize| row.clamp(0, height as isize - 1) as usize * length;
        let first = (margin as isize + columns * channels as isize) as usize;
        let row = &mut self.row[..length + 2 * margin];
        for (y, line) in target.chunks_exact_mut(length).enumerate() {
            let above = &source[clamp(y as isize + rows)..][..length];
            let below = &source[clamp(y as isize + rows + 1)..][..length];
            let (left_edge, rest) = row.split_at_mut(margin);
            let (middle, right_edge) = rest.split_at_mut(length);
            for ((blend, &a), &b) in middle.iter_mut().zip(above).zip(below) {
                *blend = f32::from(a) * (1.0 - row_part) + f32::from(b) * row_part;
            }
            left_edge.chunks_exact_mut(channels).for_each(|pixel| pixel.copy_from_slice(&middle[..channels]));
            right_edge.chunks_exact_mut(channels).for_each(|pixel| pixel.copy_from_slice(&middle[length - channels..]));
            let near = &row[first..][..length];
            let far = &row[first + channels..][..length];
            for ((pixel, a), b) in line.iter_mut().zip(near).zip(far) {
                *pixel = a * (1.0 - column_part) + b * column_part;
            }
        }
    }
}

/// Columns beside an image that a shift may reach.
#[inline(always)]
fn margin(shape: InputShape) -> usize {
    (SHIFT * shape.width as f32).ceil() as usize + 1
}

/// Whole part (rounded down) and fraction.
fn split(offset: f32) -> (isize, f32) {
    let whole = offset.floor();
    (whole as isize, offset - whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trainer::random::{Purpose, stream};

    const PIXELS: usize = FASHION_MNIST.numbers();
    const SIDE: usize = FASHION_MNIST.width;

    /// One image.
    fn ramp() -> Split {
        let images = (0..PIXELS).map(|index| (index % SIDE * 9) as u8).collect();
        Split { images, labels: vec![0], shape: FASHION_MNIST, classes: 10, may_mirror: true }
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
            Shifter::new(FASHION_MNIST).shift(&source, down, right, &mut got);
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
        let normalization = Normalization::of(&images.images);
        let out = plain(&images, &[0], &normalization);
        let mean = out.iter().sum::<f32>() / PIXELS as f32;
        let variance = out.iter().map(|value| value * value).sum::<f32>() / PIXELS as f32;
        assert!(mean.abs() < 1e-4 && (variance - 1.0).abs() < 1e-3);
    }

    /// Each channel by itself, in an image that is wider than high.
    #[test]
    fn channels_are_shifted_and_flipped_alike() {
        let (shape, grey) = (InputShape { channels: 3, height: 8, width: 12 }, InputShape { channels: 1, height: 8, width: 12 });
        let source: Vec<u8> = (0..shape.numbers()).map(|index| (index * 7919 % 256) as u8).collect();
        for (down, right) in [(1.6, -2.4), (-0.3, 2.0)] {
            let mut whole = vec![0.0; shape.numbers()];
            Shifter::new(shape).shift(&source, down, right, &mut whole);
            flip(&mut whole, shape);
            for channel in 0..3 {
                let of = |numbers: &[u8]| numbers.iter().skip(channel).step_by(3).copied().collect::<Vec<u8>>();
                let mut alone = vec![0.0; grey.numbers()];
                Shifter::new(grey).shift(&of(&source), down, right, &mut alone);
                flip(&mut alone, grey);
                assert!(whole.iter().skip(channel).step_by(3).eq(&alone), "channel {channel}, shift {down} {right}");
            }
        }
    }
}
