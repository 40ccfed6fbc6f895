//! `hvd-lab ablation`: all steps but one, in turn.

use std::process::ExitCode;

use super::output::Usage;
use super::settings::Settings;
use super::{lessons, series_wait};
use crate::course::{Results, Series, results};
use crate::domain::run::RunState;
use crate::runs::RunStore;

const EXAMPLES: &str = "\
Examples:
  hvd-lab ablation --epochs 3                          12 runs of three epochs, else with the preset for this machine
  hvd-lab ablation --np 2 --epochs 1 --train-images 4000
  hvd-lab ablation --json | jq -r '.[] | [.name, .test_accuracy] | @tsv'

Each row is a single run. Repeat it with other seeds before you trust a difference in accuracy.
Ctrl-C stops the current run, and the other runs do not start.
Exit code: 0 done, 1 a run failed or was stopped, 2 bad input.";

/// Run all steps, all but one in turn, and none; then compare.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A JSON array of rows.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    let (base, preset) = args.settings.training()?;
    if base.resources.np == 1 {
        let why = "an ablation needs 2 ranks or more: with one rank, steps 2 to 9 have no effect. Give --np 2";
        return Err(Usage(why.into()).into());
    }
    let series = series_wait::run(&store, Series::ablation(&base, &preset), &args.settings)?;
    let results = results(&store, &series)?;
    let Some(results @ Results::Ablation(rows)) = &results else { return Ok(ExitCode::FAILURE) };
    super::output::print_either(args.json, || rows, || lessons::plain_text(&results.to_markdown()))?;
    let finished = rows.iter().all(|row| row.state == Some(RunState::Finished));
    Ok(if finished { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
