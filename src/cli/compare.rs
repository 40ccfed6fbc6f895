//! `hvd-lab compare`: put runs side by side.
//!
//! Never draws a screen.

use std::process::ExitCode;

use super::Usage;
use super::table::{or_dash, render};
use crate::domain::units;
use crate::runs::{self, Row, RunId, RunStore, RunSummary};

const EXAMPLES: &str = "\
Examples:
  hvd-lab compare                      all runs, against the oldest with the fewest ranks
  hvd-lab compare 1 2 5                run 1 is the baseline
  hvd-lab compare --baseline 3 --json

Throughput counts the images of all processes per second of training; validation and start-up are kept apart.
`waits` is exposed communication: the part of training, over all processes, that went by waiting for gradients of others.";

/// Put runs side by side: speed-up, scaling efficiency, time to the target accuracy, and what differs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Numbers of the runs; none for all that have trained an epoch.
    ids: Vec<RunId>,
    /// The run that the others are measured against [default: the first one named].
    #[arg(long, value_name = "ID")]
    baseline: Option<RunId>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    let mut chosen = match args.ids.is_empty() {
        false => args.ids.iter().map(|id| store.summary(*id)).collect::<Result<Vec<_>, _>>()?,
        true => store.list().into_iter().filter(|run| run.figures.images_per_sec.is_some()).collect(),
    };
    let baseline = match (args.baseline, args.ids.first()) {
        (Some(id), _) | (None, Some(&id)) => store.summary(id)?,
        (None, None) => {
            let slowest = chosen.iter().min_by_key(|run| (run.figures.np, run.id)).cloned();
            slowest.ok_or_else(|| Usage("no run has trained an epoch yet: `hvd-lab run` starts one".into()))?
        }
    };
    if !chosen.iter().any(|run| run.id == baseline.id) {
        chosen.insert(0, baseline.clone());
    }
    let rows = runs::table(&chosen, &baseline);
    if args.json {
        let runs: Vec<_> =
            rows.iter().zip(&chosen).map(|(row, run)| serde_json::json!({ "comparison": row, "run": run })).collect();
        let whole = serde_json::json!({ "baseline": baseline.id, "runs": runs });
        super::print(&format!("{}\n", serde_json::to_string_pretty(&whole)?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let heading = ["run", "np", "img/s", "speed-up", "efficiency", "waits", "to target", "sooner", "accuracy", "differs in"];
    let cells: Vec<_> = rows.iter().zip(&chosen).map(|(row, run)| cells(row, run)).collect();
    super::print(&render(&heading, &cells))?;
    Ok(ExitCode::SUCCESS)
}

fn cells(row: &Row, run: &RunSummary) -> Vec<String> {
    let times = |ratio: f64| format!("{ratio:.2}x");
    let differs: Vec<String> =
        row.differences.iter().map(|one| format!("{} {} (not {})", one.setting, one.run, one.baseline)).collect();
    vec![
        run.id.to_string(),
        run.figures.np.to_string(),
        or_dash(run.figures.images_per_sec.map(units::rate)),
        or_dash(row.comparison.speedup.map(times)),
        or_dash(row.comparison.scaling_efficiency.map(units::percent)),
        or_dash(run.exposed_communication.map(|part| format!("{:.1} %", part * 100.0))),
        or_dash(run.figures.seconds_to_target.map(units::seconds)),
        or_dash(row.comparison.speedup_to_target.map(times)),
        or_dash(run.test.or(run.validation).map(|metrics| format!("{:.4}", metrics.accuracy))),
        if row.is_baseline { "(baseline)".into() } else { differs.join(", ") },
    ]
}
