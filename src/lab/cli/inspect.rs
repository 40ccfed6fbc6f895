//! `hvd-lab inspect -- PROGRAM ...`: a program of the user's own, run with the inspector in its ranks.

use std::process::ExitCode;

use super::output::Usage;
use super::settings::{Place, Starting};
use super::user_program::{self, UserProgramFlags};
use crate::launch;
use crate::runs::RunStore;

const EXAMPLES: &str = "\
Examples:
  hvd-lab inspect -- torchrun --nproc_per_node 2 train.py
  hvd-lab inspect -- mpirun -np 2 python train.py
  hvd-lab inspect -- horovodrun -np 2 python train.py
  hvd-lab inspect --np 2 -- python train.py         two ranks by mpirun: for Horovod and mpi4py, not for env:// (torchrun)
  hvd-lab check                                     the same findings once more, and in the exit code

The program stays as it is, and nothing is installed. It trains with PyTorch, or with Horovod on PyTorch or Keras.
What is wrong is said as soon as it is seen, with the line to change. A table of all that was judged follows at the end.
Ctrl-C stops the run. The run continues if the terminal closes, and on SIGHUP or SIGTERM: `hvd-lab stop` stops it.
All that the program prints arrives on standard output, its stderr too. What the lab itself says goes to stderr.
Short for `hvd-lab run --inspect -- ...`. docs/own-programs.md says what is judged.
Exit code: 0 finished, whatever was found, 1 failed or stopped, whatever the program's own code (2 if that is 2), 2 bad input.";

/// Run a program of your own, and judge by what its ranks do whether each of the ten steps is right.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    starting: Starting,
    /// Event lines as they come, then a summary and the findings; with --dry-run one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    own: UserProgramFlags,
    /// After `--`: your program with its launcher and arguments, such as `torchrun --nproc_per_node 2 train.py`.
    #[arg(last = true, value_name = "PROGRAM", allow_hyphen_values = true)]
    words: Vec<String>,
}

pub fn run(mut args: Args) -> anyhow::Result<ExitCode> {
    if args.words.is_empty() {
        let what = "no program is named: write it behind --, such as `hvd-lab inspect -- torchrun train.py`";
        return Err(Usage(what.into()).into());
    }
    args.own.inspect = true;
    let (resources, workload) = user_program::spec(&args.place.given, &args.own, &args.words)?;
    let request = args.starting.request(args.place.force, resources, workload, launch::OWN_PROGRAM)?;
    args.starting.run(&RunStore::open_default()?, request, args.json)
}
