//! `hvd-lab stop`: end a run that is going.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::domain::printable;
use crate::launch;
use crate::runs::{RunId, RunStore};

/// The supervisor gives ranks 5 s, then ends them by force.
const PATIENCE: Duration = Duration::from_secs(15);

const EXAMPLES: &str = "\
Examples:
  hvd-lab stop 7
  hvd-lab stop 7 --gone                    its host will not come back: mark it failed
  hvd-lab run --continue 7 --epochs 6      go on from its last checkpoint";

/// Stop a run. What it has learned since its last checkpoint is lost.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Number of the run, as `hvd-lab runs` shows it.
    id: RunId,
    /// The host or the container of the run is gone for good: mark the run as failed. Refused while the run still writes to
    /// its folder.
    #[arg(long)]
    gone: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    if args.gone {
        let status = store.give_up(args.id)?;
        return super::output::print_done(&format!("run {} {}\n", args.id, status.end_in_words()));
    }
    launch::stop(&store, args.id)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let status = store.status(args.id)?;
        if status.state.is_over() {
            return super::output::print_done(&format!("run {} {}\n", args.id, printable::line(&status.end_in_words())));
        }
        anyhow::ensure!(
            Instant::now() < deadline,
            "run {} was asked to stop, but is still running: {} (supervisor pid {})",
            args.id,
            printable::line(&status.message),
            status.supervisor_pid
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
