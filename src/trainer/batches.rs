//! Batches as the model takes them: picked, augmented, normalised, on the device.
//!
//! Never decides which images: a `Sampler` does.

use rand_chacha::ChaCha8Rng;
use tch::{Device, Tensor};

use super::augment::{Normalization, augmented, plain};
use crate::dataset::{SIDE, Split};
use crate::domain::topology::Topology;

/// A split of the data set, ready to be fed to a model.
pub struct Images {
    split: Split,
    normalization: Normalization,
    device: Device,
}

/// # Shapes
/// `images`: [n, 1, 28, 28] float32, channels last in memory. `labels`: [n] int64.
pub struct Batch {
    pub images: Tensor,
    pub labels: Tensor,
}

impl Images {
    /// The training set; its own mean and deviation are what all sets are normalised with.
    pub fn training(split: Split, device: Device) -> Images {
        let normalization = Normalization::of(&split.images);
        Images { split, normalization, device }
    }

    /// Another split, normalised like this one.
    pub fn like(&self, split: Split) -> Images {
        Images { split, normalization: self.normalization, device: self.device }
    }

    pub fn len(&self) -> usize {
        self.split.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All images once, in order, in batches of `batch_size`, of which ranks take turns.
    pub fn share_in_order(&self, batch_size: usize, topology: &Topology) -> Vec<Vec<u32>> {
        let all: Vec<u32> = (0..self.len() as u32).collect();
        all.chunks(batch_size).skip(topology.rank.0).step_by(topology.size.0).map(<[u32]>::to_vec).collect()
    }

    /// The picked images, unchanged.
    pub fn batch(&self, picks: &[u32]) -> Batch {
        self.tensors(picks, plain(&self.split.images, picks, &self.normalization))
    }

    /// The picked images, shifted and flipped at random.
    pub fn augmented_batch(&self, picks: &[u32], rng: &mut ChaCha8Rng) -> Batch {
        self.tensors(picks, augmented(&self.split.images, picks, &self.normalization, rng))
    }

    fn tensors(&self, picks: &[u32], pixels: Vec<f32>) -> Batch {
        let (count, side) = (picks.len() as i64, SIDE as i64);
        let labels: Vec<i64> = picks.iter().map(|&pick| i64::from(self.split.labels[pick as usize])).collect();
        Batch {
            images: Tensor::from_slice(&pixels).view([count, side, side, 1]).permute([0, 3, 1, 2]).to_device(self.device),
            labels: Tensor::from_slice(&labels).to_device(self.device),
        }
    }
}
