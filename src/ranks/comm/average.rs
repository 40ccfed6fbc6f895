//! The division that makes an average of a sum over the ranks.
//!
//! Never rounds twice: every backend gives the bits of `sum / ranks`.

use std::ops::{DivAssign, MulAssign};

/// Divides sums over so many ranks by their number.
///
/// A multiplication by the reciprocal is several times faster than a division. For a power of two the reciprocal is exact,
/// so the bits are the same. Any other reciprocal is rounded, and the product would be rounded again.
pub(super) fn average<T: From<f32> + Copy + MulAssign + DivAssign>(sums: &mut [T], ranks: usize) {
    if ranks == 1 {
        return;
    }
    let count = ranks as f32;
    if ranks.is_power_of_two() {
        let share = T::from(count.recip());
        sums.iter_mut().for_each(|sum| *sum *= share);
    } else {
        let count = T::from(count);
        sums.iter_mut().for_each(|sum| *sum /= count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_has_the_bits_of_the_division_for_any_number_of_ranks() {
        // Numbers of every exponent, and the subnormal ones, where a product could round another way.
        let numbers: Vec<f32> = (0..0x7f80).map(|high| f32::from_bits((high << 16) | (high * 40_503) & 0xffff)).collect();
        for ranks in (1..=17).chain([64, 100, 1 << 20]) {
            let mut averages = numbers.clone();
            average(&mut averages, ranks);
            let mut wide: Vec<f64> = numbers.iter().copied().map(f64::from).collect();
            average(&mut wide, ranks);
            for ((&number, average), wide) in numbers.iter().zip(averages).zip(wide) {
                assert_eq!(average.to_bits(), (number / ranks as f32).to_bits(), "{number:e} / {ranks}");
                assert_eq!(wide.to_bits(), (f64::from(number) / ranks as f64).to_bits(), "{number:e} / {ranks}");
            }
        }
    }
}
