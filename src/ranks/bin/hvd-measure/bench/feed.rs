//! What a rank trains on: one synthetic batch again and again, or real images as hvd-train and `nvcnn` feed them.

use std::collections::VecDeque;
use std::path::Path;

use anyhow::Context;
use hvd_lab::dataset::images::{self, BadRecords, Part};
use hvd_lab::dataset::{self, SplitKind};
use hvd_lab::domain::benchmark::style::Data;
use hvd_lab::domain::benchmark::{BenchmarkSpec, Binding};
use hvd_lab::domain::topology::{Rank, Topology};
use hvd_lab::domain::training::DataSource;
use hvd_lab::trainer::batches::{Batch, Images};
use hvd_lab::trainer::device::Placement;
use hvd_lab::trainer::pipeline::{self, Operations, Order, Pipeline, PipelineReport, SHUFFLE_BUFFER, Settings, check_size};
use hvd_lab::trainer::random::{Purpose, stream};
use hvd_lab::trainer::sampler::{Sampler, Shuffle};
use rand_chacha::ChaCha8Rng;
use tch::Device;

/// No result of this training is ever looked at, so one seed will do.
pub const SEED: u64 = 1;
/// Batches of photos that may be ready before the model asks.
const PREFETCH: usize = 2;

pub struct Feed {
    source: Source,
    pub data: Data,
    /// What of a folder of photos is not used, in a sentence each.
    pub notes: Vec<String>,
}

enum Source {
    /// On the device from the start: nothing is fed.
    Synthetic { images: Images, batch_size: usize },
    /// Shifted and flipped.
    Small { images: Images, order: Box<Epochs> },
    /// Decoded, cropped and flipped by threads of their own.
    Photos { pipeline: Pipeline, device: Device },
}

/// The images of each batch, epoch by epoch: ranks take turns in one order, so that each has its own.
struct Epochs {
    sampler: Sampler,
    batch_size: usize,
    steps: usize,
    epoch: usize,
    batches: VecDeque<Vec<u32>>,
    augmentation: ChaCha8Rng,
}

impl Feed {
    /// # Errors
    /// Why there are no such images.
    pub fn new(spec: &BenchmarkSpec, process: usize, topology: &Topology, placement: &Placement) -> Result<Feed, String> {
        match &spec.data_dir {
            Some(folder) if spec.takes_photos() => Feed::photos(spec, folder, process, topology, placement),
            Some(folder) => Feed::small(spec, folder, process, topology, placement),
            None => {
                let (batch_size, mut noise) = (spec.batch_size, stream(SEED, process, 0, Purpose::Synthetic));
                let images = Images::synthetic_at(spec.model, spec.input(), batch_size, batch_size, &mut noise, placement.device);
                Ok(Feed { source: Source::Synthetic { images, batch_size }, data: Data::synthetic(), notes: Vec::new() })
            }
        }
    }

    /// Garments or digits.
    fn small(
        spec: &BenchmarkSpec,
        folder: &str,
        process: usize,
        topology: &Topology,
        placement: &Placement,
    ) -> Result<Feed, String> {
        let said = |error: dataset::DatasetError| error.to_string();
        let located = dataset::locate(DataSource::Auto, Some(Path::new(folder)), true).map_err(said)?;
        let label = located.label.clone();
        let (ranks, batch_size) = (topology.size.0, spec.batch_size);
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
        let count = split.labels.len();
        check_classes(spec, &label, split.classes)?;
        let steps = count / of_all;
        if steps == 0 {
            return Err(too_few(count));
        }
        let sampler = Sampler::own(SEED, process, count, Purpose::Shuffle).shard(Rank(topology.rank.0), ranks, Shuffle::Shared);
        let augmentation = stream(SEED, process, 0, Purpose::Augmentation);
        let order = Box::new(Epochs { sampler, batch_size, steps, epoch: 0, batches: VecDeque::new(), augmentation });
        let images = Images::training(split, placement.device);
        Ok(Feed { source: Source::Small { images, order }, data: Data { label, images: Some(count) }, notes: Vec::new() })
    }

    /// TFRecord files, or a folder of JPEGs for each class. The first bad one ends the benchmark.
    fn photos(
        spec: &BenchmarkSpec,
        folder: &str,
        process: usize,
        topology: &Topology,
        placement: &Placement,
    ) -> Result<Feed, String> {
        let root = Path::new(folder);
        let found = images::open(root, Part::Train, spec.model.classes(), BadRecords::Stop).map_err(|error| error.to_string())?;
        check_classes(spec, folder, found.source.classes())?;
        let order = Order {
            images: found.source.len(),
            rank: topology.rank.0,
            ranks: topology.size.0,
            seed: SEED,
            batch_size: spec.batch_size,
            shuffle_buffer: SHUFFLE_BUFFER,
        };
        check_size(&order).map_err(|error| error.to_string())?;
        // A rank that is bound to cores has them to itself.
        let is_bound = placement.gpu().is_none() && spec.bind != Binding::Unbound;
        let settings = Settings {
            operations: Operations { side: spec.input().height, ..Operations::default() },
            threads: pipeline::threads_for(placement.cores.len(), topology.local_size.0, is_bound),
            prefetch: PREFETCH,
            seed: SEED,
            process,
            bad: BadRecords::Stop,
            once: false,
        };
        let data = Data {
            label: images::generated_by(root).map_or(folder.to_owned(), |_| format!("{folder} (generated)")),
            images: Some(order.images),
        };
        // As many epochs as the benchmark asks for.
        let batches = order.train(0, usize::MAX);
        let pipeline = Pipeline::start(found.source.into(), batches, settings).map_err(|error| error.to_string())?;
        Ok(Feed { source: Source::Photos { pipeline, device: placement.device }, data, notes: found.notes })
    }

    /// The next batch.
    ///
    /// # Errors
    /// A bad photo.
    pub fn next(&mut self) -> anyhow::Result<Batch> {
        match &mut self.source {
            Source::Synthetic { images, batch_size } => Ok(images.batch(&vec![0; *batch_size])),
            Source::Small { images, order } => {
                let picks = order.next();
                Ok(images.augmented_batch(&picks, &mut order.augmentation))
            }
            Source::Photos { pipeline, device } => {
                let batch = pipeline.next_batch()?.context("there are no more photos")?;
                Ok(Batch::of_planes(*device, batch.side, &batch.images, &batch.labels))
            }
        }
    }

    /// What the time of the pipeline went to since this was last asked; nothing where there is none.
    pub fn report(&mut self) -> Option<PipelineReport> {
        match &mut self.source {
            Source::Photos { pipeline, .. } => Some(pipeline.report()),
            Source::Synthetic { .. } | Source::Small { .. } => None,
        }
    }
}

impl Epochs {
    fn next(&mut self) -> Vec<u32> {
        self.batches.pop_front().unwrap_or_else(|| {
            self.batches = self.sampler.batches(self.epoch, self.steps, self.batch_size).into();
            self.epoch += 1;
            self.batches.pop_front().unwrap_or_default()
        })
    }
}

fn check_classes(spec: &BenchmarkSpec, label: &str, classes: usize) -> Result<(), String> {
    let most = spec.model.classes();
    if classes > most { Err(format!("{label} has {classes} classes, and {} has outputs for {most}", spec.model)) } else { Ok(()) }
}
