//! The settings of a run that measures collectives: the flags of `hvd-collectives`, as data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::algorithm::Shape;

/// What is measured, at which sizes, how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectivesSpec {
    /// Names of methods, in the order of the table.
    pub methods: Vec<String>,
    #[serde(flatten)]
    pub shape: Shape,
    /// Bytes of the smallest and the largest buffer; each is `factor` times the one before.
    pub min_bytes: u64,
    pub max_bytes: u64,
    pub factor: u64,
    /// Allreduces that are timed at each size, and those before them that are not.
    pub iterations: usize,
    pub warmup: usize,
    /// Bytes of the buffer whose messages are logged, one execution of each schedule; `None` for no log.
    #[serde(default)]
    pub log_bytes: Option<u64>,
    /// Bits a second of the network that each rank is given, in a network namespace of its own; `None` for what is there.
    #[serde(default)]
    pub link_bits: Option<u64>,
    /// Settings that another version of the lab wrote, kept as they came.
    #[serde(flatten)]
    pub newer: Map<String, Value>,
}
