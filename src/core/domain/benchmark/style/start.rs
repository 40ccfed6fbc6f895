//! What all styles tell of a benchmark: how it starts, and one row of it.

use crate::domain::benchmark::{BenchmarkSpec, Iterations, PlacementReport};

/// What is known before the first batch.
#[derive(Clone, Debug)]
pub struct Start<'a> {
    pub spec: &'a BenchmarkSpec,
    /// The flags, word by word.
    pub arguments: &'a [String],
    pub data: &'a Data,
    pub is_gpu: bool,
    pub learning_rate: f64,
    /// By rank.
    pub places: &'a [PlacementReport],
}

/// What is trained on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// `synthetic`, `Fashion-MNIST`, ...
    pub label: String,
    /// As many real images; `None` of a synthetic batch.
    pub images: Option<usize>,
}

impl Data {
    pub fn synthetic() -> Data {
        Data { label: "synthetic".into(), images: None }
    }
}

/// One batch or one iteration of all ranks, just timed.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Those that count, this one included; none during the warm-up.
    pub iterations: &'a Iterations,
    /// Images of all ranks per second in this one.
    pub rate: f64,
    /// The root's loss.
    pub loss: f64,
}

impl Start<'_> {
    pub fn ranks(&self) -> usize {
        self.places.len()
    }

    /// What ranks compute on, as Horovod's benchmark names it.
    pub(super) fn device(&self) -> &'static str {
        if self.is_gpu { "GPU" } else { "CPU" }
    }
}

/// As C prints `%.1f`, and Python what is no number.
pub(super) fn tenths(value: f64) -> String {
    fixed(value, 1)
}

/// The same with so many digits.
pub(super) fn fixed(value: f64, digits: usize) -> String {
    if value.is_nan() { "nan".into() } else { format!("{value:.digits$}") }
}
