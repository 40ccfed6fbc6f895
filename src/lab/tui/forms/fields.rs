//! The fields of the forms: each is a flag of `hvd-lab bench` or `hvd-lab nvcnn`, with its value and the ones beside it.

use crate::domain::benchmark::{BenchmarkSpec, Binding, NumberFormat, Style, UpdateRule};
use crate::domain::job::{RunSpec, Workload};
use crate::domain::model::ModelSpec;
use crate::domain::nvcnn::{BadRecords, Dct, LarcMode, NvcnnSpec};

/// A row of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Np,
    Of(&'static str),
}

const BENCHMARK: [&str; 14] = [
    "--style",
    "--model",
    "--image-size",
    "--data-dir",
    "--batch-size",
    "--num-warmup-batches",
    "--num-batches-per-iter",
    "--num-iters",
    "--precision",
    "--optimizer",
    "--fp16-allreduce",
    "--no-cuda",
    "--num-intra-threads",
    "--bind",
];
const PHOTOS: [&str; 15] = [
    "--model",
    "--image-size",
    "--data-dir",
    "--log-dir",
    "--batch-size",
    "--num-batches",
    "--num-epochs",
    "--learning-rate",
    "--larc-mode",
    "--dct",
    "--bad-records",
    "--no-distortions",
    "--distort-color",
    "--threads",
    "--precision",
];
const SIZES: [usize; 11] = [28, 32, 48, 64, 67, 96, 128, 160, 224, 256, 299];
const POWERS: [usize; 12] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];
const COUNTS: [usize; 13] = [0, 1, 2, 5, 10, 20, 30, 50, 100, 200, 500, 1000, 5000];
const RATES: [f64; 9] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0];
const MOST_RANKS: usize = 64;
/// Models beside those with a name, which have sizes in theirs.
const MODELS: [&str; 4] = ["wrn-10-1", "wrn-16-1", "wrn-16-4", "wrn-28-10"];

impl Field {
    pub fn all(spec: &RunSpec) -> Vec<Field> {
        let flags: &[&'static str] = if spec.nvcnn().is_some() { &PHOTOS } else { &BENCHMARK };
        std::iter::once(Field::Np).chain(flags.iter().copied().map(Field::Of)).collect()
    }

    pub fn flag(self) -> &'static str {
        if let Field::Of(flag) = self { flag } else { "--np" }
    }

    /// As the flag would be given; or in words, where it would be left out.
    pub fn value(self, spec: &RunSpec) -> String {
        let Field::Of(flag) = self else { return spec.resources.np.to_string() };
        match &spec.workload {
            Workload::Benchmark(of) => of_benchmark(flag, of),
            Workload::Nvcnn(of) => of_photos(flag, of),
            _ => String::new(),
        }
    }

    /// The next value up or down; the ends stay, and a switch turns either way.
    pub fn step(self, spec: &mut RunSpec, up: bool) {
        let Field::Of(flag) = self else {
            let np = spec.resources.np;
            spec.resources.np = if up { (np + 1).min(MOST_RANKS) } else { np.saturating_sub(1).max(1) };
            return;
        };
        match &mut spec.workload {
            Workload::Benchmark(of) => step_benchmark(flag, of, up),
            Workload::Nvcnn(of) => step_photos(flag, of, up),
            _ => {}
        }
    }

    /// The text of a folder, which is typed.
    pub fn folder(self, spec: &mut RunSpec) -> Option<&mut Option<String>> {
        match (&mut spec.workload, self.flag()) {
            (Workload::Benchmark(of), "--data-dir") => Some(&mut of.data_dir),
            (Workload::Nvcnn(of), "--data-dir") => Some(&mut of.data_dir),
            (Workload::Nvcnn(of), "--log-dir") => Some(&mut of.log_dir),
            _ => None,
        }
    }
}

fn switch(is_on: bool) -> String {
    if is_on { "yes" } else { "no" }.to_owned()
}

fn or<T: ToString>(value: Option<T>, words: &str) -> String {
    value.map_or_else(|| words.to_owned(), |value| value.to_string())
}

fn of_benchmark(flag: &str, of: &BenchmarkSpec) -> String {
    match flag {
        "--style" => of.style.to_string(),
        "--model" => of.model.to_string(),
        "--image-size" => or(of.image_size, "the model's own"),
        "--data-dir" => or(of.data_dir.as_deref(), "none: one synthetic batch"),
        "--batch-size" => of.batch_size.to_string(),
        "--num-warmup-batches" => of.warmup_batches.to_string(),
        "--num-batches-per-iter" => of.batches_per_iteration.to_string(),
        "--num-iters" => of.iterations.to_string(),
        "--precision" => of.precision.to_string(),
        "--optimizer" => of.optimizer.to_string(),
        "--fp16-allreduce" => switch(of.fp16_allreduce),
        "--no-cuda" => switch(of.no_cuda),
        "--num-intra-threads" => or(of.threads, "1, or OMP_NUM_THREADS"),
        "--bind" => of.bind.to_string(),
        _ => String::new(),
    }
}

fn of_photos(flag: &str, of: &NvcnnSpec) -> String {
    match flag {
        "--model" => of.model.to_string(),
        "--image-size" => or(of.image_size, "the model's own"),
        "--data-dir" => or(of.data_dir.as_deref(), "none: synthetic images"),
        "--log-dir" => or(of.log_dir.as_deref(), "none: no checkpoints"),
        "--batch-size" => of.batch_size.to_string(),
        "--num-batches" => of.num_batches.to_string(),
        "--num-epochs" => or(of.num_epochs, "as many as --num-batches takes"),
        "--learning-rate" => or(of.learning_rate, "the model's own"),
        "--larc-mode" => or(of.larc_mode, "no LARC"),
        "--dct" => of.dct.to_string(),
        "--bad-records" => of.bad_records.to_string(),
        "--no-distortions" => switch(of.no_distortions),
        "--distort-color" => switch(of.distort_color),
        "--threads" => or(of.threads, "the rank's share of the cores"),
        "--precision" => of.precision.to_string(),
        _ => String::new(),
    }
}

fn step_benchmark(flag: &str, of: &mut BenchmarkSpec, up: bool) {
    match flag {
        "--style" => {
            // Each style has its own counts.
            let style = beside(Style::ALL, of.style, up);
            let own = BenchmarkSpec::of_style(style, of.model);
            let (batch_size, warmup_batches, optimizer) = (own.batch_size, own.warmup_batches, own.optimizer);
            let (batches_per_iteration, iterations, display_every) =
                (own.batches_per_iteration, own.iterations, own.display_every);
            *of = BenchmarkSpec {
                style,
                batch_size,
                warmup_batches,
                optimizer,
                batches_per_iteration,
                iterations,
                display_every,
                ..of.clone()
            };
        }
        "--model" => of.model = beside(&models(), of.model, up),
        "--image-size" => of.image_size = optional(&SIZES, of.image_size, up),
        "--batch-size" => of.batch_size = next(&POWERS, of.batch_size, up),
        "--num-warmup-batches" => of.warmup_batches = next(&COUNTS, of.warmup_batches, up),
        "--num-batches-per-iter" => of.batches_per_iteration = next(&COUNTS[1..], of.batches_per_iteration, up),
        "--num-iters" => of.iterations = next(&COUNTS[1..], of.iterations, up),
        "--precision" => of.precision = beside(NumberFormat::ALL, of.precision, up),
        "--optimizer" => of.optimizer = beside(UpdateRule::ALL, of.optimizer, up),
        "--fp16-allreduce" => of.fp16_allreduce ^= true,
        "--no-cuda" => of.no_cuda ^= true,
        "--num-intra-threads" => of.threads = optional(&POWERS, of.threads, up),
        "--bind" => of.bind = beside(Binding::ALL, of.bind, up),
        _ => {}
    }
}

fn step_photos(flag: &str, of: &mut NvcnnSpec, up: bool) {
    match flag {
        "--model" => of.model = beside(&models(), of.model, up),
        "--image-size" => of.image_size = optional(&SIZES, of.image_size, up),
        "--batch-size" => of.batch_size = next(&POWERS, of.batch_size, up),
        "--num-batches" => of.num_batches = next(&COUNTS[1..], of.num_batches, up),
        "--num-epochs" => of.num_epochs = optional(&COUNTS[1..], of.num_epochs, up),
        "--learning-rate" => of.learning_rate = optional(&RATES, of.learning_rate, up),
        "--larc-mode" => of.larc_mode = optional_beside(LarcMode::ALL, of.larc_mode, up),
        "--dct" => of.dct = beside(Dct::ALL, of.dct, up),
        "--bad-records" => of.bad_records = beside(BadRecords::ALL, of.bad_records, up),
        "--no-distortions" => of.no_distortions ^= true,
        "--distort-color" => of.distort_color ^= true,
        "--threads" => of.threads = optional(&POWERS, of.threads, up),
        "--precision" => of.precision = beside(NumberFormat::ALL, of.precision, up),
        _ => {}
    }
}

fn models() -> Vec<ModelSpec> {
    let sized = MODELS.iter().filter_map(|name| name.parse().ok());
    sized.chain(ModelSpec::named()).collect()
}

/// The value after this one in the list, or before it; the ends stay.
fn beside<T: Copy + PartialEq>(all: &[T], now: T, up: bool) -> T {
    let place = all.iter().position(|value| *value == now).unwrap_or(0);
    let to = if up { (place + 1).min(all.len().saturating_sub(1)) } else { place.saturating_sub(1) };
    all.get(to).copied().unwrap_or(now)
}

fn optional_beside<T: Copy + PartialEq>(all: &[T], now: Option<T>, up: bool) -> Option<T> {
    let with_none: Vec<Option<T>> = std::iter::once(None).chain(all.iter().copied().map(Some)).collect();
    beside(&with_none, now, up)
}

/// The next larger or smaller value; the ends stay.
fn next<T: Copy + PartialOrd>(values: &[T], now: T, up: bool) -> T {
    let found = if up { values.iter().find(|value| **value > now) } else { values.iter().rev().find(|value| **value < now) };
    found.copied().unwrap_or(now)
}

/// The same, with nothing below the smallest.
fn optional<T: Copy + PartialOrd>(values: &[T], now: Option<T>, up: bool) -> Option<T> {
    match now {
        None => values.first().copied().filter(|_| up),
        Some(now) if !up && values.first().is_none_or(|first| now <= *first) => None,
        Some(now) => Some(next(values, now, up)),
    }
}
