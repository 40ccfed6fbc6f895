//! A run as data: the resources that it asks for, and the workload that it does with them.
//!
//! On disk a run's specification is one flat table: `np`, `hosts`, ... and beside them the settings of its workload. Any
//! workload apart from training names itself in the field `workload`. That is the form that runs had before there was more than
//! one workload, so each version of the lab reads the training runs of every other.

mod resources;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::benchmark::{BenchmarkSpec, NumberFormat};
use super::bounds::Bounded;
pub use super::bounds::MAX_RANKS;
use super::collective::CollectivesSpec;
use super::command::CommandSpec;
use super::nvcnn::NvcnnSpec;
use super::printable;
use super::step::Step;
use super::training::TrainingSpec;
use super::units;
pub use resources::{ELASTIC_TIMEOUT_S, RESET_LIMIT, Resources};

/// What to run, and on what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "W: DeserializeOwned"))]
pub struct Job<W> {
    #[serde(flatten)]
    pub resources: Resources,
    #[serde(flatten)]
    pub workload: W,
}

/// Everything that determines a run, whatever it does. It is what the record of a run keeps.
pub type RunSpec = Job<Workload>;

/// A run that trains: what the ten steps, the presets and the settings on the screen are about.
pub type TrainingJob = Job<TrainingSpec>;

/// What the ranks do. Another kind of run is another variant, with its name in [`Workload::kind`].
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    Training(TrainingSpec),
    /// Allreduces are measured, algorithm by algorithm.
    Collectives(CollectivesSpec),
    /// Training is timed on one fixed batch.
    Benchmark(BenchmarkSpec),
    /// A model is trained on photos, or tested on them.
    Nvcnn(NvcnnSpec),
    /// A program of the user's own.
    Command(CommandSpec),
    /// Written by another version of the lab. It is listed under its name and kept as it is.
    Unknown(UnknownWorkload),
}

/// A workload that this version cannot run or judge.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownWorkload {
    /// As it names itself.
    pub kind: String,
    /// All its settings, as they came.
    pub settings: Map<String, Value>,
}

/// The field that names a workload, and the name of the one that leaves it out.
const KIND: &str = "workload";
const TRAINING: &str = "training";
const COLLECTIVES: &str = "collectives";
const BENCHMARK: &str = "benchmark";
const NVCNN: &str = "nvcnn";
const COMMAND: &str = "command";

impl<W> Job<W> {
    /// The same with something changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Job<W>)) -> Job<W> {
        change(&mut self);
        self
    }
}

impl Workload {
    /// As records, lists and filters name it.
    pub fn kind(&self) -> &str {
        match self {
            Workload::Training(_) => TRAINING,
            Workload::Collectives(_) => COLLECTIVES,
            Workload::Benchmark(_) => BENCHMARK,
            Workload::Nvcnn(_) => NVCNN,
            Workload::Command(_) => COMMAND,
            Workload::Unknown(unknown) => &unknown.kind,
        }
    }

    /// The kind in a narrow column.
    pub fn short_kind(&self) -> &str {
        match self {
            Workload::Benchmark(_) => "bench",
            Workload::Collectives(_) => "coll.",
            Workload::Command(_) => "own",
            Workload::Training(_) | Workload::Nvcnn(_) | Workload::Unknown(_) => self.kind(),
        }
    }

    pub fn training_mut(&mut self) -> Option<&mut TrainingSpec> {
        if let Workload::Training(training) = self { Some(training) } else { None }
    }

    /// Whether there are steps in it to judge. What another version wrote may have some.
    pub fn has_steps(&self) -> bool {
        matches!(self, Workload::Training(_) | Workload::Unknown(_))
    }

    /// In a column of a table: the model that is trained, or else the kind of the workload.
    pub fn title(&self) -> String {
        match self {
            Workload::Training(training) => training.model.to_string(),
            Workload::Collectives(collectives) => match collectives.link_bits {
                Some(bits) => format!("{COLLECTIVES} at {}", units::bits_per_second(bits)),
                None => COLLECTIVES.to_owned(),
            },
            Workload::Benchmark(benchmark) => format!("{BENCHMARK} {}", benchmark.model),
            Workload::Nvcnn(nvcnn) if nvcnn.eval => format!("test of {}", nvcnn.model),
            Workload::Nvcnn(nvcnn) => format!("{NVCNN} {}", nvcnn.model),
            Workload::Command(command) => command.title(),
            Workload::Unknown(unknown) => match unknown.settings.get("model") {
                Some(Value::String(model)) => printable::excerpt(model).into_owned(),
                _ => printable::excerpt(&unknown.kind).into_owned(),
            },
        }
    }

    /// Why this version cannot run it, in one sentence; `None` where it can.
    pub fn problem(&self) -> Option<String> {
        let Workload::Unknown(unknown) = self else { return None };
        let what = if unknown.kind == TRAINING { "training of" } else { "workload" };
        let title = self.title();
        Some(format!("its {what} `{title}` was written by another version of hvd-lab, and this one cannot run it"))
    }
}

impl RunSpec {
    /// The settings of a training run; `None` of any other.
    pub fn training(&self) -> Option<&TrainingSpec> {
        if let Workload::Training(training) = &self.workload { Some(training) } else { None }
    }

    /// What a run of collectives measures; `None` of any other.
    pub fn collectives(&self) -> Option<&CollectivesSpec> {
        if let Workload::Collectives(collectives) = &self.workload { Some(collectives) } else { None }
    }

    /// What a benchmark measures; `None` of any other.
    pub fn benchmark(&self) -> Option<&BenchmarkSpec> {
        if let Workload::Benchmark(benchmark) = &self.workload { Some(benchmark) } else { None }
    }

    /// What is trained or tested on photos; `None` of any other.
    pub fn nvcnn(&self) -> Option<&NvcnnSpec> {
        if let Workload::Nvcnn(nvcnn) = &self.workload { Some(nvcnn) } else { None }
    }

    /// The user's own program; `None` of any other run.
    pub fn command(&self) -> Option<&CommandSpec> {
        if let Workload::Command(command) = &self.workload { Some(command) } else { None }
    }

    /// What it computes in, where the lab knows.
    pub fn precision(&self) -> Option<NumberFormat> {
        match &self.workload {
            Workload::Training(training) => Some(training.precision),
            Workload::Benchmark(benchmark) => Some(benchmark.precision),
            Workload::Nvcnn(nvcnn) => Some(nvcnn.precision),
            Workload::Collectives(_) | Workload::Command(_) | Workload::Unknown(_) => None,
        }
    }

    /// Bits a second of the network that each rank is given; `None` for what is there.
    pub fn link_bits(&self) -> Option<u64> {
        // Runs of collectives had it before there was one for all.
        self.resources.link.or_else(|| self.collectives()?.link_bits)
    }

    /// Whether it is a program that is started as it is, without a launcher: for one rank on this host none is needed.
    pub fn starts_alone(&self) -> bool {
        let is_plain = self.command().is_some_and(|command| command.own_launcher().is_none());
        is_plain && self.resources.np == 1 && !self.resources.names_hosts()
    }

    /// Whether it is known how many ranks there will be: a launcher of the user's own may find that out itself.
    pub fn knows_np(&self) -> bool {
        let own = || self.command().filter(|command| command.own_launcher().is_some());
        self.resources.np > 1 || own().is_none_or(|command| command.own_np(&|_| None).is_some())
    }

    /// Who starts its ranks, as people call it.
    pub fn launcher_name(&self) -> &'static str {
        match self.command().and_then(CommandSpec::own_launcher) {
            Some(launcher) => launcher.name(),
            None if self.starts_alone() => "hvd-lab",
            None => "mpirun",
        }
    }

    /// As a training run of its own; `None` where it is no training.
    pub fn training_job(&self) -> Option<TrainingJob> {
        let workload = self.training()?.clone();
        Some(Job { resources: self.resources.clone(), workload })
    }

    /// The first thing in it that cannot run, in one sentence.
    pub fn problem(&self) -> Option<String> {
        match &self.workload {
            Workload::Training(_) => self.training_job()?.problem(),
            Workload::Collectives(collectives) => self.resources.problem().or_else(|| collectives.problem(self.resources.np)),
            Workload::Benchmark(benchmark) => self.resources.problem().or_else(|| benchmark.problem()),
            Workload::Nvcnn(nvcnn) => self.resources.problem().or_else(|| nvcnn.problem()),
            Workload::Command(command) => self.resources.problem().or_else(|| command.problem()),
            Workload::Unknown(_) => self.resources.problem().or_else(|| self.workload.problem()),
        }
    }
}

impl TrainingJob {
    /// Images of all ranks in one optimizer step, as far as the ranks know of each other.
    pub fn global_batch_size(&self) -> usize {
        let size = if self.workload.steps.contains(Step::InitAndPin) { self.resources.np } else { 1 };
        self.workload.batch_size * size
    }
}

impl Bounded for TrainingJob {
    fn out_of_bounds(&self) -> Option<String> {
        self.resources.out_of_bounds().or_else(|| self.workload.out_of_bounds())
    }
}

impl Bounded for RunSpec {
    fn out_of_bounds(&self) -> Option<String> {
        self.resources.out_of_bounds().or_else(|| match &self.workload {
            Workload::Training(training) => training.out_of_bounds(),
            Workload::Collectives(collectives) => collectives.out_of_bounds(),
            Workload::Benchmark(benchmark) => benchmark.out_of_bounds(),
            Workload::Nvcnn(nvcnn) => nvcnn.out_of_bounds(),
            Workload::Command(command) => command.out_of_bounds(),
            Workload::Unknown(_) => None,
        })
    }
}

impl From<TrainingJob> for RunSpec {
    fn from(job: TrainingJob) -> RunSpec {
        Job { resources: job.resources, workload: Workload::Training(job.workload) }
    }
}

/// Flat, as the module says.
impl Serialize for Workload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Named<'a, T> {
            workload: &'a str,
            #[serde(flatten)]
            settings: &'a T,
        }
        match self {
            Workload::Training(training) => training.serialize(serializer),
            Workload::Collectives(settings) => Named { workload: COLLECTIVES, settings }.serialize(serializer),
            Workload::Nvcnn(settings) => Named { workload: NVCNN, settings }.serialize(serializer),
            Workload::Command(settings) => Named { workload: COMMAND, settings }.serialize(serializer),
            Workload::Benchmark(settings) => Named { workload: BENCHMARK, settings }.serialize(serializer),
            // It never named itself.
            Workload::Unknown(unknown) if unknown.kind == TRAINING => unknown.settings.serialize(serializer),
            Workload::Unknown(unknown) => Named { workload: &unknown.kind, settings: &unknown.settings }.serialize(serializer),
        }
    }
}

/// Settings that this version knows; `None` of another version's.
fn known<T: DeserializeOwned>(settings: &Map<String, Value>) -> Option<T> {
    serde_json::from_value(Value::Object(settings.clone())).ok()
}

impl<'de> Deserialize<'de> for Workload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Workload, D::Error> {
        let mut settings = Map::<String, Value>::deserialize(deserializer)?;
        let kind = match settings.remove(KIND) {
            None => TRAINING.to_owned(),
            Some(Value::String(kind)) => kind,
            Some(other) => return Err(D::Error::custom(format!("the workload is {other}, not a name"))),
        };
        let read = match kind.as_str() {
            COLLECTIVES => known(&settings).map(Workload::Collectives),
            BENCHMARK => known(&settings).map(Workload::Benchmark),
            NVCNN => known(&settings).map(Workload::Nvcnn),
            COMMAND => known(&settings).map(Workload::Command),
            _ => None,
        };
        if let Some(workload) = read {
            return Ok(workload);
        }
        if kind != TRAINING {
            return Ok(Workload::Unknown(UnknownWorkload { kind, settings }));
        }
        match serde_json::from_value::<TrainingSpec>(Value::Object(settings.clone())) {
            Ok(training) => Ok(Workload::Training(training)),
            // A model or a data source that this version does not know yet: still a training run, and no damage.
            Err(_) if TrainingSpec::has_all_fields(&settings) => Ok(Workload::Unknown(UnknownWorkload { kind, settings })),
            Err(error) => Err(D::Error::custom(error)),
        }
    }
}

#[cfg(test)]
mod tests;
