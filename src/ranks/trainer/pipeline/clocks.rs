//! What the pipeline's time goes to: each stage by image, and who waits for whom.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::pipeline::{PipelineReport, Stage};

/// When the threads prepared a batch, and what was there when the model asked.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    /// The first of its images was begun.
    pub began: Instant,
    /// The last of them was in its place.
    pub ended: Instant,
    /// Batches that were ready when the model asked for one, and when that was.
    pub ready: usize,
    pub asked: Instant,
}

/// Running sums of all threads.
#[derive(Default)]
pub(super) struct Clocks(Mutex<Totals>);

impl Clocks {
    /// The stage ends now; the next one begins.
    pub(super) fn spent(&self, stage: Stage, since: &mut Instant) {
        let took = since.elapsed();
        *since += took;
        self.sums().stages[stage as usize] += took;
    }

    /// One more image is ready, and what was done to it.
    pub(super) fn image(&self, mirrored: bool, accurate: bool) {
        let mut sums = self.sums();
        sums.images += 1;
        sums.mirrored += u64::from(mirrored);
        sums.accurate += u64::from(accurate);
    }

    pub(super) fn thread_waited(&self, since: Instant) {
        self.sums().threads_waited += since.elapsed();
    }

    /// The model has asked for a batch when so many were ready, and waited.
    pub(super) fn model_asked(&self, ready: usize, since: Instant) {
        let mut sums = self.sums();
        sums.model_waited += since.elapsed();
        sums.ready += ready as u64;
        sums.asked += 1;
    }

    pub(super) fn totals(&self) -> Totals {
        *self.sums()
    }

    fn sums(&self) -> MutexGuard<'_, Totals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sums at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    stages: [Duration; 5],
    images: u64,
    mirrored: u64,
    accurate: u64,
    threads_waited: Duration,
    model_waited: Duration,
    asked: u64,
    ready: u64,
}

impl Totals {
    /// What the time since then went to.
    pub(super) fn since(&self, before: &Totals, seconds: f64, threads: usize, queue_size: usize) -> PipelineReport {
        let images = self.images - before.images;
        let per_image = |at: usize| (self.stages[at] - before.stages[at]).as_secs_f64() * 1e6 / images.max(1) as f64;
        let part = |waited: Duration, of: f64| (waited.as_secs_f64() / of.max(1e-9)).clamp(0.0, 1.0);
        PipelineReport {
            threads,
            seconds,
            images,
            stages_us: std::array::from_fn(per_image),
            queue_depth: (self.ready - before.ready) as f64 / (self.asked - before.asked).max(1) as f64,
            queue_size,
            model_waited: part(self.model_waited - before.model_waited, seconds),
            threads_waited: part(self.threads_waited - before.threads_waited, seconds * threads as f64),
            mirrored: self.mirrored - before.mirrored,
            accurate: self.accurate - before.accurate,
        }
    }
}
