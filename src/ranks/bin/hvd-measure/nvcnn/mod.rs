//! Train a model on photos, as NVIDIA's `nvcnn_hvd_simplified.py` does: one program, on one rank or many.
//!
//! Read it from top to bottom: the images, the model, the optimizer, the broadcast that stands before the loop (nvcnn's `sync`),
//! and the loop. `feed` opens the photos, `test` is `--eval`; the rules of the rate and of LARC are in `domain::nvcnn`.

mod feed;
mod test;

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use hvd_lab::comm::{self, Communicator};
use hvd_lab::dataset::images::Part;
use hvd_lab::domain::benchmark::Iterations;
use hvd_lab::domain::benchmark::style::nvcnn;
use hvd_lab::domain::event::{DigestMoment, EpochReport, Event, Metrics};
use hvd_lab::domain::nvcnn::{BURN_IN_STEPS, MOMENTUM, MovingAverage, NvcnnSpec, Schedule, WEIGHT_DECAY};
use hvd_lab::domain::phase::Phase;
use hvd_lab::domain::units;
use hvd_lab::host::{access, files};
use hvd_lab::trainer::checkpoint;
use hvd_lab::trainer::config::try_writing;
use hvd_lab::trainer::device::{self, Wish};
use hvd_lab::trainer::distributed::{AllreduceOptions, DistributedOptimizer, broadcast_state};
use hvd_lab::trainer::evaluate::{TopMetrics, TopSums};
use hvd_lab::trainer::launch::{Failure, Launch, agreed, gathered};
use hvd_lab::trainer::model::{self, Dropout};
use hvd_lab::trainer::nvcnn::{Args, PROGRAM, config_report, settings, steps};
use hvd_lab::trainer::optimizer::{Nesterov, Optimizer};
use hvd_lab::trainer::pass::{Pass, Update};
use hvd_lab::trainer::random::{Purpose, stream};
use hvd_lab::trainer::report::Reporter;
use hvd_lab::trainer::resume::{self, ResumeState};
use hvd_lab::trainer::startup;
use hvd_lab::trainer::stop as asked;
use hvd_lab::trainer::timeline::{self, Timeline};

use crate::bench::room;
use crate::feed::{Feed, Source};
use feed::Photos;

pub fn main(flags: Vec<OsString>) -> ExitCode {
    let launched = Instant::now();
    // What it writes is its user's alone. The lab has said so already where the group is wrong.
    let _ = access::settle();
    let (args, spec) = match Args::read(flags) {
        Ok((args, _)) if args.build_info => return startup::print_build_info(),
        Ok(read) => read,
        Err(stop) => return startup::refuse_flags(&stop),
    };
    let launch = Launch { program: PROGRAM, during: "training", events: args.events };
    launch.prepare(format!("a batch of {} images of {} with {}", spec.batch_size, spec.input(), spec.model));
    let timeline = Timeline::new(spec.timeline.as_deref().map(Path::new), launched);
    let comm = match launch.connect() {
        Ok(comm) => timeline.observe(comm),
        Err(code) => return code,
    };
    let mut report = launch.reporter(&*comm);
    report.number_checkpoints_by("step");
    let trained = run(&spec, &*comm, &report, timeline);
    launch.end(&*comm, &report, trained)
}

fn run(spec: &NvcnnSpec, comm: &dyn Communicator, report: &Reporter, mut timeline: Timeline) -> Result<(), Failure> {
    let (process, topology, ranks) = (comm::launched_index(), comm.topology(), comm.topology().size.0);
    // One device for each rank.
    let placement = device::place(&topology, Wish { no_gpu: spec.no_cuda, as_launched: false, threads: None });
    agreed(comm, spec.misfit(&room(spec.no_cuda), topology.local_size.0).map_or(Ok(()), Err))?;
    let unwritable = spec.timeline.as_deref().and_then(|file| timeline::problem(Path::new(file), true));
    agreed(comm, unwritable.map_or(Ok(()), Err))?;
    startup::introduce(comm, &placement, report)?;
    timeline.begin(comm, report, &device::name(placement.device))?;

    // The images, and with them the number of steps.
    let photos = Photos::open(spec, if spec.eval { Part::Validation } else { Part::Train }, comm)?;
    // All ranks find the same.
    let notes = photos.iter().filter(|_| topology.is_root()).flat_map(|photos| &photos.notes);
    notes.for_each(|note| report.warning(note));
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
    model.compute_in(device::prepare(placement.device, spec.precision));

    // Nesterov's momentum, on gradients that are averaged over the ranks (Horovod: hvd.DistributedOptimizer).
    let nesterov = Nesterov::new(model.params(), MOMENTUM, WEIGHT_DECAY, spec.larc());
    let mut optimizer: Box<dyn Optimizer> =
        Box::new(DistributedOptimizer::new(Box::new(nesterov), comm, model.params(), AllreduceOptions::default()));

    // The root takes the newest checkpoint, if there is one. A checkpoint's number is that of its last step.
    let log_dir = spec.log_dir.as_deref().map(Path::new).filter(|_| topology.is_root());
    let numbers =
        model.params().len() + model.buffers().len() + optimizer.state().iter().map(|(_, state)| state.numel()).sum::<usize>();
    let _claim = agreed(comm, log_dir.filter(|_| !spec.eval).map(|folder| claim(folder, 4 * numbers as u64)).transpose())?;
    let found =
        log_dir.map(|folder| resume::load_from(folder, usize::MAX, report, &mut *model, &mut *optimizer)).unwrap_or_default();
    report.evidence(|| startup::parameters_digest(DigestMoment::InitialParameters, 0, &*model));

    // nvcnn's sync(): the root's weights, statistics and momentum for all ranks (Horovod: hvd.broadcast_global_variables(0)).
    // Once is enough: equal weights and equal gradients stay equal. In the loop it would cost time at each step, and change nothing.
    let now = settings(spec, ranks);
    found.changed(&now).filter(|_| !spec.eval).iter().for_each(|what| report.warning(what));
    let found = found.broadcast(comm)?;
    broadcast_state(comm, &mut *model, &mut *optimizer)?;
    report.evidence(|| startup::parameters_digest(DigestMoment::StartParameters, 0, &*model));

    report.line(nvcnn::FILLING);
    if !spec.eval && found.epoch >= schedule.steps {
        let (done, asked) = (found.epoch, schedule.steps);
        report.line(&format!(
            "Nothing is left to train: the newest checkpoint is of step {done}, and {asked} are asked for. Ask for more with \
             --num_batches or --num_epochs, or give another --log_dir."
        ));
        report.event(startup::finished(0, 0.0, timeline.launched()));
        return Ok(());
    }
    let mut feed = match photos {
        Some(_) if spec.eval && found.epoch == 0 => {
            let folder = spec.log_dir.as_deref().unwrap_or_default();
            return Err(Failure::refused(format!("--eval: {folder} holds no checkpoint of {}: train it first", spec.model)));
        }
        Some(photos) if spec.eval => feed::test(spec, photos, comm, &placement)?,
        Some(photos) => feed::training(spec, photos, comm, &placement, (schedule, found.epoch))?,
        None => {
            let noise = stream(spec.seed, process, 0, Purpose::Synthetic);
            Feed::new(Source::synthetic(spec.model, spec.input(), spec.batch_size, noise, placement.device))
        }
    };
    if spec.eval {
        test::test(spec, comm, report, &*model, &placement, &mut feed)?;
        feed::left_out(comm, report, &feed)?;
        report.event(startup::finished(0, 0.0, timeline.launched()));
        return Ok(());
    }

    if spec.log_dir.is_some() {
        // A checkpoint is written before the end that SIGTERM and Ctrl-C ask for.
        asked::listen();
    }
    let decay = schedule.decay(spec.rate(ranks));
    report.event(Event::Config(config_report(spec, schedule, images, ranks, found.epoch, (&*model, &*optimizer))));
    report.line("# Loss: the mean of the last steps of rank 0, with the L2 penalty. The lab draws each step's own, without it.");
    nvcnn::TRAINING.iter().for_each(|line| report.line(line));
    let mut clock = timeline.clock(&placement);
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
        feed.prepared.into_iter().for_each(|batch| timeline.images(batch));
        // The optimizer adds the gradients of this part of the loss.
        let penalty = tch::no_grad(|| model.params().flat.dot(&model.params().flat) * (WEIGHT_DECAY / 2.0));
        let mut dropout = Dropout::new(model.dropout_rate(), stream(spec.seed, process, step, Purpose::Dropout));
        let lr = decay.rate(step);
        let pass = Pass { model: &mut *model, optimizer: &mut *optimizer, dropout: &mut dropout, clock: &mut clock };
        let update = Update { loss_scale: spec.loss_scale, ..Update::each(lr) };
        let (scores, loss) = pass.train(&batch, update, |params, gradients| {
            if step == found.epoch {
                startup::report_gradients(report, 0, params, gradients);
            }
        })?;
        sums.add(&scores, &batch, &loss);
        let loss = loss.double_value(&[]); // the host waits for the device here, once a step
        clock.lap(Phase::Optimizer);
        let shown = average.take(loss + penalty.double_value(&[]));
        let took = since.elapsed().as_secs_f64();
        seconds.push(took);
        if seconds.len() == BURN_IN_STEPS && step + 1 < schedule.steps {
            feed.report();
        }
        batches += 1;
        let (number, epoch) = (step + 1, step / schedule.steps_per_epoch);
        report.event(Event::Step { epoch, batch: step % schedule.steps_per_epoch, lr, loss });
        feed.lately().into_iter().for_each(|pipeline| report.event(Event::Pipeline(pipeline)));
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
            let TopMetrics { loss, top_1, top_5, .. } = mean;
            report.line(&format!(
                "# epoch {}: loss {loss:.3} without the L2 penalty, top-1 {:.1} %, top-5 {:.1} % over all ranks, {images_per_sec:.1} images/s",
                epoch + 1,
                100.0 * top_1,
                100.0 * top_5
            ));
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
            timeline.epoch(comm, report, &ended)?;
            report.event(Event::Epoch(ended));
        }

        // Only the root writes: by its own clock, for no other rank has a part in it.
        let end = asked::is_asked();
        let is_due = is_last || end.is_some() || saved.elapsed().as_secs_f64() > spec.save_interval_s;
        if let Some(folder) = log_dir.filter(|_| is_due) {
            saved = Instant::now();
            let so_far = ResumeState { epoch: number, settings: now.clone(), ..ResumeState::default() };
            report.checkpoint(resume::save_to(folder, (steps(), spec.seed), so_far, &*model, &mut *optimizer)?);
        }
        // The others may be a step behind, or wait for the root: it ends them all.
        if let Some(code) = end.filter(|_| topology.is_root() && !is_last) {
            report.warning(&format!("asked to end after step {number} of {}", schedule.steps));
            comm.abort(i32::from(code));
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
    if !counted.is_empty() && pipeline.is_some() {
        report.line(&format!("# the image pipeline in the steps after the first {BURN_IN_STEPS}:"));
    }
    let own: Vec<String> = pipeline.iter().map(|report| format!("# pipeline of rank {}: {report}", topology.rank)).collect();
    gathered(comm, &own)?.iter().for_each(|line| report.line(line));
    pipeline.into_iter().for_each(|pipeline| report.event(Event::Pipeline(pipeline)));
    feed::left_out(comm, report, &feed)?;
    timeline.end(comm, report)?;
    comm.barrier()?;
    report.event(startup::finished(schedule.epochs(), began.elapsed().as_secs_f64(), timeline.launched()));
    Ok(())
}

/// Claims the folder for the checkpoints of this training, which take `bytes` each.
fn claim(folder: &Path, bytes: u64) -> Result<File, String> {
    let name = folder.display();
    try_writing(folder).map_err(|error| format!("--log-dir {name} cannot be written ({error})"))?;
    if let Some(room) = files::room(folder).filter(|room| *room < bytes) {
        let (needs, has) = (units::bytes(bytes), units::bytes(room));
        return Err(format!(
            "a checkpoint takes {needs}, and --log-dir {name} has room for {has}: free some, or give another folder"
        ));
    }
    checkpoint::claim(folder).map_err(|why| format!("--log-dir {name}: {why}"))
}
