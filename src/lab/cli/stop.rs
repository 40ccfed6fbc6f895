//! `hvd-lab stop`: end runs that are going.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::named_run::run_id;
use super::output::Usage;
use super::several::{each, once};
use crate::domain::printable;
use crate::launch;
use crate::runs::{RunId, RunStore};

/// The supervisor gives ranks 5 s, then ends them by force.
const PATIENCE: Duration = Duration::from_secs(15);

const EXAMPLES: &str = "\
Examples:
  hvd-lab stop                             the run that is going, where it is the only one
  hvd-lab stop 7
  hvd-lab stop 3 4
  hvd-lab stop 7 --gone                    its host will not come back: mark it failed
  hvd-lab run --continue 7 --epochs 6      go on from its last checkpoint";

/// Stop runs. What they have learned since their last checkpoints is lost.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Numbers or names of the runs, as `hvd-lab runs` shows them [default: the only run that is going].
    #[arg(value_parser = run_id)]
    ids: Vec<RunId>,
    /// The hosts or the containers of the runs are gone for good: mark the runs as failed. Refused while a run still writes to
    /// its folder.
    #[arg(long)]
    gone: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    let ids = if args.ids.is_empty() { vec![the_only_one(&store, args.gone)?] } else { once(args.ids) };
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

/// The run that is meant where none is named.
fn the_only_one(store: &RunStore, gone: bool) -> Result<RunId, Usage> {
    if gone {
        return Err(Usage("--gone needs the numbers of the runs, such as `hvd-lab stop 7 --gone`".into()));
    }
    let going = store.going();
    match going[..] {
        [] => Err(Usage("no run is going".into())),
        [only] => Ok(only),
        [.., newest] => {
            let ids = going.iter().map(RunId::to_string).collect::<Vec<_>>().join(", ");
            Err(Usage(format!("the runs {ids} are going: name those to stop, such as `hvd-lab stop {newest}`")))
        }
    }
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
