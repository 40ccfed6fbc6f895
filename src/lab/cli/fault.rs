//! `hvd-lab fault`: make a fault in a run on purpose, and see how long it takes to find the rank at fault.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::output::{Usage, say};
use crate::domain::fault::{DEFAULT_SECONDS, FaultKind, FaultRecord, FaultRequest, MAX_FAULT_SECONDS};
use crate::domain::printable;
use crate::domain::units;
use crate::host;
use crate::launch;
use crate::runs::{RunId, RunStore};

/// After the end of a fault that lasts, or of the run, for somebody to name the rank.
const NAMED_WITHIN: Duration = Duration::from_secs(10);
/// For the supervisor to undo a fault when its time is over, in seconds.
const UNDONE_WITHIN_S: f64 = 0.3;
const LOOK_EVERY: Duration = Duration::from_millis(50);

const EXAMPLES: &str = "\
Examples:
  hvd-lab fault                            the faults, and what happens
  hvd-lab fault 7 freeze --rank 1          stop rank 1 of run 7 for 10 s
  hvd-lab fault 7 slow --seconds 30
  hvd-lab fault 7 slow-network             of a run that was started with --link 1gbit
  hvd-lab fault 7 kill --dry-run           only say what would happen

Exit code: 0 the rank at fault was named, 1 it was not, 2 bad input.";

/// Make a fault in a run that is going, and see how it is found.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Number of the run, as `hvd-lab runs` shows it.
    #[arg(requires = "kind")]
    id: Option<RunId>,
    /// kill, freeze, slow, shared-core, slow-network, file-limit, damaged-checkpoint, no-write, wrong-shape, root-collective or
    /// own-early-stop.
    kind: Option<FaultKind>,
    /// The rank that it is made in [default: the last one, or 0 where it has to be the root].
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    rank: Option<usize>,
    /// How long freeze, slow, shared-core and slow-network last.
    #[arg(long, value_name = "S", default_value_t = DEFAULT_SECONDS, allow_negative_numbers = true)]
    seconds: f64,
    /// Say what would happen, and do nothing.
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (Some(id), Some(kind)) = (args.id, args.kind) else {
        let row = |kind: &FaultKind| format!("{kind}\n    {}\n", kind.expected_of("R", false));
        let rows: String = FaultKind::ALL.iter().map(row).collect();
        return super::output::print_done(&format!("{rows}\nMake one with: hvd-lab fault RUN KIND --rank R\n"));
    };
    let store = RunStore::open_default()?;
    let record = store.record(id)?;
    let (np, is_elastic) = (record.np(), record.request.spec.resources.survives_a_loss());
    let request = request(&args, kind, np)?;
    let state = store.status(id)?.state;
    if state.is_over() && !args.dry_run {
        // Before anything is announced.
        return Err(launch::LaunchError::NotGoing { id, state: state.name() }.into());
    }
    super::output::print(&format!("{}\n", kind.expected_of(&request.process.to_string(), is_elastic)))?;
    if args.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let made = launch::make_fault(&store, id, request)?;
    follow(&store, id, made)
}

fn request(args: &Args, kind: FaultKind, np: usize) -> Result<FaultRequest, Usage> {
    if !(args.seconds > 0.0 && args.seconds <= MAX_FAULT_SECONDS) {
        return Err(Usage(format!("--seconds is {}: give more than 0 and at most {MAX_FAULT_SECONDS}", args.seconds)));
    }
    if kind.needs_two() && np < 2 {
        return Err(Usage(format!("{kind} needs a run on two ranks or more, and run {} has one", args.id.unwrap_or(RunId(0)))));
    }
    let process = kind.victim(args.rank, np);
    if let Some(rank) = args.rank.filter(|rank| *rank != process) {
        return Err(Usage(format!("--rank {rank}: only rank 0 writes files and is the root, so {kind} is made in rank 0")));
    }
    if process >= np {
        return Err(Usage(format!("--rank {process}: the run has the ranks 0 to {}", np - 1)));
    }
    Ok(FaultRequest { kind, process, seconds: args.seconds })
}

/// Until somebody has named the rank, or nobody will.
fn follow(store: &RunStore, id: RunId, index: usize) -> anyhow::Result<ExitCode> {
    let mut deadline = None;
    loop {
        // The status first: what is noted at the end of a run is there when it is over.
        let status = store.status(id)?;
        let fault = launch::faults_made(store, id)?.into_iter().nth(index);
        let Some(fault) = fault else { anyhow::bail!("the record of run {id} has lost the fault") };
        if let (Some(after), Some(words)) = (fault.found_after_s, &fault.found_by) {
            let found = format!("found after {}: {}\n", units::seconds(after), printable::line(words));
            super::output::print(&found)?;
            wait_for_the_end(store, id, index, &fault)?;
            return Ok(ExitCode::SUCCESS);
        }
        let lasts = if fault.request.kind.lasts() { fault.request.seconds } else { 0.0 };
        let deadline = *deadline.get_or_insert_with(|| Instant::now() + Duration::from_secs_f64(lasts) + NAMED_WITHIN);
        if status.state.is_over() || (!fault.request.kind.waits_for_an_epoch() && Instant::now() > deadline) {
            let line = if status.state.is_over() {
                format!("run {id} {}\n", printable::line(&status.end_in_words()))
            } else {
                String::new()
            };
            super::output::print(&format!("{line}nobody has named rank {} in this time\n", fault.request.process))?;
            return Ok(ExitCode::FAILURE);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// A fault that lasts goes on after its rank was named.
fn wait_for_the_end(store: &RunStore, id: RunId, index: usize, fault: &FaultRecord) -> anyhow::Result<()> {
    let left = fault.began_s + fault.request.seconds - host::now_s();
    if !fault.request.kind.lasts() || left <= 0.0 {
        return Ok(());
    }
    say(&format!("the fault lasts {} more; then it is undone, also if you leave with Ctrl-C", units::seconds(left)));
    while host::now_s() < fault.began_s + fault.request.seconds + UNDONE_WITHIN_S && !store.status(id)?.state.is_over() {
        // Faults stand with the launch in which they were made.
        let attempts = store.record(id)?.attempts;
        let before = attempts.split_last().map_or(&[][..], |(_, before)| before);
        if before.iter().map(|attempt| attempt.faults.len()).sum::<usize>() > index {
            say("the run has started its ranks again, and the fault is over");
            break;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}
