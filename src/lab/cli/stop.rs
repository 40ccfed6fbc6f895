//! `hvd-lab stop`: end runs that are going.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::several::{each, once};
use crate::domain::printable;
use crate::launch;
use crate::runs::{RunId, RunStore};

/// The supervisor gives ranks 5 s, then ends them by force.
const PATIENCE: Duration = Duration::from_secs(15);

const EXAMPLES: &str = "\
Examples:
  hvd-lab stop 7
  hvd-lab stop 3 4
  hvd-lab stop 7 --gone                    its host will not come back: mark it failed
  hvd-lab run --continue 7 --epochs 6      go on from its last checkpoint";

/// Stop runs. What they have learned since their last checkpoints is lost.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Numbers of the runs, as `hvd-lab runs` shows them.
    #[arg(required = true)]
    ids: Vec<RunId>,
    /// The hosts or the containers of the runs are gone for good: mark the runs as failed. Refused while a run still writes to
    /// its folder.
    #[arg(long)]
    gone: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    let ids = once(args.ids);
    if args.gone {
        return each(ids, |id| Ok(format!("run {id} {}\n", store.give_up(id)?.end_in_words())));
    }
    // All of them are asked before the first is waited for.
    let asked: Vec<_> = ids.into_iter().map(|id| (id, launch::stop(&store, id))).collect();
    each(asked, |(id, asked)| {
        asked?;
        wait(&store, id)
    })
}

/// Wait for the end of a run that was asked to stop; gives back how it ended.
fn wait(store: &RunStore, id: RunId) -> anyhow::Result<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let status = store.status(id)?;
        if status.state.is_over() {
            return Ok(format!("run {id} {}\n", printable::line(&status.end_in_words())));
        }
        anyhow::ensure!(
            Instant::now() < deadline,
            "run {id} was asked to stop, but is still running: {} (supervisor pid {})",
            printable::line(&status.message),
            status.supervisor_pid
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
