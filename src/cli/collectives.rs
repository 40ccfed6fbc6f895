//! `hvd-lab collectives`: measure allreduce algorithms, look at what they do, and see which one to use.
//!
//! Never draws a screen.

use std::process::ExitCode;

use super::output::{Usage, print, print_json};
use super::table::render;
use crate::course::{Claim, Outcome, check_collectives};
use crate::domain::collective::{Method, Shape};
use crate::domain::units;
use crate::runs::{Measurement, RunId, RunStore};

mod advise;
mod json;
mod replay;
mod run;
mod schedule;
mod show;
pub(super) mod table;

const EXAMPLES: &str = "\
Examples:
  hvd-lab collectives run --np 2                  all of the lab's, and MPI's own
  hvd-lab collectives run --algorithm ring,mpi -b 1K -e 64M -f 4
  hvd-lab collectives show                        the newest table once more
  hvd-lab collectives show --algorithm ring       its schedule, without a run
  hvd-lab collectives replay 7                    the messages that run 7 sent
  hvd-lab collectives advise --size 65M           which one should be fastest";

/// Measure allreduce algorithms step by step, and predict which one is fastest.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Run(Box<run::Args>),
    Show(show::Args),
    Replay(replay::Args),
    Advise(advise::Args),
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Run(args) => run::run(*args),
        Verb::Show(args) => show::run(args),
        Verb::Replay(args) => replay::run(args),
        Verb::Advise(args) => advise::run(args),
    }
}

/// What some algorithms need to know beside ranks and numbers.
#[derive(Debug, clap::Args)]
struct ShapeFlags {
    /// Servers of the parameter server: the first so many ranks.
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = from_one)]
    servers: usize,
    /// Ranks that the hierarchical algorithm takes for one host [default: half of them].
    #[arg(long, value_name = "L", value_parser = from_one)]
    ranks_per_host: Option<usize>,
}

impl ShapeFlags {
    fn shape(&self, np: usize) -> Result<Shape, Usage> {
        if self.servers > np.max(1) {
            return Err(Usage(format!("--servers: {} servers are more than the {np} ranks", self.servers)));
        }
        // Two hosts are the fewest that have something between them.
        Ok(Shape { servers: self.servers, ranks_per_host: self.ranks_per_host.unwrap_or(np.div_ceil(2)).max(1) })
    }
}

fn from_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| format!("`{text}` is not a number from 1"))
}

fn bytes(text: &str) -> Result<u64, String> {
    units::parse_bytes(text)
}

/// Known by this version, in their order and each once.
fn methods(text: &str) -> Result<Vec<Method>, String> {
    Method::parse_list(text).map_err(|error| error.to_string())
}

/// The run of this number, or the newest that measures collectives.
fn open(store: &RunStore, id: Option<RunId>) -> anyhow::Result<Measurement> {
    let id = match id {
        Some(id) => id,
        None => newest(store, |_| true).ok_or_else(|| Usage(NO_RUN.into()))?,
    };
    // Says so where there is no such run, or its supervisor is gone.
    store.status(id)?;
    let measurement = Measurement::of(&store.folder(id), store.record(id)?)?;
    measurement.damaged.iter().for_each(|damaged| super::output::say(&format!("run {id}: {damaged}")));
    Ok(measurement)
}

/// `hvd-lab check` of such a run: what the lesson says, and what the run shows of it.
pub(super) fn check(store: &RunStore, id: RunId, as_json: bool) -> anyhow::Result<ExitCode> {
    let Measurement { record, spec, measured, .. } = open(store, Some(id))?;
    let claims = check_collectives(&spec, &measured);
    if as_json {
        print_json(&serde_json::json!({ "run": id, "np": record.np(), "claims": claims }))?;
    } else {
        let cells = |claim: &Claim| vec![claim.what.clone(), claim.outcome.name().to_owned(), claim.evidence.clone()];
        print(&render(&["what", "verdict", "evidence"], &claims.iter().map(cells).collect::<Vec<_>>()))?;
    }
    let all_passed = claims.iter().all(|claim| claim.outcome == Outcome::Passed);
    Ok(if all_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

const NO_RUN: &str = "no run has measured collectives yet: `hvd-lab collectives run` starts one";

/// The newest run of collectives that fits.
fn newest(store: &RunStore, fits: impl Fn(RunId) -> bool) -> Option<RunId> {
    let is_one = |id: RunId| store.record(id).is_ok_and(|record| record.spec.collectives().is_some());
    store.ids().into_iter().rev().find(|id| is_one(*id) && fits(*id))
}
