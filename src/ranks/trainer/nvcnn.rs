//! What programs that train on photos share, such as `hvd-measure nvcnn`: the command line, and what a rank says it is going to do.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Parser;

use super::config::{Stop, read_flags};
use super::model::Model;
use super::optimizer::Optimizer;
use crate::comm::{self, StallLimits};
use crate::domain::event::ConfigReport;
use crate::domain::nvcnn::{NvcnnSpec, Schedule};
use crate::domain::step::StepSet;
use crate::flags::NvcnnFlags;
use crate::host::starved;

/// Begins the lines of its errors.
pub const PROGRAM: &str = "hvd-measure nvcnn";

const EXAMPLES: &str = "\
Examples:
  mpirun -np 2 hvd-measure nvcnn --model=resnet50 --data_dir=records --batch_size=48
      Two ranks train on the TFRecord files in `records`, 48 images each at a time.
  mpirun -np 2 hvd-measure nvcnn -m resnet50 --image-size 64 -b 16 --num_epochs 3 --data_dir photos --log_dir logs
      On a folder of JPEGs for each class; keeps a checkpoint in `logs`.
  hvd-measure nvcnn -m resnet50 --image-size 64 --eval --data_dir records --log_dir logs
      Tests that checkpoint on the files validation-*.
  hvd-measure nvcnn -m trivial --data_dir records
      Next to no model: the speed is that of the image pipeline.

`hvd-lab data make-images` draws a set of photo-like JPEGs, and `hvd-lab data tfrecord` packs them.
Exit codes: 0 trained, 1 failed while training, 2 a flag or an image that cannot be used.";

/// Trains a model on photos as NVIDIA's nvcnn does: alone, or with other processes under mpirun.
///
/// One program for every rank.
#[derive(Debug, Parser)]
#[command(name = "hvd-measure nvcnn", version, after_long_help = EXAMPLES, max_term_width = 110, args_override_self = true)]
pub struct Args {
    #[command(flatten)]
    flags: NvcnnFlags,
    /// Print event lines for the lab between the human lines
    #[arg(long)]
    pub events: bool,
    /// Print what this program was built with, as JSON, and exit
    #[arg(long)]
    pub build_info: bool,
}

impl Args {
    /// Reads the flags. `args` starts with the program's name.
    ///
    /// # Errors
    /// A [`Stop`] with code 0 for --help and --version, and code 2 with one line for anything that cannot be used.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<(Args, NvcnnSpec), Stop> {
        let args: Args = read_flags(PROGRAM, args)?;
        let spec = args.flags.spec().map_err(|problem| Stop::refusal(PROGRAM, &problem))?;
        spec.ranks_per_host.and_then(NonZeroUsize::new).into_iter().for_each(comm::simulate_hosts);
        Ok((args, spec))
    }
}

/// For a program under development: a rank warns after waiting 5 seconds for another one, and gives up after 12.
pub fn stall_limits() -> StallLimits {
    let [warning, shutdown] = [5, 12].map(Duration::from_secs);
    StallLimits { warning, shutdown, starved: starved::of_this_session }
}

/// What the program prints and exits with instead of training.
pub fn stop(code: u8, problem: &str) -> Stop {
    Stop { text: format!("{PROGRAM}: {problem}"), code }
}

/// Those of the ten steps that nvcnn takes: it neither warms up (9) nor uses an optimizer for large batches (10), and only some
/// models' own rates grow with the ranks (8).
pub fn steps() -> StepSet {
    StepSet::first(7)
}

/// The settings of a checkpoint that a resumed training should share. A warning names those that differ.
pub fn settings(spec: &NvcnnSpec, ranks: usize) -> BTreeMap<String, String> {
    let data = spec.data_dir.clone().unwrap_or_else(|| "synthetic images".into());
    let settings = [
        ("the data folder", data),
        ("the batch", format!("{} on each of {ranks} ranks", spec.batch_size)),
        ("the first learning rate", spec.rate(ranks).to_string()),
        ("the image size", spec.input().height.to_string()),
    ];
    settings.map(|(name, value)| (name.to_owned(), value)).into()
}

/// What this rank is going to do. `images` is `None` of synthetic ones.
pub fn config_report(
    spec: &NvcnnSpec,
    schedule: Schedule,
    images: Option<usize>,
    ranks: usize,
    first_step: usize,
    (model, optimizer): (&dyn Model, &dyn Optimizer),
) -> ConfigReport {
    ConfigReport {
        steps: steps(),
        seed: spec.seed,
        epochs: schedule.epochs(),
        resume_epoch: first_step / schedule.steps_per_epoch,
        resume_step: first_step % schedule.steps_per_epoch,
        local_batch_size: spec.batch_size,
        global_batch_size: spec.batch_size * ranks,
        steps_per_epoch: schedule.steps_per_epoch,
        validation_steps: 0,
        train_images: images.unwrap_or(schedule.steps * spec.batch_size * ranks),
        optimizer: optimizer.name().to_owned(),
        model: model.name(),
        precision: spec.precision.to_string(),
        parameters: model.params().len(),
        gradient_tensors: model.params().segments.len(),
        data: spec.data_dir.clone().unwrap_or_else(|| "synthetic".into()),
        base_lr: spec.rate(ranks),
        warmup_epochs: 0.0,
        // Nothing is stopped early.
        target_accuracy: f64::from(f32::MAX),
    }
}
