//! `hvd-lab collectives`: measure allreduce algorithms, look at what they do, and see which one to use.
//!
//! Never draws a screen.

use std::path::Path;
use std::process::ExitCode;

use super::output::{print_either, say};
use super::table::render;
use crate::course::{Claim, Outcome, ProgressFile, check_collectives};
use crate::runs::{Measurement, RunId, RunStore};

mod advise;
mod json;
mod options;
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

/// `hvd-lab check` of such a run: what the lesson says, and what the run shows of it.
pub(super) fn check(home: &Path, store: &RunStore, id: RunId, as_json: bool) -> anyhow::Result<ExitCode> {
    let Measurement { record, spec, measured, .. } = options::open(store, Some(id))?;
    let claims = check_collectives(&spec, &measured);
    ProgressFile::of(home).note(|progress| progress.note_collectives(id, &claims)).iter().for_each(|note| say(note));
    let cells = |claim: &Claim| vec![claim.what.clone(), claim.outcome.name().to_owned(), claim.evidence.clone()];
    let whole = || serde_json::json!({ "run": id, "np": record.np(), "claims": claims });
    print_either(as_json, whole, || render(&["what", "verdict", "evidence"], claims.iter().map(cells)))?;
    let all_passed = claims.iter().all(|claim| claim.outcome == Outcome::Passed);
    Ok(if all_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
