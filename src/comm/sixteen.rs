//! float32 numbers in 16 bits, for the way between ranks: cast, add up, cast back.
//!
//! Never scales a number to make it fit: beyond the greatest number of float16, 65504, it is infinite.

use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use half::{bf16, f16};

use super::Compression;
use super::average::average;

/// The two ways of [`Compression`] that change anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Fp16,
    Bf16,
}

/// Numbers cast at a time, on the stack.
const BLOCK: usize = 256;

impl Compression {
    pub(super) fn format(self) -> Option<Format> {
        match self {
            Compression::None => None,
            Compression::Fp16 => Some(Format::Fp16),
            Compression::Bf16 => Some(Format::Bf16),
        }
    }
}

impl Format {
    /// Each number divided by the number of ranks, rounded to 16 bits: what a rank adds to an average.
    ///
    /// Divided before the sum, as Horovod does, so that the sum of large gradients does not leave the range.
    pub(super) fn shrink(self, numbers: &[f32], ranks: usize, into: &mut Vec<u16>) {
        into.resize(numbers.len(), 0);
        let mut block = [0.0; BLOCK];
        for (numbers, into) in numbers.chunks(BLOCK).zip(into.chunks_mut(BLOCK)) {
            let block = &mut block[..numbers.len()];
            block.copy_from_slice(numbers);
            average(block, ranks);
            self.encode(block, into);
        }
    }

    /// `numbers` and `words` are equally long.
    pub(super) fn encode(self, numbers: &[f32], words: &mut [u16]) {
        match self {
            Format::Fp16 => words.reinterpret_cast_mut::<f16>().convert_from_f32_slice(numbers),
            Format::Bf16 => words.reinterpret_cast_mut::<bf16>().convert_from_f32_slice(numbers),
        }
    }

    /// `words` and `numbers` are equally long.
    pub(super) fn decode(self, words: &[u16], numbers: &mut [f32]) {
        match self {
            Format::Fp16 => words.reinterpret_cast::<f16>().convert_to_f32_slice(numbers),
            Format::Bf16 => words.reinterpret_cast::<bf16>().convert_to_f32_slice(numbers),
        }
    }

    /// Adds `other` to `sum`, equally long, rounding each sum to 16 bits. In which order is of no matter for two numbers.
    pub(super) fn add(self, other: &[u16], sum: &mut [u16]) {
        let (mut left, mut right) = ([0.0; BLOCK], [0.0; BLOCK]);
        for (other, sum) in other.chunks(BLOCK).zip(sum.chunks_mut(BLOCK)) {
            let (left, right) = (&mut left[..sum.len()], &mut right[..sum.len()]);
            self.decode(other, left);
            self.decode(sum, right);
            left.iter_mut().zip(right).for_each(|(left, right)| *left += *right);
            self.encode(left, sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_as_the_formats_say() {
        let rounded = |format: Format, number: f32| {
            let (mut words, mut back) = (Vec::new(), [0.0]);
            format.shrink(&[number], 1, &mut words);
            format.decode(&words, &mut back);
            back[0]
        };
        // 10 and 7 bits of fraction: 1 + 2^-11 and 1 + 2^-8 are halfway to the next number, and go to the even one.
        assert_eq!([rounded(Format::Fp16, 1.0 + 2f32.powi(-10)), rounded(Format::Fp16, 1.0 + 2f32.powi(-11))], [1.0009766, 1.0]);
        assert_eq!([rounded(Format::Bf16, 1.0 + 2f32.powi(-7)), rounded(Format::Bf16, 1.0 + 2f32.powi(-8))], [1.0078125, 1.0]);
        assert_eq!([rounded(Format::Fp16, 65504.0), rounded(Format::Fp16, 1e5), rounded(Format::Fp16, -1e5)], {
            [65504.0, f32::INFINITY, f32::NEG_INFINITY]
        });
        assert_eq!(rounded(Format::Bf16, 1e38), f32::from_bits(0x7e96_0000), "beyond the range of float16");
    }

    #[test]
    fn sums_cover_every_element_of_odd_lengths() {
        for format in [Format::Fp16, Format::Bf16] {
            for length in [0, 1, 7, 255, 256, 257, 1000] {
                let numbers: Vec<f32> = (0..length).map(|i| (i % 64) as f32).collect();
                let (mut half, mut sum, mut back) = (Vec::new(), Vec::new(), vec![0.0; length]);
                format.shrink(&numbers, 2, &mut half);
                format.shrink(&numbers, 2, &mut sum);
                format.add(&half, &mut sum);
                format.decode(&sum, &mut back);
                assert_eq!(back, numbers);
            }
        }
    }
}
