//! What the pipeline's time goes to: each stage by image, and who waits for whom.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

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

/// Running sums of all threads, in nanoseconds.
#[derive(Default)]
pub(super) struct Clocks {
    stages: [AtomicU64; 5],
    images: AtomicU64,
    mirrored: AtomicU64,
    accurate: AtomicU64,
    threads_waited: AtomicU64,
    model_waited: AtomicU64,
    asked: AtomicU64,
    ready: AtomicU64,
}

impl Clocks {
    pub(super) fn spent(&self, stage: Stage, since: &mut Instant) {
        let now = Instant::now();
        self.stages[stage as usize].fetch_add((now - *since).as_nanos() as u64, Ordering::Relaxed);
        *since = now;
    }

    /// One more image is ready, and what was done to it.
    pub(super) fn image(&self, mirrored: bool, accurate: bool) {
        self.images.fetch_add(1, Ordering::Relaxed);
        self.mirrored.fetch_add(u64::from(mirrored), Ordering::Relaxed);
        self.accurate.fetch_add(u64::from(accurate), Ordering::Relaxed);
    }

    pub(super) fn thread_waited(&self, since: Instant) {
        self.threads_waited.fetch_add(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// The model has asked for a batch when so many were ready, and waited.
    pub(super) fn model_asked(&self, ready: usize, since: Instant) {
        self.model_waited.fetch_add(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.ready.fetch_add(ready as u64, Ordering::Relaxed);
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn totals(&self) -> Totals {
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        Totals {
            stages: std::array::from_fn(|at| read(&self.stages[at])),
            images: read(&self.images),
            mirrored: read(&self.mirrored),
            accurate: read(&self.accurate),
            threads_waited: read(&self.threads_waited),
            model_waited: read(&self.model_waited),
            asked: read(&self.asked),
            ready: read(&self.ready),
        }
    }
}

/// The sums at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    stages: [u64; 5],
    images: u64,
    mirrored: u64,
    accurate: u64,
    threads_waited: u64,
    model_waited: u64,
    asked: u64,
    ready: u64,
}

impl Totals {
    /// What the time since then went to.
    pub(super) fn since(&self, before: &Totals, seconds: f64, threads: usize, queue_size: usize) -> PipelineReport {
        let images = self.images - before.images;
        let per_image = |at: usize| (self.stages[at] - before.stages[at]) as f64 / 1e3 / images.max(1) as f64;
        let part = |nanoseconds: u64, of: f64| (nanoseconds as f64 / 1e9 / of.max(1e-9)).clamp(0.0, 1.0);
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
