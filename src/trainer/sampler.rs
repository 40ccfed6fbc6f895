//! Which images a rank sees, in which order.
//!
//! Never touches the images themselves.
//!
//! As in the original, every rank shuffles the whole training set with a permutation of its own, anew each epoch; there
//! is no sharding. With fewer steps per epoch (step 5) a rank sees a random part of the set, and different ranks see
//! different, partly overlapping parts.

use super::random::{Purpose, permutation, stream};

/// The order in which one process walks through `images` images.
#[derive(Clone, Copy, Debug)]
pub enum Sampler {
    /// A permutation of the process's own per epoch, without end: when one is used up, the next is drawn.
    OwnShuffle { seed: u64, process: usize, images: usize, purpose: Purpose },
    /// For tests: one order for all, cut into `size` interleaved blocks of a batch each, so that size 1 at batch 2B
    /// and size 2 at batch B see the same images in the same global step.
    Blocks { rank: usize, size: usize, images: usize },
}

impl Sampler {
    /// The images of each batch of `epoch` (0-based): `steps` lists of up to `batch_size` indices.
    ///
    /// A pass over the set ends with a short batch where the batch size does not divide it.
    pub fn batches(&self, epoch: usize, steps: usize, batch_size: usize) -> Vec<Vec<u32>> {
        match *self {
            Sampler::OwnShuffle { seed, process, images, purpose } => {
                let mut rng = stream(seed, process, epoch, purpose);
                let mut batches = Vec::with_capacity(steps);
                while batches.len() < steps {
                    let order = permutation(&mut rng, images);
                    let wanted = steps - batches.len();
                    batches.extend(order.chunks(batch_size).take(wanted).map(<[u32]>::to_vec));
                }
                batches
            }
            Sampler::Blocks { rank, size, images } => (0..steps)
                .map(|step| {
                    let start = (step * size + rank) * batch_size;
                    (start..start + batch_size).map(|index| (index % images) as u32).collect()
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(process: usize, images: usize) -> Sampler {
        Sampler::OwnShuffle { seed: 5, process, images, purpose: Purpose::Shuffle }
    }

    #[test]
    fn a_whole_epoch_sees_every_image_once() {
        let batches = own(0, 1000).batches(0, 16, 64);
        assert_eq!(batches.last().map(Vec::len), Some(1000 - 15 * 64));
        let mut seen: Vec<u32> = batches.concat();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..1000));
    }

    #[test]
    fn ranks_and_epochs_differ_and_repeat() {
        let first = own(0, 1000).batches(0, 5, 64);
        assert_eq!(first, own(0, 1000).batches(0, 5, 64));
        assert_ne!(first, own(1, 1000).batches(0, 5, 64));
        assert_ne!(first, own(0, 1000).batches(1, 5, 64));
    }

    #[test]
    fn more_steps_than_a_pass_goes_on_with_a_new_order() {
        let batches = own(0, 100).batches(0, 7, 30);
        assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [30, 30, 30, 10, 30, 30, 30]);
    }

    #[test]
    fn blocks_of_two_ranks_are_the_batches_of_one() {
        let alone = Sampler::Blocks { rank: 0, size: 1, images: 1000 }.batches(0, 4, 128);
        let pair: Vec<_> = (0..2).map(|rank| Sampler::Blocks { rank, size: 2, images: 1000 }.batches(0, 4, 64)).collect();
        for step in 0..4 {
            assert_eq!(alone[step], [pair[0][step].clone(), pair[1][step].clone()].concat());
        }
    }
}
