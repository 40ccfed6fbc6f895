//! Train a model on photos, as NVIDIA's `nvcnn_hvd_simplified.py` does: one program, on one rank or many.
//!
//! Read it from top to bottom: the images, the model, the optimizer, the broadcast that stands before the loop (nvcnn's `sync`),
//! and the loop. `feed` opens the photos, `test` is `--eval`; the rules of the rate and of LARC are in `domain::nvcnn`.

mod args;
mod failure;
mod feed;
mod test;
mod told;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hvd_lab::comm::{self, Communicator, Compression, StallLimits, Starved};
use hvd_lab::dataset::images::Part;
use hvd_lab::domain::benchmark::style::nvcnn;
use hvd_lab::domain::benchmark::{Iterations, NumberFormat};
use hvd_lab::domain::event::{DigestMoment, EpochReport, Event, Metrics};
use hvd_lab::domain::nvcnn::{BURN_IN_STEPS, MOMENTUM, MovingAverage, NvcnnSpec, Schedule, WEIGHT_DECAY};
use hvd_lab::domain::phase::Phase;
use hvd_lab::domain::topology::Topology;
use hvd_lab::host::starved;
use hvd_lab::trainer::accumulation::AccumulationStep;
use hvd_lab::trainer::checkpoint::Claim;
use hvd_lab::trainer::config::try_writing;
use hvd_lab::trainer::device::{self, Placement, Wish};
use hvd_lab::trainer::distributed::{AllreduceOptions, DistributedOptimizer, FUSION_THRESHOLD_MB, broadcast_state};
use hvd_lab::trainer::evaluate::TopSums;
use hvd_lab::trainer::model::{self, Dropout, Mode};
use hvd_lab::trainer::optimizer::{Nesterov, Optimizer};
use hvd_lab::trainer::random::{Purpose, stream};
use hvd_lab::trainer::report::Reporter;
use hvd_lab::trainer::resume::{self, ResumeState};
use hvd_lab::trainer::startup;
use hvd_lab::trainer::stopwatch::Clock;

use args::{Args, stop};
use failure::{Failure, agreed, gathered};
use feed::{BATCHES_HELD, Feed, Photos};

/// Ranks that have not come for so long are worth a warning.
const STALL_WARNING: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let launched = Instant::now();
    let (args, spec) = match Args::read(std::env::args_os()) {
        Ok((args, _)) if args.build_info => return startup::print_build_info(),
        Ok(read) => read,
        // One process speaks for all. The others do not fail: mpirun would end the first one before it has spoken.
        Err(stop) if comm::launched_index() == 0 => return startup::explain(&stop),
        Err(_) => return ExitCode::SUCCESS,
    };
    device::keep_freed_memory();
    let warnings = Reporter::new(comm::launched_index(), args.events);
    let limits = StallLimits { warning: STALL_WARNING, shutdown: Duration::ZERO, starved: Starved(starved::of_this_session) };
    let comm = match comm::connect(true, limits, move |message| warnings.event(Event::Warning { message: message.to_owned() })) {
        Ok(comm) => comm,
        Err(error) => return startup::explain(&stop(1, &error.to_string())),
    };
    let mut report = Reporter::new(comm::launched_index(), args.events);
    report.set_verbose(comm.topology().is_root());
    report.number_checkpoints_by("step");
    match run(&spec, &*comm, &report, launched) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Agreed(cause)) if comm.topology().is_root() => {
            report.event(Event::Fatal { during: "the start".to_owned(), cause: cause.clone() });
            startup::explain(&stop(2, &cause))
        }
        Err(Failure::Agreed(_)) => ExitCode::from(2),
        Err(Failure::Own(error)) => {
            let (cause, code) = (format!("{error:#}"), startup::exit_code(&error));
            report.event(Event::Fatal { during: "training".to_owned(), cause: cause.clone() });
            startup::explain(&stop(1, &format!("process {}: {cause}", comm::launched_index())));
            comm.abort(code)
        }
    }
}

fn run(spec: &NvcnnSpec, comm: &dyn Communicator, report: &Reporter, launched: Instant) -> Result<(), Failure> {
    let (process, topology, ranks) = (comm::launched_index(), comm.topology(), comm.topology().size.0);
    // One device for each rank.
    let placement = device::place(&topology, Wish { no_gpu: spec.no_cuda, as_launched: false, threads: None });
    agreed(comm, fits(spec, &topology, &placement))?;
    startup::introduce(comm, &placement, report)?;

    // The images, and with them the number of steps.
    let photos = Photos::open(spec, if spec.eval { Part::Validation } else { Part::Train }, comm)?;
    let steps_per_epoch = photos.as_ref().map(|photos| photos.order(spec, &topology).steps_per_epoch());
    let schedule = Schedule::new(steps_per_epoch, spec.num_batches, spec.num_epochs);
    let images = photos.as_ref().map(Photos::len);
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--events").collect();
    let NvcnnSpec { model, batch_size, precision, .. } = *spec;
    let header = nvcnn::Header { arguments: &arguments, ranks, images, model, batch_size, precision };
    header.lines().iter().chain(&nvcnn::BUILDING.map(str::to_owned)).for_each(|line| report.line(line));

    // The model. Every rank draws its own weights.
    let mut weights = stream(spec.seed, process, 0, Purpose::Weights);
    let mut model = model::build_at(spec.model, spec.input(), &mut weights, placement.device);
    model.compute_in(device::prepare(placement.device, spec.precision.into()));

    // Nesterov's momentum, on gradients that are averaged over the ranks (Horovod: hvd.DistributedOptimizer).
    let nesterov = Nesterov::new(model.params(), MOMENTUM, WEIGHT_DECAY, spec.larc());
    let options =
        AllreduceOptions { fusion_threshold_bytes: FUSION_THRESHOLD_MB << 20, overlap: true, compression: Compression::None };
    let mut optimizer: Box<dyn Optimizer> =
        Box::new(DistributedOptimizer::new(Box::new(nesterov), comm, model.params(), options));

    // The root takes the newest checkpoint, if there is one. A checkpoint's number is that of its last step.
    let log_dir = spec.log_dir.as_deref().map(Path::new).filter(|_| topology.is_root());
    let unwritable = log_dir.filter(|_| !spec.eval).and_then(|folder| Some((folder, try_writing(folder).err()?)));
    let unwritable = unwritable.map(|(folder, error)| format!("--log-dir {} cannot be written ({error})", folder.display()));
    agreed(comm, unwritable.map_or(Ok(()), Err))?;
    let claimed = log_dir.filter(|_| !spec.eval).map(|folder| Claim::take(folder).map_err(|why| in_use(folder, &why)));
    agreed(comm, claimed.as_ref().map_or(Ok(()), |claim| claim.as_ref().map(|_| ()).map_err(String::clone)))?;
    let found =
        log_dir.map(|folder| resume::load_from(folder, usize::MAX, report, &mut *model, &mut *optimizer)).unwrap_or_default();
    report.evidence(|| startup::parameters_digest(DigestMoment::InitialParameters, 0, &*model));

    // nvcnn's sync(): the root's weights, statistics and momentum for all ranks (Horovod: hvd.broadcast_global_variables(0)).
    // Once is enough: equal weights and equal gradients stay equal. In the loop it would cost time at each step, and change nothing.
    let found = found.broadcast(comm)?;
    broadcast_state(comm, &mut *model, &mut *optimizer)?;
    report.evidence(|| startup::parameters_digest(DigestMoment::StartParameters, 0, &*model));

    report.line(nvcnn::FILLING);
    let mut feed = match photos {
        Some(_) if spec.eval && found.epoch == 0 => {
            let folder = spec.log_dir.as_deref().unwrap_or_default();
            return Err(Failure::Agreed(format!("--eval: {folder} holds no checkpoint of {}: train it first", spec.model)));
        }
        Some(photos) if spec.eval => Feed::test(spec, photos, comm, &placement)?,
        Some(photos) => Feed::training(spec, photos, comm, &placement, (schedule, found.epoch))?,
        None => Feed::synthetic(spec, process, &placement),
    };
    if spec.eval {
        test::test(spec, comm, report, &*model, &placement, &mut feed)?;
        told::left_out(comm, report, &feed)?;
        report.event(startup::finished(0, 0.0, launched));
        return Ok(());
    }

    if found.epoch >= schedule.steps {
        let (done, asked) = (found.epoch, schedule.steps);
        report.line(&format!(
            "Nothing is left to train: the newest checkpoint is of step {done}, and {asked} are asked for. Ask for more with \
             --num_batches or --num_epochs, or give another --log_dir."
        ));
        report.event(startup::finished(0, 0.0, launched));
        return Ok(());
    }

    let decay = schedule.decay(spec.rate(ranks));
    report.event(Event::Config(told::config(spec, schedule, images, ranks, found.epoch, (&*model, &*optimizer))));
    nvcnn::TRAINING.iter().for_each(|line| report.line(line));
    let mut clock = Clock::since(launched, None, placement.gpu());
    clock.lap(Phase::StartUp);
    let (began, mut saved) = (Instant::now(), Instant::now());
    let (mut average, mut seconds, mut batches) = (MovingAverage::default(), Vec::new(), 0);
    let mut sums = TopSums::new(placement.device);
    for step in found.epoch..schedule.steps {
        let since = Instant::now();
        if step % schedule.steps_per_epoch == 0 {
            clock.begin_section();
        }
        clock.begin_step();
        let Some(batch) = feed.next()? else { break };
        clock.lap(Phase::Data);
        let mut dropout = Dropout::new(model.dropout_rate(), stream(spec.seed, process, step, Purpose::Dropout));
        let scores = model.forward(&batch.images, Mode::Training(&mut dropout));
        let loss = scores.cross_entropy_for_logits(&batch.labels);
        // The optimizer adds the gradients of this part of the loss.
        let penalty = tch::no_grad(|| model.params().flat.dot(&model.params().flat) * (WEIGHT_DECAY / 2.0));
        clock.lap(Phase::Forward);
        AccumulationStep::at(0, 1, 1).backward(&(&loss * spec.loss_scale), model.params_mut(), &mut *optimizer);
        clock.lap(Phase::Backward);
        let mut gradients = optimizer.synchronize(model.params())?;
        clock.lap(Phase::AllreduceExposed);
        if spec.loss_scale != 1.0 {
            let _ = gradients.g_div_scalar_(spec.loss_scale);
        }
        if step == found.epoch {
            startup::report_gradients(report, 0, model.params(), &gradients);
        }
        let lr = decay.rate(step);
        optimizer.step(model.params_mut(), &gradients, lr);
        sums.add(&scores, &batch, &loss);
        let loss = loss.double_value(&[]); // the host waits for the device here, once a step
        clock.lap(Phase::Optimizer);
        let shown = average.take(loss + penalty.double_value(&[]));
        let took = since.elapsed().as_secs_f64();
        seconds.push(took);
        if seconds.len() == BURN_IN_STEPS {
            feed.report();
        }
        batches += 1;
        let (number, epoch) = (step + 1, step / schedule.steps_per_epoch);
        report.event(Event::Step { epoch, batch: step % schedule.steps_per_epoch, lr, loss });
        if step == 0 || number.is_multiple_of(spec.display_every) {
            report.line(&nvcnn::step(number, epoch + 1, (spec.batch_size * ranks) as f64 / took, shown, lr));
        }
        if !loss.is_finite() {
            Err(anyhow::anyhow!("the loss is {loss} at step {number}: lower --learning-rate or --loss-scale"))?;
        }

        let is_last = number == schedule.steps;
        if is_last || number.is_multiple_of(schedule.steps_per_epoch) {
            let training = clock.lap(Phase::Training);
            let all = std::mem::replace(&mut sums, TopSums::new(placement.device));
            let (own, mean) = (all.own(), all.over_ranks(comm)?);
            let images_per_sec = mean.images as f64 / training;
            report.line(&told::epoch(epoch + 1, &mean, images_per_sec));
            let ended = EpochReport {
                epoch: epoch + 1,
                train: own.into(),
                // nvcnn looks at no validation image while it trains.
                validation: Metrics { loss: f64::NAN, accuracy: f64::NAN },
                averaged: None,
                lr,
                batches: std::mem::take(&mut batches),
                images: own.images,
                images_per_sec,
                cumulative_seconds: began.elapsed().as_secs_f64(),
                phases: clock.take_phases(),
            };
            report.evidence(|| startup::parameters_digest(DigestMoment::EpochParameters, epoch + 1, &*model));
            report.event(Event::Epoch(ended));
        }

        // Only the root writes: by its own clock, for no other rank has a part in it.
        if let Some(folder) = log_dir.filter(|_| is_last || saved.elapsed().as_secs_f64() > spec.save_interval_s) {
            saved = Instant::now();
            let so_far = ResumeState { epoch: number, ..ResumeState::default() };
            report.checkpoint(resume::save_to(folder, (told::steps(), spec.seed), so_far, &*model, &mut *optimizer)?);
        }
    }

    // Each rank has timed itself, and the rates are added up.
    let counted = seconds.get(BURN_IN_STEPS..).unwrap_or_default();
    let by_rank = comm::allgather_numbers(comm, counted)?;
    let of_step = |step: usize| by_rank.iter().map(|rank| rank[step]).collect();
    let iterations = Iterations { images: spec.batch_size, seconds: (0..counted.len()).map(of_step).collect() };
    nvcnn::result(&iterations, BURN_IN_STEPS).iter().for_each(|line| report.line(line));
    // Of the steps that count, and of each rank: the slowest pipeline holds up all.
    let pipeline = feed.report();
    let own: Vec<String> = pipeline.iter().map(|report| told::pipeline(topology.rank.0, report)).collect();
    gathered(comm, &own)?.iter().for_each(|line| report.line(line));
    pipeline.into_iter().for_each(|pipeline| report.event(Event::Pipeline(pipeline)));
    told::left_out(comm, report, &feed)?;
    comm.barrier()?;
    report.event(startup::finished(schedule.epochs(), began.elapsed().as_secs_f64(), launched));
    Ok(())
}

fn in_use(folder: &Path, why: &std::io::Error) -> String {
    format!("--log-dir {}: {why}", folder.display())
}

/// Whether this rank can hold the batches and compute as asked.
fn fits(spec: &NvcnnSpec, topology: &Topology, placement: &Placement) -> Result<(), String> {
    let without = spec.precision == NumberFormat::Tf32 && placement.gpu().is_none();
    let tf32 = without.then(|| "--precision tf32 needs an NVIDIA GPU: use fp32 or bf16 here".to_owned());
    let too_large = startup::batches_too_large(spec.input(), spec.batch_size, BATCHES_HELD, topology);
    too_large.or(tf32).map_or(Ok(()), Err)
}
