//! What the ranks of a benchmark report: where each of them runs, and how fast each iteration was.

use serde::{Deserialize, Serialize};

use crate::domain::bounds::{
    Bounded, MAX_BATCH_SIZE, MAX_CORES, MAX_COUNT, MAX_RANKS, at_least_one, count, figure, first, number, seconds,
};
use crate::domain::phase::{Phase, PhaseSeconds};
use crate::domain::units;

/// One iteration that counts, as one rank saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationReport {
    /// From 1, after the warm-up.
    pub iteration: usize,
    /// Iterations that are asked for.
    pub of: usize,
    pub batches: usize,
    /// Images that this rank trained on.
    pub images: usize,
    /// This rank's own time.
    pub seconds: f64,
    /// All ranks' images per second: the sum of each rank's own.
    pub images_per_sec: f64,
    /// This rank's, of the last batch. It may be no number: images of noise are not there to be learned.
    #[serde(deserialize_with = "crate::domain::number::number")]
    pub loss: f64,
    /// Where the time went, as far as the rank can tell: on a GPU only the whole of it.
    #[serde(default)]
    pub phases: PhaseSeconds,
}

/// Where a rank really runs, whatever was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlacementReport {
    pub host: String,
    /// Logical cores that it may run on.
    pub cores: Vec<usize>,
    /// NUMA nodes that have some of these cores; empty where the system does not say.
    #[serde(default)]
    pub nodes: Vec<usize>,
    /// The core that it was on when it looked.
    pub running_on: Option<usize>,
    /// Where its memory comes from: `local`, `preferred on node 1`; `None` where the system does not say.
    pub memory: Option<String>,
    pub threads: usize,
    /// `cpu` or `cuda:0`.
    pub device: String,
}

impl IterationReport {
    /// This rank's images per second.
    pub fn rate(&self) -> f64 {
        self.images as f64 / self.seconds
    }
}

impl PlacementReport {
    /// `1 thread on core 0 (NUMA node 0), memory local`.
    pub fn in_words(&self) -> String {
        let threads = units::counted(self.threads, "thread");
        let nodes = match self.nodes.len() {
            0 => String::new(),
            1 => format!(" (NUMA node {})", units::ranges(&self.nodes)),
            _ => format!(" (NUMA nodes {})", units::ranges(&self.nodes)),
        };
        let cores = if self.cores.len() == 1 { "core" } else { "cores" };
        let memory = self.memory.as_ref().map(|memory| format!(", memory {memory}")).unwrap_or_default();
        format!("{}, {threads} on {cores} {}{nodes}{memory}", self.device, units::ranges(&self.cores))
    }
}

impl Bounded for IterationReport {
    fn out_of_bounds(&self) -> Option<String> {
        let rate = |what: &str, value: f64| number(what, value, f64::from(f32::MAX));
        first([
            at_least_one("iteration", self.iteration, MAX_COUNT),
            count("iterations", self.of, MAX_COUNT),
            count("batches", self.batches, MAX_COUNT / MAX_RANKS),
            count("images", self.images, MAX_BATCH_SIZE * MAX_RANKS),
            seconds("seconds of an iteration", self.seconds),
            rate("images per second", self.images_per_sec),
            figure("loss", self.loss),
            Phase::ALL.into_iter().find_map(|phase| seconds(phase.name(), self.phases[phase])),
        ])
    }
}

impl Bounded for PlacementReport {
    fn out_of_bounds(&self) -> Option<String> {
        let all = || self.cores.iter().chain(&self.nodes).chain(&self.running_on);
        first([
            count("number of cores", self.cores.len(), MAX_CORES),
            count("number of NUMA nodes", self.nodes.len(), MAX_CORES),
            count("threads", self.threads, MAX_CORES),
        ])
        .or_else(|| all().find_map(|place| count("core or NUMA node", *place, MAX_CORES)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_said_as_the_system_writes_it() {
        let place = PlacementReport {
            cores: vec![8, 0, 1, 2],
            nodes: vec![0],
            memory: Some("preferred on node 0".into()),
            threads: 2,
            device: "cpu".into(),
            ..PlacementReport::default()
        };
        assert_eq!(place.in_words(), "cpu, 2 threads on cores 0-2,8 (NUMA node 0), memory preferred on node 0");
        let unknown = PlacementReport { cores: vec![3], threads: 1, device: "cpu".into(), ..PlacementReport::default() };
        assert_eq!(unknown.in_words(), "cpu, 1 thread on core 3");
        assert!(PlacementReport { cores: vec![usize::MAX], ..place }.out_of_bounds().is_some());
        let endless = IterationReport { seconds: f64::INFINITY, ..IterationReport::sample(1) };
        assert!(endless.out_of_bounds().is_some() && IterationReport::sample(1).out_of_bounds().is_none());
    }
}
