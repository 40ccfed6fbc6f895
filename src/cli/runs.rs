//! `hvd-lab runs`: list the runs.
//!
//! Never draws a screen.

use std::process::ExitCode;

use super::table::{or_dash, render};
use crate::domain::units;
use crate::runs::{RunStore, RunSummary};

const EXAMPLES: &str = "\
Examples:
  hvd-lab runs
  hvd-lab runs --json | jq '.[-1].figures.images_per_sec'";

/// List the runs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// One JSON array with everything that is known of each run.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let runs = RunStore::open_default()?.list();
    if args.json {
        super::print(&format!("{}\n", serde_json::to_string_pretty(&runs)?))?;
    } else if runs.is_empty() {
        super::print("no runs yet: `hvd-lab run` starts one\n")?;
    } else {
        let heading = ["run", "state", "np", "steps", "epochs", "model", "images", "img/s", "accuracy", "training", "name"];
        super::print(&render(&heading, &runs.iter().map(cells).collect::<Vec<_>>()))?;
        for run in runs.iter().filter(|run| run.record.is_none()) {
            super::print(&format!("run {}: {}\n", run.id, run.status.message))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn cells(run: &RunSummary) -> Vec<String> {
    let spec = run.record.as_ref().map(|record| &record.spec);
    let accuracy = run.test.or(run.validation).map(|metrics| format!("{:.4}", metrics.accuracy));
    vec![
        run.id.to_string(),
        run.status.state.name().to_owned(),
        or_dash(spec.map(|spec| spec.np.to_string())),
        or_dash(spec.map(|spec| spec.steps.to_string())),
        or_dash(spec.map(|spec| format!("{}/{}", run.last_epoch, spec.epochs))),
        or_dash(spec.map(|spec| spec.model.to_string())),
        or_dash(run.record.as_ref().map(|record| record.data_label.clone())),
        or_dash(run.figures.images_per_sec.map(units::rate)),
        or_dash(accuracy),
        or_dash(run.training_seconds.map(units::seconds)),
        run.record.as_ref().and_then(|record| record.name.clone()).unwrap_or_default(),
    ]
}
