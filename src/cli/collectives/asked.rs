//! What the verbs of collectives are asked for: algorithms, sizes, shapes, and a run that measured some.

use super::super::output::{Usage, say};
use crate::domain::collective::{Method, Shape};
use crate::domain::units;
use crate::runs::{Measurement, RunId, RunStore};

/// What some algorithms need to know beside ranks and numbers.
#[derive(Debug, clap::Args)]
pub struct ShapeFlags {
    /// Servers of the parameter server: the first so many ranks.
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = from_one)]
    servers: usize,
    /// Ranks that the hierarchical algorithm takes for one host [default: half of them].
    #[arg(long, value_name = "L", value_parser = from_one)]
    ranks_per_host: Option<usize>,
}

impl ShapeFlags {
    pub fn shape(&self, np: usize) -> Result<Shape, Usage> {
        if self.servers > np.max(1) {
            return Err(Usage(format!("--servers: {} servers are more than the {np} ranks", self.servers)));
        }
        let ranks_per_host = self.ranks_per_host.unwrap_or(Shape::usual(np).ranks_per_host);
        Ok(Shape { servers: self.servers, ranks_per_host })
    }
}

pub fn from_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| format!("`{text}` is not a number from 1"))
}

pub fn bytes(text: &str) -> Result<u64, String> {
    units::parse_bytes(text)
}

/// Known by this version, in their order and each once.
pub fn methods(text: &str) -> Result<Vec<Method>, String> {
    Method::parse_list(text).map_err(|error| error.to_string())
}

/// The run of this number, or the newest that measures collectives.
pub fn open(store: &RunStore, id: Option<RunId>) -> anyhow::Result<Measurement> {
    let id = match id {
        Some(id) => id,
        None => newest(store, |_| true).ok_or_else(|| Usage(NO_RUN.into()))?,
    };
    // Says so where there is no such run, or its supervisor is gone.
    store.status(id)?;
    let measurement = Measurement::of(&store.folder(id), store.record(id)?)?;
    measurement.damaged.iter().for_each(|damaged| say(&format!("run {id}: {damaged}")));
    Ok(measurement)
}

const NO_RUN: &str = "no run has measured collectives yet: `hvd-lab collectives run` starts one";

/// The newest run of collectives that fits.
pub fn newest(store: &RunStore, fits: impl Fn(RunId) -> bool) -> Option<RunId> {
    let is_one = |id: RunId| store.record(id).is_ok_and(|record| record.spec.collectives().is_some());
    store.ids().into_iter().rev().find(|id| is_one(*id) && fits(*id))
}

/// Names of methods.
#[derive(Clone, Debug)]
pub struct List(pub Vec<Method>);

pub fn list(text: &str) -> Result<List, String> {
    methods(text).map(List)
}
