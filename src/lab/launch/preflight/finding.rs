//! What a run needs of every host, and what was found there.

use std::path::Path;

use serde::Serialize;

/// What every host of a run has to have.
#[derive(Clone, Debug)]
pub struct Needs<'a> {
    /// Of the ranks, by its whole path.
    pub program: &'a Path,
    /// Whether it may be started to see whether its libraries are there. A program that a learner is still writing may do anything.
    pub may_start: bool,
    /// Where runs are written: the ranks' folder, or one above it.
    pub folder: &'a Path,
    /// Interfaces or networks that are asked for, separated by commas.
    pub interfaces: Option<&'a str>,
    /// Whether each rank takes a GPU.
    pub takes_gpus: bool,
}

/// What was found, if it is good; otherwise how bad it is, what was found, and what to do about it.
pub(super) type Judged = Result<String, (Weight, String, String)>;

/// How good something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Weight {
    #[serde(rename = "ok")]
    Good,
    /// A run starts, and something about it will be odd, or could be better.
    #[serde(rename = "warn")]
    Doubt,
    /// A run cannot start, or would hang.
    #[serde(rename = "fail")]
    Bad,
}

/// One thing that a host has or lacks, as `hvd-lab doctor` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Of a host of the run: `reach`, `program`, `libraries`, `folder`, `clock`, `devices` or `network`.
    #[serde(rename = "name")]
    pub what: &'static str,
    /// Empty for what this host itself has or lacks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    #[serde(rename = "state")]
    pub weight: Weight,
    /// With the cause where it is not good.
    pub found: String,
    /// What to do about it; empty where it is good.
    pub remedy: String,
}

impl Finding {
    /// `node2: hvd-train does not start there: ... -> run ...`
    pub fn in_words(&self) -> String {
        let remedy = if self.remedy.is_empty() { String::new() } else { format!(". To do: {}", self.remedy) };
        format!("host {}: {}{remedy}", self.host, self.found)
    }

    pub(super) fn new(host: &str, what: &'static str, judged: Judged) -> Finding {
        let (weight, found, remedy) = judged.map_or_else(|problem| problem, |found| (Weight::Good, found, String::new()));
        Finding { host: host.to_owned(), what, weight, found, remedy }
    }
}
