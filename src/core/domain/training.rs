//! The settings of a training run: the flags of `hvd-train`, as data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::benchmark::NumberFormat;
use super::bounds::{Bounded, MAX_BATCH_SIZE, MAX_EPOCHS, at_least_one, figure, first};
use super::images::FASHION_MNIST;
use super::model::ModelSpec;
use super::schedule::{LearningRateSchedule, steps_per_epoch};
use super::step::{Step, StepSet};

/// What is trained, on what, and for how long. `launch::mpirun` turns it into the trainer's argument vector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingSpec {
    pub steps: StepSet,
    /// Epochs in total; when a run is continued, those before count.
    pub epochs: usize,
    /// Images per rank and batch.
    pub batch_size: usize,
    pub base_lr: f64,
    pub momentum: f64,
    /// Weight decay of the kernels.
    pub wd: f64,
    pub target_accuracy: f64,
    /// Epochs in a row that must exceed the target before training stops.
    pub patience: usize,
    pub warmup_epochs: f64,
    pub model: ModelSpec,
    pub data: DataSource,
    /// The first so many training images; `None` for all.
    pub train_images: Option<usize>,
    /// The first so many test images for the validation after each epoch; `None` for all.
    pub validation_images: Option<usize>,
    pub checkpointing: bool,
    /// Write a checkpoint within an epoch, too, every so many steps; `None` for the ends of epochs alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_every: Option<usize>,
    pub seed: u64,
    #[serde(default, skip_serializing_if = "NumberFormat::is_default")]
    pub precision: NumberFormat,
    /// More flags of `hvd-train`, word by word, that the lab has no setting for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trainer_flags: Vec<String>,
    /// Settings that another version of the lab wrote, kept as they came.
    #[serde(flatten)]
    pub newer: Map<String, Value>,
}

crate::named! {
    /// Which images to train on.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    DataSource {
        /// The real files where they are or can be fetched, else the generated ones, and the run says which.
        #[default]
        Auto = "auto",
        /// Real Fashion-MNIST or nothing.
        FashionMnist = "fashion-mnist",
        /// The bundled generator.
        Generated = "generated",
        /// Real handwritten digits where they are or can be fetched, else drawn ones, and the run says which.
        Digits = "digits",
        /// Real MNIST or nothing.
        Mnist = "mnist",
        /// Digits of the bundled generator.
        GeneratedDigits = "generated-digits",
    }
}

/// The flag of `hvd-train` that puts one fixed batch of noise in place of all images.
pub const SYNTHETIC: &str = "--synthetic";

/// Training images of Fashion-MNIST and of MNIST; as many are generated.
const ALL_IMAGES: usize = 60_000;

impl TrainingSpec {
    /// Training images of an epoch.
    pub fn images(&self) -> usize {
        self.train_images.unwrap_or(ALL_IMAGES)
    }

    /// Optimizer steps of each of `np` ranks in an epoch.
    pub fn steps_per_epoch(&self, np: usize) -> usize {
        steps_per_epoch(self.images(), self.batch_size, if self.steps.is_effective(Step::FewerSteps) { np } else { 1 })
    }

    /// The last epoch in which the rate of `np` ranks climbs, counted from 1; `None` where it does not.
    pub fn last_warmup_epoch(&self, np: usize) -> Option<usize> {
        let warmup_epochs = if self.steps.is_effective(Step::Warmup) { self.warmup_epochs } else { 0.0 };
        let (initial_lr, steps_per_epoch) = (self.base_lr, self.steps_per_epoch(np));
        LearningRateSchedule { initial_lr, size: np, warmup_epochs, steps_per_epoch }.last_warmup_epoch()
    }

    /// What is wrong if the model takes other images than there are.
    pub fn misfit(&self) -> Option<String> {
        let (model, takes) = (self.model, self.model.input());
        let fits = takes == FASHION_MNIST || self.trainer_flags.iter().any(|flag| flag == SYNTHETIC);
        (!fits).then(|| {
            format!(
                "{model} takes images of {takes} (channels, height, width), and those of Fashion-MNIST are {FASHION_MNIST}: choose \
                 another model, such as wrn-10-1 or mnist-cnn, or measure its speed on noise: hvd-lab bench --model {model}, or \
                 hvd-train {SYNTHETIC} --model {model}"
            )
        })
    }

    /// Whether a stored table has all that every version wrote: then what cannot be read in it is new, not damaged.
    pub(super) fn has_all_fields(stored: &Map<String, Value>) -> bool {
        const ALWAYS: &str = "steps epochs batch_size base_lr momentum wd target_accuracy patience warmup_epochs model data \
            checkpointing seed";
        ALWAYS.split(' ').all(|name| stored.contains_key(name))
    }
}

impl Bounded for TrainingSpec {
    fn out_of_bounds(&self) -> Option<String> {
        first([
            at_least_one("epochs", self.epochs, MAX_EPOCHS),
            at_least_one("batch size", self.batch_size, MAX_BATCH_SIZE),
            at_least_one("patience", self.patience, MAX_EPOCHS),
            figure("base LR", self.base_lr),
            figure("momentum", self.momentum),
            figure("weight decay", self.wd),
            figure("target accuracy", self.target_accuracy),
            figure("warmup epochs", self.warmup_epochs),
        ])
    }
}

impl std::fmt::Display for DataSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl super::setting::Named for DataSource {}

impl std::str::FromStr for DataSource {
    type Err = String;

    fn from_str(text: &str) -> Result<DataSource, String> {
        let words = DataSource::ALL.map(|source| source.name());
        let found = DataSource::ALL.into_iter().find(|source| source.name() == text);
        found.ok_or_else(|| format!("`{text}` is not a data source: use {} or {}", words[..5].join(", "), words[5]))
    }
}
