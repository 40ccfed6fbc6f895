//! `nvcnn_hvd_simplified.py` of NVIDIA's lab on multi-GPU training.

use super::start::{Row, Start, fixed, tenths};
use crate::domain::benchmark::Iterations;

pub(super) fn header(start: &Start) -> Vec<String> {
    let (spec, ranks) = (start.spec, start.ranks());
    // A flag and its value are one word there.
    let joined = start.arguments.join(" ").replace(" --", "\n  --");
    let words = joined.lines().map(|line| match line.trim_start().split_once(' ') {
        Some((flag, value)) => format!("  {flag}={value}"),
        None => format!("  {}", line.trim_start()),
    });
    std::iter::once("Cmd line args:".to_owned())
        .chain(words)
        .chain([
            format!("Num ranks:   {ranks}"),
            format!("Num images:  {}", start.data.images.map_or("Synthetic".to_owned(), |images| images.to_string())),
            format!("Model:       {}", spec.model),
            format!("Batch size:  {} per device", spec.batch_size),
            format!("             {} total", spec.batch_size * ranks),
            "Data format: NHWC".into(),
            format!("Data type:   {}", spec.precision),
        ])
        .collect()
}

pub(super) fn warming_up() -> Vec<String> {
    let lines = [
        "Building training graph",
        "Creating session",
        "Initializing variables",
        "Pre-filling input pipeline",
        "Training",
        "  Step Epoch Img/sec   Loss   LR",
    ];
    lines.map(str::to_owned).to_vec()
}

/// The first step, and every so many; all of a synthetic batch is one epoch.
pub(super) fn row(start: &Start, step: usize, row: &Row) -> Option<String> {
    let is_due = step == 1 || step.is_multiple_of(start.spec.display_every);
    let loss = fixed(row.loss, 3);
    let total = start.spec.batch_size * start.ranks();
    let epoch = start.data.images.map_or(1, |images| (step - 1) * total / images.max(1) + 1);
    is_due.then(|| format!("{step:>6} {epoch:>5} {:>7} {loss:>7} {:>7.5}", tenths(row.rate), start.learning_rate))
}

pub(super) fn ending(start: &Start, iterations: &Iterations) -> Vec<String> {
    let Some(speed) = iterations.as_nvcnn() else {
        return vec![format!("No results, did not get past burn-in phase ({} steps)", start.spec.warmup_batches)];
    };
    let rule = "-".repeat(64);
    let (mean, jitter) = (tenths(speed.mean), tenths(speed.jitter));
    let uncertainty = speed.uncertainty.map(tenths);
    let known = uncertainty.as_deref().unwrap_or("unknown");
    let mut lines = vec![rule.clone(), format!("Images/sec: {mean} +/- {known} (jitter = {jitter})"), rule];
    if uncertainty.is_none() {
        lines.push(
            "# an uncertainty takes 3 batches that count or more (nvcnn prints nan for fewer): give more --num_batches".into(),
        );
    }
    lines
}
