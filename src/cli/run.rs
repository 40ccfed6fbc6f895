//! `hvd-lab run`: start a run and follow it to its end.
//!
//! Never draws a screen.

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use super::{Usage, follow};
use crate::dataset;
use crate::domain::run::{DataSource, ModelSpec, RunSpec};
use crate::domain::step::StepSet;
use crate::launch::{self, Machine, Preset, StartRequest};
use crate::runs::{Follower, RunId, RunStore};

const EXAMPLES: &str = "\
Examples:
  hvd-lab run                                      the preset for this machine
  hvd-lab run --np 2 --steps 1-10 --epochs 3
  hvd-lab run --np 1 --name serial                 a baseline; then `hvd-lab compare`
  hvd-lab run --steps 1-3,5-10                     without step 4: see what the broadcast is for
  hvd-lab run --continue 7 --epochs 6              three more epochs for run 7, from its checkpoint
  hvd-lab run -H node1:4,node2:4 --np 8 --detach
  hvd-lab run -- --timeline trace.json             more flags of hvd-train; the file lands in the run's folder
  hvd-lab run --dry-run                            only show the exact mpirun line
  hvd-lab run --json | jq -c 'select(.event == \"epoch\")'

Ctrl-C stops the run; a second one leaves at once. A closed terminal, SIGHUP or SIGTERM leave it going.
Exit code: 0 finished, 1 failed or stopped, 2 bad input.";

/// Start a run and follow it to its end.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Settings to begin from [default: gpu where there is one, else cpu].
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Number of ranks.
    #[arg(long, value_name = "N")]
    np: Option<usize>,
    /// Steps that are on, such as 1-10, 1,3,5-7 or none.
    #[arg(long, value_name = "LIST")]
    steps: Option<StepSet>,
    /// Epochs in total.
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Images per rank and batch.
    #[arg(long, value_name = "N")]
    batch_size: Option<usize>,
    /// Learning rate of a single rank.
    #[arg(long, value_name = "F")]
    base_lr: Option<f64>,
    #[arg(long, value_name = "F")]
    momentum: Option<f64>,
    /// Weight decay.
    #[arg(long, value_name = "F")]
    wd: Option<f64>,
    /// Stop early above this validation accuracy.
    #[arg(long, value_name = "F")]
    target_accuracy: Option<f64>,
    /// Epochs in a row above the target before stopping.
    #[arg(long, value_name = "N")]
    patience: Option<usize>,
    #[arg(long, value_name = "F")]
    warmup_epochs: Option<f64>,
    /// A Wide ResNet, such as wrn-10-1 or wrn-16-10.
    #[arg(long, value_name = "wrn-D-W")]
    model: Option<ModelSpec>,
    /// auto, fashion-mnist or generated.
    #[arg(long, value_name = "SOURCE")]
    data: Option<DataSource>,
    /// A folder with the four IDX files.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The first so many training images, or all.
    #[arg(long, value_name = "N|all")]
    train_images: Option<Limit>,
    /// The first so many test images for the validation, or all.
    #[arg(long, value_name = "N|all")]
    validation_images: Option<Limit>,
    /// Keep a checkpoint of every epoch.
    #[arg(long, overrides_with = "no_checkpointing")]
    checkpointing: bool,
    #[arg(long)]
    no_checkpointing: bool,
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Hosts, as mpirun takes them: host:slots,...
    #[arg(short = 'H', long = "hosts", value_name = "HOSTS", conflicts_with = "hostfile")]
    hosts: Option<String>,
    /// An mpirun host file.
    #[arg(long, value_name = "FILE")]
    hostfile: Option<PathBuf>,
    /// A name for the list of runs.
    #[arg(long)]
    name: Option<String>,
    /// More epochs for a run that is over (--epochs in total; 3 more if left out).
    #[arg(long = "continue", value_name = "ID", conflicts_with_all = ["preset", "np", "steps", "batch_size", "base_lr", "momentum",
        "wd", "target_accuracy", "patience", "warmup_epochs", "model", "data", "data_dir", "train_images", "validation_images",
        "checkpointing", "no_checkpointing", "seed", "hosts", "hostfile", "name", "dry_run",
        "trainer_flags"])]
    continued: Option<RunId>,
    /// Start it and return.
    #[arg(long)]
    detach: bool,
    /// Show the exact mpirun line and start nothing.
    #[arg(long)]
    dry_run: bool,
    /// Event lines as they come, then a summary.
    #[arg(long)]
    json: bool,
    /// Download nothing.
    #[arg(long)]
    offline: bool,
    /// Start more ranks than there is room for.
    #[arg(long, visible_alias = "oversubscribe")]
    force: bool,
    /// After `--`: more flags of hvd-train, such as --timeline FILE (`hvd-train --help` lists them). The ranks work in the
    /// run's folder.
    #[arg(last = true, value_name = "TRAINER FLAGS", allow_hyphen_values = true)]
    trainer_flags: Vec<String>,
}

/// `12000` or `all`.
#[derive(Clone, Copy, Debug)]
struct Limit(Option<usize>);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        match (text, text.parse()) {
            ("all", _) => Ok(Limit(None)),
            (_, Ok(number)) => Ok(Limit(Some(number))),
            _ => Err("use a number of images, or all".into()),
        }
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    if let Some(id) = args.continued {
        let epochs = match args.epochs {
            Some(epochs) => epochs,
            None => store.summary(id)?.last_epoch + 3,
        };
        let follower = Follower::from_here(store.folder(id));
        launch::continue_run(&store, id, epochs)?;
        return follow_or_leave(&store, id, follower, &args);
    }
    let request = request(&args)?;
    if args.dry_run {
        let line = launch::preview(&store, &request)?;
        for note in &line.notes {
            eprintln!("hvd-lab: {note}");
        }
        super::print(&format!("{}\n", line.to_shell()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let id = launch::start(&store, request)?;
    follow_or_leave(&store, id, Follower::new(store.folder(id)), &args)
}

fn follow_or_leave(store: &RunStore, id: RunId, follower: Follower, args: &Args) -> anyhow::Result<ExitCode> {
    if args.detach {
        let folder = store.folder(id);
        match args.json {
            true => super::print(&format!("{}\n", serde_json::json!({ "id": id, "folder": folder.path() })))?,
            false => super::print(&format!("run {id} is going: `hvd-lab runs` shows it, `hvd-lab stop {id}` stops it\n"))?,
        };
        return Ok(ExitCode::SUCCESS);
    }
    follow::follow(store, id, follower, args.json)
}

fn request(args: &Args) -> anyhow::Result<StartRequest> {
    let machine = Machine::detect();
    let preset = match &args.preset {
        None => machine.preset(),
        Some(name) => named(name)?.fitted(machine.cores, machine.gpus),
    };
    let mut request = StartRequest::new(settings(args, preset.spec), preset.name);
    request.data_dir = args.data_dir.clone();
    request.name = args.name.clone();
    request.offline = dataset::is_offline(args.offline);
    request.force = args.force;
    Ok(request)
}

fn named(name: &str) -> Result<Preset, Usage> {
    let presets = launch::presets();
    let names = presets.iter().map(|preset| preset.name.as_str()).collect::<Vec<_>>().join(", ");
    presets.into_iter().find(|preset| preset.name == name).ok_or_else(|| Usage(format!("`{name}` is no preset: use {names}")))
}

/// The preset's settings with the flags over them.
fn settings(args: &Args, base: RunSpec) -> RunSpec {
    RunSpec {
        np: args.np.unwrap_or(base.np),
        steps: args.steps.unwrap_or(base.steps),
        epochs: args.epochs.unwrap_or(base.epochs),
        batch_size: args.batch_size.unwrap_or(base.batch_size),
        base_lr: args.base_lr.unwrap_or(base.base_lr),
        momentum: args.momentum.unwrap_or(base.momentum),
        wd: args.wd.unwrap_or(base.wd),
        target_accuracy: args.target_accuracy.unwrap_or(base.target_accuracy),
        patience: args.patience.unwrap_or(base.patience),
        warmup_epochs: args.warmup_epochs.unwrap_or(base.warmup_epochs),
        model: args.model.unwrap_or(base.model),
        data: args.data.clone().unwrap_or(base.data),
        train_images: args.train_images.map_or(base.train_images, |limit| limit.0),
        validation_images: args.validation_images.map_or(base.validation_images, |limit| limit.0),
        checkpointing: (base.checkpointing || args.checkpointing) && !args.no_checkpointing,
        seed: args.seed.unwrap_or(base.seed),
        hosts: args.hosts.clone().or(base.hosts),
        hostfile: args.hostfile.as_ref().map(|file| file.display().to_string()).or(base.hostfile),
        trainer_flags: args.trainer_flags.clone(),
    }
}
