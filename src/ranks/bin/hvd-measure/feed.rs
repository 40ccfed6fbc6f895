//! The batches of a rank: one synthetic batch again and again, small images of a data set, or photos out of the image pipeline.

use std::collections::VecDeque;
use std::time::Duration;

use hvd_lab::domain::images::InputShape;
use hvd_lab::domain::model::ModelSpec;
use hvd_lab::trainer::batches::{Batch, Images};
use hvd_lab::trainer::pipeline::{Pipeline, PipelineError, PipelineReport, Prepared};
use hvd_lab::trainer::sampler::Sampler;
use rand_chacha::ChaCha8Rng;
use tch::Device;

/// Between two reports of the image pipeline, for the screen.
const REPORT_EVERY: Duration = Duration::from_secs(3);

pub struct Feed {
    source: Source,
    /// Of the last batch, if threads prepared it.
    pub prepared: Option<Prepared>,
}

pub enum Source {
    /// Noise, which is on the device from the start: nothing is read.
    Synthetic { images: Images, batch_size: usize },
    /// Shifted and flipped.
    Small { images: Images, epochs: Box<Epochs> },
    /// Decoded and distorted by threads. `unusable` names the files that cannot be used at all.
    Photos { pipeline: Box<Pipeline>, device: Device, unusable: Vec<String> },
}

/// The images of each batch, epoch by epoch: ranks take turns in one order, so that each has its own.
pub struct Epochs {
    pub sampler: Sampler,
    pub batch_size: usize,
    pub steps: usize,
    pub epoch: usize,
    pub batches: VecDeque<Vec<u32>>,
    pub augmentation: ChaCha8Rng,
}

impl Source {
    pub fn synthetic(model: ModelSpec, input: InputShape, batch_size: usize, mut noise: ChaCha8Rng, device: Device) -> Source {
        Source::Synthetic { images: Images::synthetic_at(model, input, batch_size, batch_size, &mut noise, device), batch_size }
    }
}

impl Feed {
    pub fn new(source: Source) -> Feed {
        Feed { source, prepared: None }
    }

    /// The next batch; `None` after the last one.
    ///
    /// # Errors
    /// A bad photo, where these end the run.
    pub fn next(&mut self) -> Result<Option<Batch>, PipelineError> {
        match &mut self.source {
            Source::Synthetic { images, batch_size } => Ok(Some(images.batch(&vec![0; *batch_size]))),
            Source::Small { images, epochs } => {
                let picks = epochs.next(images);
                Ok(Some(images.augmented_batch(&picks, &mut epochs.augmentation)))
            }
            Source::Photos { pipeline, device, .. } => {
                let ready = pipeline.next_batch()?;
                self.prepared = ready.as_ref().map(|batch| batch.prepared);
                Ok(ready.map(|batch| Batch::of_planes(*device, batch.side, &batch.images, &batch.labels)))
            }
        }
    }

    /// What the pipeline's time went to since the last report; `None` without a pipeline.
    pub fn report(&mut self) -> Option<PipelineReport> {
        self.pipeline().map(Pipeline::report)
    }

    /// The same of the last seconds, every few seconds.
    pub fn lately(&mut self) -> Option<PipelineReport> {
        self.pipeline()?.lately(REPORT_EVERY)
    }

    fn pipeline(&mut self) -> Option<&mut Pipeline> {
        if let Source::Photos { pipeline, .. } = &mut self.source { Some(pipeline) } else { None }
    }

    /// Files and images that were left out so far, each in one line.
    pub fn left_out(&self) -> Vec<String> {
        let Source::Photos { pipeline, unusable, .. } = &self.source else { return Vec::new() };
        unusable.iter().cloned().chain(pipeline.left_out().iter().map(ToString::to_string)).collect()
    }
}

impl Epochs {
    /// The images of the next batch, of which more are prepared.
    fn next(&mut self, images: &Images) -> Vec<u32> {
        self.batches.pop_front().unwrap_or_else(|| {
            let batches = self.sampler.batches(self.epoch, self.steps, self.batch_size);
            images.prepare_ahead(&batches, &self.augmentation);
            self.batches = batches.into();
            self.epoch += 1;
            self.batches.pop_front().unwrap_or_default()
        })
    }
}

/// # Errors
/// There are more classes than the model tells apart.
pub fn check_classes(model: ModelSpec, label: &str, classes: usize) -> Result<(), String> {
    let most = model.classes();
    if classes > most { Err(format!("{label} has {classes} classes, and {model} has outputs for {most}")) } else { Ok(()) }
}
