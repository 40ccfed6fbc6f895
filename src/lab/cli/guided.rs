//! `hvd-lab guided`: run without and with a step, and put the two side by side.

use std::path::PathBuf;
use std::process::ExitCode;

use super::output::Usage;
use super::settings::Settings;
use super::{lessons, series_wait};
use crate::course::{Catalog, Results, Series, side_by_side};
use crate::domain::run::RunState;
use crate::domain::step::Step;
use crate::runs::{RunId, RunStore};

const EXAMPLES: &str = "\
Examples:
  hvd-lab guided 4                     run steps 1-3, then 1-4, and see what the broadcast changes
  hvd-lab guided 4 7 8                 two runs that you have: 7 without step 4, 8 with it
  hvd-lab guided 5 --train-images 4000 --json

Ranks, epochs and steps come from the lesson of the step, unless flags say otherwise. Ctrl-C stops the current run, and the \
other one does not start.
Exit code: 0 done, 1 a run failed or was stopped, 2 bad input.";

/// Run without and with a step, and explain what differs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Number of the step.
    #[arg(value_parser = lessons::step)]
    step: Step,
    /// Two runs that you have: the one without the step, and the one with it.
    #[arg(num_args = 2, value_names = ["BEFORE", "AFTER"])]
    runs: Vec<RunId>,
    /// A folder with your own lessons. They replace those of the program by number [default: HVD_LAB_LESSONS].
    #[arg(long, value_name = "DIR")]
    lessons: Option<PathBuf>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    let (runs, code) = match args.runs.as_slice() {
        [before, after] => ([*before, *after], ExitCode::SUCCESS),
        _ => {
            let series = series_wait::run(&store, series(&args)?, &args.settings)?;
            let began: Vec<RunId> = series.turns.iter().filter_map(|turn| turn.run).collect();
            let [before, after] = began.as_slice() else { return Ok(ExitCode::FAILURE) };
            let finished = began.iter().all(|run| store.status(*run).is_ok_and(|status| status.state == RunState::Finished));
            ([*before, *after], if finished { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    };
    let pair = side_by_side(&store, args.step, runs)?;
    if args.json {
        super::output::print_json(&pair)?
    } else {
        super::output::print(&lessons::plain_text(&format!(
            "# {}\n\n{}",
            args.step,
            Results::Guided(Box::new(pair)).to_markdown()
        )))?
    };
    Ok(code)
}

fn series(args: &Args) -> anyhow::Result<Series> {
    let catalog = Catalog::open(args.lessons.as_deref())?;
    let number = args.step.number();
    let (base, preset) = args.settings.training()?;
    let series = catalog.of_step(args.step).and_then(|lesson| Series::guided(lesson, &base, &preset));
    let mut series = series
        .ok_or_else(|| Usage(format!("the lesson of step {number} does not say which two runs to make: add a [run] to it")))?;
    for turn in &mut series.turns {
        // The lesson says how many ranks and epochs it needs; a flag knows better.
        args.settings.set(&mut turn.spec, &["np", "epochs"])?;
    }
    Ok(series)
}
