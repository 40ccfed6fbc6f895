//! The flags of `hvd-train`: the original script's names and defaults, and what the lab adds.
//!
//! Never prints and never exits: a bad value comes back as one line and an exit code, for `main` to act on.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use clap::error::{ContextKind, ErrorKind};

use super::device;
use super::distributed::{AllreduceOptions, FUSION_THRESHOLD_MB};
use super::mistake;
use super::optimizer::{self, OptimizerChoice};
use super::sampler::Shuffle;
use super::timeline;
use crate::comm::{self, Compression, StallLimits};
use crate::dataset::Location;
use crate::domain::benchmark::NumberFormat;
use crate::domain::job::{Resources, TrainingJob};
use crate::domain::model::ModelSpec;
use crate::domain::settings::in_plain_words;
use crate::domain::step::{Step, StepSet};
use crate::domain::training::{DataSource, SYNTHETIC, TrainingSpec};
use crate::host::{access, files, starved};

const EXAMPLES: &str = "\
Examples:
  hvd-train --steps none --epochs 3 --model wrn-10-1 --batch-size 64
      The serial program, alone.
  mpirun -np 2 hvd-train --steps 1-10 --epochs 3 --model wrn-10-1 --batch-size 64
      Both processes train one model together.
  mpirun -np 2 hvd-train --steps 1-3,5-10 --epochs 3 --model wrn-10-1 --batch-size 64
      The same without step 4: the ranks start from different weights, and stay different.
  hvd-train --epochs 5 --use-checkpointing --log-dir logs
      Continues from the newest checkpoint in logs, if there is one.

Steps:
   1 init and pin a device      6 average the metrics
   2 print on rank 0 only       7 checkpoint on rank 0
   3 average gradients          8 scale the learning rate
   4 broadcast the weights      9 warm the rate up
   5 fewer steps per epoch     10 NovoGrad optimizer
Steps 2 to 9 have no effect without step 1.

Exit codes: 0 trained, 1 failed while training, 2 a flag that cannot be used.";

/// Trains a Wide ResNet on Fashion-MNIST, alone or with other processes under mpirun.
///
/// One program for every rank. Each of the ten steps from serial to distributed training is switched by --steps.
#[derive(Clone, Debug, PartialEq, Parser)]
#[command(name = "hvd-train", version, after_long_help = EXAMPLES, max_term_width = 110)]
pub struct Config {
    /// Steps to take: a list such as 1-10, 1,3,5-7 or none
    #[arg(long, value_name = "LIST", default_value_t = StepSet::ALL)]
    pub steps: StepSet,
    /// Epochs to train in total, including those in a checkpoint
    #[arg(long, value_name = "N", default_value_t = 40, allow_negative_numbers = true)]
    pub epochs: usize,
    /// Images per batch on each rank
    #[arg(long, value_name = "N", default_value_t = 32, allow_negative_numbers = true)]
    pub batch_size: usize,
    /// Learning rate of a single rank
    #[arg(long, value_name = "RATE", default_value_t = 0.01, allow_negative_numbers = true)]
    pub base_lr: f64,
    /// Optimizer: auto (NovoGrad with step 10, SGD without), sgd, novograd, lamb, or adadelta (made for --base-lr 1)
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = optimizer::choice)]
    pub optimizer: OptimizerChoice,
    /// Momentum of SGD
    #[arg(long, value_name = "FACTOR", default_value_t = 0.9, allow_negative_numbers = true)]
    pub momentum: f64,
    /// Weight decay of the kernels
    #[arg(long, value_name = "FACTOR", default_value_t = 0.000005, allow_negative_numbers = true)]
    pub wd: f64,
    /// Validation accuracy to stop at, 0 to 1; above 1 to never stop early
    #[arg(long, value_name = "FRACTION", default_value_t = 0.85, allow_negative_numbers = true)]
    pub target_accuracy: f64,
    /// Epochs in a row that must exceed the target before training stops
    #[arg(long, value_name = "N", default_value_t = 2, allow_negative_numbers = true)]
    pub patience: usize,
    /// Write a checkpoint after each epoch, and continue from the newest one in the log folder
    #[arg(long)]
    pub use_checkpointing: bool,
    /// Epochs over which step 9 raises the learning rate
    #[arg(long, value_name = "N", default_value_t = 5.0, allow_negative_numbers = true)]
    pub warmup_epochs: f64,
    /// Folder for checkpoints and TensorBoard event files
    #[arg(long, value_name = "DIR", default_value = "./logs")]
    pub log_dir: PathBuf,
    /// Folder with the four Fashion-MNIST .gz files, or the word `generated`
    ///
    /// Without it: HVD_LAB_DATA, then the cache, then the bundled generator.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Train on one fixed batch of noise, without a data pipeline: for measuring only
    #[arg(long, conflicts_with = "data_dir")]
    pub synthetic: bool,
    /// wrn-DEPTH-WIDTH (a Wide ResNet of depth 6n+4), mnist-cnn or lenet; with --synthetic also resnet50, alexnet and more
    #[arg(long, value_name = "NAME", default_value = "wrn-16-10")]
    pub model: ModelSpec,
    /// Train on the first N images only
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub train_images: Option<usize>,
    /// Validate on the first N test images only
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub validation_images: Option<usize>,
    /// What convolutions compute in: fp32, tf32 (GPUs) or bf16
    #[arg(long, value_name = "FORMAT", default_value = "fp32")]
    pub precision: NumberFormat,
    /// At most this many MiB of gradients in one allreduce (step 3); 0 for one allreduce per tensor
    #[arg(long, value_name = "MIB", default_value_t = FUSION_THRESHOLD_MB, allow_negative_numbers = true)]
    pub fusion_threshold_mb: usize,
    /// Send gradients after backward instead of during it
    #[arg(long)]
    pub no_overlap: bool,
    /// Send gradients in fewer bits
    #[arg(long, value_name = "FORMAT", default_value = "none")]
    pub compression: Compression,
    /// Batches whose gradients add up to one update
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub backward_passes_per_step: usize,
    /// Also write a checkpoint every N steps, while training goes on: an elastic run that loses ranks goes on from there
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub commit_every: Option<usize>,
    /// How step 5 divides an epoch: the ranks share one order, or each draws its own
    #[arg(long, value_name = "ORDER", default_value = "shared")]
    pub shuffle: Shuffle,
    /// Write what every rank did and when, on one clock, as a Chrome trace (opens in Perfetto)
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Same seed, same flags, same number of ranks: the same losses
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub seed: u64,
    /// Warn when other ranks have not reached a collective for this long; 0 to never warn
    #[arg(long, value_name = "SECONDS", default_value_t = 10, allow_negative_numbers = true)]
    pub stall_warning_secs: u64,
    /// End the job when other ranks have not reached a collective for this long; 0 to wait forever
    #[arg(long, value_name = "SECONDS", default_value_t = 0, allow_negative_numbers = true)]
    pub stall_shutdown_secs: u64,
    /// Act as if each host had so many ranks: local ranks begin again from 0 on each. For trying out on one machine what a program
    /// does on several
    #[arg(long, value_name = "N")]
    pub ranks_per_host: Option<NonZeroUsize>,
    /// Report events to the lab: on its socket, or as marked lines between those for people
    #[arg(long)]
    pub events: bool,
    /// Print what this program was built with, as JSON, and exit
    #[arg(long)]
    pub build_info: bool,
}

/// Why there is nothing to train: print `text` (on stdout when `code` is 0) and exit with `code`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    pub text: String,
    pub code: u8,
}

impl Stop {
    /// A flag that cannot be used, in one line.
    pub fn refusal(program: &str, problem: &str) -> Stop {
        Stop { text: format!("{program}: {problem}"), code: 2 }
    }
}

impl Config {
    /// Reads the flags and checks all that can be known before training. `args` starts with the program's name.
    ///
    /// With --use-checkpointing the log folder is made if it is not there.
    ///
    /// # Errors
    /// A [`Stop`] with code 0 for --help and --version, and code 2 with one line for anything that cannot be used.
    pub fn from_args<T: Into<OsString> + Clone>(args: impl IntoIterator<Item = T>) -> Result<Config, Stop> {
        // The first folder is made below, and only its user should be able to read it. The lab has said so already where
        // the group is wrong.
        let _ = access::settle();
        let config: Config = read_flags("hvd-train", args)?;
        if config.build_info {
            return Ok(config);
        }
        if let Some(problem) = config.problem() {
            return Err(Stop::refusal("hvd-train", &problem));
        }
        config.ranks_per_host.into_iter().for_each(comm::simulate_hosts);
        mistake::listen();
        Ok(config)
    }

    /// As [`Config::from_args`], for a program whose flags have other defaults: pairs of a flag and its value.
    ///
    /// # Errors
    /// As [`Config::from_args`].
    pub fn with_defaults(defaults: &[[&str; 2]], args: impl Iterator<Item = OsString>) -> Result<Config, Stop> {
        let mut args: Vec<OsString> = args.collect();
        let is_given = |flag: &str| {
            let is_it = |arg: &str| arg == flag || arg.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='));
            args.iter().any(|arg| arg.to_str().is_some_and(is_it))
        };
        let missing: Vec<OsString> = defaults.iter().filter(|[flag, _]| !is_given(flag)).flatten().map(OsString::from).collect();
        args.extend(missing);
        Config::from_args(args)
    }

    /// How step 3 sends gradients.
    pub fn allreduce_options(&self) -> AllreduceOptions {
        AllreduceOptions {
            fusion_threshold_bytes: self.fusion_threshold_mb.saturating_mul(1 << 20),
            overlap: !self.no_overlap,
            compression: self.compression,
        }
    }

    /// How long a rank waits for the others.
    pub fn stall_limits(&self) -> StallLimits {
        let seconds = Duration::from_secs;
        let (warning, shutdown) = (seconds(self.stall_warning_secs), seconds(self.stall_shutdown_secs));
        StallLimits { warning, shutdown, starved: starved::of_this_session }
    }

    /// The same checks as the lab makes, in the same words, and those that need this machine.
    fn problem(&self) -> Option<String> {
        let (every, passes) = (self.commit_every.unwrap_or(0), self.backward_passes_per_step);
        let (warning, shutdown) = (self.stall_warning_secs, self.stall_shutdown_secs);
        let of_flags = [
            (passes == 0, "--backward-passes-per-step is 0: give 1 or more batches for an update".to_owned()),
            (
                !every.is_multiple_of(passes),
                format!(
                    "--commit-every {every} is no multiple of --backward-passes-per-step {passes}, and there is nothing to keep in \
                     between"
                ),
            ),
            // An end without a warning before it would leave everyone guessing.
            (
                shutdown != 0 && warning != 0 && shutdown <= warning,
                format!(
                    "--stall-shutdown-secs {shutdown} is not above --stall-warning-secs {warning}. Give more seconds, or 0 to \
                     wait forever"
                ),
            ),
        ];
        let of_flags = || of_flags.into_iter().find_map(|(is_so, problem)| is_so.then_some(problem));
        let of_timeline = || timeline::problem(self.timeline.as_deref()?, self.steps.contains(Step::InitAndPin));
        let of_job = self.job().problem().or_else(of_flags);
        let of_gpus = || self.precision.misfit(device::gpu_count());
        of_job.or_else(of_gpus).or_else(|| self.data_problem()).or_else(|| self.log_problem()).or_else(of_timeline)
    }

    /// As far as one process can know: the number of ranks is mpirun's.
    fn job(&self) -> TrainingJob {
        let workload = TrainingSpec {
            steps: self.steps,
            epochs: self.epochs,
            batch_size: self.batch_size,
            base_lr: self.base_lr,
            momentum: self.momentum,
            wd: self.wd,
            target_accuracy: self.target_accuracy,
            patience: self.patience,
            warmup_epochs: self.warmup_epochs,
            model: self.model,
            data: DataSource::Auto,
            train_images: self.train_images,
            validation_images: self.validation_images,
            checkpointing: self.use_checkpointing,
            commit_every: self.commit_every,
            seed: self.seed,
            precision: self.precision,
            trainer_flags: self.synthetic.then(|| SYNTHETIC.to_owned()).into_iter().collect(),
            newer: Default::default(),
        };
        TrainingJob { resources: Resources::ranks(1), workload }
    }

    fn data_problem(&self) -> Option<String> {
        let Some(Location::Folder(folder)) = self.data_dir.as_deref().map(Location::from_argument) else { return None };
        let error = std::fs::read_dir(&folder).err()?;
        Some(format!(
            "--data-dir `{}` cannot be read ({error}). Give a folder with the four .gz files of Fashion-MNIST or MNIST, or \
             the word `generated` or `generated-digits`",
            folder.display()
        ))
    }

    /// Found out before the first epoch is spent, rather than after it.
    fn log_problem(&self) -> Option<String> {
        if !self.use_checkpointing {
            return None;
        }
        let error = try_writing(&self.log_dir).err()?;
        Some(format!(
            "--log-dir `{}` cannot be written ({error}). Give a folder for checkpoints that you may write to",
            self.log_dir.display()
        ))
    }
}

/// Whether a file can be written in this folder, which is made if need be.
///
/// # Errors
/// The system's.
pub fn try_writing(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    files::try_writing(folder)
}

/// Reads the flags of a program of the ranks. `args` starts with its name, and so do the lines of its errors.
///
/// # Errors
/// A [`Stop`] with code 0 for --help and --version, and code 2 with one line for anything that cannot be used.
pub fn read_flags<P: Parser, T: Into<OsString> + Clone>(program: &str, args: impl IntoIterator<Item = T>) -> Result<P, Stop> {
    P::try_parse_from(args).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Stop { text: error.render().to_string(), code: 0 },
        _ => Stop::refusal(program, &in_plain_words(&one_line(&error, program))),
    })
}

/// clap explains in paragraphs; the first says it all, and a suggestion is worth keeping.
fn one_line(error: &clap::Error, program: &str) -> String {
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    let line = words.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line).to_owned();
    match error.get(ContextKind::SuggestedArg) {
        Some(similar) => format!("{line}. Did you mean {similar}?"),
        None => format!("{line}. See {program} --help"),
    }
}

#[cfg(test)]
mod tests;
