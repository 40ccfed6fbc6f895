//! How a training takes its images: shifted, flipped and in random order, or as they are.

use hvd_lab::trainer::batches::{Batch, Images};
use hvd_lab::trainer::startup::Data;
use rand_chacha::ChaCha8Rng;

/// What is done to images before the model sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// As hvd-train takes garments: normalised, shifted and flipped at random, and validated in an order that is drawn.
    Shifted,
    /// As the MNIST program takes digits: every pixel 0 to 1, and validated and tested on the same images, one after the other.
    Plain,
}

impl Taken {
    pub fn scaled(self, data: Data) -> Data {
        match self {
            Taken::Shifted => data,
            Taken::Plain => data.in_zero_to_one(),
        }
    }

    /// A batch to train on.
    pub fn batch(self, images: &Images, picks: &[u32], rng: &mut ChaCha8Rng) -> Batch {
        match self {
            Taken::Shifted => images.augmented_batch(picks, rng),
            Taken::Plain => images.batch(picks),
        }
    }

    /// The first `count` images in batches, where nothing is drawn.
    pub fn in_order(self, count: usize, batch_size: usize) -> Option<Vec<Vec<u32>>> {
        let all: Vec<u32> = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
        (self == Taken::Plain).then(|| all.chunks(batch_size).map(<[u32]>::to_vec).collect())
    }
}
