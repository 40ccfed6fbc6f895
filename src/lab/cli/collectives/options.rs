//! What the verbs of collectives are asked for: algorithms, sizes, shapes, and a run that measured some.

use super::super::output::{Usage, say};
use crate::domain::collective::{Algorithm, Shape};
use crate::domain::run::RunState;
use crate::domain::units;
use crate::runs::{Measurement, RunId, RunStore};

/// What some algorithms need to know beside ranks and numbers.
#[derive(Debug, clap::Args)]
pub struct ShapeFlags {
    /// Servers of the parameter server: the first so many ranks [default: 1].
    #[arg(long, value_name = "S", value_parser = from_one)]
    servers: Option<usize>,
    /// Ranks that the hierarchical algorithm takes for one host [default: half of them].
    #[arg(long, value_name = "L", value_parser = from_one)]
    ranks_per_host: Option<usize>,
}

impl ShapeFlags {
    /// For these algorithms. What none of them uses is left out, and that is said.
    pub fn shape(&self, np: usize, algorithms: &[Algorithm]) -> Result<Shape, Usage> {
        let used = |flag: Option<usize>, needs: fn(Algorithm) -> bool, ignored: &str| {
            let is_used = algorithms.iter().any(|algorithm| needs(*algorithm));
            if flag.is_some() && !is_used {
                say(ignored);
            }
            flag.filter(|_| is_used)
        };
        let no_servers = "--servers is ignored: only parameter-server has servers";
        let servers = used(self.servers, Algorithm::needs_servers, no_servers).unwrap_or(1);
        let no_hosts = "--ranks-per-host is ignored: only hierarchical takes ranks for hosts";
        let ranks_per_host =
            used(self.ranks_per_host, Algorithm::needs_ranks_per_host, no_hosts).unwrap_or(Shape::usual(np).ranks_per_host);
        let shape = Shape { servers, ranks_per_host };
        match np.max(1) {
            most if servers > most => Err(Usage(format!("--servers: {}: use 1 to {most}", shape.too_many_servers(np)))),
            most if ranks_per_host > most => {
                Err(Usage(format!("--ranks-per-host: {}: use 1 to {most}", shape.too_many_per_host(np))))
            }
            _ => Ok(shape),
        }
    }
}

pub fn from_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| format!("`{text}` is not a number from 1"))
}

/// The size of one buffer, which has at least one number.
pub fn buffer(text: &str) -> Result<u64, String> {
    let bytes = units::parse_bytes(text)?;
    if bytes < NUMBER_BYTES {
        return Err(format!("a buffer of {bytes} B holds no number: use {NUMBER_BYTES} B (one float32) or more"));
    }
    Ok(bytes)
}

const NUMBER_BYTES: u64 = 4;

/// A buffer's size in whole numbers, which is said where that is less.
pub fn whole_numbers(bytes: u64) -> u64 {
    let whole = bytes - bytes % NUMBER_BYTES;
    if whole < bytes {
        let numbers = units::counted((whole / NUMBER_BYTES) as usize, "whole number");
        say(&format!("--size: {bytes} B is rounded down to {whole} B, {numbers} of {NUMBER_BYTES} B"));
    }
    whole
}

/// The run of this number, or the newest that measures collectives.
pub fn open(store: &RunStore, id: Option<RunId>) -> anyhow::Result<Measurement> {
    let id = id.or_else(|| newest(store, |_| true)).ok_or_else(|| Usage(NO_RUN.into()))?;
    // Says so where there is no such run, or its supervisor is gone.
    store.status(id)?;
    let measurement = Measurement::of(&store.folder(id), store.record(id)?)?;
    measurement.measured.problem().iter().for_each(|problem| say(&format!("run {id}: {problem}")));
    Ok(measurement)
}

/// Why something that a run should have told is not there: how it ended, or that it is running.
pub fn ended(store: &RunStore, told: &Measurement) -> anyhow::Result<String> {
    let status = store.status(told.id)?;
    Ok(match status.state {
        RunState::Finished => "the run finished, so its events were changed or lost since. Measure again".to_owned(),
        state if state.is_over() => format!("the run {}", status.end_in_words()),
        _ => "the run is still running".to_owned(),
    })
}

const NO_RUN: &str = "no run has measured collectives yet: `hvd-lab collectives run` starts one";

/// The newest run of collectives that fits.
pub fn newest(store: &RunStore, fits: impl Fn(RunId) -> bool) -> Option<RunId> {
    let is_one = |id: RunId| store.record(id).is_ok_and(|record| record.request.spec.collectives().is_some());
    store.ids().into_iter().rev().find(|id| is_one(*id) && fits(*id))
}
