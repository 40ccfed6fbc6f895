//! Measures how fast a model is trained: the training loop of hvd-train and nothing around it.
//!
//! It prints what Horovod's benchmark, tf_cnn_benchmarks or nvcnn print, and writes no file.

mod args;
mod feed;
mod place;
mod training;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use hvd_lab::comm::{Communicator, allgather_numbers};
use hvd_lab::domain::benchmark::style::{Row, Start};
use hvd_lab::domain::benchmark::{BenchmarkSpec, Binding, IterationReport, Iterations, Style};
use hvd_lab::domain::event::Event;
use hvd_lab::trainer::device::{self, Wish};
use hvd_lab::trainer::distributed::AllreduceOptions;
use hvd_lab::trainer::launch::{Failure, Launch};
use hvd_lab::trainer::report::Reporter;
use hvd_lab::trainer::startup::{self, Refused};

use crate::feed::Feed;
use args::Args;
pub use args::PROGRAM;
pub use place::room;
use training::{Bench, LEARNING_RATE};

pub fn main(flags: Vec<OsString>) -> ExitCode {
    let launched = Instant::now();
    let args = match Args::read(flags) {
        Ok(args) if args.build_info => return startup::print_build_info(),
        Ok(args) => args,
        Err(stop) => return startup::refuse_flags(&stop),
    };
    let (spec, exchange) = (args.spec(), args.exchange());
    let launch = Launch { program: PROGRAM, during: "the benchmark", events: args.events };
    launch.prepare(format!("a batch of {} images of {} with {}", spec.batch_size, spec.input(), spec.model));
    // Threads take this with them, and libtorch's have not been started yet.
    let memory = place::prefer_node(spec.mem_node);
    let comm = match launch.connect() {
        Ok(comm) => comm,
        Err(code) => return code,
    };
    let report = launch.reporter(&*comm);
    let measured = run(&spec, exchange, memory, &*comm, &report, launched);
    launch.end(&*comm, &report, measured.map_err(Failure::Own))
}

/// `memory` is why memory cannot come from where it should, if it cannot.
fn run(
    spec: &BenchmarkSpec,
    exchange: Option<AllreduceOptions>,
    memory: Result<(), String>,
    comm: &dyn Communicator,
    report: &Reporter,
    launched: Instant,
) -> anyhow::Result<()> {
    let topology = comm.topology();
    spec.misfit(&room(spec.no_cuda), topology.local_size.0).map_or(memory, Err).map_err(Refused)?;

    // One device for each rank, and where it really is.
    let as_launched = spec.bind != Binding::Share;
    let placement = device::place(&topology, Wish { no_gpu: spec.no_cuda, as_launched, threads: spec.threads });
    startup::introduce(comm, &placement, report)?;
    let places = place::of_all(comm, &placement, report)?;

    // One synthetic batch, or real images.
    let (source, data, notes) = feed::open(spec, &topology, &placement).map_err(Refused)?;
    notes.iter().filter(|_| topology.is_root()).for_each(|note| report.warning(note));

    // The model, the optimizer that averages gradients over the ranks, and the root's weights for all.
    let mut bench = Bench::new(spec, exchange, comm, &placement, Feed::new(source))?;

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
            let seconds = allgather_numbers(comm, &[timed.seconds])?.concat();
            let rate = seconds.iter().map(|seconds| spec.batch_size as f64 / seconds).sum();
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
    bench.feed.report();

    // Each rank times itself. Then the ranks tell each other, which is not timed.
    let began = Instant::now();
    let mut iterations = Iterations::new(spec.batch_size * spec.batches_per_iteration);
    let mut reports = Vec::new();
    for iteration in 1..=spec.iterations {
        let timed = bench.timed(spec.batches_per_iteration)?;
        iterations.seconds.push(allgather_numbers(comm, &[timed.seconds])?.concat());
        let rate = iterations.rate(iteration - 1).unwrap_or_default();
        let told = IterationReport { iteration, images_per_sec: rate, ..timed };
        report.event(Event::Iteration(told.clone()));
        let row = start.row(&Row { iterations: &iterations, rate, loss: told.loss });
        row.iter().for_each(|line| report.line(line));
        reports.push(told);
    }

    if let Some(pipeline) = bench.feed.report() {
        report.line(&format!("# image pipeline of rank 0: {pipeline}"));
        report.event(Event::Pipeline(pipeline));
    }
    start.ending(&iterations, &reports).iter().for_each(|line| report.line(line));
    comm.barrier()?;
    report.event(startup::finished(0, began.elapsed().as_secs_f64(), launched));
    Ok(())
}
