//! The rows of the form of a run that does not train: which there are, what each shows, and how it changes.

use super::state::Shared;
use crate::columns::left;
use crate::domain::benchmark::BENCHMARK_SETTINGS;
use crate::domain::collective::{COLLECTIVES_SETTINGS, CollectivesSpec, Method, Shape};
use crate::domain::job::{RunSpec, Workload};
use crate::domain::nvcnn::PHOTO_SETTINGS;
use crate::domain::setting::Setting;
use crate::domain::settings::label;

/// Columns of the names of the settings.
const NAME: usize = 26;
const MOST_RANKS: usize = 64;
/// Said of a run that is going.
pub const DISTURBS: &str = "is still running, and what you measure at the same time means nothing";

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
/// The settings of a run of collectives that its form has, in its order. Its methods follow.
const OF_COLLECTIVES: [&str; 7] = ["min-bytes", "max-bytes", "factor", "iterations", "servers", "ranks-per-host", "link"];

/// A row of the form.
#[derive(Clone, Copy, Debug)]
pub enum RunRow {
    Ranks,
    /// A setting of the workload, by its flag.
    Of(&'static str),
    /// Whether this method is measured.
    Method(Method),
}

fn setting<W>(settings: &'static [Setting<W>], flag: &str) -> &'static Setting<W> {
    settings.iter().find(|setting| setting.flag == flag).unwrap_or(&settings[0])
}

impl RunRow {
    /// The rows of this workload on a machine with so many GPUs, of which NCCL needs one for each rank.
    pub fn all(spec: &RunSpec, gpus: usize) -> Vec<RunRow> {
        let flags = match spec.workload {
            Workload::Nvcnn(_) => OF_PHOTOS.to_vec(),
            Workload::Collectives(_) => OF_COLLECTIVES.to_vec(),
            _ => BENCHMARK_SETTINGS.iter().map(|setting| setting.flag).filter(|flag| !NOT_OF_BENCHMARK.contains(flag)).collect(),
        };
        let can_run = |method: &Method| spec.collectives().is_some() && (*method != Method::Nccl || gpus > 0);
        let methods = Method::ALL.into_iter().filter(can_run).map(RunRow::Method);
        std::iter::once(RunRow::Ranks).chain(flags.into_iter().map(RunRow::Of)).chain(methods).collect()
    }

    /// As the flag would be given; or in words, where it would be left out.
    pub fn value(self, spec: &RunSpec) -> String {
        let value = match (self, &spec.workload) {
            (RunRow::Of(flag), Workload::Benchmark(benchmark)) => setting(&BENCHMARK_SETTINGS, flag).shown(benchmark),
            (RunRow::Of(flag), Workload::Nvcnn(photos)) => setting(&PHOTO_SETTINGS, flag).shown(photos),
            (RunRow::Of(flag), Workload::Collectives(collectives)) => setting(&COLLECTIVES_SETTINGS, flag).shown(collectives),
            (RunRow::Method(method), Workload::Collectives(collectives)) => {
                let is_on = collectives.known_methods().any(|on| on == method);
                if is_on { "[x]" } else { "[ ]" }.to_owned()
            }
            _ => spec.resources.np.to_string(),
        };
        match value.as_str() {
            "on" => "yes".to_owned(),
            "off" => "no".to_owned(),
            _ => value,
        }
    }

    /// The next value up or down. The ends stay; a switch or a method turns either way.
    pub fn step(self, spec: &mut RunSpec, up: bool) {
        let np = &mut spec.resources.np;
        match (self, &mut spec.workload) {
            (RunRow::Of(flag), Workload::Benchmark(benchmark)) => setting(&BENCHMARK_SETTINGS, flag).step(benchmark, up),
            (RunRow::Of(flag), Workload::Nvcnn(photos)) => setting(&PHOTO_SETTINGS, flag).step(photos, up),
            (RunRow::Of(flag), Workload::Collectives(collectives)) => {
                setting(&COLLECTIVES_SETTINGS, flag).step(collectives, up);
                let Shape { servers, ranks_per_host } = collectives.shape;
                collectives.shape = Shape { servers: servers.min(*np), ranks_per_host: ranks_per_host.min(*np) };
            }
            (RunRow::Method(method), Workload::Collectives(collectives)) => switch(collectives, method),
            (_, workload) => {
                *np = if up { (*np + 1).min(MOST_RANKS.max(*np)) } else { np.saturating_sub(1).max(1) };
                if let Workload::Collectives(collectives) = workload {
                    collectives.shape = Shape { servers: collectives.shape.servers.min(*np), ..Shape::usual(*np) };
                }
            }
        }
    }

    /// The text of a folder, which is typed.
    pub fn folder(self, spec: &mut RunSpec) -> Option<&mut Option<String>> {
        match (self, &mut spec.workload) {
            (RunRow::Of("data-dir"), Workload::Benchmark(benchmark)) => Some(&mut benchmark.data_dir),
            (RunRow::Of("data-dir"), Workload::Nvcnn(photos)) => Some(&mut photos.data_dir),
            (RunRow::Of("log-dir"), Workload::Nvcnn(photos)) => Some(&mut photos.log_dir),
            _ => None,
        }
    }

    /// Its name and its value.
    pub fn text(self, spec: &RunSpec) -> String {
        let value = self.value(spec);
        let name = match (self, spec.collectives()) {
            (RunRow::Method(method), _) => return format!(" {value} {method}"),
            (RunRow::Of(flag), Some(_)) => setting(&COLLECTIVES_SETTINGS, flag).label.to_owned(),
            (RunRow::Of(flag), None) => label(flag),
            (RunRow::Ranks, Some(_)) => "ranks".to_owned(),
            (RunRow::Ranks, None) => label("np"),
        };
        format!(" {}{value}", left(&name, NAME))
    }
}

/// Methods keep the order of the list, however they were switched on.
fn switch(collectives: &mut CollectivesSpec, method: Method) {
    let was_on: Vec<Method> = collectives.known_methods().collect();
    let on = Method::ALL.into_iter().filter(|other| was_on.contains(other) != (*other == method));
    collectives.methods = on.map(|method| method.to_string()).collect();
}

/// A run that is going disturbs what is measured beside it.
pub fn busy(shared: &Shared) -> Option<String> {
    Some(format!("Run {} {DISTURBS}.", shared.going()?))
}
