//! Measures how fast a model is trained: the training loop of hvd-train and nothing around it.
//!
//! Never writes a file. What it prints is what Horovod's benchmark, tf_cnn_benchmarks or nvcnn print.

mod args;
mod feed;
mod place;
mod training;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hvd_lab::comm::{self, Communicator, StallLimits, Starved};
use hvd_lab::domain::benchmark::style::{Row, Start};
use hvd_lab::domain::benchmark::{BenchmarkSpec, Iterations, Style};
use hvd_lab::domain::event::Event;
use hvd_lab::host::starved;
use hvd_lab::trainer::config::Stop;
use hvd_lab::trainer::distributed::AllreduceOptions;
use hvd_lab::trainer::report::Reporter;
use hvd_lab::trainer::{device, shortage, startup};

pub use args::PROGRAM;
use args::{Args, refusal};
use feed::Feed;
use training::{Bench, LEARNING_RATE};

/// What the lab says a rank failed in.
const DURING: &str = "the benchmark";
/// Ranks that have not come for so long are worth a warning.
const STALL_WARNING: Duration = Duration::from_secs(10);

pub fn main(flags: Vec<OsString>) -> ExitCode {
    let launched = Instant::now();
    let args = match Args::read(flags) {
        Ok(args) if args.build_info => return startup::print_build_info(),
        Ok(args) => args,
        Err(stop) => return startup::refuse_flags(&stop),
    };
    let (spec, exchange, events) = (args.spec(), args.exchange(), args.events);
    let needs = format!("a batch of {} images of {} with {}", spec.batch_size, spec.input(), spec.model);
    shortage::explain(PROGRAM, DURING, needs, "Lower --batch-size or --image-size, or start fewer ranks on a host", events);
    device::keep_freed_memory();
    // Threads take this with them, and libtorch's have not been started yet.
    let memory = place::prefer_node(spec.mem_node);
    let warnings = Reporter::new(comm::launched_index(), events);
    let limits = StallLimits { warning: STALL_WARNING, shutdown: Duration::ZERO, starved: Starved(starved::of_this_session) };
    let comm = match comm::connect(true, limits, move |message| warnings.event(Event::Warning { message: message.to_owned() })) {
        Ok(comm) => comm,
        Err(error) => return startup::explain(&Stop { text: format!("{PROGRAM}: {error}"), code: 1 }),
    };
    let mut report = Reporter::new(comm::launched_index(), events);
    report.set_verbose(comm.topology().is_root());
    match run(&spec, exchange, memory, &*comm, &report, launched) {
        Ok(()) => ExitCode::SUCCESS,
        // The others may wait for this rank.
        Err(failure) => {
            let (cause, code) = match failure {
                Failure::Refused(cause) => (cause, 2),
                Failure::Broken(error) => (format!("{error:#}"), startup::exit_code(&error) as u8),
            };
            report.event(Event::Fatal { during: DURING.to_owned(), cause: cause.clone() });
            startup::explain(&Stop { code, ..refusal(&format!("process {}: {cause}", comm::launched_index())) });
            comm.abort(i32::from(code))
        }
    }
}

/// Why nothing more is measured.
enum Failure {
    /// The request cannot be met here.
    Refused(String),
    Broken(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Broken(error.into())
    }
}

/// `memory` is why memory cannot come from where it should, if it cannot.
fn run(
    spec: &BenchmarkSpec,
    exchange: Option<AllreduceOptions>,
    memory: Result<(), String>,
    comm: &dyn Communicator,
    report: &Reporter,
    launched: Instant,
) -> Result<(), Failure> {
    let topology = comm.topology();
    if let Some(problem) = spec.misfit(&place::room(spec), topology.local_size.0) {
        return Err(Failure::Refused(problem));
    }
    memory.map_err(Failure::Refused)?;

    // One device for each rank, and where it really is.
    let placement = place::device(spec, &topology);
    startup::introduce(comm, &placement, report)?;
    let places = place::of_all(comm, &placement, report)?;

    // One synthetic batch, or real images.
    let feed = Feed::new(spec, comm::launched_index(), &topology, &placement).map_err(Failure::Refused)?;
    let data = feed.data.clone();
    feed.notes.iter().filter(|_| topology.is_root()).for_each(|note| report.warning(note));

    // The model, the optimizer that averages gradients over the ranks, and the root's weights for all.
    let mut bench = Bench::new(spec, exchange, comm, &placement, feed)?;

    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--events").collect();
    let is_gpu = placement.gpu().is_some();
    let start = Start { spec, arguments: &arguments, data: &data, is_gpu, learning_rate: LEARNING_RATE, places: &places };
    start.header().iter().for_each(|line| report.line(line));
    if exchange.is_none() && places.len() > 1 {
        report.line("# no gradients are exchanged: each rank trains alone");
    }

    // The first batches are slow: memory is taken, kernels are chosen, ranks find each other. They do not count.
    let none = Iterations::default();
    for batch in 1..=spec.warmup_batches {
        // Only nvcnn shows them, and it reads the loss after each step.
        if spec.style == Style::Nvcnn {
            let timed = bench.timed(1)?;
            let rate = bench.of_all(&timed)?.iter().map(|seconds| spec.batch_size as f64 / seconds).sum();
            let row = start.warm_up_row(batch, &Row { iterations: &none, rate, loss: timed.loss });
            row.iter().for_each(|line| report.line(line));
        } else {
            bench.step()?;
        }
    }
    // What a GPU still has to do is no part of the first iteration.
    bench.wait();
    comm.barrier()?;
    start.warmed_up().iter().for_each(|line| report.line(line));
    bench.pipeline();

    // Each rank times itself. Then the ranks tell each other, which is not timed.
    let began = Instant::now();
    let mut iterations = Iterations::new(spec.batch_size * spec.batches_per_iteration);
    let mut reports = Vec::new();
    for iteration in 1..=spec.iterations {
        let timed = bench.timed(spec.batches_per_iteration)?;
        iterations.seconds.push(bench.of_all(&timed)?);
        let rate = iterations.rate(iteration - 1).unwrap_or_default();
        let told = timed.report(iteration, spec, rate);
        report.event(Event::Iteration(told.clone()));
        let row = start.row(&Row { iterations: &iterations, rate, loss: timed.loss });
        row.iter().for_each(|line| report.line(line));
        reports.push(told);
    }

    if let Some(pipeline) = bench.pipeline() {
        report.line(&format!("# image pipeline of rank 0: {pipeline}"));
        report.event(Event::Pipeline(pipeline));
    }
    start.ending(&iterations, &reports).iter().for_each(|line| report.line(line));
    comm.barrier()?;
    report.event(startup::finished(0, began.elapsed().as_secs_f64(), launched));
    Ok(())
}
