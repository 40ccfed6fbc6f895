//! `nvcnn_hvd_simplified.py` of NVIDIA's lab on multi-GPU training: its lines, of a benchmark and of a training on photos.

use super::start::{Row, Start, fixed, tenths};
use crate::domain::benchmark::{Iterations, NumberFormat, Spread};
use crate::domain::model::ModelSpec;

/// Before the first step.
pub struct Header<'a> {
    /// The flags, word by word.
    pub arguments: &'a [String],
    pub ranks: usize,
    /// `None` of synthetic ones.
    pub images: Option<usize>,
    pub model: ModelSpec,
    /// Of one rank.
    pub batch_size: usize,
    pub precision: NumberFormat,
}

impl Header<'_> {
    pub fn lines(&self) -> Vec<String> {
        // A flag and its value are one word there.
        let is_flag = |word: &String| {
            word.starts_with("--") || word.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_alphabetic))
        };
        let words = self.arguments.chunk_by(|_, next| !is_flag(next)).map(|words| format!("  {}", words.join("=")));
        std::iter::once("Cmd line args:".to_owned())
            .chain(words)
            .chain([
                format!("Num ranks:   {}", self.ranks),
                format!("Num images:  {}", self.images.map_or("Synthetic".to_owned(), |images| images.to_string())),
                format!("Model:       {}", self.model),
                format!("Batch size:  {} per device", self.batch_size),
                format!("             {} total", self.batch_size * self.ranks),
                "Data format: NHWC".into(),
                format!("Data type:   {}", self.precision),
            ])
            .collect()
    }
}

pub const BUILDING: [&str; 3] = ["Building training graph", "Creating session", "Initializing variables"];
pub const FILLING: &str = "Pre-filling input pipeline";
pub const TRAINING: [&str; 2] = ["Training", "  Step Epoch Img/sec   Loss   LR"];

/// A row of the table. Steps and epochs count from 1.
pub fn step(step: usize, epoch: usize, rate: f64, loss: f64, learning_rate: f64) -> String {
    format!("{step:>6} {epoch:>5} {:>7} {:>7} {learning_rate:>7.5}", tenths(rate), fixed(loss, 3))
}

/// The throughput of the steps that count, which are those after the first `burn_in`.
pub fn result(iterations: &Iterations, burn_in: usize) -> Vec<String> {
    let Some(speed) = iterations.as_nvcnn() else {
        return vec![format!("No results, did not get past burn-in phase ({burn_in} steps)")];
    };
    let (mean, jitter) = (tenths(speed.mean), tenths(speed.jitter));
    let uncertainty = speed.uncertainty.map(tenths);
    let known = uncertainty.as_deref().unwrap_or("unknown");
    let mut lines = vec![RULE.to_owned(), format!("Images/sec: {mean} +/- {known} (jitter = {jitter})"), RULE.to_owned()];
    if uncertainty.is_none() {
        lines.push(
            "# an uncertainty takes 3 batches that count or more (nvcnn prints nan for fewer): give more --num_batches".into(),
        );
    }
    lines
}

/// A row of the table of a test; fractions of this batch.
pub fn tested_step(step: usize, top_1: f64, top_5: f64) -> String {
    format!("{step:>6} {:>5}% {:>5}%", tenths(100.0 * top_1), tenths(100.0 * top_5))
}

/// The result of a test: what part of all images was right, and how that scatters from batch to batch.
pub fn tested(top_1: (f64, &[f64]), top_5: (f64, &[f64])) -> Vec<String> {
    let line = |name: &str, (all, batches): (f64, &[f64])| {
        let spread = Spread::of(batches, 1);
        let uncertainty = spread.and_then(|spread| spread.uncertainty).filter(|_| batches.len() > 2);
        // Of fewer than three batches nvcnn prints nan.
        let uncertainty = uncertainty.map_or("unknown".to_owned(), |uncertainty| fixed(100.0 * uncertainty, 2));
        let jitter = spread.map_or(0.0, |spread| spread.jitter);
        let (all, jitter) = (fixed(100.0 * all, 3), tenths(100.0 * jitter));
        format!("Validation {name}: {all} % +/- {uncertainty} (jitter = {jitter})")
    };
    vec![RULE.to_owned(), line("Top-1", top_1), line("Top-5", top_5), RULE.to_owned()]
}

pub const TESTING: [&str; 2] = ["Evaluating", "  Step  Top-1  Top-5"];

pub const RULE: &str = "----------------------------------------------------------------";

pub(super) fn header(start: &Start) -> Vec<String> {
    let spec = start.spec;
    let header = Header {
        arguments: start.arguments,
        ranks: start.ranks(),
        images: start.data.images,
        model: spec.model,
        batch_size: spec.batch_size,
        precision: spec.precision,
    };
    header.lines()
}

pub(super) const WARMING_UP: [&str; 6] = [BUILDING[0], BUILDING[1], BUILDING[2], FILLING, TRAINING[0], TRAINING[1]];

/// The first step, and every so many; all of a synthetic batch is one epoch.
pub(super) fn row(start: &Start, number: usize, row: &Row) -> Option<String> {
    let is_due = number == 1 || number.is_multiple_of(start.spec.display_every);
    let total = start.spec.batch_size * start.ranks();
    let epoch = start.data.images.map_or(1, |images| (number - 1) * total / images.max(1) + 1);
    is_due.then(|| step(number, epoch, row.rate, row.loss, start.learning_rate))
}
