//! `tf_cnn_benchmarks.py` of github.com/tensorflow/benchmarks, with `--variable_update horovod`.

use super::start::{Row, Start, fixed, tenths};
use crate::domain::benchmark::{Binding, Iterations};

/// Training images of ImageNet and of Fashion-MNIST: what an epoch would be.
const EPOCHS: [(usize, f64, &str); 2] = [(1000, 1_281_167.0, "imagenet (synthetic)"), (10, 60_000.0, "synthetic")];

pub(super) fn header(start: &Start) -> Vec<String> {
    let (spec, ranks) = (start.spec, start.ranks());
    let global = spec.batch_size * ranks;
    let batches = spec.iterations * spec.batches_per_iteration;
    let (_, examples, synthetic) = EPOCHS.into_iter().find(|(classes, ..)| *classes == spec.model.classes()).unwrap_or(EPOCHS[1]);
    let examples = start.data.images.map_or(examples, |images| images as f64);
    let dataset = if start.data.images.is_some() { &start.data.label } else { synthetic };
    let device = if start.is_gpu { "gpu" } else { "cpu" };
    let devices: Vec<String> = (0..ranks).map(|rank| format!("'horovod/{device}:{rank}'")).collect();
    let is_numa = if spec.bind == Binding::Numa { "True" } else { "False" };
    vec![
        format!("Model:       {}", spec.model),
        format!("Dataset:     {dataset}"),
        "Mode:        training".into(),
        "SingleSess:  False".into(),
        format!("Batch size:  {global} global"),
        format!("             {} per device", spec.batch_size),
        format!("Num batches: {batches}"),
        format!("Num epochs:  {:.2}", (batches * global) as f64 / examples),
        format!("Devices:     [{}]", devices.join(", ")),
        format!("NUMA bind:   {is_numa}"),
        "Data format: NHWC".into(),
        format!("Optimizer:   {}", spec.optimizer),
        "Variables:   horovod".into(),
        "==========".into(),
    ]
}

pub(super) const WARMING_UP: [&str; 3] = ["Generating training model", "Initializing graph", "Running warm up"];

pub(super) const WARMED_UP: [&str; 2] = ["Done warm up", "Step\tImg/sec\ttotal_loss"];

/// The first one, and every so many batches: of all iterations so far.
pub(super) fn row(start: &Start, iteration: usize, row: &Row) -> Option<String> {
    let of_one = start.spec.batches_per_iteration;
    let step = iteration * of_one;
    // An iteration may be several batches: then the row that falls into it.
    let is_due = iteration == 1 || step / start.spec.display_every > (step - of_one) / start.spec.display_every;
    let speed = row.iterations.as_tf_cnn().filter(|_| is_due)?;
    let uncertainty = tenths(speed.uncertainty.unwrap_or_default());
    let (mean, jitter) = (tenths(speed.mean), tenths(speed.jitter));
    let loss = fixed(row.loss, 3);
    Some(format!("{step}\timages/sec: {mean} +/- {uncertainty} (jitter = {jitter})\t{loss}"))
}

pub(super) fn ending(iterations: &Iterations) -> Vec<String> {
    let rule = "-".repeat(64);
    let total = iterations.total_over_time().unwrap_or_default();
    vec![rule.clone(), format!("total images/sec: {total:.2}"), rule]
}
