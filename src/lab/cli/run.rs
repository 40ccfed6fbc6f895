//! `hvd-lab run`: start a run and follow it to its end.

use std::process::ExitCode;

use super::follow::{self, View};
use super::output::Usage;
use super::settings::{self, Settings, Starting};
use super::user_program::{self, UserProgramFlags};
use crate::domain::step::StepSet;
use crate::launch::{self, MoreWork};
use crate::runs::{Follower, RunId, RunRequest, RunStore};

const EXAMPLES: &str = "\
Examples:
  hvd-lab run                                      the preset for this machine
  hvd-lab run --np 2 --steps 1-10
  hvd-lab run --np 1 --name serial                 a baseline; then `hvd-lab compare`
  hvd-lab run --steps 1-3,5-10                     without step 4: see what the broadcast is for
  hvd-lab run --continue 7 --epochs 6              three more epochs for run 7, from its checkpoint
  hvd-lab run -H node1:4,node2:4 --np 8 --detach
  hvd-lab run -- --timeline trace.json             flags of hvd-train
  hvd-lab run -- python3 train.py --epochs 3       a program of your own, under the same panes
  hvd-lab run --np 2 -- python3 train.py           two ranks of it, by mpirun
  hvd-lab run -- torchrun --nproc_per_node 2 train.py
  hvd-lab run --inspect -- torchrun --nproc_per_node 2 train.py             is each of the ten steps right in it?
  hvd-lab run --dry-run                            only show the exact mpirun line
  hvd-lab run --slurm --nodes 2 --gpus-per-node 4 --np 8 --time 0:30:00     as a batch job of Slurm
  SBATCH_QOS=me SBATCH_MEM_PER_NODE=16G hvd-lab run --slurm --np 8          what has no flag (SBATCH_CONSTRAINT, ...)
  hvd-lab run --json | jq -c 'select(.event == \"epoch\")'

Ctrl-C stops the run. Press it again to leave at once. The run continues if the terminal closes, and on SIGHUP or SIGTERM.
Exit code: 0 finished, 1 failed or stopped, 2 bad input.";

/// Start a run and follow it to its end.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    settings: Settings,
    /// Steps that are on, such as 1-10, 1,3,5-7 or none.
    #[arg(long, value_name = "LIST")]
    steps: Option<StepSet>,
    #[command(flatten)]
    starting: Starting,
    /// More epochs for a run that is over (--epochs in total; 3 more if left out).
    #[arg(long = "continue", value_name = "ID", conflicts_with_all = of_a_new_run())]
    continued: Option<RunId>,
    /// Event lines as they come, then a summary; with --dry-run one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    own: UserProgramFlags,
    /// After `--`: a program of your own with its arguments, such as `python3 train.py`. Or more flags of hvd-train, such as
    /// --timeline FILE (`hvd-train --help` lists them); its ranks work in the run's folder.
    #[arg(last = true, value_name = "PROGRAM | TRAINER FLAGS", allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Flags that a run which goes on has settled already: all but its epochs and its time.
fn of_a_new_run() -> Vec<&'static str> {
    let others =
        ["preset", "steps", "data_dir", "name", "dry_run", "output_filename", "words", "pattern", "tensorboard", "inspect"];
    settings::flag_names().filter(|flag| !["epochs", "time-limit"].contains(flag)).chain(others).collect()
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    if let Some(id) = args.continued {
        let epochs = match args.settings.given.text("epochs").and_then(|text| text.parse().ok()) {
            Some(epochs) => epochs,
            None => store.summary(id)?.epochs_to_go_on_to(),
        };
        let follower = Follower::from_here(store.folder(id));
        let time_limit_s = match store.record(id)?.training_job() {
            Some(mut job) if args.settings.given.text("time-limit").is_some() => {
                args.settings.set(&mut job, &["time-limit"])?;
                Some(job.resources.time_limit_s)
            }
            _ => None,
        };
        launch::continue_run(&store, id, MoreWork { epochs, time_limit_s, force: args.settings.force })?;
        if args.starting.detach {
            return follow::leave(&store, id, args.json);
        }
        return follow::follow(&store, id, follower, View::new(args.json));
    }
    let request = request(&args)?;
    if args.starting.dry_run && request.spec.resources.slurm && !args.json {
        let line = launch::preview(&store, &request)?;
        follow::show_notes(&line);
        return super::output::print_done(&launch::slurm::script(&request.spec.resources, &line, "hvd-lab"));
    }
    args.starting.run(&store, request, args.json)
}

fn request(args: &Args) -> anyhow::Result<RunRequest> {
    // Flags begin with a dash, programs do not.
    if args.words.first().is_some_and(|word| !word.starts_with('-')) {
        if let Some(flag) = args.settings.of_training(args.steps.is_some()) {
            let advice = "give your own program its own flags, behind its name";
            return Err(Usage(format!("--{flag} is for the lab's trainer: {advice}")).into());
        }
        let (resources, workload) = user_program::spec(&args.settings.given, &args.own, &args.words)?;
        return Ok(args.starting.request(args.settings.force, resources, workload, launch::OWN_PROGRAM)?);
    }
    args.own.refuse()?;
    let (mut job, preset) = args.settings.training()?;
    job.workload.steps = args.steps.unwrap_or(job.workload.steps);
    job.workload.trainer_flags = args.words.clone();
    Ok(RunRequest { name: args.starting.name.clone(), ..args.settings.request_for(job, preset) })
}
