//! The photos that a rank trains or tests on, out of the image pipeline.

use std::path::Path;
use std::sync::Arc;

use hvd_lab::comm::{self, Communicator};
use hvd_lab::dataset::images::{self, ImageSource, Part};
use hvd_lab::domain::nvcnn::{NvcnnSpec, PREFETCH, Schedule};
use hvd_lab::domain::topology::Topology;
use hvd_lab::trainer::device::Placement;
use hvd_lab::trainer::launch::{Failure, agreed, gathered};
use hvd_lab::trainer::pipeline::{
    self, Cropping, Decoding, Operations, Order, Pipeline, Planned, SHUFFLE_BUFFER, Settings, VALIDATION_PART, View, check_size,
};
use hvd_lab::trainer::report::Reporter;
use tch::Device;

use crate::feed::{Feed, Source, check_classes};

/// Images that were left out and are named at the end.
const MOST_NAMED: usize = 20;

/// The photos of one part of a set.
pub struct Photos {
    source: Arc<dyn ImageSource>,
    /// Files that cannot be used at all.
    left_out: Vec<String>,
    /// Folders that are no class.
    pub notes: Vec<String>,
}

impl Photos {
    /// `None` where none are asked for.
    ///
    /// # Collective
    /// Every rank calls it. If they find other photos than each other, or too few, all leave.
    pub fn open(spec: &NvcnnSpec, part: Part, comm: &dyn Communicator) -> Result<Option<Photos>, Failure> {
        let Some(folder) = &spec.data_dir else { return Ok(None) };
        let photos = agreed(comm, Photos::find(spec, folder, part))?;
        let by_rank = comm::allgather_numbers(comm, &[photos.len() as f64])?.concat();
        if let Some(rank) = by_rank.iter().position(|images| *images != by_rank[0]) {
            let (here, there) = (by_rank[0], by_rank[rank]);
            let differ =
                format!("rank 0 finds {here} images in {folder}, and rank {rank} {there}: give every host the same files");
            return Err(Failure::refused(differ));
        }
        match check_size(&photos.order(spec, &comm.topology())) {
            Err(error) if part == Part::Train => Err(Failure::refused(error.to_string())),
            _ => Ok(Some(photos)),
        }
    }

    fn find(spec: &NvcnnSpec, folder: &str, part: Part) -> Result<Photos, String> {
        let most = spec.model.classes();
        let images = images::open(Path::new(folder), part, most, spec.bad_records).map_err(|error| error.to_string())?;
        check_classes(spec.model, folder, images.source.classes())?;
        let left_out = images.left_out.iter().map(ToString::to_string).collect();
        Ok(Photos { source: images.source.into(), left_out, notes: images.notes })
    }

    pub fn len(&self) -> usize {
        self.source.len()
    }

    /// How a rank walks through them.
    pub fn order(&self, spec: &NvcnnSpec, topology: &Topology) -> Order {
        Order::new(self.len(), topology, spec.seed, spec.batch_size, spec.shuffle_buffer.unwrap_or(SHUFFLE_BUFFER))
    }
}

/// Shuffled and distorted, from this step on.
///
/// # Collective
/// Every rank calls it. If one of them cannot decode, all leave.
pub fn training(
    spec: &NvcnnSpec,
    photos: Photos,
    comm: &dyn Communicator,
    placement: &Placement,
    (schedule, step): (Schedule, usize),
) -> Result<Feed, Failure> {
    let view = match spec.no_distortions {
        true => View::Validation { part: VALIDATION_PART },
        false => View::Train { cropping: Cropping::default(), flip: 0.5, colour: spec.distort_color },
    };
    let (epoch, within) = (step / schedule.steps_per_epoch, step % schedule.steps_per_epoch);
    let epochs = schedule.epochs().saturating_sub(epoch);
    let order = photos.order(spec, &comm.topology()).train(epoch, epochs).skip(within);
    of_photos(photos, order, settings(spec, view, &comm.topology(), placement), comm, placement.device)
}

/// This rank's share of the photos, each once, as nvcnn tests.
///
/// # Collective
/// As [`training`].
pub fn test(spec: &NvcnnSpec, photos: Photos, comm: &dyn Communicator, placement: &Placement) -> Result<Feed, Failure> {
    let order = photos.order(spec, &comm.topology()).validate();
    let settings = settings(spec, View::Validation { part: VALIDATION_PART }, &comm.topology(), placement);
    of_photos(photos, order, Settings { once: true, ..settings }, comm, placement.device)
}

fn of_photos(
    photos: Photos,
    order: impl Iterator<Item = Planned> + Send + 'static,
    settings: Settings,
    comm: &dyn Communicator,
    device: Device,
) -> Result<Feed, Failure> {
    let started = Pipeline::start(photos.source, order, settings).map_err(|error| error.to_string());
    let pipeline = Box::new(agreed(comm, started)?);
    Ok(Feed::new(Source::Photos { pipeline, device, unusable: photos.left_out }))
}

fn settings(spec: &NvcnnSpec, view: View, topology: &Topology, placement: &Placement) -> Settings {
    let decoding = Decoding { dct: spec.dct, ..Decoding::default() };
    // On a CPU the rank has cores of its own.
    let share = pipeline::threads_for(placement.cores.len(), topology.local_size.0, placement.gpu().is_none());
    Settings {
        operations: Operations { side: spec.input().height, decoding, view, ..Operations::default() },
        threads: spec.threads.unwrap_or(share),
        prefetch: PREFETCH,
        seed: spec.seed,
        process: comm::launched_index(),
        bad: spec.bad_records,
        once: false,
    }
}

/// How many images were left out, and which.
///
/// # Collective
/// Every rank calls it.
pub fn left_out(comm: &dyn Communicator, report: &Reporter, feed: &Feed) -> Result<(), Failure> {
    let all = gathered(comm, &feed.left_out())?;
    if all.is_empty() || !comm.topology().is_root() {
        return Ok(());
    }
    let named = all.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join("; ");
    let more = all.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let what = if all.len() == 1 { "bad image or file was" } else { "bad images or files were" };
    report.warning(&format!("{} {what} left out: {named}{more}", all.len()));
    Ok(())
}
