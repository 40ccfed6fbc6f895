//! `hvd-lab collectives run`: measure algorithms side by side, and print the table as it grows.

use std::process::ExitCode;

use super::super::follow::{self, Lines, View};
use super::super::output::{Usage, print, print_json_text, say};
use super::super::settings::{Place, Starting};
use super::asked::{self, ShapeFlags, bytes};
use super::{json, table};
use crate::domain::collective::{CollectivesSpec, Method};
use crate::domain::event::{Event, EventLine};
use crate::domain::history::{History, Keep};
use crate::domain::job::Workload;
use crate::domain::measured::{Measured, MeasuredRow};
use crate::domain::units;
use crate::launch::{self, Machine};
use crate::runs::{Follower, RunRecord, RunStore, busy_host};

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
    /// Names of algorithms, separated by commas [default: all of the lab's, and mpi].
    #[arg(long, value_name = "LIST", value_parser = wanted)]
    algorithm: Option<Wanted>,
    #[command(flatten)]
    shape: ShapeFlags,
    /// The smallest buffer of a rank, such as 8, 1K or 16M.
    #[arg(short = 'b', long, value_name = "SIZE", default_value = "1K", value_parser = bytes)]
    min_bytes: u64,
    /// The largest.
    #[arg(short = 'e', long, value_name = "SIZE", default_value = "16M", value_parser = bytes)]
    max_bytes: u64,
    /// Each size is this many times the one before.
    #[arg(short = 'f', long, value_name = "N", default_value_t = 4)]
    factor: u64,
    /// Allreduces that are timed at each size.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    iterations: usize,
    /// Allreduces before them that are not timed.
    #[arg(short = 'w', long, value_name = "N", default_value_t = 5)]
    warmup: usize,
    /// The buffer whose messages are logged, once for each of the lab's algorithms; 0 for no log.
    #[arg(long, value_name = "SIZE", default_value = "64K", value_parser = bytes)]
    log_bytes: u64,
    /// Give each rank a network of this speed, made on this machine without root, such as 200mbit or 1gbit.
    #[arg(long, value_name = "SPEED", value_parser = bits)]
    link: Option<u64>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    starting: Starting,
    /// Event lines as they come, then the table; with --dry-run one JSON object.
    #[arg(long)]
    json: bool,
}

/// Algorithms that were asked for.
#[derive(Clone, Debug)]
struct Wanted {
    methods: Vec<Method>,
    /// Every one that can run here, and no complaint about the others.
    all: bool,
}

fn bits(text: &str) -> Result<u64, String> {
    units::parse_bits(text)
}

fn wanted(text: &str) -> Result<Wanted, String> {
    Ok(Wanted { methods: asked::methods(text)?, all: text.split(',').any(|name| name.trim() == "all") })
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    let request = request(&args)?;
    if args.starting.dry_run {
        return follow::show_line(&launch::preview(&store, &request)?, args.json);
    }
    let np = request.spec.resources.np;
    let Some(spec) = request.spec.collectives().cloned() else { return Ok(ExitCode::FAILURE) };
    let id = args.starting.start(&store, request)?;
    if args.starting.detach {
        return follow::leave(&store, id, args.json);
    }
    let mut live = Live { np, spec, history: History::new(Keep::Everything), has_begun: false };
    let code = follow::follow(&store, id, Follower::new(store.folder(id)), View::of_lines(args.json, &mut live))?;
    let measured = live.measured();
    match args.json {
        true => {
            _ = print_json_text(&format!("{}\n", serde_json::json!({ "collectives": json::table(id, &live.spec, &measured) })))?
        }
        false if !measured.rows.is_empty() => {
            let disturbed = store.record(id)?.disturbed().map(|part| format!("# * {}\n", busy_host::note(part)));
            print(&(disturbed.unwrap_or_default() + &table::ending(&measured)))?;
        }
        false => {}
    }
    if measured.wrong() > 0 {
        say(&match measured.wrong() {
            1 => format!("run {id}: 1 number is not the sum that it should be"),
            wrong => format!("run {id}: {wrong} numbers are not the sum that they should be"),
        });
        return Ok(ExitCode::FAILURE);
    }
    Ok(code)
}

fn request(args: &Args) -> Result<RunRecord, Usage> {
    let resources = args.place.resources()?;
    let methods = match &args.algorithm {
        None => Method::usual().collect(),
        Some(Wanted { methods, all: false }) => methods.clone(),
        Some(Wanted { methods, all: true }) => {
            let has_gpus = Machine::detect().gpus >= resources.np;
            methods.iter().copied().filter(|method| *method != Method::Nccl || has_gpus).collect()
        }
    };
    let algorithms: Vec<_> = methods.iter().filter_map(|method| method.algorithm()).collect();
    let spec = CollectivesSpec {
        methods: methods.iter().map(Method::to_string).collect(),
        shape: args.shape.shape(resources.np, &algorithms)?,
        min_bytes: args.min_bytes,
        max_bytes: args.max_bytes,
        factor: args.factor,
        iterations: args.iterations,
        warmup: args.warmup,
        log_bytes: (args.log_bytes > 0).then_some(args.log_bytes),
        link_bits: args.link,
        newer: Default::default(),
    };
    args.starting.request(&args.place, resources, Workload::Collectives(spec), "collectives")
}

/// The table, line by line as the ranks report.
struct Live {
    np: usize,
    spec: CollectivesSpec,
    history: History,
    has_begun: bool,
}

impl Live {
    fn measured(&self) -> Measured {
        Measured::new(self.np, &self.spec, &self.history)
    }
}

impl Lines for Live {
    fn take(&mut self, line: &EventLine) -> Option<String> {
        self.history.take(line);
        let Event::Allreduce(report) = &line.event else { return None };
        if !report.is_measured() {
            return None;
        }
        let machine = Measured::machine(&self.spec, &self.history);
        let row = table::row(&MeasuredRow::new(report, &machine, self.np, self.spec.shape), self.np);
        let heading = if self.has_begun { String::new() } else { table::heading(self.np, &self.spec) };
        self.has_begun = true;
        Some(heading + &row)
    }
}

#[cfg(test)]
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
