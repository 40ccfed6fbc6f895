//! The rows of the forms: the number of ranks, and settings of the workload.

use crate::domain::benchmark::{BENCHMARK_SETTINGS, BenchmarkSpec};
use crate::domain::job::{RunSpec, Workload};
use crate::domain::nvcnn::{NvcnnSpec, PHOTO_SETTINGS};
use crate::domain::setting::Setting;

/// A row of a form.
#[derive(Clone, Copy, Debug)]
pub enum Field {
    Np,
    Benchmark(&'static Setting<BenchmarkSpec>),
    Photos(&'static Setting<NvcnnSpec>),
}

/// The settings of a benchmark that its form leaves to the verb.
const NOT_OF_BENCHMARK: [&str; 3] = ["display-every", "cuda", "mem-node"];
/// The settings of a training on photos that its form has, in its order.
const OF_PHOTOS: [&str; 15] = [
    "model",
    "image-size",
    "data-dir",
    "log-dir",
    "batch-size",
    "num-batches",
    "num-epochs",
    "learning-rate",
    "larc-mode",
    "dct",
    "bad-records",
    "no-distortions",
    "distort-color",
    "threads",
    "precision",
];
const MOST_RANKS: usize = 64;

impl Field {
    pub fn all(spec: &RunSpec) -> Vec<Field> {
        let photo = |flag: &&str| PHOTO_SETTINGS.iter().find(|setting| setting.flag == *flag).map(Field::Photos);
        let settings: Vec<Field> = if spec.nvcnn().is_some() {
            OF_PHOTOS.iter().filter_map(photo).collect()
        } else {
            BENCHMARK_SETTINGS.iter().filter(|setting| !NOT_OF_BENCHMARK.contains(&setting.flag)).map(Field::Benchmark).collect()
        };
        std::iter::once(Field::Np).chain(settings).collect()
    }

    pub fn flag(self) -> &'static str {
        match self {
            Field::Np => "np",
            Field::Benchmark(setting) => setting.flag,
            Field::Photos(setting) => setting.flag,
        }
    }

    /// As the flag would be given; or in words, where it would be left out.
    pub fn value(self, spec: &RunSpec) -> String {
        match (self, &spec.workload) {
            (Field::Benchmark(setting), Workload::Benchmark(benchmark)) => shown(setting, benchmark),
            (Field::Photos(setting), Workload::Nvcnn(photos)) => shown(setting, photos),
            _ => spec.resources.np.to_string(),
        }
    }

    /// The next value up or down; the ends stay, and a switch turns either way.
    pub fn step(self, spec: &mut RunSpec, up: bool) {
        match (self, &mut spec.workload) {
            (Field::Benchmark(setting), Workload::Benchmark(benchmark)) => setting.step(benchmark, up),
            (Field::Photos(setting), Workload::Nvcnn(photos)) => setting.step(photos, up),
            _ => {
                let np = spec.resources.np;
                spec.resources.np = if up { (np + 1).min(MOST_RANKS) } else { np.saturating_sub(1).max(1) };
            }
        }
    }

    /// The text of a folder, which is typed.
    pub fn folder(self, spec: &mut RunSpec) -> Option<&mut Option<String>> {
        match (&mut spec.workload, self.flag()) {
            (Workload::Benchmark(benchmark), "data-dir") => Some(&mut benchmark.data_dir),
            (Workload::Nvcnn(photos), "data-dir") => Some(&mut photos.data_dir),
            (Workload::Nvcnn(photos), "log-dir") => Some(&mut photos.log_dir),
            _ => None,
        }
    }
}

fn shown<W: Clone>(setting: &Setting<W>, workload: &W) -> String {
    match setting.get(workload).as_str() {
        "on" => "yes".to_owned(),
        "off" => "no".to_owned(),
        value => value.to_owned(),
    }
}
