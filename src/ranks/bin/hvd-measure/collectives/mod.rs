//! Measures allreduces on the ranks of one mpirun: the lab's own schedules, MPI's algorithms and NCCL, side by side.
//!
//! Never trains. It prints the table of nccl-tests, and with `--events` what the lab draws and predicts from.

mod args;
mod link;
mod measure;
mod once;
mod table;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use hvd_lab::comm::{self, Communicator, MpiComm, StallLimits};
use hvd_lab::domain::collective::{CollectivesSpec, Method};
use hvd_lab::domain::event::{Event, TopologyReport};
use hvd_lab::host::{self, cpu::host_memory};
use hvd_lab::trainer::config::Stop;
use hvd_lab::trainer::report::Reporter;
use hvd_lab::trainer::{device, host_report, startup};

pub use args::PROGRAM;
use args::{Args, Request, refusal};
use link::Link;
use measure::{Bench, Way};
use table::Table;

pub fn main(flags: Vec<OsString>) -> ExitCode {
    let launched = Instant::now();
    let args = match Args::read(flags) {
        Ok(args) => args,
        Err(stop) => return startup::refuse_flags(&stop),
    };
    let (events, build_info) = (args.events, args.build_info);
    let request = match args.request() {
        Ok(request) => request,
        Err(stop) => return startup::refuse_flags(&stop),
    };
    let schedule = match request.schedule().map(once::read_schedule).transpose() {
        Ok(schedule) => schedule,
        Err(stop) => return explain(&stop),
    };
    if build_info {
        let (mpi, standard) = (comm::library_version(), comm::standard_version());
        return startup::explain(&Stop {
            text: serde_json::json!({ "mpi": mpi, "mpi_standard": standard }).to_string(),
            code: 0,
        });
    }
    let mut report = Reporter::new(comm::launched_index(), events);
    // Messages are sent between ranks that are awake: a late one is a failure of the launch, which the launcher sees.
    let comm = match MpiComm::connect(StallLimits::default(), |_| {}) {
        Ok(comm) => comm,
        Err(error) => {
            return explain(&Stop { text: format!("{PROGRAM}: {error}"), code: 1 });
        }
    };
    report.set_verbose(comm.topology().is_root());
    if let Some(schedule) = schedule {
        return match once::run(&schedule, &comm) {
            Ok(()) => ExitCode::SUCCESS,
            Err(stop) => startup::explain(&stop),
        };
    }
    match run(&request, &comm, &report, launched) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            let cause =
                format!("{} of the sums wrong", if wrong == 1 { "1 number is".into() } else { format!("{wrong} numbers are") });
            fail(&comm, &report, "the check", &Stop { text: cause, code: 1 })
        }
        Err(Failure::Refused(stop)) => fail(&comm, &report, "start", &stop),
        // The others may wait for this rank.
        Err(Failure::Broken(error)) => {
            fail(&comm, &report, "measuring", &Stop { text: format!("{PROGRAM}: {error:#}"), code: 1 });
            comm.abort(1)
        }
    }
}

/// Why nothing more is measured.
enum Failure {
    /// All ranks know it.
    Refused(Stop),
    Broken(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Broken(error.into())
    }
}

/// Before there are ranks: one process speaks for all.
fn explain(stop: &Stop) -> ExitCode {
    if comm::launched_index() == 0 { startup::explain(stop) } else { ExitCode::from(stop.code) }
}

/// The root says why, once.
fn fail(comm: &MpiComm, report: &Reporter, during: &str, stop: &Stop) -> ExitCode {
    if !comm.topology().is_root() {
        return ExitCode::from(stop.code);
    }
    let cause = stop.text.strip_prefix(&format!("{PROGRAM}: ")).unwrap_or(&stop.text);
    report.event(Event::Fatal { during: during.to_owned(), cause: cause.to_owned() });
    startup::explain(&refusal(cause));
    ExitCode::from(stop.code)
}

/// Measures all of it; how many numbers were wrong.
fn run(request: &Request, comm: &MpiComm, report: &Reporter, launched: Instant) -> Result<u64, Failure> {
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

    let local_size = least(comm, topology.local_size.0 as u64)? as usize;
    let ways = ways(request, comm, report)?;
    let methods: Vec<Method> = ways.iter().map(|way| way.method).collect();
    let spec = request.spec(&methods, local_size);
    if let Some(problem) = spec.problem(topology.size.0) {
        return Err(Failure::Refused(refusal(&problem)));
    }
    refuse_what_does_not_fit(&spec, comm)?;

    let peers = comm.point_to_point();
    let table = Table { report, spec: &spec, ranks: topology.size.0, check: request.check };
    table.begin(&comm::library_version());
    let began = Instant::now();
    let mut link = Link::new(comm, &peers, &spec);
    let mut bench = Bench::new(comm, &peers, &spec, request.check);
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
    Ok(rows.iter().filter_map(|row| row.wrong).sum())
}

/// How each method is done. With `all`, what does not work here is left out.
fn ways<'a>(request: &Request, comm: &'a MpiComm, report: &Reporter) -> Result<Vec<Way<'a>>, Failure> {
    let numbers = (request.largest() / 4) as usize;
    let mut ways = Vec::new();
    for &method in &request.methods {
        match Way::new(method, comm, numbers) {
            Ok(way) => ways.push(way),
            Err(why) if request.is_all => report.line(&format!("# {method} is left out: {why}")),
            Err(why) => return Err(Failure::Refused(refusal(&format!("--algorithm {method} cannot be measured: {why}")))),
        }
    }
    Ok(ways)
}

/// All ranks of each host together.
fn refuse_what_does_not_fit(spec: &CollectivesSpec, comm: &MpiComm) -> Result<(), Failure> {
    let needed = spec.memory_bytes(comm.topology().local_size.0);
    let available = host_memory().0;
    let is_too_much = available > 0 && needed > available;
    match most(comm, if is_too_much { needed } else { 0 })? {
        0 => Ok(()),
        needed => Err(Failure::Refused(refusal(&spec.does_not_fit(needed)))),
    }
}

fn of_all(comm: &dyn Communicator, value: u64) -> Result<impl Iterator<Item = u64>, comm::CommError> {
    let all = comm.allgather(&value.to_le_bytes())?;
    Ok(all.into_iter().map(|bytes| bytes.try_into().map_or(0, u64::from_le_bytes)))
}

fn most(comm: &dyn Communicator, value: u64) -> Result<u64, comm::CommError> {
    Ok(of_all(comm, value)?.max().unwrap_or_default())
}

fn least(comm: &dyn Communicator, value: u64) -> Result<u64, comm::CommError> {
    Ok(of_all(comm, value)?.min().unwrap_or_default())
}
