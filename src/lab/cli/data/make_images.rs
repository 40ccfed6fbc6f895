//! `hvd-lab data make-images`: draw a small labelled set of photo-like JPEGs, where there are none.

use std::path::PathBuf;
use std::process::ExitCode;

use super::super::output::{Usage, print_done};
use super::shared::{advance, bar, unwritten};
use crate::dataset::jpeg::LARGEST_PIXELS;
use crate::dataset::photos::Photos;
use crate::domain::units;

const EXAMPLES: &str = "\
Examples:
  hvd-lab data make-images --out photos --images 2000 --classes 10     a folder for each class
  hvd-lab data make-images --out small --images 100 --size 160x120     smaller ones, quicker to decode
  hvd-lab data tfrecord photos --out records --shards 8                then pack them

They are drawn, not taken: shapes on noise that takes as long to decode as a photo. Each file, and the note GENERATED.txt, says so. \
boxes.csv says where the objects are. The same seed draws the same images.";

/// Draw a small labelled set of photo-like JPEGs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The new folder; inside it, one folder for each class.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How many images.
    #[arg(long, default_value_t = 1000, value_parser = |text: &str| at_most(text, 10_000_000))]
    images: u32,
    /// How many classes.
    #[arg(long, default_value_t = 10, value_parser = |text: &str| at_most(text, 1000))]
    classes: u32,
    /// Width and height in pixels.
    #[arg(long, value_name = "WxH", default_value = "500x375", value_parser = size)]
    size: (u16, u16),
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// A whole number from 1.
fn at_most(text: &str, most: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("expected a whole number from 1 to {}", units::count(most as usize)))
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let sides = text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    match sides {
        Some((width @ 16..=65_500, height @ 16..=65_500)) if u64::from(width) * u64::from(height) <= LARGEST_PIXELS => {
            Ok((width, height))
        }
        _ => Err("give width x height such as 500x375, each from 16 to 65500, and at most 178 million pixels".into()),
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.images < args.classes {
        let advice = format!("{} images cannot show {} classes: give at least one image a class", args.images, args.classes);
        return Err(Usage(advice).into());
    }
    let (width, height) = args.size;
    let photos = Photos { images: args.images as usize, classes: args.classes as usize, width, height, seed: args.seed };
    let bar = bar(photos.images)?;
    let written = photos.write(&args.out, |done| advance(&bar, done));
    bar.finish_and_clear();
    if let Err(error) = written {
        return unwritten(&args.out, &error);
    }
    let (images, classes) = (units::counted(photos.images, "generated image"), units::counted(photos.classes, "class folder"));
    print_done(&format!("drew {images} in {classes} in {}\n", args.out.display()))
}
