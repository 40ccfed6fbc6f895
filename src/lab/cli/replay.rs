//! `hvd-lab replay`: play a recorded run through the screen.
//!
//! Never changes the run that is played.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::runs::recording::Recording;
use crate::runs::{RunId, RunStore};
use crate::tui;

const EXAMPLES: &str = "\
Examples:
  hvd-lab replay 7                     run 7 again, at its own speed
  hvd-lab replay class.hvdrun --speed 10
  hvd-lab replay 1 2                   run 2, with run 1 in the table to compare with

Space pauses, < and > seek by five seconds, { and } go to start and end, + and - change the speed.
`hvd-lab record` makes such a file; `hvd-lab demo` plays one that comes with the program.";

/// Play a run that is over, or a recording of one, through the screen.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Runs by number, or files of `hvd-lab record`: the last one is played.
    #[arg(required = true, value_name = "RUN|FILE")]
    what: Vec<String>,
    /// How many times as fast as it was recorded.
    #[arg(long, default_value = "1", value_parser = speed)]
    speed: f64,
    /// Draw the screen with ASCII characters only.
    #[arg(long)]
    ascii: bool,
}

/// From a quarter to a thousand.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed| (0.25..=1000.0).contains(speed));
    speed.ok_or_else(|| format!("`{text}` is not a speed: use 0.25 to 1000, such as 10 for ten times as fast"))
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let replay = tui::Replay::open(|| args.what.iter().map(|what| open(what)).collect::<anyhow::Result<_>>(), args.speed)?;
    super::output::screen(tui::Options { ascii: args.ascii, replay: Some(replay), ..tui::Options::default() })
}

/// A number is a run of this lab; anything else a file.
fn open(what: &str) -> anyhow::Result<Recording> {
    match what.parse::<RunId>() {
        Ok(run) => {
            let store = RunStore::open_default()?;
            // Says so where there is no such run, or its supervisor is gone.
            store.status(run)?;
            Ok(Recording::of_folder(store.folder(run))?)
        }
        Err(_) => Ok(Recording::open(&PathBuf::from(what))?),
    }
}
