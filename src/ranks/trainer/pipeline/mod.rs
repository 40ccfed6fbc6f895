//! The image pipeline: threads that read, decode and distort images ahead of the model, and a queue of batches between them.
//!
//! It holds at most the queue and one batch more.
//!
//! ```text
//!  order ── next place ──┬─ thread: read, decode, crop and resize, colour ─┬── batches in their order ── the model
//!                        └─ thread: ...                                    ┘   (at most `prefetch` ahead)
//! ```
//!
//! All threads work on the same batch, each on its own image of it, and write straight into the batch's memory. What comes out does
//! not depend on how many threads there are, nor on which is quicker.

mod batch;
mod clocks;
mod colour;
mod crop;
mod decode;
mod error;
mod order;
mod queue;
mod resize;
#[cfg(test)]
mod tests;
mod transforms;
mod wide;
mod worker;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use crate::domain::pipeline::{Bottleneck, PipelineReport, Stage, TransformsReport};
pub use clocks::Prepared;
pub use crop::Cropping;
pub use decode::{Dct, Decoder, Decoding, Pixels, VARIABLE as LIBRARY_VARIABLE, Window};
pub use error::PipelineError;
pub use order::{Order, Planned, SHUFFLE_BUFFER};
pub use resize::Corners;
pub use transforms::compare_transforms;
pub use worker::{Operations, VALIDATION_PART, View};

use crate::dataset::images::{BadImage, BadRecords, ImageSource};
use clocks::Totals;
use error::MOST_BAD;
use queue::{Guard, Queue, Task};
use worker::{Draw, Worker};

/// How images are prepared, and by how many.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub operations: Operations,
    pub threads: usize,
    /// Batches that may be ready before the model asks.
    pub prefetch: usize,
    pub seed: u64,
    /// Whose random numbers are drawn.
    pub process: usize,
    pub bad: BadRecords,
    /// Each image counts once, as in a test: a bad one leaves its batch smaller, rather than its neighbour standing in its place.
    pub once: bool,
}

/// Images and labels that the model trains on next. Dropping it gives its memory back to the pipeline.
pub struct Batch {
    /// Image by image; of each, planes of red, green and blue in -1 to 1.
    pub images: Vec<f32>,
    pub labels: Vec<i64>,
    pub side: usize,
    pub epoch: usize,
    pub prepared: Prepared,
    queue: Arc<Queue>,
}

impl Batch {
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Moves the images together where some were left out.
    fn close_gaps(&mut self) {
        if !self.labels.contains(&LEFT_OUT) {
            return;
        }
        let image = 3 * self.side * self.side;
        let kept: Vec<usize> = (0..self.labels.len()).filter(|at| self.labels[*at] != LEFT_OUT).collect();
        for (to, from) in kept.iter().enumerate() {
            self.images.copy_within(from * image..(from + 1) * image, to * image);
        }
        self.images.truncate(kept.len() * image);
        self.labels.retain(|label| *label != LEFT_OUT);
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.queue.recycle(std::mem::take(&mut self.images));
    }
}

/// In the place of a label: there is no image here.
const LEFT_OUT: i64 = -1;

/// The threads, and the model's end of the queue. Dropping it ends them.
pub struct Pipeline {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
    side: usize,
    prefetch: usize,
    /// When the next report begins, and when the next part of it for a screen.
    since: (Instant, Totals),
    told: (Instant, Totals),
}

/// Threads for the images of one rank: the ranks of a host share its cores. A rank that is bound to cores has them to itself.
pub fn threads_for(cores: usize, ranks_on_host: usize, bound: bool) -> usize {
    let sharing = if bound { 1 } else { ranks_on_host.max(1) };
    (cores / sharing).max(1)
}

/// Refuses what would train on nothing: an epoch has one full batch at least.
///
/// # Errors
/// There are fewer images.
pub fn check_size(order: &Order) -> Result<(), PipelineError> {
    let Order { images, ranks, batch_size, .. } = *order;
    let has_a_batch = order.steps_per_epoch() > 0;
    if has_a_batch { Ok(()) } else { Err(PipelineError::FewerThanABatch { images, ranks, batch_size }) }
}

impl Pipeline {
    /// Starts the threads, which begin to prepare the batches of `order` at once.
    ///
    /// # Errors
    /// Nothing here decodes JPEGs, or the system refuses threads.
    pub fn start(
        source: Arc<dyn ImageSource>,
        order: impl Iterator<Item = Planned> + Send + 'static,
        settings: Settings,
    ) -> Result<Pipeline, PipelineError> {
        let side = settings.operations.side;
        let queue = Arc::new(Queue::new(Box::new(order), settings.prefetch.max(1), 3 * side * side));
        let mut pipeline = Pipeline {
            queue: queue.clone(),
            threads: Vec::new(),
            side,
            prefetch: settings.prefetch.max(1),
            since: (Instant::now(), Totals::default()),
            told: (Instant::now(), Totals::default()),
        };
        for number in 0..settings.threads.max(1) {
            let worker = Worker::open(settings.operations).map_err(PipelineError::Decoder)?;
            let (queue, source) = (queue.clone(), source.clone());
            let thread = std::thread::Builder::new().name(format!("images-{number}"));
            let started = thread.spawn(move || {
                // A thread that panics would leave the model waiting for ever.
                let _guard = Guard(&queue);
                work(worker, &queue, &*source, settings);
            });
            pipeline.threads.push(started.map_err(|error| PipelineError::Threads(error.to_string()))?);
        }
        Ok(pipeline)
    }

    /// The next batch, as soon as it is ready; none when the order has come to its end.
    ///
    /// # Errors
    /// A bad image where those end the run, or nothing but bad images.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, PipelineError> {
        while let Some((epoch, places, prepared)) = self.queue.next()? {
            let (images, labels) = places.into_parts();
            let mut batch = Batch { images, labels, side: self.side, epoch, prepared, queue: self.queue.clone() };
            batch.close_gaps();
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Images that were left out so far, each once.
    pub fn left_out(&self) -> Vec<BadImage> {
        self.queue.left_out()
    }

    /// What the time since the last report went to.
    pub fn report(&mut self) -> PipelineReport {
        let now = (Instant::now(), self.queue.clocks.totals());
        let before = std::mem::replace(&mut self.since, now);
        self.between(before, now)
    }

    /// The same since the last call of `lately`, once that is at least so long ago: for a screen. It does not shorten the next report.
    pub fn lately(&mut self, at_least: Duration) -> Option<PipelineReport> {
        if self.told.0.elapsed() < at_least {
            return None;
        }
        let now = (Instant::now(), self.queue.clocks.totals());
        let before = std::mem::replace(&mut self.told, now);
        Some(self.between(before, now))
    }

    fn between(&self, before: (Instant, Totals), now: (Instant, Totals)) -> PipelineReport {
        // The batch that is filled beside those that wait may be ready too.
        now.1.since(&before.1, (now.0 - before.0).as_secs_f64(), self.threads.len(), self.prefetch + 1)
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.queue.stop();
        for thread in self.threads.drain(..) {
            // A panic in it has been reported by the queue already.
            let _ = thread.join();
        }
    }
}

/// One thread's life: the next place, and an image for it.
fn work(mut worker: Worker, queue: &Queue, source: &dyn ImageSource, settings: Settings) {
    while let Some(Task { batch, at }) = queue.take() {
        let planned = &batch.planned;
        let draw = Draw { seed: settings.seed, process: settings.process, epoch: planned.epoch, place: planned.first + at };
        let planes = batch.places.slot(at);
        let wanted = planned.images[at] as usize;
        let mut label = None;
        // In training, the next one in the files stands in the place of a bad image: so the batch keeps its size on every rank, and
        // which image it is does not depend on who is quicker.
        let most_bad = if settings.once { 1 } else { source.len().min(MOST_BAD) };
        for next in 0..most_bad {
            let index = (wanted + next) % source.len();
            match worker.prepare(source, index, draw, planes, &queue.clocks) {
                Ok(found) => {
                    label = Some(found as i64);
                    break;
                }
                Err(bad) if settings.bad == BadRecords::Stop => return queue.fail(PipelineError::Bad(bad)),
                Err(bad) if !settings.once && next + 1 == most_bad => return queue.fail(PipelineError::AllBad(bad)),
                Err(bad) => {
                    queue.leave_out(index, bad);
                    label = settings.once.then_some(LEFT_OUT);
                }
            }
        }
        let mut since = Instant::now();
        match label {
            Some(label) if batch.places.fill(at, label) => queue.finished(batch),
            _ => drop(batch),
        }
        queue.clocks.spent(Stage::Batch, &mut since);
    }
}
