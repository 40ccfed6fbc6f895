//! `hvd-lab record`: pack what a run left into one small file, to be played elsewhere.
//!
//! Never changes the run.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::output::say_bare;
use crate::domain::units;
use crate::runs::recording::pack;
use crate::runs::{RunId, RunStore};

const EXAMPLES: &str = "\
Examples:
  hvd-lab record 7 --out class.hvdrun
  hvd-lab record 7 --out class.hvdrun --anonymous
  hvd-lab replay class.hvdrun --speed 10

The file has events, logs with their times, telemetry and settings of the run; not its checkpoints.";

/// Bytes that take so long to pack that it is said how far that is, and between two such lines.
const LARGE: u64 = 8 << 20;
const SAY_EVERY: Duration = Duration::from_secs(2);

/// Pack a run that is over into one file that `hvd-lab replay` plays.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The number of the run.
    run: RunId,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file if it is there.
    #[arg(long)]
    force: bool,
    /// Leave out the names of hosts, users and folders.
    #[arg(long)]
    anonymous: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    store.status(args.run)?;
    let mut said = None::<Instant>;
    let packed = pack(&store.folder(args.run), args.anonymous, &mut |done, total| {
        if total > LARGE && said.is_none_or(|at| at.elapsed() >= SAY_EVERY) {
            said = Some(Instant::now());
            say_bare(&format!("packed {} of {}", units::bytes(done), units::bytes(total)));
        }
    })?;
    super::output::save(&args.out, &packed, args.force)?;
    let (out, size) = (args.out.display(), units::bytes(packed.len() as u64));
    super::output::print_done(&format!("run {} is in {out} ({size}): `hvd-lab replay {out}` plays it\n", args.run))
}
