//! Random numbers that depend only on what they are for: seed, process, epoch and purpose.
//!
//! Never keeps state across epochs: so a resumed run draws what an uninterrupted one would have drawn.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// What the numbers are drawn for. Each purpose has a stream of its own.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    Weights = 1,
    Shuffle,
    Augmentation,
    Dropout,
    ValidationShuffle,
    Synthetic,
}

/// A stream of random numbers, the same for the same four arguments on every machine.
///
/// `process` is the index the process was launched with, not its rank: with step 1 off all are rank 0 of 1, and yet,
/// as with any program that seeds itself, they must not draw the same numbers.
pub fn stream(seed: u64, process: usize, epoch: usize, purpose: Purpose) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream((process as u64) << 40 | (epoch as u64) << 8 | purpose as u64);
    rng
}

/// Uniform in [0, 1), 24 random bits.
pub fn unit(rng: &mut ChaCha8Rng) -> f32 {
    (rng.next_u32() >> 8) as f32 / (1 << 24) as f32
}

/// Standard normal (Box and Muller 1958).
pub fn normal(rng: &mut ChaCha8Rng) -> f32 {
    // 1 - unit is in (0, 1], so the logarithm is finite.
    let radius = (-2.0 * (1.0 - unit(rng)).ln()).sqrt();
    radius * (std::f32::consts::TAU * unit(rng)).cos()
}

/// A random order of `0..count` (Fisher and Yates).
pub fn permutation(rng: &mut ChaCha8Rng, count: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    for last in (1..count).rev() {
        // The bias of a remainder of 64 bits is below 2^-40 for any data set that fits in memory.
        let other = (rng.next_u64() % (last as u64 + 1)) as usize;
        order.swap(last, other);
    }
    order
}

#[cfg(test)]
pub mod testing {
    use std::cell::Cell;

    use super::{Purpose, normal, stream};

    thread_local!(static DRAWN: Cell<usize> = const { Cell::new(0) });

    /// Standard normal numbers on the CPU: others at each call, and the same in each run of a test.
    ///
    /// Tests run side by side and libtorch has one generator for all of them, which the test of dropout seeds.
    pub fn normal_numbers(sides: &[i64]) -> tch::Tensor {
        let mut rng = stream(1, DRAWN.replace(DRAWN.get() + 1), 0, Purpose::Synthetic);
        let numbers: Vec<f32> = (0..sides.iter().product()).map(|_| normal(&mut rng)).collect();
        tch::Tensor::from_slice(&numbers).view(sides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, process, epoch, purpose| stream(seed, process, epoch, purpose).next_u64();
        let first = draw(1, 0, 0, Purpose::Shuffle);
        assert_eq!(first, draw(1, 0, 0, Purpose::Shuffle));
        for other in [draw(2, 0, 0, Purpose::Shuffle), draw(1, 1, 0, Purpose::Shuffle), draw(1, 0, 1, Purpose::Shuffle)] {
            assert_ne!(first, other);
        }
        assert_ne!(first, draw(1, 0, 0, Purpose::Dropout));
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut rng = stream(3, 0, 0, Purpose::Weights);
        let drawn: Vec<f64> = (0..100_000).map(|_| f64::from(normal(&mut rng))).collect();
        let moment = |power| drawn.iter().map(|value| value.powi(power)).sum::<f64>() / drawn.len() as f64;
        assert!(moment(1).abs() < 0.02 && (moment(2) - 1.0).abs() < 0.03 && (moment(4) - 3.0).abs() < 0.15);
    }

    #[test]
    fn a_permutation_holds_everything_once() {
        let mut order = permutation(&mut stream(0, 0, 0, Purpose::Shuffle), 1000);
        assert_ne!(order[..10], (0..10).collect::<Vec<u32>>()[..]);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..1000));
    }
}
