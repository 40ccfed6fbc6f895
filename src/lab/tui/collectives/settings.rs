//! The next run of collectives as the form has it: its settings one by one, and how long it should take.

use crate::domain::collective::{CollectivesSpec, Method, Shape};
use crate::domain::job::{Job, Resources, RunSpec, Workload};
use crate::domain::measured::Measured;
use crate::domain::units;

/// A row of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Ranks,
    Smallest,
    Largest,
    Factor,
    Iterations,
    Servers,
    RanksPerHost,
    /// The network between the ranks.
    Link,
    Method(Method),
}

/// What is measured, and on how many ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub np: usize,
    pub spec: CollectivesSpec,
}

/// Sizes that the form steps through.
const SIZES: std::ops::RangeInclusive<u32> = 2..=30;
const MOST_RANKS: usize = 64;
const ITERATIONS: [usize; 7] = [1, 5, 10, 20, 50, 100, 200];
/// Before anything was measured here, each message takes so long, and so many bytes go in a second.
const GUESSED_LATENCY_S: f64 = 50e-6;
const GUESSED_SPEED: f64 = 0.5e9;
/// Until the ranks are there, and until they are gone.
const START_S: f64 = 2.0;

impl Settings {
    /// The lab's own methods and MPI's choice, from 1 KiB to 16 MiB.
    pub fn usual(np: usize) -> Settings {
        let spec = CollectivesSpec {
            methods: Method::usual().map(|method| method.to_string()).collect(),
            shape: Shape::usual(np),
            min_bytes: 1 << 10,
            max_bytes: 1 << 24,
            factor: 4,
            iterations: 20,
            warmup: 5,
            log_bytes: Some(1 << 16),
            link_bits: None,
            newer: Default::default(),
        };
        Settings { np, spec }
    }

    /// NCCL needs a GPU a rank.
    pub fn fields(gpus: usize) -> Vec<Field> {
        let settings = [
            Field::Ranks,
            Field::Smallest,
            Field::Largest,
            Field::Factor,
            Field::Iterations,
            Field::Servers,
            Field::RanksPerHost,
            Field::Link,
        ];
        let methods = Method::ALL.into_iter().filter(|method| *method != Method::Nccl || gpus > 0).map(Field::Method);
        settings.into_iter().chain(methods).collect()
    }

    pub fn job(&self) -> RunSpec {
        Job { resources: Resources::ranks(self.np), workload: Workload::Collectives(self.spec.clone()) }
    }

    pub fn value(&self, field: Field) -> String {
        match field {
            Field::Ranks => self.np.to_string(),
            Field::Smallest => units::bytes(self.spec.min_bytes),
            Field::Largest => units::bytes(self.spec.max_bytes),
            Field::Factor => format!("×{}, {}", self.spec.factor, units::counted(self.spec.sizes().len(), "size")),
            Field::Iterations => self.spec.iterations.to_string(),
            Field::Servers => self.spec.shape.servers.to_string(),
            Field::RanksPerHost => self.spec.shape.ranks_per_host.to_string(),
            Field::Link => self.spec.link_bits.map_or("as it is".to_owned(), units::bits_per_second),
            Field::Method(method) => if self.is_on(method) { "[x]" } else { "[ ]" }.to_owned(),
        }
    }

    fn is_on(&self, method: Method) -> bool {
        self.spec.methods.iter().any(|name| name == method.name())
    }

    /// The next value up or down; a method is switched either way.
    pub fn step(&mut self, field: Field, up: bool) {
        let spec = &mut self.spec;
        match field {
            Field::Ranks => {
                self.np = next(1..=MOST_RANKS, self.np, up);
                spec.shape.servers = spec.shape.servers.min(self.np);
                spec.shape.ranks_per_host = Shape::usual(self.np).ranks_per_host;
            }
            Field::Smallest => spec.min_bytes = next(sizes(), spec.min_bytes, up),
            Field::Largest => spec.max_bytes = next(sizes(), spec.max_bytes, up),
            Field::Factor => spec.factor = next([2, 4, 8, 16, 32].into_iter(), spec.factor, up),
            Field::Iterations => spec.iterations = next(ITERATIONS.into_iter(), spec.iterations, up),
            Field::Servers => spec.shape.servers = next(1..=self.np, spec.shape.servers, up),
            Field::RanksPerHost => spec.shape.ranks_per_host = next(1..=self.np, spec.shape.ranks_per_host, up),
            Field::Link => {
                let speeds = [0, 100_000_000, 200_000_000, 1_000_000_000, 10_000_000_000];
                let bits = next(speeds.into_iter(), spec.link_bits.unwrap_or(0), up);
                spec.link_bits = (bits > 0).then_some(bits);
            }
            Field::Method(method) => self.switch(method),
        }
    }

    /// In the order of the list, however they were switched on.
    fn switch(&mut self, method: Method) {
        let was_on = self.is_on(method);
        let on = Method::ALL.into_iter().filter(|other| if *other == method { !was_on } else { self.is_on(*other) });
        self.spec.methods = on.map(|method| method.to_string()).collect();
    }

    /// Seconds that all of it should take: by what was measured on so many ranks, or by a guess.
    pub fn takes_s(&self, measured: &Measured) -> (f64, bool) {
        let mut is_measured = !measured.rows.is_empty() && measured.ranks == self.np && self.spec.link_bits.is_none();
        let speed = self.spec.link_bits.map_or(GUESSED_SPEED, |bits| bits as f64 / 8.0);
        let rounds = (self.spec.iterations + self.spec.warmup) as f64;
        let mut sum_s = START_S;
        for bytes in self.spec.sizes() {
            for method in &self.spec.methods {
                let known = if is_measured { time_of(measured, method, bytes) } else { None };
                is_measured &= known.is_some();
                sum_s += rounds * known.unwrap_or(GUESSED_LATENCY_S * self.np as f64 + 2.0 * bytes as f64 / speed);
            }
        }
        (sum_s, is_measured)
    }
}

/// Of a method at a size near one that was measured, in proportion; else of the slowest method there.
fn time_of(measured: &Measured, method: &str, bytes: u64) -> Option<f64> {
    let distance = |other: &u64| (*other.max(&1) as f64 / bytes.max(1) as f64).ln().abs();
    let nearest = measured.sizes().into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let slowest = || measured.at(nearest).map(|row| row.report.mean_s).reduce(f64::max);
    let seconds = measured.row(method, nearest).map(|row| row.report.mean_s).or_else(slowest)?;
    Some(seconds * (bytes as f64 / nearest.max(1) as f64).max(1.0))
}

fn sizes() -> impl Iterator<Item = u64> {
    SIZES.map(|power| 1 << power)
}

/// The value after this one, or before it; the ends stay.
fn next<T: PartialOrd + Copy>(values: impl Iterator<Item = T>, now: T, up: bool) -> T {
    let mut before = None;
    for value in values {
        if up && value > now {
            return value;
        }
        if !up && value < now {
            before = Some(value);
        }
    }
    before.unwrap_or(now)
}
