//! What the image pipeline of a rank spent its time on: each stage by image, and who waits for whom.
//!
//! Never measures: the pipeline does.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::benchmark::choices::choices;
use super::bounds::{Bounded, MAX_BATCH_SIZE, MAX_COUNT, count, figure, first, seconds};

choices! {
    /// What is done to an image, in this order.
    Stage("a stage of the pipeline") {
        Read = "read",
        Decode = "decode",
        /// With the flip, which is a resize from right to left.
        CropResize = "crop, resize, flip",
        Colour = "colour",
        /// Handing it over to the batch.
        Batch = "batch",
    }
}

/// What a stretch of time of one rank's pipeline went to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PipelineReport {
    pub threads: usize,
    pub seconds: f64,
    pub images: u64,
    /// Microseconds of one thread for one image, stage by stage in the order of [`Stage::ALL`].
    pub stages_us: [f64; 5],
    /// Batches that were ready when the model asked, in the mean, and how many there can be.
    pub queue_depth: f64,
    pub queue_size: usize,
    /// The part of the time that the model waited for a batch.
    pub model_waited: f64,
    /// The part of the time that the threads waited for room in the queue.
    pub threads_waited: f64,
    /// Images that were mirrored. Older trainers do not say.
    #[serde(default)]
    pub mirrored: u64,
    /// Images that were decoded with the accurate cosine transform. Older trainers do not say.
    #[serde(default)]
    pub accurate: u64,
}

/// The same photos, decoded with the fast cosine transform and with the accurate one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransformsReport {
    pub images: usize,
    /// Microseconds of one thread for one image.
    pub fast_us: f64,
    pub accurate_us: f64,
    /// The part of all values, three for each pixel, that differ.
    pub differing: f64,
    /// The largest difference, of 255.
    pub largest: u8,
}

/// Who holds up whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    Pipeline,
    Model,
    /// Neither waits a tenth of its time.
    Neither,
}

impl PipelineReport {
    pub fn images_per_sec(&self) -> f64 {
        self.images as f64 / self.seconds.max(1e-9)
    }

    pub fn slowest(&self) -> (Stage, f64) {
        let stages = Stage::ALL.iter().copied().zip(self.stages_us);
        stages.fold((Stage::Read, 0.0), |slowest, stage| if stage.1 > slowest.1 { stage } else { slowest })
    }

    pub fn bottleneck(&self) -> Bottleneck {
        match (self.model_waited, self.threads_waited) {
            (model, threads) if model.max(threads) < 0.1 => Bottleneck::Neither,
            (model, threads) if model >= threads => Bottleneck::Pipeline,
            _ => Bottleneck::Model,
        }
    }

    /// Who waits for whom, in one sentence, and what helps.
    pub fn sentence(&self) -> String {
        let percent = |part: f64| format!("{:.0} %", 100.0 * part);
        let (stage, us) = self.slowest();
        match self.bottleneck() {
            Bottleneck::Pipeline => format!(
                "The image pipeline is the bottleneck: the model waited {} of the time. Its slowest stage is {} ({us:.0} us an image); \
                 more threads help where there are free cores (now {}).",
                percent(self.model_waited),
                stage.name(),
                self.threads,
            ),
            Bottleneck::Model => format!(
                "The model is the bottleneck: the pipeline's threads waited {} of the time, and {:.1} of {} batches were ready.",
                percent(self.threads_waited),
                self.queue_depth,
                self.queue_size,
            ),
            Bottleneck::Neither => format!(
                "Pipeline and model keep pace: the model waited {} of the time, the pipeline's threads {}.",
                percent(self.model_waited),
                percent(self.threads_waited),
            ),
        }
    }
}

impl fmt::Display for PipelineReport {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:.0} images/s on {} threads, us an image:", self.images_per_sec(), self.threads)?;
        for (stage, us) in Stage::ALL.iter().copied().zip(self.stages_us) {
            write!(f, " {} {us:.0};", stage.name())?;
        }
        write!(f, " queue {:.1} of {} batches. {}", self.queue_depth, self.queue_size, self.sentence())
    }
}

impl Bounded for PipelineReport {
    fn out_of_bounds(&self) -> Option<String> {
        let figures = self.stages_us.into_iter().chain([self.queue_depth, self.model_waited, self.threads_waited]);
        first([
            count("threads", self.threads, MAX_COUNT),
            count("batches in the queue", self.queue_size, MAX_BATCH_SIZE),
            seconds("seconds of the pipeline", self.seconds),
        ])
        .or_else(|| figures.into_iter().find_map(|value| figure("figure of the pipeline", value)))
    }
}

impl Bounded for TransformsReport {
    fn out_of_bounds(&self) -> Option<String> {
        let figures = [self.fast_us, self.accurate_us, self.differing];
        let figures = || figures.into_iter().find_map(|value| figure("figure of the decoder", value));
        count("images", self.images, MAX_COUNT).or_else(figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_held_up_by_the_other() {
        let pipeline = PipelineReport::sample(0.4, 0.0);
        assert_eq!(pipeline.bottleneck(), Bottleneck::Pipeline);
        assert!(
            pipeline.sentence().contains("waited 40 % of the time. Its slowest stage is decode (700 us"),
            "{}",
            pipeline.sentence()
        );
        let model = PipelineReport::sample(0.0, 0.73);
        assert_eq!(model.bottleneck(), Bottleneck::Model);
        assert!(model.sentence().contains("threads waited 73 % of the time, and 3.5 of 4"), "{}", model.sentence());
        assert_eq!(PipelineReport::sample(0.05, 0.09).bottleneck(), Bottleneck::Neither);
        assert!(model.to_string().starts_with("500 images/s on 2 threads, us an image: read 10; decode 700;"), "{model}");
    }
}
