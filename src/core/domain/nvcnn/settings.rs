//! The settings of `hvd-measure nvcnn`: its flags, as data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::rules::{Larc, LarcMode, default_rate};
use crate::domain::benchmark::choices::choices;
use crate::domain::benchmark::{Demand, HostRoom, NumberFormat};
use crate::domain::bounds::{Bounded, MAX_BATCH_SIZE, MAX_COUNT, MAX_EPOCHS, MAX_SECONDS, at_least_one, count, first, number};
use crate::domain::images::InputShape;
use crate::domain::model::{MAX_IMAGE_SIZE, ModelSpec};

/// More threads or batches are a slip of the finger.
const MAX_THREADS: usize = 4096;
const MAX_BATCHES: usize = 1_000_000;
const MAX_FACTOR: f64 = 1e9;
/// Batches that may be ready before the model asks.
pub const PREFETCH: usize = 2;
/// Batches that a rank holds at once: those that are ready, one that is filled, one that the model has, and its two copies.
const BATCHES_HELD: u64 = PREFETCH as u64 + 4;

choices! {
    /// How exactly a JPEG's cosine transform is computed.
    Dct("a cosine transform") {
        /// Fewer bits (TensorFlow's INTEGER_FAST): some values are off by a few in 255.
        Fast = "fast",
        /// TensorFlow's INTEGER_ACCURATE.
        Accurate = "accurate",
    }
}

choices! {
    /// What happens when an image or a record cannot be used.
    BadRecords("a choice for bad records") {
        /// Say which one, and end.
        Stop = "stop",
        /// Say which one, leave it out and go on.
        Skip = "skip",
    }
}

/// What is trained, on what, and how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NvcnnSpec {
    pub model: ModelSpec,
    /// Height and width of the images; `None` for the model's own.
    pub image_size: Option<usize>,
    /// A folder with TFRecord files or with a folder of JPEGs for each class; `None` for one synthetic batch.
    pub data_dir: Option<String>,
    /// Images of one rank and batch.
    pub batch_size: usize,
    /// Steps in all, where `num_epochs` does not say.
    pub num_batches: usize,
    pub num_epochs: Option<usize>,
    /// Where checkpoints are; `None` for none.
    pub log_dir: Option<String>,
    /// A file for the timeline of all ranks; `None` for none.
    pub timeline: Option<String>,
    /// Steps from one row of the table to the next.
    pub display_every: usize,
    /// Seconds between checkpoints; the last step writes one in any case.
    pub save_interval_s: f64,
    /// The loss is multiplied by this before backward, and gradients are divided by it.
    pub loss_scale: f64,
    pub larc_eta: Option<f64>,
    pub larc_mode: Option<LarcMode>,
    /// Of the first step; `None` for the model's own.
    pub learning_rate: Option<f64>,
    /// Test a checkpoint on the validation images, and train nothing.
    #[serde(default)]
    pub eval: bool,
    pub precision: NumberFormat,
    /// That decode images; `None` for the rank's share of the cores.
    pub threads: Option<usize>,
    pub dct: Dct,
    /// Images that wait to be drawn from; `None` for the smaller of 10,000 and all.
    pub shuffle_buffer: Option<usize>,
    pub bad_records: BadRecords,
    /// Train on the middle of each image, as it is.
    #[serde(default)]
    pub no_distortions: bool,
    /// Change brightness, saturation, hue and contrast at random.
    #[serde(default)]
    pub distort_color: bool,
    pub seed: u64,
    /// On the CPU also where there are GPUs.
    #[serde(default)]
    pub no_cuda: bool,
    /// On each simulated host, where hosts are simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks_per_host: Option<usize>,
    /// Settings that another version of the lab wrote, kept as they came.
    #[serde(flatten)]
    pub newer: Map<String, Value>,
}

impl NvcnnSpec {
    /// What nvcnn does without a flag.
    pub fn of_model(model: ModelSpec) -> NvcnnSpec {
        NvcnnSpec {
            model,
            image_size: None,
            data_dir: None,
            batch_size: 64,
            num_batches: 50,
            num_epochs: None,
            log_dir: None,
            timeline: None,
            display_every: 1,
            save_interval_s: 43_200.0,
            loss_scale: 1.0,
            larc_eta: None,
            larc_mode: None,
            learning_rate: None,
            eval: false,
            precision: NumberFormat::Fp32,
            threads: None,
            dct: Dct::Fast,
            shuffle_buffer: None,
            bad_records: BadRecords::Stop,
            no_distortions: false,
            distort_color: false,
            seed: 1,
            no_cuda: false,
            ranks_per_host: None,
            newer: Map::new(),
        }
    }

    /// The images that the model is given; its own where it does not take the others, which [`NvcnnSpec::problem`] says.
    pub fn input(&self) -> InputShape {
        self.model.input_at(self.image_size).unwrap_or(self.model.input())
    }

    /// What LARC is asked for, if it is.
    pub fn larc(&self) -> Option<Larc> {
        Larc::asked(self.larc_eta, self.larc_mode)
    }

    /// The rate of the first step.
    pub fn rate(&self, ranks: usize) -> f64 {
        self.learning_rate.unwrap_or_else(|| default_rate(self.model, self.batch_size, ranks))
    }

    /// The first thing in it that cannot run, in one sentence.
    pub fn problem(&self) -> Option<String> {
        let is_not_positive = |value: f64| !(value.is_finite() && value > 0.0);
        let problems = [
            (self.batch_size == 0, "--batch-size is 0: give 1 or more images".to_owned()),
            (self.num_batches == 0, "--num-batches is 0: give 1 or more steps".to_owned()),
            (self.num_epochs == Some(0), "--num-epochs is 0: give 1 or more epochs".to_owned()),
            (self.display_every == 0, "--display-every is 0: give 1 or more steps from row to row".to_owned()),
            (self.ranks_per_host == Some(0), "--ranks-per-host is 0: give 1 or more, or leave it out".to_owned()),
            (self.threads == Some(0), "--threads is 0: give 1 or more, or leave it out".to_owned()),
            (self.shuffle_buffer == Some(0), "--shuffle-buffer is 0: give 1 or more images, 1 for no shuffling".to_owned()),
            (is_not_positive(self.loss_scale), format!("--loss-scale {} is not above 0: give 1 for none", self.loss_scale)),
            (self.larc_eta.is_some_and(is_not_positive), "--larc-eta is not above 0: leave LARC out to train without".to_owned()),
            (
                self.learning_rate.is_some_and(is_not_positive),
                "--learning-rate is not above 0: give a rate such as 0.1".to_owned(),
            ),
            (
                self.num_epochs.is_some() && self.data_dir.is_none(),
                "--num-epochs counts passes over real images: give --data-dir, or --num-batches".to_owned(),
            ),
            (
                self.eval && self.data_dir.is_none(),
                "--eval tests on validation images: give their folder with --data-dir".to_owned(),
            ),
            (self.eval && self.timeline.is_some(), "--timeline draws a training: leave it out, or --eval".to_owned()),
            (self.eval && self.log_dir.is_none(), "--eval tests a checkpoint: give its folder with --log-dir".to_owned()),
            (
                self.no_distortions && self.distort_color,
                "--no-distortions and --distort-color ask for opposite things: leave one out".to_owned(),
            ),
        ];
        let found = problems.into_iter().find_map(|(is_so, problem)| is_so.then_some(problem));
        let of_images = || self.model.input_at(self.image_size).err().map(|problem| format!("--image-size: {problem}"));
        found.or_else(of_images).or_else(|| self.no_photos()).or_else(|| self.out_of_bounds())
    }

    /// Why the ranks do not fit on this host and what to change, in one sentence; `None` if they fit, as far as is known. It never looks
    /// at a host: the launcher does before the ranks start, and each rank does on its own host.
    pub fn misfit(&self, host: &HostRoom, ranks: usize) -> Option<String> {
        let NvcnnSpec { model, batch_size, precision, no_cuda, .. } = *self;
        let input = self.input();
        let demand = Demand { model, input, batch_size, precision, no_cuda, batches: BATCHES_HELD, keeps_results: !self.eval };
        demand.misfit(host, ranks)
    }

    /// Photos have three colours.
    fn no_photos(&self) -> Option<String> {
        let input = self.input();
        let is_misfit = self.data_dir.is_some() && (input.channels != 3 || input.height != input.width);
        is_misfit.then(|| {
            format!(
                "--data-dir: {} takes images of {input}, and photos have 3 colours: use resnet50, alexnet or another",
                self.model
            )
        })
    }
}

impl Bounded for NvcnnSpec {
    fn out_of_bounds(&self) -> Option<String> {
        first([
            at_least_one("batch size", self.batch_size, MAX_BATCH_SIZE),
            at_least_one("image size", self.image_size.unwrap_or(1), MAX_IMAGE_SIZE),
            at_least_one("number of batches", self.num_batches, MAX_BATCHES),
            at_least_one("number of epochs", self.num_epochs.unwrap_or(1), MAX_EPOCHS),
            at_least_one("display every", self.display_every, MAX_BATCHES),
            number("save interval", self.save_interval_s, MAX_SECONDS),
            number("loss scale", self.loss_scale, MAX_FACTOR),
            number("LARC eta", self.larc_eta.unwrap_or(1.0), MAX_FACTOR),
            number("learning rate", self.learning_rate.unwrap_or(1.0), MAX_FACTOR),
            count("threads", self.threads.unwrap_or(1), MAX_THREADS),
            count("shuffle buffer", self.shuffle_buffer.unwrap_or(1), MAX_COUNT),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> NvcnnSpec {
        NvcnnSpec::of_model("resnet50".parse().unwrap())
    }

    #[test]
    fn what_cannot_run_is_named() {
        assert_eq!(sample().problem(), None);
        let photos = || Some("photos".to_owned());
        let cases = [
            (NvcnnSpec { batch_size: 0, ..sample() }, "--batch-size is 0"),
            (NvcnnSpec { batch_size: usize::MAX, ..sample() }, "batch size 18446744073709551615 is beyond"),
            (NvcnnSpec { num_batches: 0, ..sample() }, "--num-batches is 0"),
            (NvcnnSpec { num_epochs: Some(0), ..sample() }, "--num-epochs is 0"),
            (NvcnnSpec { num_epochs: Some(2), ..sample() }, "give --data-dir, or --num-batches"),
            (NvcnnSpec { display_every: 0, ..sample() }, "--display-every is 0"),
            (NvcnnSpec { threads: Some(0), ..sample() }, "--threads is 0"),
            (NvcnnSpec { ranks_per_host: Some(0), ..sample() }, "--ranks-per-host is 0"),
            (NvcnnSpec { loss_scale: 0.0, ..sample() }, "--loss-scale 0 is not above 0"),
            (NvcnnSpec { loss_scale: f64::NAN, ..sample() }, "--loss-scale NaN is not above 0"),
            (NvcnnSpec { larc_eta: Some(-1.0), ..sample() }, "--larc-eta"),
            (NvcnnSpec { learning_rate: Some(0.0), ..sample() }, "--learning-rate"),
            (NvcnnSpec { save_interval_s: f64::INFINITY, ..sample() }, "save interval"),
            (NvcnnSpec { eval: true, ..sample() }, "--eval tests on validation images"),
            (NvcnnSpec { eval: true, data_dir: photos(), ..sample() }, "--eval tests a checkpoint"),
            (NvcnnSpec { no_distortions: true, distort_color: true, ..sample() }, "opposite things"),
            (NvcnnSpec { image_size: Some(3), ..NvcnnSpec::of_model("alexnet".parse().unwrap()) }, "--image-size: images of 3"),
            (NvcnnSpec { data_dir: photos(), ..NvcnnSpec::of_model(ModelSpec::wrn(10, 1)) }, "takes images of 1x28x28"),
        ];
        for (spec, words) in cases {
            let problem = spec.problem().unwrap_or_default();
            assert!(problem.contains(words) && !problem.contains('\n'), "{words}: {problem}");
        }
        assert_eq!(NvcnnSpec { data_dir: photos(), num_epochs: Some(2), ..sample() }.problem(), None);
    }

    #[test]
    fn settings_are_read_as_they_are_written() {
        let spec = NvcnnSpec { larc_mode: Some(LarcMode::Scale), dct: Dct::Accurate, bad_records: BadRecords::Skip, ..sample() };
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<NvcnnSpec>(&text).unwrap(), spec);
        assert!(text.contains(r#""bad_records":"skip""#) && text.contains(r#""larc_mode":"scale""#), "{text}");
    }

    #[test]
    fn what_does_not_fit_is_named_with_what_to_change_and_a_test_needs_less() {
        let host = HostRoom { gpus: 0, numa_nodes: vec![0], free_memory: 16 << 30 };
        let spec = NvcnnSpec { batch_size: 2_000, ..NvcnnSpec::of_model("resnet50".parse().unwrap()) };
        let said = spec.misfit(&host, 2).unwrap();
        assert!(said.contains("--batch-size 2000 of 2 ranks") && said.contains("lower it, or --image-size"), "{said}");
        assert_eq!(NvcnnSpec { eval: true, ..spec.clone() }.misfit(&host, 2), None, "nothing is kept for a backward pass");
        assert_eq!(NvcnnSpec { batch_size: 32, ..spec.clone() }.misfit(&host, 2), None);
        assert_eq!(spec.misfit(&HostRoom { gpus: 1, ..host.clone() }, 2), None, "of a GPU's memory nothing is known");
        let tf32 = NvcnnSpec { batch_size: 1, precision: NumberFormat::Tf32, ..spec };
        assert!(tf32.misfit(&host, 1).unwrap().contains("needs an NVIDIA GPU"));
        assert_eq!(tf32.misfit(&HostRoom { gpus: 1, ..host }, 1), None);
    }
}
