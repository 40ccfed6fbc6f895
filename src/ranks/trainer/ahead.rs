//! The next batches of an epoch, augmented by a thread while a GPU computes.
//!
//! Never changes what is trained on: a batch of other images or other random numbers is not taken from here.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use rand_chacha::ChaCha8Rng;

use super::augment::{Normalization, augmented};
use crate::dataset::Split;

/// Batches that are ready before the thread waits, so that one slow batch does not hold up the GPU.
const WAITING: usize = 2;

/// A thread and its batches. Without its receiver the thread ends.
pub struct Ahead(Receiver<Prepared>);

struct Prepared {
    picks: Vec<u32>,
    /// The random numbers before and after.
    from: ChaCha8Rng,
    to: ChaCha8Rng,
    pixels: Vec<f32>,
}

impl Ahead {
    /// Prepares these batches in this order, each with the random numbers that the one before has left. `None` where no thread can be
    /// started.
    pub fn start(split: Arc<Split>, normalization: Normalization, batches: Vec<Vec<u32>>, mut rng: ChaCha8Rng) -> Option<Ahead> {
        let (sender, receiver) = sync_channel(WAITING);
        let prepare = move || {
            for picks in batches {
                let from = rng.clone();
                let pixels = augmented(&split, &picks, &normalization, &mut rng);
                if sender.send(Prepared { picks, from, to: rng.clone(), pixels }).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("batches".into()).spawn(prepare).ok()?;
        Some(Ahead(receiver))
    }

    /// The pixels of the next batch, if it is of these images and these random numbers, which are then those after it.
    ///
    /// # Shapes
    /// As [`augmented`].
    pub fn take(&self, picks: &[u32], rng: &mut ChaCha8Rng) -> Option<Vec<f32>> {
        let next = self.0.recv().ok().filter(|next| next.picks == picks && next.from == *rng)?;
        *rng = next.to;
        Some(next.pixels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::FASHION_MNIST;
    use crate::trainer::random::{Purpose, stream};

    const FLAT: Normalization = Normalization { mean: 0.0, std: 1.0 };

    fn split() -> Arc<Split> {
        let images = (0..8 * FASHION_MNIST.numbers()).map(|index| (index * 31 % 251) as u8).collect();
        Arc::new(Split { images, labels: vec![0; 8], shape: FASHION_MNIST, classes: 10, may_mirror: true })
    }

    #[test]
    fn batches_and_random_numbers_are_those_without_the_thread() {
        let (split, batches) = (split(), vec![vec![0, 3, 5], vec![7, 1, 2], vec![4, 6]]);
        let mut alone = stream(1, 0, 0, Purpose::Augmentation);
        let mut rng = alone.clone();
        let ahead = Ahead::start(split.clone(), FLAT, batches.clone(), rng.clone()).unwrap();
        for picks in &batches {
            let pixels = ahead.take(picks, &mut rng).unwrap();
            assert_eq!(pixels, augmented(&split, picks, &FLAT, &mut alone));
            assert_eq!(rng, alone);
        }
        assert!(ahead.take(&batches[0], &mut rng).is_none(), "all are taken");
    }

    #[test]
    fn nobody_gets_other_images_or_those_of_other_random_numbers() {
        let first = || Ahead::start(split(), FLAT, vec![vec![0, 1]], stream(1, 0, 0, Purpose::Augmentation)).unwrap();
        let mut right = stream(1, 0, 0, Purpose::Augmentation);
        assert!(first().take(&[1, 0], &mut right).is_none());
        assert_eq!(right, stream(1, 0, 0, Purpose::Augmentation));
        assert!(first().take(&[0, 1], &mut stream(2, 0, 0, Purpose::Augmentation)).is_none());
        assert!(first().take(&[0, 1], &mut right).is_some());
    }
}
