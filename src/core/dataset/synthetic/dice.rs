//! The random draws of one image.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Depends on a seed and the number of the image alone.
pub struct Dice(ChaCha8Rng);

impl Dice {
    pub fn of_image(seed: u64, index: u64) -> Dice {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(index);
        Dice(generator)
    }

    /// Uniform in 0 to 1, 1 excluded.
    pub fn fraction(&mut self) -> f32 {
        (self.0.next_u32() >> 8) as f32 / (1 << 24) as f32
    }

    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.fraction()
    }

    pub fn chance(&mut self, probability: f32) -> bool {
        self.fraction() < probability
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.0.next_u32() as usize * count) >> 32
    }
}
