//! What a rank trains on: one synthetic batch again and again, or real images, shifted and flipped as in hvd-train.

use std::collections::VecDeque;
use std::path::Path;

use hvd_lab::dataset::{self, SplitKind};
use hvd_lab::domain::benchmark::BenchmarkSpec;
use hvd_lab::domain::benchmark::style::Data;
use hvd_lab::domain::topology::{Rank, Topology};
use hvd_lab::domain::training::DataSource;
use hvd_lab::trainer::batches::{Batch, Images};
use hvd_lab::trainer::device::Placement;
use hvd_lab::trainer::random::{Purpose, stream};
use hvd_lab::trainer::sampler::{Sampler, Shuffle};
use rand_chacha::ChaCha8Rng;

use crate::bench::SEED;

pub struct Feed {
    images: Images,
    batch_size: usize,
    pub data: Data,
    /// Where the next batch of real images comes from.
    order: Option<Order>,
}

/// The images of each batch, epoch by epoch: ranks take turns in one order, so that each has its own.
struct Order {
    sampler: Sampler,
    steps: usize,
    epoch: usize,
    batches: VecDeque<Vec<u32>>,
    augmentation: ChaCha8Rng,
}

impl Feed {
    /// # Errors
    /// Why there are no such images.
    pub fn new(spec: &BenchmarkSpec, process: usize, topology: &Topology, placement: &Placement) -> Result<Feed, String> {
        let batch_size = spec.batch_size;
        let Some(folder) = &spec.data_dir else {
            let mut noise = stream(SEED, process, 0, Purpose::Synthetic);
            // On the device from the start: nothing is fed.
            let images = Images::synthetic_at(spec.model, spec.input(), batch_size, batch_size, &mut noise, placement.device);
            return Ok(Feed { images, batch_size, data: Data::synthetic(), order: None });
        };
        let said = |error: dataset::DatasetError| error.to_string();
        let located = dataset::locate(DataSource::Auto, Some(Path::new(folder)), true).map_err(said)?;
        let label = located.label.clone();
        let ranks = topology.size.0;
        let of_all = batch_size * ranks;
        let too_few = |count: usize| {
            format!("{label} has {count} images, fewer than the {of_all} of one batch of all ranks: lower --batch-size")
        };
        // Drawing takes longer than reading: no more than the run will see.
        let batches = spec.warmup_batches + spec.iterations * spec.batches_per_iteration;
        let is_drawn = dataset::is_generated(&label);
        if is_drawn && of_all > SplitKind::Train.official_len() {
            return Err(too_few(SplitKind::Train.official_len()));
        }
        let limit = is_drawn.then(|| batches.saturating_mul(of_all));
        let split = located.load(SplitKind::Train, limit).map_err(said)?;
        let (count, classes) = (split.labels.len(), split.classes);
        if classes > spec.model.classes() {
            return Err(format!("{label} has {classes} classes, and {} tells {} apart", spec.model, spec.model.classes()));
        }
        let steps = count / of_all;
        if steps == 0 {
            return Err(too_few(count));
        }
        let sampler = Sampler::own(SEED, process, count, Purpose::Shuffle).shard(Rank(topology.rank.0), ranks, Shuffle::Shared);
        let augmentation = stream(SEED, process, 0, Purpose::Augmentation);
        let order = Order { sampler, steps, epoch: 0, batches: VecDeque::new(), augmentation };
        let images = Images::training(split, placement.device);
        Ok(Feed { images, batch_size, data: Data { label, images: Some(count) }, order: Some(order) })
    }

    /// The next batch.
    pub fn next(&mut self) -> Batch {
        let Some(order) = &mut self.order else { return self.images.batch(&vec![0; self.batch_size]) };
        let picks = order.batches.pop_front().unwrap_or_else(|| {
            order.batches = order.sampler.batches(order.epoch, order.steps, self.batch_size).into();
            order.epoch += 1;
            order.batches.pop_front().unwrap_or_default()
        });
        self.images.augmented_batch(&picks, &mut order.augmentation)
    }
}
