//! `hvd-lab collectives show`: the table of a run, or a schedule without one.

use std::process::ExitCode;

use super::super::output::{Usage, print, print_either, print_json, say};
use super::options::{ShapeFlags, buffer, from_one, open, whole_numbers};
use super::{json, schedule, table};
use crate::domain::collective::{Algorithm, Method};
use crate::domain::run::RunState;
use crate::runs::{Measurement, RunId, RunStore, busy_host};

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
    // By its whole path, for clap takes a plain `Vec` for a flag that is given several times.
    #[arg(long, value_name = "LIST", value_parser = Method::parse_list)]
    algorithm: Option<std::vec::Vec<Method>>,
    /// Ranks of the schedule [default: 4].
    #[arg(long, value_name = "N", conflicts_with = "run", requires = "algorithm", value_parser = from_one)]
    np: Option<usize>,
    /// The buffer of each rank [default: 1K].
    #[arg(long, value_name = "SIZE", conflicts_with = "run", requires = "algorithm", value_parser = buffer)]
    size: Option<u64>,
    #[command(flatten)]
    shape: ShapeFlags,
    /// One JSON object; of several schedules an array.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match (&args.algorithm, args.run) {
        (Some(methods), None) => show_schedules(methods, &args)?,
        (chosen, run) => {
            let store = RunStore::open_default()?;
            let mut told = open(&store, run)?;
            let (id, status) = (told.id, store.status(told.id)?);
            if told.measured.rows.is_empty() && status.state == RunState::Finished {
                let file = store.folder(id).events_file();
                let lost = format!("{} was changed or damaged. Measure again", file.display());
                anyhow::bail!("run {id} finished, and its events hold no row: {lost}");
            }
            if told.measured.rows.is_empty() && status.state.is_over() {
                anyhow::bail!("run {id} measured nothing: it {}", status.end_in_words());
            }
            if let Some(methods) = chosen {
                let measured = told.measured.methods().join(", ");
                let is_going = told.measured.rows.is_empty();
                told.measured.rows.retain(|row| methods.iter().any(|method| method.name() == row.report.method));
                if told.measured.rows.is_empty() && !is_going {
                    let names = methods.iter().map(Method::to_string).collect::<Vec<_>>().join(", ");
                    return Err(Usage(format!("run {id} has no row of {names}: it measured {measured}")).into());
                }
            }
            show_table(&told, args.json)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show_table(told: &Measurement, as_json: bool) -> anyhow::Result<()> {
    let Measurement { id, record, spec, measured, .. } = told;
    let text = || {
        if measured.rows.is_empty() {
            return format!("run {id} is running and has no rows yet\n");
        }
        let name = record.request.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        let disturbed = record.disturbed().map(|part| format!("# * {}\n", busy_host::note(part))).unwrap_or_default();
        let rows: String = measured.rows.iter().map(|row| table::row(row, measured.ranks)).collect();
        format!("# run {id}{name}\n{}{rows}{disturbed}{}", table::heading(measured.ranks, spec), table::ending(measured))
    };
    print_either(as_json, || json::table(*id, spec, measured), text).map(drop)
}

fn show_schedules(methods: &[Method], args: &Args) -> anyhow::Result<()> {
    let np = args.np.unwrap_or(4);
    if np > MOST_RANKS {
        return Err(Usage(format!("--np: a schedule of {np} ranks is too long to read: use {MOST_RANKS} or fewer")).into());
    }
    let algorithms: Vec<Algorithm> = methods.iter().filter_map(|method| method.algorithm()).collect();
    let others: Vec<&str> = methods.iter().filter(|method| method.algorithm().is_none()).map(|method| method.name()).collect();
    if algorithms.is_empty() {
        return Err(Usage(no_schedule(&others)).into());
    }
    if !others.is_empty() {
        let are = if others.len() == 1 { "is" } else { "are" };
        say(&format!("{} {are} left out: a library does it its own way, so the lab has no schedule of it", others.join(", ")));
    }
    let shape = args.shape.shape(np, &algorithms)?;
    let elements = usize::try_from(args.size.map_or(1 << 10, whole_numbers) / 4)?;
    let schedules: Vec<_> = algorithms.iter().map(|algorithm| (*algorithm, algorithm.schedule(np, elements, shape))).collect();
    if args.json {
        let all = schedules.iter().map(|(algorithm, found)| json::schedule(*algorithm, found, shape)).collect();
        return print_json(&json::one_or_all(all)).map(drop);
    }
    let texts: Vec<String> = schedules.iter().map(|(algorithm, found)| schedule::text(*algorithm, found, shape)).collect();
    Ok(print(&texts.join("\n")).map(drop)?)
}

fn no_schedule(names: &[&str]) -> String {
    let own = Algorithm::ALL.map(Algorithm::name).join(", ");
    let have = if names.len() == 1 { "has" } else { "have" };
    format!("`{}` {have} no schedule of the lab's, a library does it its own way: choose from {own}", names.join("`, `"))
}
