//! Which images come when: training images shuffled by epochs, validation images as they are kept.

use std::ops::Range;

use rand_chacha::ChaCha8Rng;
use rand_core::Rng;

use crate::domain::topology::{Rank, Topology};
use crate::trainer::random::{Purpose, stream};
use crate::trainer::sampler::{Sampler, Shuffle};

/// The images of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub epoch: usize,
    /// How many images this rank has seen in the epoch before.
    pub first: usize,
    pub images: Vec<u32>,
}

/// How a rank walks through the images.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub images: usize,
    pub rank: usize,
    pub ranks: usize,
    pub seed: u64,
    pub batch_size: usize,
    /// Images that wait to be drawn from (nvcnn: the smaller of 10,000 and all). Files are then read nearly in their order; what
    /// waits is only the numbers of the images. With all of them, it is the shuffling of the other trainer.
    pub shuffle_buffer: usize,
}

/// nvcnn's.
pub const SHUFFLE_BUFFER: usize = 10_000;

impl Order {
    /// The walk of this rank through `images` photos.
    pub fn new(images: usize, topology: &Topology, seed: u64, batch_size: usize, shuffle_buffer: usize) -> Order {
        Order { images, rank: topology.rank.0, ranks: topology.size.0, seed, batch_size, shuffle_buffer }
    }

    /// Batches of a whole epoch: as many on every rank, all of them full.
    pub fn steps_per_epoch(&self) -> usize {
        self.images / self.ranks / self.batch_size
    }

    /// Shuffled batches of `epochs` from the one with this number on.
    pub fn train(self, first: usize, epochs: usize) -> impl Iterator<Item = Planned> + Send {
        (first..first + epochs).flat_map(move |epoch| {
            let images: Vec<Vec<u32>> = if self.shuffle_buffer >= self.images {
                let whole = Sampler::own(self.seed, self.rank, self.images, Purpose::Shuffle);
                let own = whole.shard(Rank(self.rank), self.ranks, Shuffle::Shared);
                own.batches(epoch, self.steps_per_epoch(), self.batch_size)
            } else {
                let rng = stream(self.seed, self.rank, epoch, Purpose::Shuffle);
                let drawn: Vec<u32> = shuffled(self.share(), self.shuffle_buffer, rng).collect();
                drawn.chunks_exact(self.batch_size).take(self.steps_per_epoch()).map(<[u32]>::to_vec).collect()
            };
            plan(epoch, images)
        })
    }

    /// This rank's share as it is kept, once; the last batch may be short.
    pub fn validate(self) -> impl Iterator<Item = Planned> + Send {
        let images: Vec<u32> = self.share().collect();
        plan(0, images.chunks(self.batch_size).map(<[u32]>::to_vec).collect::<Vec<_>>())
    }

    /// Neighbours, so that a rank reads its files from the beginning to the end.
    fn share(&self) -> Range<u32> {
        let at = |rank: usize| (self.images * rank / self.ranks) as u32;
        at(self.rank)..at(self.rank + 1)
    }
}

fn plan(epoch: usize, batches: Vec<Vec<u32>>) -> impl Iterator<Item = Planned> + Send {
    let mut first = 0;
    batches.into_iter().map(move |images| {
        let planned = Planned { epoch, first, images };
        first += planned.images.len();
        planned
    })
}

/// Draws from `size` that wait; the next one in line takes the place of what was drawn.
fn shuffled(mut line: Range<u32>, size: usize, mut rng: ChaCha8Rng) -> impl Iterator<Item = u32> {
    let mut waiting: Vec<u32> = line.by_ref().take(size.max(1)).collect();
    std::iter::from_fn(move || {
        if waiting.is_empty() {
            return None;
        }
        let at = ((u64::from(rng.next_u32()) * waiting.len() as u64) >> 32) as usize;
        Some(match line.next() {
            Some(next) => std::mem::replace(&mut waiting[at], next),
            None => waiting.swap_remove(at),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: Order = Order { images: 1000, rank: 0, ranks: 1, seed: 3, batch_size: 32, shuffle_buffer: 100 };

    fn seen(order: Order) -> Vec<u32> {
        order.train(0, 1).flat_map(|planned| planned.images).collect()
    }

    #[test]
    fn ranks_share_an_epoch_in_full_batches_and_no_image_comes_twice() {
        for shuffle_buffer in [100, 1000] {
            let of = |rank| seen(Order { rank, ranks: 3, shuffle_buffer, ..ORDER });
            let mut all = [of(0), of(1), of(2)].concat();
            assert_eq!(all.len(), 3 * 10 * 32);
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 3 * 10 * 32, "{shuffle_buffer}");
        }
    }

    #[test]
    fn epochs_differ_and_repeat_and_say_where_they_are() {
        let plans = |first| ORDER.train(first, 1).collect::<Vec<_>>();
        assert_eq!(plans(4), plans(4));
        assert_ne!(plans(4)[0].images, plans(5)[0].images);
        assert_eq!((plans(4)[2].epoch, plans(4)[2].first), (4, 64));
    }

    #[test]
    fn a_buffer_lets_no_image_come_much_too_early() {
        let seen = seen(ORDER);
        assert!(seen.iter().enumerate().all(|(at, image)| (*image as usize) < at + 100));
        assert!(seen[..100].iter().any(|image| *image > 100));
        let mean = seen[..100].iter().sum::<u32>() as f32 / 100.0;
        assert!((30.0..130.0).contains(&mean), "{mean}");
    }

    #[test]
    fn validation_sees_each_image_once_in_its_order() {
        let of = |rank| Order { rank, ranks: 3, ..ORDER }.validate().flat_map(|planned| planned.images).collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2)].concat(), (0..1000).collect::<Vec<_>>());
    }
}
