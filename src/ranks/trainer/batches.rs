//! Batches as the model takes them: picked, augmented, normalised, on the device; or one fixed batch, to measure without.

use std::sync::{Arc, Mutex, PoisonError};

use rand_chacha::ChaCha8Rng;
use rand_core::Rng;
use tch::{Device, Tensor};

use super::ahead::Ahead;
use super::augment::{Normalization, augmented, plain};
use super::device::from_host;
use super::evidence;
use super::random::normal;
use crate::dataset::Split;
use crate::domain::images::InputShape;
use crate::domain::model::ModelSpec;
use crate::domain::topology::Topology;

/// What a run on a fixed batch calls its images.
pub const LABEL_SYNTHETIC: &str = "synthetic";

/// Images, ready to be fed to a model.
pub struct Images {
    source: Source,
    normalization: Normalization,
    device: Device,
    ahead: Mutex<Option<Ahead>>,
}

enum Source {
    /// A split of the data set.
    Split(Arc<Split>),
    /// The same batch at every step, in place of `len` images.
    Fixed { batch: Batch, len: usize },
}

/// # Shapes
/// `images`: `[n, channels, height, width]` float32, channels last in memory. `labels`: `[n]` int64.
pub struct Batch {
    pub images: Tensor,
    pub labels: Tensor,
}

impl Images {
    fn new(source: Source, normalization: Normalization, device: Device) -> Images {
        Images { source, normalization, device, ahead: Mutex::default() }
    }

    /// The training set; its own mean and deviation are what all sets are normalised with.
    pub fn training(split: Split, device: Device) -> Images {
        let normalization = Normalization::of(&split.images);
        Images::new(Source::Split(Arc::new(split)), normalization, device)
    }

    /// The same images with every pixel divided by 255, and not normalised otherwise.
    pub fn in_zero_to_one(self) -> Images {
        Images { normalization: Normalization::ZERO_TO_ONE, ..self }
    }

    /// Another split, normalised like this one.
    pub fn like(&self, split: Split) -> Images {
        Images::new(Source::Split(Arc::new(split)), self.normalization, self.device)
    }

    /// One batch of noise with random labels, as the model takes them. It stays on the device and stands for `len` images: a
    /// step then takes the time of training alone. No result on it means anything apart from time and memory.
    pub fn synthetic(model: ModelSpec, len: usize, batch_size: usize, rng: &mut ChaCha8Rng, device: Device) -> Images {
        Images::synthetic_at(model, model.input(), len, batch_size, rng, device)
    }

    /// The same with images of another size.
    pub fn synthetic_at(
        model: ModelSpec,
        shape: InputShape,
        len: usize,
        batch_size: usize,
        rng: &mut ChaCha8Rng,
        device: Device,
    ) -> Images {
        let classes = model.classes() as u32;
        let pixels: Vec<f32> = (0..batch_size * shape.numbers()).map(|_| normal(rng)).collect();
        let labels: Vec<i64> = (0..batch_size).map(|_| i64::from(rng.next_u32() % classes)).collect();
        let batch = Batch::on(device, shape, &pixels, &labels);
        Images::new(Source::Fixed { batch, len }, Normalization { mean: 0.0, std: 1.0 }, device)
    }

    /// Where the batches are.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        match &self.source {
            Source::Split(split) => split.len(),
            Source::Fixed { len, .. } => *len,
        }
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
        self.tensors(picks, |split| plain(split, picks, &self.normalization))
    }

    /// The picked images, shifted and flipped at random. They are for training: a lab that listens is told of the first batches and
    /// of a few later ones.
    pub fn augmented_batch(&self, picks: &[u32], rng: &mut ChaCha8Rng) -> Batch {
        evidence::picks(picks);
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let prepared = ahead.as_ref().and_then(|ahead| ahead.take(picks, rng));
        if prepared.is_none() {
            // They are not what is asked for, and their thread ends.
            *ahead = None;
        }
        self.tensors(picks, |split| prepared.unwrap_or_else(|| augmented(split, picks, &self.normalization, rng)))
    }

    /// Says which batches [`Images::augmented_batch`] will be asked for, and with what random numbers. While a GPU computes, a thread
    /// prepares the next ones, which are the same as without it. The core of a rank on a CPU has nothing to spare for that.
    pub fn prepare_ahead(&self, batches: &[Vec<u32>], rng: &ChaCha8Rng) {
        let Source::Split(split) = &self.source else { return };
        let ahead = self.device.is_cuda().then(|| Ahead::start(split.clone(), self.normalization, batches.to_vec(), rng.clone()));
        *self.ahead.lock().unwrap_or_else(PoisonError::into_inner) = ahead.flatten();
    }

    fn tensors(&self, picks: &[u32], pixels: impl FnOnce(&Split) -> Vec<f32>) -> Batch {
        match &self.source {
            Source::Split(split) => {
                let labels: Vec<i64> = picks.iter().map(|&pick| i64::from(split.labels[pick as usize])).collect();
                Batch::on(self.device, split.shape, &pixels(split), &labels)
            }
            Source::Fixed { batch, .. } => batch.first(picks.len()),
        }
    }
}

impl Batch {
    /// # Shapes
    /// `pixels`: `[n, height, width, channels]`; `labels`: `[n]`.
    fn on(device: Device, shape: InputShape, pixels: &[f32], labels: &[i64]) -> Batch {
        let [count, height, width, channels] =
            [labels.len(), shape.height, shape.width, shape.channels].map(|length| length as i64);
        let images = from_host(Tensor::from_slice(pixels), device).view([count, height, width, channels]).permute([0, 3, 1, 2]);
        Batch { images, labels: from_host(Tensor::from_slice(labels), device) }
    }

    /// Images that lie plane by plane, as the image pipeline makes them.
    ///
    /// # Shapes
    /// `planes`: `[n, 3, side, side]`; `labels`: `[n]`.
    pub fn of_planes(device: Device, side: usize, planes: &[f32], labels: &[i64]) -> Batch {
        let [count, side] = [labels.len(), side].map(|length| length as i64);
        let planes = from_host(Tensor::from_slice(planes), device).view([count, 3, side, side]);
        // Channels last in memory.
        let images = planes.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]);
        Batch { images, labels: from_host(Tensor::from_slice(labels), device) }
    }

    /// The first `count` images, without a copy: an epoch may end with a short batch.
    fn first(&self, count: usize) -> Batch {
        Batch { images: self.images.narrow(0, 0, count as i64), labels: self.labels.narrow(0, 0, count as i64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trainer::random::{Purpose, stream};

    #[test]
    fn a_synthetic_batch_is_the_same_at_every_step_and_differs_between_processes() {
        let of = |process| {
            Images::synthetic(ModelSpec::wrn(10, 1), 1000, 8, &mut stream(1, process, 0, Purpose::Synthetic), Device::Cpu)
        };
        let images = of(0);
        let mut rng = stream(1, 0, 0, Purpose::Augmentation);
        let first = images.augmented_batch(&[0, 1, 2, 3, 4, 5, 6, 7], &mut rng);
        let later = images.augmented_batch(&[900, 31, 7, 5, 4, 2, 1, 0], &mut rng);
        assert_eq!((images.len(), first.images.size(), first.labels.size()), (1000, vec![8, 1, 28, 28], vec![8]));
        assert!(first.images.equal(&later.images) && first.labels.equal(&later.labels), "picks do not matter");
        assert!(first.images.equal(&of(0).batch(&[0; 8]).images) && !first.images.equal(&of(1).batch(&[0; 8]).images));
        let spread = first.images.std(false).double_value(&[]);
        assert!((spread - 1.0).abs() < 0.1, "normalised, as real images are: {spread}");
        assert_eq!(images.batch(&[9, 9, 9]).images.size(), [3, 1, 28, 28], "a short batch at the end of an epoch");
    }
}
