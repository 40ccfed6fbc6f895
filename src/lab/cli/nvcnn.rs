//! `hvd-lab nvcnn`: train on photos as NVIDIA's nvcnn does, or test what was trained.

use std::process::ExitCode;

use super::output::Usage;
use super::settings::{Place, Starting};
use crate::domain::job::Workload;
use crate::flags::NvcnnFlags;
use crate::runs::RunStore;

const EXAMPLES: &str = "\
Examples:
  hvd-lab nvcnn --np 2 --model=resnet50 --data_dir=records --batch_size=48
  hvd-lab nvcnn --np 1 -m resnet50 --image-size 64 -b 16 --num_epochs 3 --data_dir photos --log_dir logs
  hvd-lab nvcnn --np 2 -m resnet50 --image-size 64 --eval --data_dir records --log_dir logs
  hvd-lab nvcnn --np 2 -m trivial --data_dir records     next to no model: the speed is that of the image pipeline
  hvd-lab nvcnn --np 2 -m resnet50 --data_dir records --timeline trace.json     who waits for whom, step by step
  hvd-lab nvcnn --np 2 -m alexnet --larc_mode clip --loss_scale 128     on synthetic images

`hvd-lab data make-images` draws photo-like images, `hvd-lab data tfrecord` packs a folder into TFRecord files.
The flags of nvcnn are taken as they are written, with _ or -.
Ctrl-C stops the run; a second one leaves at once. Exit code: 0 finished, 1 failed or stopped, 2 bad input.";

/// Train a model on photos, as NVIDIA's nvcnn does.
#[derive(Debug, clap::Args)]
// The last one counts where a flag is given twice.
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct Args {
    #[command(flatten)]
    flags: NvcnnFlags,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    starting: Starting,
    /// Event lines as they come; with --dry-run one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let workload = Workload::Nvcnn(args.flags.spec().map_err(Usage)?);
    let request = args.starting.request(args.place.force, args.place.resources()?, workload, "nvcnn")?;
    args.starting.run(&RunStore::open_default()?, request, args.json)
}
