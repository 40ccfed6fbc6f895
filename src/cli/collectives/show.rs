//! `hvd-lab collectives show`: the table of a run, or a schedule without one.

use std::process::ExitCode;

use super::super::output::{Usage, print, print_json};
use super::asked::{List, ShapeFlags, bytes, from_one, list, open};
use super::{json, schedule, table};
use crate::domain::collective::{Algorithm, Method};
use crate::runs::{Measurement, RunId, RunStore, disturbed};

const EXAMPLES: &str = "\
Examples:
  hvd-lab collectives show                     the newest run of collectives
  hvd-lab collectives show 7 --algorithm ring,mpi
  hvd-lab collectives show 7 --json | jq '.rows[] | [.algorithm, .median_s]'
  hvd-lab collectives show --algorithm ring --np 4 --size 1K      nothing is run
  hvd-lab collectives show --algorithm parameter-server --np 4 --servers 2";

/// Ranks of a schedule that is written out: each round has a line for each of them.
const MOST_RANKS: usize = 256;

/// Print the table of a run, or an algorithm's schedule without a run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Number of the run [default: the newest that measured collectives].
    run: Option<RunId>,
    /// Only these; without a run, whose schedule is shown.
    #[arg(long, value_name = "LIST", value_parser = list)]
    algorithm: Option<List>,
    /// Ranks of the schedule [default: 4].
    #[arg(long, value_name = "N", conflicts_with = "run", requires = "algorithm", value_parser = from_one)]
    np: Option<usize>,
    /// The buffer of each rank [default: 1K].
    #[arg(long, value_name = "SIZE", conflicts_with = "run", requires = "algorithm", value_parser = bytes)]
    size: Option<u64>,
    #[command(flatten)]
    shape: ShapeFlags,
    /// One JSON object; of several schedules an array.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match (&args.algorithm, args.run) {
        (Some(List(methods)), None) => show_schedules(methods, &args)?,
        (chosen, run) => {
            let mut told = open(&RunStore::open_default()?, run)?;
            if let Some(List(methods)) = chosen {
                told.measured.rows.retain(|row| methods.iter().any(|method| method.name() == row.report.method));
            }
            show_table(&told, args.json)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show_table(told: &Measurement, as_json: bool) -> anyhow::Result<()> {
    let Measurement { id, record, spec, measured, .. } = told;
    if as_json {
        print_json(&json::table(*id, spec, measured))?;
        return Ok(());
    }
    if measured.rows.is_empty() {
        print(&format!("run {id} has no rows yet, or none of these\n"))?;
        return Ok(());
    }
    let name = record.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let disturbed = record.disturbed().map(|part| format!("# * {}\n", disturbed::note(part))).unwrap_or_default();
    let rows: String = measured.rows.iter().map(|row| table::row(row, measured.ranks)).collect();
    print(&format!("# run {id}{name}\n{}{rows}{disturbed}{}", table::heading(measured.ranks, spec), table::ending(measured)))?;
    Ok(())
}

fn show_schedules(methods: &[Method], args: &Args) -> anyhow::Result<()> {
    let np = args.np.unwrap_or(4);
    if np > MOST_RANKS {
        return Err(Usage(format!("--np: a schedule of {np} ranks is too long to read: use {MOST_RANKS} or fewer")).into());
    }
    let shape = args.shape.shape(np)?;
    let elements = usize::try_from(args.size.unwrap_or(1 << 10) / 4)?;
    let own = |method: &Method| method.algorithm().ok_or_else(|| Usage(no_schedule(*method)));
    let algorithms: Vec<Algorithm> = methods.iter().map(own).collect::<Result<_, _>>()?;
    let schedules: Vec<_> = algorithms.iter().map(|algorithm| (*algorithm, algorithm.schedule(np, elements, shape))).collect();
    if args.json {
        let all: Vec<_> = schedules.iter().map(|(algorithm, found)| json::schedule(*algorithm, found, shape)).collect();
        match all.as_slice() {
            [one] => print_json(one)?,
            all => print_json(&all)?,
        };
        return Ok(());
    }
    let texts: Vec<String> = schedules.iter().map(|(algorithm, found)| schedule::text(*algorithm, found, shape)).collect();
    print(&texts.join("\n"))?;
    Ok(())
}

fn no_schedule(method: Method) -> String {
    let own = Algorithm::ALL.map(Algorithm::name).join(", ");
    format!("`{method}` has no schedule of the lab's, a library does it its own way: choose from {own}")
}
