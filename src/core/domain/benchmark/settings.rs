//! The settings of a benchmark: the flags of `hvd-measure bench`, as data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::choices::{Binding, NumberFormat, Style, UpdateRule};
use crate::domain::bounds::{Bounded, MAX_BATCH_SIZE, MAX_CORES, at_least_one, count, first};
use crate::domain::images::{FASHION_MNIST, InputShape};
use crate::domain::model::{MAX_IMAGE_SIZE, ModelSpec};

/// Iterations, and batches of one: more are a slip of the finger.
const MAX_ITERATIONS: usize = 1_000_000;

/// What is trained, how often it is timed, and where the ranks are put.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkSpec {
    pub model: ModelSpec,
    /// Height and width of the images; `None` for the model's own.
    pub image_size: Option<usize>,
    /// A folder with real images, or the word `generated`; `None` for one synthetic batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<String>,
    /// Images of one rank and batch.
    pub batch_size: usize,
    /// Batches before the first iteration, which do not count.
    pub warmup_batches: usize,
    pub batches_per_iteration: usize,
    pub iterations: usize,
    /// Batches from one row to the next, where the style has rows of batches.
    pub display_every: usize,
    pub style: Style,
    pub precision: NumberFormat,
    pub optimizer: UpdateRule,
    /// Gradients travel as float16.
    #[serde(default)]
    pub fp16_allreduce: bool,
    /// On the CPU also where there are GPUs.
    #[serde(default)]
    pub no_cuda: bool,
    /// Only where there is a GPU.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cuda: bool,
    /// Threads inside one operation; `None` for one, or as many as OMP_NUM_THREADS says.
    pub threads: Option<usize>,
    pub bind: Binding,
    /// The NUMA node that memory should come from.
    pub mem_node: Option<usize>,
    /// Settings that another version of the lab wrote, kept as they came.
    #[serde(flatten)]
    pub newer: Map<String, Value>,
}

impl BenchmarkSpec {
    /// What a program of this style does without a flag.
    pub fn of_style(style: Style, model: ModelSpec) -> BenchmarkSpec {
        let (batch_size, warmup_batches, batches_per_iteration, iterations, display_every) = match style {
            Style::Horovod | Style::Json => (32, 10, 10, 10, 10),
            Style::TfCnn => (64, 10, 1, 100, 10),
            // Of 50 batches the first 20 do not count.
            Style::Nvcnn => (64, 20, 1, 30, 1),
        };
        BenchmarkSpec {
            model,
            image_size: None,
            data_dir: None,
            batch_size,
            warmup_batches,
            batches_per_iteration,
            iterations,
            display_every,
            style,
            precision: NumberFormat::Fp32,
            optimizer: if style == Style::Nvcnn { UpdateRule::Momentum } else { UpdateRule::Sgd },
            fp16_allreduce: false,
            no_cuda: false,
            cuda: false,
            threads: None,
            bind: Binding::Share,
            mem_node: None,
            newer: Map::new(),
        }
    }

    /// Takes the counts and the optimizer of its style.
    pub(super) fn take_counts_of_style(&mut self) {
        let own = BenchmarkSpec::of_style(self.style, self.model);
        self.batch_size = own.batch_size;
        self.warmup_batches = own.warmup_batches;
        self.batches_per_iteration = own.batches_per_iteration;
        self.iterations = own.iterations;
        self.display_every = own.display_every;
        self.optimizer = own.optimizer;
    }

    /// The images that the model is given; its own where it does not take the others, which [`BenchmarkSpec::problem`] says.
    pub fn input(&self) -> InputShape {
        self.model.input_at(self.image_size).unwrap_or(self.model.input())
    }

    /// Whether its real images are photos, in files by class or as TFRecords, and not those of Fashion-MNIST.
    pub fn takes_photos(&self) -> bool {
        self.input().channels == 3
    }

    /// The first thing in it that cannot be measured, in one sentence.
    pub fn problem(&self) -> Option<String> {
        let problems = [
            (self.batch_size == 0, "--batch-size is 0: give 1 or more images".to_owned()),
            (self.batches_per_iteration == 0, "--num-batches-per-iter is 0: give 1 or more batches to time at once".to_owned()),
            (self.iterations == 0, "0 iterations measure nothing: use 1 or more".to_owned()),
            (self.display_every == 0, "--display-every is 0: give 1 or more batches from row to row".to_owned()),
            (self.threads == Some(0), "0 threads compute nothing: use 1 or more, or leave --num-intra-threads out".to_owned()),
        ];
        let found = problems.into_iter().find_map(|(is_so, problem)| is_so.then_some(problem));
        let of_images = || self.model.input_at(self.image_size).err().map(|problem| format!("--image-size: {problem}"));
        let misfit = || {
            let fits = self.data_dir.is_none() || self.input() == FASHION_MNIST || self.takes_photos();
            (!fits).then(|| {
                format!(
                    "--data-dir: {} takes images of {}, and real ones are photos (3 colours) or those of Fashion-MNIST \
                     ({FASHION_MNIST}): leave it out to measure on a synthetic batch",
                    self.model,
                    self.input()
                )
            })
        };
        let drawn = || {
            let is_drawn = self.takes_photos() && self.data_dir.as_deref() == Some("generated");
            is_drawn.then(|| {
                let model = self.model;
                format!("--data-dir generated: {model} takes photos. `hvd-lab data make-images` draws a folder of them: give that folder")
            })
        };
        found.or_else(of_images).or_else(misfit).or_else(drawn).or_else(|| self.out_of_bounds())
    }
}

impl Bounded for BenchmarkSpec {
    fn out_of_bounds(&self) -> Option<String> {
        first([
            at_least_one("batch size", self.batch_size, MAX_BATCH_SIZE),
            at_least_one("image size", self.image_size.unwrap_or(1), MAX_IMAGE_SIZE),
            count("number of warm-up batches", self.warmup_batches, MAX_ITERATIONS),
            at_least_one("batches per iteration", self.batches_per_iteration, MAX_ITERATIONS),
            at_least_one("number of iterations", self.iterations, MAX_ITERATIONS),
            at_least_one("display every", self.display_every, MAX_ITERATIONS),
            count("threads", self.threads.unwrap_or(1), MAX_CORES),
            count("NUMA node", self.mem_node.unwrap_or(0), MAX_CORES),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_measured_is_named() {
        let sample = BenchmarkSpec::sample;
        assert_eq!(sample().problem(), None);
        let cases = [
            (BenchmarkSpec { batch_size: 0, ..sample() }, "--batch-size is 0"),
            (BenchmarkSpec { batch_size: usize::MAX, ..sample() }, "batch size 18446744073709551615 is beyond"),
            (BenchmarkSpec { batches_per_iteration: 0, ..sample() }, "--num-batches-per-iter is 0"),
            (BenchmarkSpec { iterations: 0, ..sample() }, "0 iterations"),
            (BenchmarkSpec { display_every: 0, ..sample() }, "--display-every is 0"),
            (BenchmarkSpec { threads: Some(0), ..sample() }, "0 threads"),
            (BenchmarkSpec { image_size: Some(3), ..sample() }, "--image-size: images of 3 pixels are too small for wrn-10-1"),
            (
                BenchmarkSpec { data_dir: Some("x".into()), image_size: Some(32), ..sample() },
                "takes images of 1x32x32, and real ones are photos",
            ),
            (BenchmarkSpec { image_size: Some(usize::MAX), ..sample() }, "pixels are too large"),
        ];
        for (spec, words) in cases {
            let problem = spec.problem().unwrap_or_default();
            assert!(problem.contains(words) && !problem.contains('\n'), "{words}: {problem}");
        }
    }
}
