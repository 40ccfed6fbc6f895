//! `hvd-lab data tfrecord`: pack a folder of JPEGs by class into TFRecord files.

use std::path::PathBuf;
use std::process::ExitCode;

use super::super::output::{Usage, print_done, say};
use super::shared::{advance, bar, unwritten};
use crate::dataset::images::BadRecords;
use crate::dataset::pack::{PackError, Packing};
use crate::domain::units;

const EXAMPLES: &str = "\
Examples:
  hvd-lab data tfrecord photos --out records --shards 8                       train-00000-of-00008, ...
  hvd-lab data tfrecord photos --out records --shards 8 --validation 0.1      a tenth in validation-*
  hvd-lab data tfrecord photos --out records --bad-records skip               name what is not a JPEG, and leave it out

FOLDER has a folder of JPEGs for each class; or `train` and `validation`, which have. Labels count from 1 in the order of the \
classes' names, as in ImageNet; labels.txt lists them. Where FOLDER has boxes.csv (class/file.jpg,ymin,xmin,ymax,xmax in fractions, \
or columns of these names), the boxes are packed too. The images themselves are not changed.";

/// Pack a folder of JPEGs by class into TFRecord files.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The folder, with one folder of JPEGs for each class.
    folder: PathBuf,
    /// The new folder for the files.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How many files the training images are divided into.
    #[arg(long, value_name = "N", default_value_t = 1)]
    shards: usize,
    /// The part of the images that is kept for validation, from 0 to below 1.
    #[arg(long, value_name = "F", default_value_t = 0.0, value_parser = fraction)]
    validation: f64,
    /// Decides which images come when, and which are kept for validation.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What to do about a file that is not a JPEG, or is cut off: stop, or skip (say which one, leave it out and go on).
    #[arg(long, value_name = "WHAT", default_value = "stop")]
    bad_records: BadRecords,
}

fn fraction(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|part| (0.0..1.0).contains(part))
        .ok_or_else(|| "give a number from 0 to below 1, such as 0.1".into())
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let packing = Packing { shards: args.shards, validation: args.validation, seed: args.seed, bad: args.bad_records };
    let bar = bar(0)?;
    let packed = packing.pack(&args.folder, &args.out, |done, total| {
        bar.set_length(total as u64);
        advance(&bar, done)
    });
    bar.finish_and_clear();
    let packed = match packed {
        Ok(packed) => packed,
        Err(PackError::Images(error)) => return Err(error.into()),
        Err(PackError::Request(advice)) => return Err(Usage(advice).into()),
        Err(PackError::Write(error)) => return unwritten(&args.out, &error),
    };
    packed.notes.iter().for_each(|note| say(note));
    packed.left_out.iter().for_each(|bad| say(&format!("left out {bad}")));
    let files = |images: usize, what: &str, shards: usize| {
        format!("{} in {} {what}-*", units::counted(images, "image"), units::counted(shards, "file"))
    };
    let mut text = format!("packed {}", files(packed.train, "train", args.shards));
    if packed.validation_shards > 0 {
        text += &format!(" and {}", files(packed.validation, "validation", packed.validation_shards));
    }
    if packed.boxes > 0 {
        text += &format!(", with {} {}", packed.boxes, if packed.boxes == 1 { "box" } else { "boxes" });
    }
    text += &format!(", {} classes, in {}\n", packed.classes, args.out.display());
    if !packed.left_out.is_empty() {
        text += &format!("left out {}, named above\n", units::counted(packed.left_out.len(), "bad image"));
    }
    print_done(&text)
}
