//! The settings of a training run and of what any run asks the launcher for, in the order of the trainer's argument vector and of
//! the verbs' help.

use crate::domain::benchmark::table::precision;
use crate::domain::bounds::{MAX_BATCH_SIZE, MAX_EPOCHS, MAX_RANKS};
use crate::domain::job::TrainingJob;
use crate::domain::setting::{Setting, Unit, Value, Values};
use crate::domain::step::Step;
use crate::domain::units;

const BATCH_SIZES: &[f64] = &[8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0];
const RATES: &[f64] = &[0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
const TARGETS: &[f64] = &[0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95];
const TRAIN_IMAGES: &[f64] = &[1_000.0, 3_000.0, 6_000.0, 12_000.0, 24_000.0, 48_000.0, 60_000.0];
const VALIDATION_IMAGES: &[f64] = &[500.0, 1_000.0, 2_000.0, 5_000.0, 10_000.0];
const MODELS: &[&str] = &["wrn-10-1", "wrn-16-1", "wrn-16-4", "wrn-16-10", "wrn-28-10", "mnist-cnn", "lenet"];
const SOURCES: &[&str] = &["auto", "fashion-mnist", "generated", "digits", "mnist", "generated-digits"];
const SPEEDS: &[&str] = &["none", "10gbit", "1gbit", "100mbit", "10mbit"];

/// Beyond it the weights, which have 32 bits, could not hold one step.
const MAX_RATE: f64 = 1e30;

fn when(bad: bool, problem: impl Into<String>) -> Option<String> {
    bad.then(|| problem.into())
}

/// `name` is a count, which goes from 1 to `most`; `remedy` says why not 0.
fn counts(name: &str, value: usize, most: usize, remedy: &str) -> Option<String> {
    when(value == 0, format!("{name} is 0: {remedy}"))
        .or_else(|| when(value > most, format!("{name} {value} is more than {most}")))
}

fn no_images(images: Option<usize>) -> Option<String> {
    when(images == Some(0), "0 images: use at least 1, or leave the limit out")
}

fn base_lr_problem(lr: f64) -> Option<String> {
    when(!lr.is_finite(), format!("base LR {lr} is not a number that a rate can be: use one such as 0.01"))
        .or_else(|| when(lr <= 0.0, format!("base LR {lr} is not above 0")))
        .or_else(|| when(lr > MAX_RATE, format!("base LR {lr} is too large: use at most {MAX_RATE:e}")))
}

fn wd_problem(wd: f64) -> Option<String> {
    when(!(wd.is_finite() && wd >= 0.0), format!("weight decay {wd} is not a number from 0"))
        .or_else(|| when(wd > MAX_RATE, format!("weight decay {wd} is too large: use at most {MAX_RATE:e}")))
}

fn min_np_problem(job: &TrainingJob) -> Option<String> {
    let no_checkpoints = job.resources.min_np.is_some() && !job.workload.checkpointing;
    when(no_checkpoints, "a run goes on from its checkpoints: leave --no-checkpointing out, or --min-np")
}

fn commit_problem(job: &TrainingJob) -> Option<String> {
    let workload = &job.workload;
    let no_root = !workload.steps.contains(Step::CheckpointOnRoot);
    when(workload.commit_every? == 0, "commit every 0 steps is never: give 1 or more steps")
        .or_else(|| when(!workload.checkpointing, "commits are checkpoints: switch checkpoints on, or leave --commit-every out"))
        .or_else(|| when(no_root, "commits need step 7: without it all ranks would write the same files"))
}

type Row = Setting<TrainingJob>;

/// An optional setting of the launcher, which the trainer never sees.
const fn resource(
    flag: &'static str,
    value_name: &'static str,
    help: &'static str,
    field: fn(&mut TrainingJob) -> &mut dyn Value,
) -> Row {
    Row::new(flag, value_name, help, field).or("none").for_launcher()
}

pub static SETTINGS: [Row; 34] = [
    Row::new("np", "N", "Number of ranks", |job| &mut job.resources.np)
        .labelled("np (ranks)", "1 to 4096 ranks")
        .stepped(Values::Count(1, MAX_RANKS))
        .for_launcher(),
    Row::new("steps", "LIST", "Steps that are on, such as 1-10, 1,3,5-7 or none", |job| &mut job.workload.steps)
        .labelled("steps", "such as 1-10, 1,3,5-7 or none"),
    Row::new("epochs", "N", "Epochs in total", |job| &mut job.workload.epochs)
        .labelled("epochs", "at least 1")
        .stepped(Values::Count(1, 9999))
        .checked(|job| counts("epochs", job.workload.epochs, MAX_EPOCHS, "train for at least 1")),
    Row::new("batch-size", "N", "Images per rank and batch", |job| &mut job.workload.batch_size)
        .labelled("batch per rank", "images per rank, from 1")
        .stepped(Values::Scale(BATCH_SIZES))
        .checked(|job| counts("batch size", job.workload.batch_size, MAX_BATCH_SIZE, "use at least 1 image per rank")),
    Row::new("base-lr", "F", "Learning rate of a single rank", |job| &mut job.workload.base_lr)
        .labelled("base LR", "above 0, such as 0.01")
        .stepped(Values::Scale(RATES))
        .checked(|job| base_lr_problem(job.workload.base_lr)),
    Row::new("momentum", "F", "Momentum of the optimizer", |job| &mut job.workload.momentum)
        .labelled("momentum", "0 to below 1, such as 0.9")
        .checked(|job| {
            let momentum = job.workload.momentum;
            when(!(0.0..1.0).contains(&momentum), format!("momentum {momentum} is not in 0 to 1"))
        }),
    Row::new("wd", "F", "Weight decay", |job| &mut job.workload.wd)
        .labelled("weight decay", "0 or more, such as 0.000005")
        .checked(|job| wd_problem(job.workload.wd)),
    Row::new("target-accuracy", "F", "Stop early above this validation accuracy, 0 to 1; 1 never stops early", |job| {
        &mut job.workload.target_accuracy
    })
    .labelled("target accuracy", "such as 85 %; 100 % never stops early")
    .on_screen(|job| units::share(job.workload.target_accuracy))
    .stepped(Values::Scale(TARGETS))
    .written_in(Unit::SHARE)
    .checked(|job| {
        let target = job.workload.target_accuracy;
        when(!target.is_finite(), format!("target accuracy {target} is not a number"))
    }),
    Row::new("patience", "N", "Epochs in a row above the target before it stops", |job| &mut job.workload.patience)
        .labelled("patience", "at least 1 epoch")
        .stepped(Values::Count(1, 9999))
        .checked(|job| counts("patience", job.workload.patience, MAX_EPOCHS, "use at least 1 epoch")),
    Row::new("warmup-epochs", "F", "Epochs until the learning rate reaches its full value (step 9)", |job| {
        &mut job.workload.warmup_epochs
    })
    .labelled("warmup epochs", "0 for none, such as 5")
    .stepped(Values::WholeFromZero)
    .checked(|job| {
        let epochs = job.workload.warmup_epochs;
        when(!(epochs.is_finite() && epochs >= 0.0), format!("warmup epochs {epochs} is not a number from 0"))
    }),
    Row::new("model", "NAME", "wrn-DEPTH-WIDTH such as wrn-10-1, mnist-cnn or lenet", |job| &mut job.workload.model)
        .labelled("model", "wrn-DEPTH-WIDTH, mnist-cnn, lenet")
        .stepped(Values::Names(MODELS))
        .checked(|job| job.workload.misfit()),
    Row::new(
        "data",
        "SOURCE",
        "auto, fashion-mnist or generated (garments); digits, mnist or generated-digits (digits)",
        |job| &mut job.workload.data,
    )
    .labelled("data", "auto, generated, digits, mnist, ...")
    .stepped(Values::Names(SOURCES))
    .program("data-dir"),
    Row::new("train-images", "N|all", "Use only this many training images, or all", |job| &mut job.workload.train_images)
        .labelled("train images", "a number, or all")
        .stepped(Values::UpToAll(TRAIN_IMAGES))
        .or("all")
        .written_in(Unit::IMAGES)
        .checked(|job| no_images(job.workload.train_images)),
    Row::new("validation-images", "N|all", "Use only this many test images for the validation, or all", |job| {
        &mut job.workload.validation_images
    })
    .labelled("validation images", "a number, or all")
    .stepped(Values::UpToAll(VALIDATION_IMAGES))
    .or("all")
    .written_in(Unit::IMAGES)
    .checked(|job| no_images(job.workload.validation_images)),
    Row::new("seed", "N", "Of weights and shuffling: the same seed gives the same losses", |job| &mut job.workload.seed)
        .labelled("seed", "a whole number from 0")
        .stepped(Values::Count(0, usize::MAX)),
    precision(|job: &mut TrainingJob| &mut job.workload.precision)
        .labelled("precision", "fp32, tf32 (GPUs) or bf16")
        .passed_on_if(|job| !job.workload.precision.is_default()),
    Row::switch("checkpointing", "Keep a checkpoint of every epoch", |job| &mut job.workload.checkpointing)
        .labelled("checkpoints", "on or off")
        .with_off("no-checkpointing", "Keep none: the run cannot be continued")
        .program("use-checkpointing"),
    resource("hosts", "HOSTS", "Hosts, as mpirun takes them: host:slots,...", |job| &mut job.resources.hosts)
        .labelled("hosts", "host:slots,..., or none"),
    resource("hostfile", "FILE", "An mpirun host file", |job| &mut job.resources.hostfile)
        .labelled("host file", "a file, or none"),
    resource(
        "network-interface",
        "NAMES",
        "The way from host to host: interfaces such as eth0, or networks such as 10.0.0.0/8, separated by commas",
        |job| &mut job.resources.network_interface,
    )
    .labelled("network", "such as eth0 or 10.0.0.0/8, or none"),
    resource(
        "start-timeout",
        "H:MM:SS",
        "End the run if not every rank has reported after this time [default: 2 minutes where hosts are named, else none]",
        |job| &mut job.resources.start_timeout_s,
    )
    .labelled("start timeout", "such as 0:00:30, or none")
    .written_in(Unit::SECONDS),
    resource("time-limit", "H:MM:SS", "Stop the run after this time, such as 0:10:00 or 600 (seconds)", |job| {
        &mut job.resources.time_limit_s
    })
    .labelled("time limit", "such as 0:10:00, or none")
    .written_in(Unit::SECONDS),
    resource(
        "min-np",
        "N",
        "If ranks are lost, go on from the last checkpoint with those that are left, down to this number (elastic)",
        |job| &mut job.resources.min_np,
    )
    .labelled("min np (elastic)", "ranks to go on with, or none")
    .checked(min_np_problem),
    resource(
        "max-np",
        "N",
        "With --host-discovery-script: go on with more ranks, up to this number, when there are more slots [default: np]",
        |job| &mut job.resources.max_np,
    )
    .labelled("max np (elastic)", "ranks at most, or none"),
    resource("reset-limit", "N", "How often a run with --min-np may go on after it lost ranks [default: 10]", |job| {
        &mut job.resources.reset_limit
    })
    .labelled("reset limit", "resets, or none for 10"),
    Row::new(
        "commit-every",
        "N",
        "Also write a checkpoint every N steps, while training goes on: what a run that loses ranks goes on from",
        |job| &mut job.workload.commit_every,
    )
    .labelled("commit every", "steps, or none")
    .or("none")
    .checked(commit_problem),
    resource(
        "host-discovery-script",
        "FILE",
        "A program that prints the hosts that there are now, a line `host:slots` each. It is asked again while the run goes on",
        |job| &mut job.resources.host_discovery_script,
    )
    .labelled("host discovery", "a program, or none"),
    resource(
        "elastic-timeout",
        "TIME",
        "With --host-discovery-script: wait so long for --min-np slots [default: 10:00]",
        |job| &mut job.resources.elastic_timeout_s,
    )
    .labelled("elastic timeout", "H:MM:SS or seconds, or none")
    .written_in(Unit::SECONDS),
    Row::switch("slurm", "Submit it to Slurm as a batch job, and follow it through the queue", |job| &mut job.resources.slurm)
        .labelled("Slurm job", "on or off")
        .with_off("no-slurm", "Start it here, or in the allocation that this is in")
        .for_launcher(),
    resource("nodes", "N", "With --slurm: on how many nodes [default: as Slurm likes]", |job| &mut job.resources.nodes)
        .labelled("Slurm nodes", "nodes, or none"),
    resource("gpus-per-node", "N", "With --slurm: GPUs on each node [default: none is asked for]", |job| {
        &mut job.resources.gpus_per_node
    })
    .labelled("Slurm GPUs/node", "GPUs, or none"),
    resource("partition", "NAME", "With --slurm: the partition, as `sinfo` lists them [default: Slurm's own]", |job| {
        &mut job.resources.partition
    })
    .labelled("Slurm partition", "a partition, or none"),
    resource("account", "NAME", "With --slurm: the account that the job is booked on [default: Slurm's own]", |job| {
        &mut job.resources.account
    })
    .labelled("Slurm account", "an account, or none"),
    resource(
        "link",
        "SPEED",
        "Give each rank a network of this speed, made on this machine without root, such as 200mbit or 1gbit",
        |job| &mut job.resources.link,
    )
    .labelled("link per rank", "such as 1gbit, or none")
    .stepped(Values::Names(SPEEDS))
    .written_in(Unit::SPEED),
];

/// The row of this flag, which a test proves to be there.
pub fn setting(flag: &str) -> &'static Setting<TrainingJob> {
    SETTINGS.iter().find(|setting| setting.flag == flag).unwrap_or(&SETTINGS[0])
}

impl TrainingJob {
    /// The first thing in it that cannot run, in one sentence.
    pub fn problem(&self) -> Option<String> {
        self.resources.problem().or_else(|| SETTINGS.iter().find_map(|setting| (setting.problem)(self)))
    }
}
