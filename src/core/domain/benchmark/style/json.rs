//! The result as one JSON object, for programs.

use serde_json::{Value, json};

use super::start::Start;
use crate::domain::benchmark::{IterationReport, Iterations, Spread};

pub(super) fn result(start: &Start, iterations: &Iterations, reports: &[IterationReport]) -> String {
    let spec = start.spec;
    let spread = |spread: Option<Spread>| match spread {
        Some(Spread { mean, uncertainty, jitter, within_95 }) => {
            json!({ "mean": mean, "uncertainty": uncertainty, "jitter": jitter, "within_95": within_95 })
        }
        None => Value::Null,
    };
    let object = json!({
        "model": spec.model,
        "images": start.spec.input().to_string(),
        "data": start.data.label,
        "ranks": start.ranks(),
        "batch_size": { "per_device": spec.batch_size, "total": spec.batch_size * start.ranks() },
        "device": start.device(),
        "precision": spec.precision,
        "data_format": "NHWC",
        "optimizer": spec.optimizer,
        "fp16_allreduce": spec.fp16_allreduce,
        "bind": spec.bind,
        "warmup_batches": spec.warmup_batches,
        "batches_per_iteration": spec.batches_per_iteration,
        "images_per_sec": spread(iterations.total()),
        "images_per_sec_per_device": spread(iterations.per_rank()),
        "images_over_time": iterations.total_over_time(),
        "iterations": reports,
        "placement": start.places,
    });
    object.to_string()
}
