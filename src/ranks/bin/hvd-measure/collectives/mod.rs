//! Measures allreduces on the ranks of one mpirun: the lab's own schedules, MPI's algorithms and NCCL, side by side.
//!
//! It prints the table of nccl-tests, and with `--events` what the lab draws and predicts from.

mod args;
mod link;
mod measure;
mod once;
mod table;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use hvd_lab::comm::{self, Communicator, MpiComm, StallLimits, allgather_numbers};
use hvd_lab::domain::collective::CollectivesSpec;
use hvd_lab::domain::event::{Event, TopologyReport};
use hvd_lab::host::{self, cpu::host_memory};
use hvd_lab::trainer::config::read_flags;
use hvd_lab::trainer::launch::{Failure, Launch};
use hvd_lab::trainer::report::Reporter;
use hvd_lab::trainer::{device, host_report, startup};

use args::Args;
pub use args::PROGRAM;
use link::Link;
use measure::{Bench, Way};
use table::Table;

pub fn main(flags: Vec<OsString>) -> ExitCode {
    let launched = Instant::now();
    let read = read_flags(PROGRAM, flags).and_then(|args: Args| {
        let schedule = args.schedule.as_deref().map(once::read_schedule).transpose()?;
        Ok((args, schedule))
    });
    let (args, schedule) = match read {
        Ok((args, _)) if args.build_info => return startup::print_build_info(),
        Ok(read) => read,
        Err(stop) => return startup::refuse_flags(&stop),
    };
    let launch = Launch { program: PROGRAM, during: "measuring", events: args.events };
    // Messages are sent between ranks that are awake: a late one is a failure of the launch, which the launcher sees.
    let comm = match MpiComm::connect(StallLimits::default(), |_| {}) {
        Ok(comm) => comm,
        Err(error) => return startup::refuse_as(PROGRAM, &error),
    };
    let report = launch.reporter(&comm);
    let measured = match schedule {
        Some(schedule) => once::run(&schedule, &comm),
        None => run(&args, &comm, &report, launched),
    };
    launch.end(&comm, &report, measured)
}

/// Measures all of it. A wrong sum is a failure, at the end.
fn run(args: &Args, comm: &MpiComm, report: &Reporter, launched: Instant) -> Result<(), Failure> {
    let topology = comm.topology();
    let (cores, found) = device::bind(&topology);
    report.event(Event::Topology(TopologyReport {
        topology,
        host: host::name(),
        pid: std::process::id(),
        communicator: comm.name().to_owned(),
        device: "cpu".to_owned(),
        device_uuid: None,
        cores,
        devices_found: Some(found),
        threads: 1,
        is_watched: false,
        versions: vec![comm::library_version()],
    }));
    host_report::start(comm, report)?;

    let local_sizes = allgather_numbers(comm, &[topology.local_size.0])?.concat();
    let local_size = local_sizes.into_iter().min().unwrap_or_default();
    let mut spec = args.spec();
    let ways = ways(&spec, args.asks_for_all(), comm, report)?;
    spec.methods = ways.iter().map(|way| way.method.to_string()).collect();
    if !args.says_ranks_per_host() {
        spec.shape.ranks_per_host = local_size;
    }
    if let Some(problem) = spec.problem(topology.size.0) {
        return Err(Failure::refused(problem));
    }
    refuse_what_does_not_fit(&spec, comm)?;

    let peers = comm.point_to_point();
    let table = Table { report, spec: &spec, ranks: topology.size.0 };
    table.begin(&comm::library_version());
    let began = Instant::now();
    let mut link = Link::new(comm, &peers, &spec);
    let mut bench = Bench::new(comm, &peers, &spec);
    let mut rows = Vec::new();
    for bytes in spec.sizes() {
        if topology.size.0 >= 2 {
            let measured = link.up_to(bytes)?;
            if topology.is_root() {
                report.event(Event::Link(measured));
            }
        }
        for row in bench.rows(&ways, (bytes / 4) as usize)? {
            if topology.is_root() {
                table.row(&row);
            }
            rows.push(row);
        }
    }
    if let Some(bytes) = spec.log_bytes {
        for way in &ways {
            bench.log(way, (bytes / 4) as usize, report)?;
        }
    }
    table.end(&rows);
    report.event(startup::finished(0, began.elapsed().as_secs_f64(), launched));
    let cause = match rows.iter().filter_map(|row| row.wrong).sum::<u64>() {
        0 => return Ok(()),
        1 => "1 number is of the sums wrong".to_owned(),
        wrong => format!("{wrong} numbers are of the sums wrong"),
    };
    Err(Failure::Agreed { during: "the check", cause, code: 1 })
}

/// How each method is done. With `all`, what does not work here is left out.
fn ways<'a>(spec: &CollectivesSpec, all: bool, comm: &'a MpiComm, report: &Reporter) -> Result<Vec<Way<'a>>, Failure> {
    let largest = spec.max_bytes.max(spec.log_bytes.unwrap_or_default());
    let numbers = (largest / 4) as usize;
    let mut ways = Vec::new();
    for method in spec.known_methods() {
        match Way::new(method, comm, numbers) {
            Ok(way) => ways.push(way),
            Err(why) if all => report.line(&format!("# {method} is left out: {why}")),
            Err(why) => return Err(Failure::refused(format!("--algorithm {method} cannot be measured: {why}"))),
        }
    }
    Ok(ways)
}

/// All ranks of each host together.
fn refuse_what_does_not_fit(spec: &CollectivesSpec, comm: &MpiComm) -> Result<(), Failure> {
    let needed = spec.memory_bytes(comm.topology().local_size.0);
    let available = host_memory().0;
    let is_too_much = available > 0 && needed > available;
    let lacking = allgather_numbers(comm, &[if is_too_much { needed } else { 0 }])?.concat();
    match lacking.into_iter().max() {
        None | Some(0) => Ok(()),
        Some(needed) => Err(Failure::refused(spec.does_not_fit(needed))),
    }
}
