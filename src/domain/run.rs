//! A run as data: what to run (`RunSpec`), and how it is going (`RunStatus`).
//!
//! Never starts or stops anything: `launch` does.

use serde::{Deserialize, Serialize};

use super::step::{Step, StepSet};

/// Everything that determines a run. `launch::mpirun` turns it into an argument vector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    pub np: usize,
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
    pub seed: u64,
    /// `host:slots,...` as mpirun takes it; `None` for this host alone.
    #[serde(default)]
    pub hosts: Option<String>,
    /// Path of an mpirun host file.
    #[serde(default)]
    pub hostfile: Option<String>,
    /// More flags of `hvd-train`, word by word, that the lab has no setting for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trainer_flags: Vec<String>,
}

/// A Wide ResNet: depth 6n+4, and the factor on its filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelSpec {
    pub depth: usize,
    pub width: usize,
}

/// Which images to train on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataSource {
    /// The real files where they are or can be fetched, else the generated ones, and the run says which.
    #[default]
    Auto,
    /// Real Fashion-MNIST or nothing.
    FashionMnist,
    /// The bundled generator.
    Generated,
}

impl RunSpec {
    /// Images of all ranks in one optimizer step, as far as the ranks know of each other.
    pub fn global_batch_size(&self) -> usize {
        let size = if self.steps.contains(Step::InitAndPin) { self.np } else { 1 };
        self.batch_size * size
    }

    /// The first thing in it that cannot run, in one sentence.
    pub fn problem(&self) -> Option<String> {
        let checks: [(bool, String); 11] = [
            (self.np == 0, "np is 0: a run needs at least 1 rank".into()),
            (self.np > 4096, format!("np {} is more than 4096 ranks", self.np)),
            (self.epochs == 0, "epochs is 0: train for at least 1".into()),
            (self.batch_size == 0, "batch size is 0: use at least 1 image per rank".into()),
            (!(self.base_lr.is_finite() && self.base_lr > 0.0), format!("base LR {} is not above 0", self.base_lr)),
            (!(0.0..1.0).contains(&self.momentum), format!("momentum {} is not in 0 to 1", self.momentum)),
            (!(self.wd.is_finite() && self.wd >= 0.0), format!("weight decay {} is negative", self.wd)),
            (!self.target_accuracy.is_finite(), format!("target accuracy {} is no number", self.target_accuracy)),
            (self.patience == 0, "patience is 0: use at least 1 epoch".into()),
            (
                !(self.warmup_epochs.is_finite() && self.warmup_epochs >= 0.0),
                format!("warmup epochs {} is negative", self.warmup_epochs),
            ),
            (
                self.train_images == Some(0) || self.validation_images == Some(0),
                "0 images: use at least 1, or leave the limit out".into(),
            ),
        ];
        checks.into_iter().find_map(|(bad, message)| bad.then_some(message))
    }
}

#[cfg(test)]
impl RunSpec {
    /// A small run on two ranks, for tests of any floor.
    pub fn sample() -> RunSpec {
        RunSpec {
            np: 2,
            steps: StepSet::ALL,
            epochs: 3,
            batch_size: 64,
            base_lr: 0.01,
            momentum: 0.9,
            wd: 5e-6,
            target_accuracy: 0.85,
            patience: 2,
            warmup_epochs: 5.0,
            model: ModelSpec { depth: 10, width: 1 },
            data: DataSource::Auto,
            train_images: Some(12_000),
            validation_images: Some(1_000),
            checkpointing: true,
            seed: 1,
            hosts: None,
            hostfile: None,
            trainer_flags: Vec::new(),
        }
    }
}

impl std::fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "wrn-{}-{}", self.depth, self.width)
    }
}

impl std::str::FromStr for ModelSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<ModelSpec, String> {
        let error = || format!("`{text}` is no model: use wrn-DEPTH-WIDTH with a depth of 6n+4, such as wrn-10-1 or wrn-16-10");
        let (depth, width) = text.strip_prefix("wrn-").and_then(|rest| rest.split_once('-')).ok_or_else(error)?;
        let spec = ModelSpec { depth: depth.parse().map_err(|_| error())?, width: width.parse().map_err(|_| error())? };
        if spec.depth < 10 || spec.depth > 1000 || !(spec.depth - 4).is_multiple_of(6) || spec.width == 0 || spec.width > 64 {
            return Err(error());
        }
        Ok(spec)
    }
}

impl TryFrom<String> for ModelSpec {
    type Error = String;

    fn try_from(text: String) -> Result<ModelSpec, String> {
        text.parse()
    }
}

impl From<ModelSpec> for String {
    fn from(spec: ModelSpec) -> String {
        spec.to_string()
    }
}

impl std::fmt::Display for DataSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            DataSource::Auto => "auto",
            DataSource::FashionMnist => "fashion-mnist",
            DataSource::Generated => "generated",
        })
    }
}

impl std::str::FromStr for DataSource {
    type Err = String;

    fn from_str(text: &str) -> Result<DataSource, String> {
        match text {
            "auto" => Ok(DataSource::Auto),
            "fashion-mnist" => Ok(DataSource::FashionMnist),
            "generated" => Ok(DataSource::Generated),
            _ => Err(format!("`{text}` is no data source: use auto, fashion-mnist or generated")),
        }
    }
}

/// How a run is going; the supervisor rewrites it at every change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStatus {
    pub state: RunState,
    /// What it is doing, or why it ended, in one sentence.
    pub message: String,
    /// Process id and session of the supervisor, and its start time in clock ticks since boot: a pid may be reused. 0
    /// before there is one.
    pub supervisor_pid: u32,
    #[serde(default)]
    pub supervisor_start_ticks: u64,
    /// Unix time in seconds.
    pub started_s: f64,
    #[serde(default)]
    pub ended_s: Option<f64>,
    /// Exit code of the launcher, where it ended; 2 for bad input and where the run folder could not be written.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// The process that failed first, and its last lines.
    #[serde(default)]
    pub failed_process: Option<usize>,
    #[serde(default)]
    pub last_lines: Vec<String>,
}

impl RunStatus {
    /// Without a supervisor, and not ended.
    pub fn new(state: RunState, message: impl Into<String>, started_s: f64) -> RunStatus {
        RunStatus {
            state,
            message: message.into(),
            supervisor_pid: 0,
            supervisor_start_ticks: 0,
            started_s,
            ended_s: None,
            exit_code: None,
            failed_process: None,
            last_lines: Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Looking for or fetching the data.
    Preparing,
    Running,
    Stopping,
    Finished,
    Failed,
    Stopped,
}

impl RunState {
    pub fn is_over(self) -> bool {
        matches!(self, RunState::Finished | RunState::Failed | RunState::Stopped)
    }

    pub fn name(self) -> &'static str {
        match self {
            RunState::Preparing => "preparing",
            RunState::Running => "running",
            RunState::Stopping => "stopping",
            RunState::Finished => "finished",
            RunState::Failed => "failed",
            RunState::Stopped => "stopped",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_by_depth_and_width() {
        assert_eq!("wrn-16-10".parse(), Ok(ModelSpec { depth: 16, width: 10 }));
        for bad in ["wrn-12-1", "wrn-4-1", "wrn-16", "resnet-50", "wrn-16-0", "wrn--1", "wrn-16-10-1", ""] {
            assert!(bad.parse::<ModelSpec>().is_err(), "{bad}");
        }
    }
}
