//! float32 numbers as 16 bits while they travel between ranks: compress, add up, decompress.
//!
//! Never scales a number to make it fit: beyond the greatest float16, 65504, it becomes infinite.

use std::fmt;

use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use half::{bf16, f16};

use super::average::average;

/// The format that float32 numbers travel in. The lossy formats halve the traffic.
///
/// # Horovod
/// `hvd.Compression`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Compression {
    #[default]
    None,
    /// 10 bits of fraction, greatest number 65504.
    Fp16,
    /// 7 bits of fraction, the range of float32.
    Bf16,
}

impl Compression {
    pub(super) fn half(self) -> Option<Half> {
        match self {
            Compression::None => None,
            Compression::Fp16 => Some(Half::Fp16),
            Compression::Bf16 => Some(Half::Bf16),
        }
    }
}

impl fmt::Display for Compression {
    /// What follows the kind of the numbers: nothing, or ` as bf16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::None => "",
            Compression::Fp16 => " as fp16",
            Compression::Bf16 => " as bf16",
        })
    }
}

/// A 16-bit floating-point format. Its numbers are kept as `u16`, bit by bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Fp16,
    Bf16,
}

/// Numbers cast at a time, on the stack.
const BLOCK: usize = 256;

impl Half {
    /// Each number divided by the number of ranks and rounded to 16 bits: what one rank adds to an average.
    ///
    /// The division comes before the sum, as in Horovod, so that the sum of large gradients stays in range.
    pub(super) fn compress(self, numbers: &[f32], ranks: usize, into: &mut Vec<u16>) {
        into.resize(numbers.len(), 0);
        let mut block = [0.0; BLOCK];
        for (numbers, into) in numbers.chunks(BLOCK).zip(into.chunks_mut(BLOCK)) {
            let block = &mut block[..numbers.len()];
            block.copy_from_slice(numbers);
            average(block, ranks);
            self.round(block, into);
        }
    }

    /// `halves` and `numbers` are equally long.
    pub(super) fn decompress(self, halves: &[u16], numbers: &mut [f32]) {
        match self {
            Half::Fp16 => halves.reinterpret_cast::<f16>().convert_to_f32_slice(numbers),
            Half::Bf16 => halves.reinterpret_cast::<bf16>().convert_to_f32_slice(numbers),
        }
    }

    /// Adds `other` to `sum`, equally long, and rounds each sum to 16 bits. The sum of two numbers does not depend on their
    /// order.
    pub(super) fn add(self, other: &[u16], sum: &mut [u16]) {
        let (mut left, mut right) = ([0.0; BLOCK], [0.0; BLOCK]);
        for (other, sum) in other.chunks(BLOCK).zip(sum.chunks_mut(BLOCK)) {
            let (left, right) = (&mut left[..sum.len()], &mut right[..sum.len()]);
            self.decompress(other, left);
            self.decompress(sum, right);
            left.iter_mut().zip(right).for_each(|(left, right)| *left += *right);
            self.round(left, sum);
        }
    }

    /// `numbers` and `halves` are equally long.
    fn round(self, numbers: &[f32], halves: &mut [u16]) {
        match self {
            Half::Fp16 => halves.reinterpret_cast_mut::<f16>().convert_from_f32_slice(numbers),
            Half::Bf16 => halves.reinterpret_cast_mut::<bf16>().convert_from_f32_slice(numbers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_as_the_formats_say() {
        let rounded = |format: Half, number: f32| {
            let (mut halves, mut back) = (Vec::new(), [0.0]);
            format.compress(&[number], 1, &mut halves);
            format.decompress(&halves, &mut back);
            back[0]
        };
        // 10 and 7 bits of fraction: 1 + 2^-11 and 1 + 2^-8 are halfway to the next number, and go to the even one.
        assert_eq!([rounded(Half::Fp16, 1.0 + 2f32.powi(-10)), rounded(Half::Fp16, 1.0 + 2f32.powi(-11))], [1.0009766, 1.0]);
        assert_eq!([rounded(Half::Bf16, 1.0 + 2f32.powi(-7)), rounded(Half::Bf16, 1.0 + 2f32.powi(-8))], [1.0078125, 1.0]);
        assert_eq!([rounded(Half::Fp16, 65504.0), rounded(Half::Fp16, 1e5), rounded(Half::Fp16, -1e5)], {
            [65504.0, f32::INFINITY, f32::NEG_INFINITY]
        });
        assert_eq!(rounded(Half::Bf16, 1e38), f32::from_bits(0x7e96_0000), "beyond the range of float16");
    }

    #[test]
    fn sums_cover_every_element_of_odd_lengths() {
        for format in [Half::Fp16, Half::Bf16] {
            for length in [0, 1, 7, 255, 256, 257, 1000] {
                let numbers: Vec<f32> = (0..length).map(|i| (i % 64) as f32).collect();
                let (mut half, mut sum, mut back) = (Vec::new(), Vec::new(), vec![0.0; length]);
                format.compress(&numbers, 2, &mut half);
                format.compress(&numbers, 2, &mut sum);
                format.add(&half, &mut sum);
                format.decompress(&sum, &mut back);
                assert_eq!(back, numbers);
            }
        }
    }
}
