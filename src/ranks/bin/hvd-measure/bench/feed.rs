//! What a rank of a benchmark trains on: one synthetic batch again and again, or real images as hvd-train and `nvcnn` feed them.

use std::collections::VecDeque;
use std::path::Path;

use hvd_lab::comm::launched_index;
use hvd_lab::dataset::images::{self, BadRecords, Part};
use hvd_lab::dataset::{self, SplitKind};
use hvd_lab::domain::benchmark::style::Data;
use hvd_lab::domain::benchmark::{BenchmarkSpec, Binding};
use hvd_lab::domain::topology::Topology;
use hvd_lab::domain::training::DataSource;
use hvd_lab::trainer::batches::Images;
use hvd_lab::trainer::device::Placement;
use hvd_lab::trainer::pipeline::{self, Operations, Order, Pipeline, SHUFFLE_BUFFER, Settings, check_size};
use hvd_lab::trainer::random::{Purpose, stream};
use hvd_lab::trainer::sampler::{Sampler, Shuffle};

use crate::feed::{Epochs, Source, check_classes};

/// No result of this training is ever looked at, so one seed will do.
pub const SEED: u64 = 1;
/// Batches of photos that may be ready before the model asks.
const PREFETCH: usize = 2;

/// Where the batches come from, what they are, and what of a folder of photos is not used, in a sentence each.
pub type Opened = (Source, Data, Vec<String>);

/// # Errors
/// Why there are no such images.
pub fn open(spec: &BenchmarkSpec, topology: &Topology, placement: &Placement) -> Result<Opened, String> {
    match &spec.data_dir {
        Some(folder) if spec.takes_photos() => photos(spec, folder, topology, placement),
        Some(folder) => small(spec, folder, topology, placement),
        None => {
            let noise = stream(SEED, launched_index(), 0, Purpose::Synthetic);
            let source = Source::synthetic(spec.model, spec.input(), spec.batch_size, noise, placement.device);
            Ok((source, Data::synthetic(), Vec::new()))
        }
    }
}

/// Garments or digits.
fn small(spec: &BenchmarkSpec, folder: &str, topology: &Topology, placement: &Placement) -> Result<Opened, String> {
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
    check_classes(spec.model, &label, split.classes)?;
    let steps = count / of_all;
    if steps == 0 {
        return Err(too_few(count));
    }
    let process = launched_index();
    let sampler = Sampler::own(SEED, process, count, Purpose::Shuffle).shard(topology.rank, ranks, Shuffle::Shared);
    let augmentation = stream(SEED, process, 0, Purpose::Augmentation);
    let epochs = Box::new(Epochs { sampler, batch_size, steps, epoch: 0, batches: VecDeque::new(), augmentation });
    let images = Images::training(split, placement.device);
    Ok((Source::Small { images, epochs }, Data { label, images: Some(count) }, Vec::new()))
}

/// TFRecord files, or a folder of JPEGs for each class. The first bad one ends the benchmark.
fn photos(spec: &BenchmarkSpec, folder: &str, topology: &Topology, placement: &Placement) -> Result<Opened, String> {
    let root = Path::new(folder);
    let found = images::open(root, Part::Train, spec.model.classes(), BadRecords::Stop).map_err(|error| error.to_string())?;
    check_classes(spec.model, folder, found.source.classes())?;
    let order = Order::new(found.source.len(), topology, SEED, spec.batch_size, SHUFFLE_BUFFER);
    check_size(&order).map_err(|error| error.to_string())?;
    // A rank that is bound to cores has them to itself.
    let is_bound = placement.gpu().is_none() && spec.bind != Binding::Unbound;
    let settings = Settings {
        operations: Operations { side: spec.input().height, ..Operations::default() },
        threads: pipeline::threads_for(placement.cores.len(), topology.local_size.0, is_bound),
        prefetch: PREFETCH,
        seed: SEED,
        process: launched_index(),
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
    Ok((Source::Photos { pipeline: Box::new(pipeline), device: placement.device, unusable: Vec::new() }, data, found.notes))
}
