//! What a run was asked to do and how it was started: the content of `run.json`.
//!
//! Never says how it went: that is `RunStatus` and the events.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::bounds::{Bounded, MAX_ATTEMPTS, MAX_EPOCHS, MAX_RANKS, at_least_one, count, first, moment};
use crate::domain::fault::{FaultRecord, MAX_FAULTS};
use crate::domain::job::{RunSpec, TrainingJob};
use crate::domain::training::TrainingSpec;
use crate::host;

/// Number of a run in its store, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub u32);

/// What a run is asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRequest {
    pub name: Option<String>,
    pub note: Option<String>,
    /// Name of the preset it began as.
    pub preset: String,
    pub spec: RunSpec,
    /// The data folder of the user's own, if one was named.
    pub data_dir: Option<PathBuf>,
    /// The learner's own program, which is run instead of hvd-train.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// The exercise that the program is of, where that is not the ten steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exercise: Option<String>,
    /// It belongs to a trial of the learner's program: what it passes is written only once all runs of the trial have passed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
    /// Nothing may be downloaded for it.
    #[serde(default)]
    pub offline: bool,
    /// More ranks than the machine has room for are meant.
    #[serde(default)]
    pub force: bool,
}

/// The content of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub id: RunId,
    #[serde(flatten)]
    pub request: RunRequest,
    /// `Fashion-MNIST` or `generated garments`.
    pub data_label: String,
    /// Unix time in seconds.
    pub created_s: f64,
    /// Name of the host that launched it.
    pub host: String,
    /// Versions of the lab, the launcher and, once the ranks have said so, their libraries.
    #[serde(default)]
    pub versions: Vec<String>,
    /// One for the start, one for each time it was continued.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
    /// What another version of the lab wrote beside these, kept as it came.
    #[serde(flatten)]
    pub newer: Map<String, Value>,
}

/// Which run of a trial it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trial {
    First,
    /// Under conditions in which more mistakes show.
    Further,
}

/// One launch of the ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The exact command line, launcher first.
    pub argv: Vec<String>,
    /// Variables set for it beside those that were there.
    pub env: Vec<(String, String)>,
    /// Unix time in seconds.
    pub started_s: f64,
    /// Ranks that it started; `None` where an older version of the lab wrote it, which started as many as were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub np: Option<usize>,
    /// Epochs in total that it was asked for.
    #[serde(default)]
    pub epochs: usize,
    /// Why there is another launch than the one before: what that one lost, or which hosts there are now. `None` of the first, and
    /// where somebody continued the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The part of the cores of its host, 0 to 1, that other programs used during the training: on a busy machine all takes
    /// longer. `None` if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cpu: Option<f64>,
    /// Faults that were made in it on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRecord>,
    /// What another version of the lab wrote beside these, kept as it came.
    #[serde(flatten)]
    pub newer: Map<String, Value>,
}

impl RunRequest {
    pub fn new(spec: impl Into<RunSpec>, preset: impl Into<String>) -> RunRequest {
        RunRequest {
            name: None,
            note: None,
            preset: preset.into(),
            spec: spec.into(),
            data_dir: None,
            program: None,
            exercise: None,
            trial: None,
            offline: false,
            force: false,
        }
    }
}

impl RunRecord {
    /// Of a run that starts now, on this host. The store gives it its number.
    pub fn new(request: RunRequest, data_label: impl Into<String>, versions: Vec<String>) -> RunRecord {
        RunRecord {
            id: RunId(0),
            request,
            data_label: data_label.into(),
            created_s: host::now_s(),
            host: host::name(),
            versions,
            attempts: Vec::new(),
            newer: Map::new(),
        }
    }

    /// Ranks of the last attempt, or those asked for where there was none yet.
    pub fn np(&self) -> usize {
        self.attempts.last().and_then(|attempt| attempt.np).unwrap_or(self.request.spec.resources.np)
    }

    /// Whether that is more than a guess: a launcher of the user's own may find out itself how many it starts.
    pub fn knows_np(&self) -> bool {
        self.request.spec.knows_np() || self.attempts.last().is_some_and(|attempt| attempt.np.is_some())
    }

    /// Ranks of each attempt, in their order.
    pub fn np_of_attempts(&self) -> impl Iterator<Item = usize> {
        self.attempts.iter().map(|attempt| attempt.np.unwrap_or(self.request.spec.resources.np))
    }

    /// The settings of a training run; `None` of any other.
    pub fn training(&self) -> Option<&TrainingSpec> {
        self.request.spec.training()
    }

    /// The training that its last attempt did; `None` where it is no training.
    pub fn training_job(&self) -> Option<TrainingJob> {
        let mut job = self.request.spec.training_job()?;
        job.resources.np = self.np();
        Some(job)
    }

    /// Whether it shows which of the ten steps are done.
    pub fn has_steps(&self) -> bool {
        self.request.spec.workload.has_steps() && self.request.exercise.is_none()
    }

    /// Accuracy that ends the training early; infinite where there is nothing to reach.
    pub fn target_accuracy(&self) -> f64 {
        self.training().map_or(f64::INFINITY, |training| training.target_accuracy)
    }
}

/// Versions that a record may name: many more than ranks ever reported.
const MAX_NAMED: usize = 10_000;

impl Bounded for RunRecord {
    fn out_of_bounds(&self) -> Option<String> {
        first([
            (self.id.0 == 0).then(|| "the run has the number 0".to_owned()),
            moment("created", self.created_s),
            self.request.spec.out_of_bounds(),
            count("number of versions", self.versions.len(), MAX_NAMED),
            count("number of attempts", self.attempts.len(), MAX_ATTEMPTS),
            self.attempts.iter().find_map(Attempt::out_of_bounds),
        ])
    }
}

impl Bounded for Attempt {
    fn out_of_bounds(&self) -> Option<String> {
        first([
            moment("start of an attempt", self.started_s),
            self.np.and_then(|np| at_least_one("np of an attempt", np, MAX_RANKS)),
            count("epochs of an attempt", self.epochs, MAX_EPOCHS),
            count("faults of an attempt", self.faults.len(), MAX_FAULTS),
            self.faults.iter().find_map(FaultRecord::out_of_bounds),
        ])
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RunId {
    type Err = String;

    fn from_str(text: &str) -> Result<RunId, String> {
        match text.parse() {
            Ok(0) | Err(_) => Err(format!("`{text}` is not a run: use its number, as `hvd-lab runs` shows it")),
            Ok(number) => Ok(RunId(number)),
        }
    }
}
