//! What a run was asked to do and how it was started: the content of `run.json`.
//!
//! Never says how it went: that is `RunStatus` and the events.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::domain::run::RunSpec;

/// Number of a run in its store, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub u32);

/// The content of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub id: RunId,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub note: Option<String>,
    /// Name of the preset it began as.
    pub preset: String,
    pub spec: RunSpec,
    /// `Fashion-MNIST` or `generated garments`.
    pub data_label: String,
    /// The data folder of the user's own, if one was named.
    #[serde(default)]
    pub data_dir: Option<PathBuf>,
    /// The learner's own program, which is run instead of hvd-train.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// Nothing may be downloaded for it.
    #[serde(default)]
    pub offline: bool,
    /// More ranks than the machine has room for are meant.
    #[serde(default)]
    pub force: bool,
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
}

/// One launch of the ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The exact command line, launcher first.
    pub argv: Vec<String>,
    /// Variables set for it beside those that were there.
    pub env: Vec<(String, String)>,
    /// Unix time in seconds.
    pub started_s: f64,
    /// Epochs in total that it was asked for.
    pub epochs: usize,
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
            Ok(0) | Err(_) => Err(format!("`{text}` is no run: use its number, as `hvd-lab runs` shows it")),
            Ok(number) => Ok(RunId(number)),
        }
    }
}
