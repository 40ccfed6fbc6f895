//! `hvd-lab demo`: a recorded run on the screen, with nothing installed but this program.
//!
//! Never runs anything, and never shows what was not recorded.

use std::process::ExitCode;

use crate::domain::device::DeviceKind;
use crate::runs::recording::Recording;
use crate::tui;

const ABOUT: &str = "\
Examples:
  hvd-lab demo               two ranks against one, at the speed of the recording
  hvd-lab demo --gpu         one rank on a GPU, with what nvidia-smi would show
  hvd-lab demo --speed 10    ten times as fast

Three recordings come with the program: Fashion-MNIST on one rank with all steps off, and on two ranks with all ten on, on a \
machine with 2 CPU cores and no GPU; and the preset gpu for three epochs on one NVIDIA H200. All are real runs of hvd-train, with \
nothing else running. There is none of several GPUs yet, and none is made up. If you have them, record a run there with \
`hvd-lab record RUN --out FILE`; anyone can watch it with `hvd-lab replay FILE`.

Space pauses, < and > seek by five seconds, { and } go to start and end, + and - change the speed, q leaves.";

/// Watch a recorded run: needs no MPI, no trainer, no images and no folder for runs.
#[derive(Debug, clap::Args)]
#[command(after_help = ABOUT)]
pub struct Args {
    /// How many times as fast as it was recorded.
    #[arg(long, default_value = "1", value_parser = super::replay::speed)]
    speed: f64,
    /// The run on a GPU, rather than those on CPU cores.
    #[arg(long)]
    gpu: bool,
    /// Draw the screen with ASCII characters only.
    #[arg(long)]
    ascii: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let kind = if args.gpu { DeviceKind::Gpu } else { DeviceKind::Cpu };
    let replay = tui::Replay::open(|| Recording::shipped(kind), args.speed)?;
    super::output::screen(tui::Options { ascii: args.ascii, replay: Some(replay), ..tui::Options::default() })
}
