//! The machine that is simulated: its settings, what each of them can be, and the simulation of it.
//!
//! Never reads a run: what one of them measured is in the list of runs.

use crate::domain::model::ModelSpec;
use crate::domain::run::RunState;
use crate::runs::RunId;
use crate::simulate::{Engine, Method, Numbers, Scaling, Simulation, numbers};
use crate::tui::actions::Move;
use crate::tui::shared::Shared;

/// A row of the form: its name, its value in words, and the step to the value before or after it; a switch turns either way.
pub type Field = (&'static str, fn(&Machine) -> String, fn(&mut Machine, Move, &Shared));

pub static FIELDS: [Field; 11] = [
    ("model", |machine| machine.source.title(numbers()), |machine, by, shared| turn(&mut machine.source, &sources(shared), by)),
    ("GPUs per host", |machine| machine.per_node.to_string(), |machine, by, _| turn(&mut machine.per_node, &PER_NODE, by)),
    ("inside a host", |machine| machine.within.clone(), |machine, by, _| turn(&mut machine.within, &networks(true), by)),
    ("network", |machine| machine.network.clone(), |machine, by, _| turn(&mut machine.network, &networks(false), by)),
    ("network cards", |machine| machine.cards.to_string(), |machine, by, _| turn(&mut machine.cards, &CARDS, by)),
    (
        "library",
        |machine| machine.method.engine.name().to_owned(),
        |machine, by, _| turn(&mut machine.method.engine, &Engine::ALL, by),
    ),
    ("fusion", |machine| switch(machine.method.fusion), |machine, _, _| machine.method.fusion ^= true),
    ("overlap", |machine| switch(machine.method.overlap), |machine, _, _| machine.method.overlap ^= true),
    ("fp16", |machine| switch(machine.method.fp16), |machine, _, _| machine.method.fp16 ^= true),
    ("hierarchical", |machine| switch(machine.method.hierarchical), |machine, _, _| machine.method.hierarchical ^= true),
    ("ranks, up to", |machine| machine.largest.to_string(), |machine, by, _| turn(&mut machine.largest, &LARGEST, by)),
];

/// Where the speed of one GPU is from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Published: a place in [`Numbers::rates`].
    Published(usize),
    /// A run of the user's own on one rank.
    Measured { run: RunId, model: ModelSpec, batch: usize, images_per_s: f64 },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    pub source: Source,
    pub within: String,
    pub network: String,
    pub per_node: usize,
    pub cards: usize,
    pub method: Method,
    /// The largest number of ranks.
    pub largest: usize,
}

const PER_NODE: [usize; 6] = [1, 2, 4, 6, 8, 16];
const CARDS: [usize; 4] = [1, 2, 4, 8];
const LARGEST: [usize; 8] = [8, 16, 64, 256, 1024, 4096, 16_384, 27_360];
/// Images of an epoch: ImageNet's.
pub const EPOCH_IMAGES: usize = 1_281_167;

impl Machine {
    /// ResNet-50 on nodes of 8 V100.
    pub fn usual() -> Machine {
        let is_usual = |rate: &&crate::simulate::Rate| (rate.gpu.as_str(), rate.model.as_str()) == ("v100", "resnet50");
        let rate = numbers().rates.iter().position(|rate| is_usual(&rate)).unwrap_or(0);
        Machine {
            source: Source::Published(rate),
            within: "nvlink-v100".into(),
            network: "infiniband-edr".into(),
            per_node: 8,
            cards: 1,
            method: Method::of(Engine::Horovod),
            largest: 1024,
        }
    }

    /// Powers of two up to the largest number of ranks; every second one where they are many, for each takes time to simulate.
    pub fn sizes(&self) -> Vec<usize> {
        let every = if self.largest > 1024 { 2 } else { 1 };
        let powers = (0..17).step_by(every).map(|power| 1 << power).filter(|size| *size < self.largest);
        powers.chain([self.largest]).collect()
    }

    /// # Errors
    /// Why this cannot be simulated, in one sentence.
    pub fn simulated(&self) -> Result<Scaling, String> {
        let numbers = numbers();
        let (model, batch, images_per_s) = match &self.source {
            Source::Published(rate) => {
                let rate = numbers.rates.get(*rate).ok_or("there is no such rate")?;
                (rate.model.clone(), rate.batch, rate.images_per_s)
            }
            Source::Measured { model, batch, images_per_s, .. } => (model.to_string(), *batch, *images_per_s),
        };
        let simulation = Simulation {
            cluster: numbers.cluster(&self.within, (&self.network, self.cards), self.per_node)?,
            method: self.method,
            layers: numbers.layers(&model)?,
            batch,
            images_per_s,
            constants: numbers.constants.clone(),
        };
        Ok(Scaling::new(&simulation, &self.sizes(), EPOCH_IMAGES, None))
    }
}

impl Source {
    pub fn title(&self, numbers: &Numbers) -> String {
        match self {
            Source::Published(rate) => {
                numbers.rates.get(*rate).map_or(String::new(), |rate| format!("{} on {}", rate.model, rate.gpu))
            }
            Source::Measured { run, model, .. } => format!("{model}, as run {run}"),
        }
    }

    /// Where the speed of one GPU is from, as a sentence.
    pub fn origin(&self, numbers: &Numbers) -> String {
        match self {
            Source::Published(rate) => {
                let rate = numbers.rates.get(*rate);
                rate.map_or(String::new(), |rate| {
                    format!("One GPU: {:.0} images/s, published: {}.", rate.images_per_s, rate.source)
                })
            }
            Source::Measured { run, images_per_s, .. } => {
                format!("One rank: {images_per_s:.0} images/s, measured in run {run}; the machine is not that of the run.")
            }
        }
    }
}

/// Published rates, then what finished runs on one rank measured.
pub fn sources(shared: &Shared) -> Vec<Source> {
    let measured = shared.runs.iter().filter(|run| run.figures.np == 1 && run.status.state == RunState::Finished);
    let measured = measured.filter_map(|run| {
        let spec = &run.record.as_ref()?.request.spec;
        let training = spec.training().map(|of| (of.model, of.batch_size));
        let (model, batch) = training.or_else(|| spec.benchmark().map(|of| (of.model, of.batch_size)))?;
        Some(Source::Measured { run: run.id, model, batch, images_per_s: run.figures.images_per_sec? })
    });
    (0..numbers().rates.len()).map(Source::Published).chain(measured).collect()
}

fn networks(within: bool) -> Vec<String> {
    numbers().networks.iter().filter(|network| network.within == within).map(|network| network.name.clone()).collect()
}

fn switch(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

/// To the value before or after this one.
fn turn<T: Clone + PartialEq>(value: &mut T, all: &[T], by: Move) {
    let place = all.iter().position(|other| other == value).unwrap_or(0);
    if let Some(next) = all.get(by.within(place, all.len())) {
        *value = next.clone();
    }
}
