//! `hvd-lab collectives run`: measure algorithms side by side, and print the table as it grows.

use std::process::ExitCode;

use super::super::follow::{self, View};
use super::super::output::{Usage, print, print_json_text, say};
use super::super::settings::{Place, Starting};
use super::options::ShapeFlags;
use super::{json, table};
use crate::domain::collective::Method;
use crate::domain::event::{Event, EventLine};
use crate::domain::history::{History, Keep};
use crate::domain::job::Workload;
use crate::domain::measured::{Measured, MeasuredRow};
use crate::flags::{Collectives, Flags};
use crate::launch::Machine;
use crate::runs::{RunRequest, RunStore, busy_host};

const EXAMPLES: &str = "\
Examples:
  hvd-lab collectives run --np 2
  hvd-lab collectives run --np 2 --algorithm ring,mpi -b 64K -e 64M -f 2 -n 50
  hvd-lab collectives run --np 4 --algorithm parameter-server --servers 2
  hvd-lab collectives run --np 4 -b 4M -e 4M -n 3 -w 1 --link 200mbit
  hvd-lab collectives run -H node1:4,node2:4 --np 8 --ranks-per-host 4
  hvd-lab collectives run --json | jq -c 'select(.event == \"allreduce\")'

Algorithms: ring, recursive-doubling, rabenseifner, binomial, parameter-server and hierarchical are schedules of the lab; mpi is \
what MPI picks, mpi-linear, mpi-nonoverlapping, mpi-recursive-doubling, mpi-ring, mpi-segmented-ring and mpi-rabenseifner are Open \
MPI's own; nccl needs a GPU for each rank; all is every one that can run here.
`time` is the mean of the slowest rank in each iteration, `predicted` comes from messages between two ranks, and `error` compares \
it with the median.
Ctrl-C stops the run. Press it again to leave at once. Exit code: 0 finished, 1 failed, stopped or wrong sums, 2 bad input.";

/// Measure allreduce algorithms at a range of sizes, as nccl-tests does.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    shape: ShapeFlags,
    #[command(flatten)]
    flags: Flags<Collectives>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    starting: Starting,
    /// Event lines as they come, then the table; with --dry-run one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    let request = request(&args)?;
    let np = request.spec.resources.np;
    let Some(spec) = request.spec.collectives().cloned() else { return Ok(ExitCode::FAILURE) };
    args.starting.run_and(&store, request, args.json, |id, follower| {
        let (mut history, mut heading) = (History::new(Keep::Everything), Some(table::heading(np, &spec)));
        // The table, line by line as the ranks report.
        let mut take = |line: &EventLine| {
            history.take(line);
            let Event::Allreduce(report) = &line.event else { return None };
            let row = || MeasuredRow::new(report, &Measured::machine(&spec, &history), np, spec.shape);
            report.is_measured().then(|| heading.take().unwrap_or_default() + &table::row(&row(), np))
        };
        let code = follow::follow(&store, id, follower, View::of_lines(args.json, &mut take))?;
        let measured = Measured::new(np, &spec, &history);
        if args.json {
            print_json_text(&format!("{}\n", serde_json::json!({ "collectives": json::table(id, &spec, &measured) })))?;
        } else if !measured.rows.is_empty() {
            let disturbed = store.record(id)?.disturbed().map(|part| format!("# * {}\n", busy_host::note(part)));
            print(&(disturbed.unwrap_or_default() + &table::ending(&measured)))?;
        }
        match measured.wrong() {
            0 => return Ok(code),
            1 => say(&format!("run {id}: 1 number is not the sum that it should be")),
            wrong => say(&format!("run {id}: {wrong} numbers are not the sum that they should be")),
        }
        Ok(ExitCode::FAILURE)
    })
}

fn request(args: &Args) -> Result<RunRequest, Usage> {
    let resources = args.place.resources()?;
    let mut spec = args.flags.spec().map_err(Usage)?;
    let asks_for_all = args.flags.text("algorithm").is_some_and(Method::names_all);
    // `all` is every one that can run here, without a complaint about the others.
    if asks_for_all && Machine::detect().room.gpus < resources.np {
        spec.methods.retain(|name| name != Method::Nccl.name());
    }
    let algorithms: Vec<_> = spec.known_methods().filter_map(Method::algorithm).collect();
    spec.shape = args.shape.shape(resources.np, &algorithms)?;
    args.starting.request(args.place.force, resources, Workload::Collectives(spec), "collectives")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_read_as_typed() {
        use clap::Parser;
        #[derive(Debug, Parser)]
        struct Line {
            #[command(flatten)]
            args: Args,
        }
        let request = |words: &[&str]| request(&Line::try_parse_from([&["x", "--np", "2"], words].concat()).unwrap().args);
        let spec = request(&[]).unwrap().spec;
        let collectives = spec.collectives().unwrap();
        assert_eq!((spec.resources.np, spec.problem()), (2, None));
        assert_eq!((collectives.methods.len(), collectives.sizes().len(), collectives.log_bytes), (7, 8, Some(1 << 16)));
        let all = request(&["--algorithm", "all", "--log-bytes", "0"]).unwrap().spec;
        let methods = &all.collectives().unwrap().methods;
        assert!(methods.contains(&"mpi-ring".to_owned()) && methods.len() >= 13);
        assert_eq!(all.collectives().unwrap().log_bytes, None);
        assert!(request(&["--servers", "3"]).unwrap_err().to_string().contains("3 servers are more than the 2 ranks"));
        for bad in [["--algorithm", "sneeze"], ["-b", "lots"], ["--servers", "0"]] {
            assert!(Line::try_parse_from([&["x"], bad.as_slice()].concat()).is_err(), "{bad:?}");
        }
    }
}
