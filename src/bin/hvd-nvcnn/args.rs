//! The command line of `hvd-nvcnn`: the flags of nvcnn, and what the lab asks for.

use std::ffi::OsString;

use clap::Parser;
use clap::error::ErrorKind;
use hvd_lab::domain::nvcnn::NvcnnSpec;
use hvd_lab::domain::settings::in_plain_words;
use hvd_lab::flags::NvcnnFlags;
use hvd_lab::trainer::config::{Stop, one_line};

const EXAMPLES: &str = "\
Examples:
  mpirun -np 2 hvd-nvcnn --model=resnet50 --data_dir=records --batch_size=48
      Two ranks train on the TFRecord files in `records`, 48 images each at a time.
  mpirun -np 2 hvd-nvcnn -m resnet50 --image-size 64 -b 16 --num_epochs 3 --data_dir photos --log_dir logs
      On a folder of JPEGs for each class; keeps a checkpoint in `logs`.
  hvd-nvcnn -m resnet50 --image-size 64 --eval --data_dir records --log_dir logs
      Tests that checkpoint on the files validation-*.
  hvd-nvcnn -m trivial --data_dir records
      Next to no model: the speed is that of the image pipeline.

`hvd-lab data make-images` draws a set of photo-like JPEGs, and `hvd-lab data tfrecord` packs them.
Exit codes: 0 trained, 1 failed while training, 2 a flag or an image that cannot be used.";

/// Trains a model on photos as NVIDIA's nvcnn does: alone, or with other processes under mpirun.
///
/// One program for every rank.
#[derive(Clone, Debug, Parser)]
#[command(name = "hvd-nvcnn", version, after_long_help = EXAMPLES, max_term_width = 110, args_override_self = true)]
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
        let args = Args::try_parse_from(args).map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Stop { text: error.render().to_string(), code: 0 },
            _ => stop(2, &in_plain_words(&one_line(&error, "hvd-nvcnn"))),
        })?;
        let spec = args.flags.spec().map_err(|problem| stop(2, &problem))?;
        match spec.eval && spec.log_dir.is_none() {
            true => Err(stop(2, "--eval tests a checkpoint: give its folder with --log-dir")),
            false => Ok((args, spec)),
        }
    }
}

pub fn stop(code: u8, problem: &str) -> Stop {
    Stop { text: format!("hvd-nvcnn: {problem}"), code }
}
