//! `examples/pytorch/pytorch_synthetic_benchmark.py` of Horovod.

use super::start::{Row, Start, tenths};
use crate::domain::benchmark::Iterations;

pub(super) fn header(start: &Start) -> Vec<String> {
    vec![
        format!("Model: {}", start.spec.model),
        format!("Batch size: {}", start.spec.batch_size),
        format!("Number of {}s: {}", start.device(), start.ranks()),
    ]
}

pub(super) const WARMING_UP: [&str; 1] = ["Running warmup..."];

pub(super) const WARMED_UP: [&str; 1] = ["Running benchmark..."];

/// Iterations count from 0.
pub(super) fn row(start: &Start, iteration: usize, row: &Row) -> String {
    let per_rank = row.rate / start.ranks() as f64;
    format!("Iter #{}: {} img/sec per {}", iteration - 1, tenths(per_rank), start.device())
}

pub(super) fn ending(start: &Start, iterations: &Iterations) -> Vec<String> {
    let (Some(one), Some(all)) = (iterations.per_rank(), iterations.total()) else { return Vec::new() };
    let (device, ranks) = (start.device(), start.ranks());
    vec![
        format!("Img/sec per {device}: {} +-{}", tenths(one.mean), tenths(one.within_95)),
        format!("Total img/sec on {ranks} {device}(s): {} +-{}", tenths(all.mean), tenths(all.within_95)),
    ]
}
