//! A training on photos, as in `lessons/nvcnn.rs`: the same pieces in the same order, for a program in Python.
//!
//! Never decides which model it is, what is done to a photo, or when weights are broadcast: the learner's program says it.

use std::cell::RefCell;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Context, ensure};
use hvd_lab::comm::{self, Communicator};
use hvd_lab::dataset::images::{self, ImageSource, Part};
use hvd_lab::dataset::photos::Photos as Drawn;
use hvd_lab::domain::benchmark::style::nvcnn::{TRAINING, step as row};
use hvd_lab::domain::event::{DigestMoment, EpochReport, Event, Metrics};
use hvd_lab::domain::images::InputShape;
use hvd_lab::domain::nvcnn::{MOMENTUM, MovingAverage, NvcnnSpec, PolynomialDecay, Schedule, WEIGHT_DECAY};
use hvd_lab::domain::phase::{Phase, PhaseSeconds};
use hvd_lab::domain::topology::Topology;
use hvd_lab::trainer::batches::Batch;
use hvd_lab::trainer::config::Stop;
use hvd_lab::trainer::device::{self, Placement, Wish};
use hvd_lab::trainer::distributed::{AllreduceOptions, DistributedOptimizer, broadcast_told};
use hvd_lab::trainer::evaluate::MetricSums;
use hvd_lab::trainer::model::{self, Dropout, Model};
use hvd_lab::trainer::nvcnn::{self, Args, config_report, stall_limits};
use hvd_lab::trainer::optimizer::{Nesterov, Optimizer};
use hvd_lab::trainer::pass::{Pass, Update};
use hvd_lab::trainer::pipeline::{Cropping, Dct, Decoding, Operations, Order, Pipeline, Settings, View};
use hvd_lab::trainer::pipeline::{check_size, compare_transforms};
use hvd_lab::trainer::random::{Purpose, stream};
use hvd_lab::trainer::report::Reporter;
use hvd_lab::trainer::startup;
use hvd_lab::trainer::stopwatch::Clock;
use pyo3::prelude::*;

use crate::calls::{EXIT_CODE, LISTENS, program_name, within};
use crate::layers::{self, Written};
use crate::ranks::Ranks;

thread_local! {
    /// Of a program that trains on photos, in the place of a session.
    pub static PHOTOS: RefCell<Option<Photos>> = const { RefCell::new(None) };
}

/// Lets the training on photos work while other threads of Python go on.
pub fn with_photos<T: Send>(py: Python<'_>, work: impl FnOnce(&mut Photos) -> anyhow::Result<T> + Send) -> PyResult<T> {
    within(py, &PHOTOS, "call nvcnn.parse_args() first, and call this on the main thread", work)
}

/// What the program draws where no photos are given, and how many are decoded with both cosine transforms to compare them: as in
/// Rust.
const DRAWN: Drawn = Drawn { images: 64, classes: 4, width: 160, height: 120, seed: 1 };
const COMPARED: usize = 16;
const NOT_BEGUN: &str = "make a Trainer before you train or broadcast";

/// The model as the program knows it.
pub struct Known {
    pub name: String,
    pub height: usize,
    pub width: usize,
    pub classes: usize,
    /// The learning rate that it begins with.
    pub rate: f64,
    pub layers: Vec<Written>,
}

/// What is done to a photo before the model sees it.
pub struct Preparing {
    pub accurate: bool,
    pub fancy: bool,
    /// The chance that it is mirrored.
    pub flip: f64,
}

pub struct Photos {
    pub spec: NvcnnSpec,
    report: Reporter,
    comm: &'static dyn Communicator,
    ranks: Ranks,
    launched: Instant,
    training: Option<Training>,
}

struct Training {
    spec: NvcnnSpec,
    placement: Placement,
    schedule: Schedule,
    decay: PolynomialDecay,
    pipeline: Pipeline,
    model: Box<dyn Model>,
    optimizer: Box<dyn Optimizer>,
    average: MovingAverage,
    sums: MetricSums,
    clock: Clock,
    step: usize,
    began: Instant,
    /// When the last step ended.
    since: Instant,
    /// The loop is over.
    has_ended: bool,
}

impl Photos {
    /// # Errors
    /// What there is to print instead.
    pub fn start(arguments: Vec<OsString>) -> Result<Photos, Stop> {
        let launched = Instant::now();
        let is_first = comm::launched_index() == 0;
        // Every process finds the same wrong flag: the first one speaks for all, and the others do not fail before it has spoken.
        let silent = |stop: Stop| if is_first { stop } else { Stop { text: String::new(), code: 0 } };
        let name = program_name(&arguments);
        let (args, spec) = Args::read(arguments).map_err(silent)?;
        device::keep_freed_memory();
        let warnings = Reporter::new(comm::launched_index(), args.events);
        let joined = comm::connect(true, stall_limits(), move |message| warnings.warning(message));
        let (ranks, comm) = Ranks::join(joined.map_err(|error| nvcnn::stop(1, &error.to_string()))?);
        LISTENS.store(args.events, Ordering::Relaxed);
        let mut report = Reporter::new(comm::launched_index(), args.events);
        report.set_verbose(comm.topology().is_root());
        report.set_program(name);
        Ok(Photos { spec, report, comm, ranks, launched, training: None })
    }

    pub fn topology(&self) -> Topology {
        self.comm.topology()
    }

    /// Photos, the threads that prepare them, the model, and an optimizer that averages gradients. The number of steps.
    pub fn begin(&mut self, known: &Known, preparing: &Preparing) -> anyhow::Result<usize> {
        ensure!(self.training.is_none(), "this program has a Trainer already: a program trains once");
        let (comm, report, process, topology) = (self.comm, &self.report, comm::launched_index(), self.comm.topology());
        ensure!(
            (0.0..=1.0).contains(&preparing.flip),
            "a chance of {} is not possible: give a number from 0 to 1",
            preparing.flip
        );
        let side = self.spec.image_size.map_or((known.height, known.width), |size| (size, size));
        let input = InputShape { channels: 3, height: side.0, width: side.1 };
        ensure!(
            input.height == input.width,
            "photos are resized to squares here: give the model as many pixels in height as in width"
        );
        let (named, network) = layers::features(&known.name, input, known.classes, &known.layers)?;
        let placement = device::place(&topology, Wish { no_gpu: self.spec.no_cuda, as_launched: false, threads: None });
        startup::introduce(comm, &placement, report)?;
        let spec = NvcnnSpec { learning_rate: self.spec.learning_rate.or(Some(known.rate)), ..self.spec.clone() };
        let photos: Arc<dyn ImageSource> = match &spec.data_dir {
            Some(folder) => {
                let images = images::open(folder.as_ref(), Part::Train, known.classes, spec.bad_records)?;
                images.notes.iter().filter(|_| topology.is_root()).for_each(|note| report.warning(note));
                images.source.into()
            }
            None => Arc::new(DRAWN.in_memory()?),
        };
        let order = Order::new(photos.len(), &topology, spec.seed, spec.batch_size, photos.len());
        check_size(&order)?;
        let schedule = Schedule::new(Some(order.steps_per_epoch()), spec.num_batches, spec.num_epochs);
        if topology.is_root() {
            report.event(Event::Transforms(compare_transforms(&*photos, COMPARED)?));
        }
        let dct = if preparing.accurate { Dct::Accurate } else { Dct::Fast };
        let view = View::Train { cropping: Cropping::default(), flip: preparing.flip, colour: false };
        let decoding = Decoding { dct, fancy_upsampling: preparing.fancy };
        let settings = Settings {
            operations: Operations { side: input.height, decoding, view, ..Operations::default() },
            threads: spec.threads.unwrap_or(1),
            prefetch: 2,
            seed: spec.seed,
            process,
            bad: spec.bad_records,
            once: false,
        };
        let pipeline = Pipeline::start(photos.clone(), order.train(0, schedule.epochs()), settings)?;
        let mut weights = stream(spec.seed, process, 0, Purpose::Weights);
        let model = model::build_network(named, &network, &mut weights, placement.device);
        let nesterov = Box::new(Nesterov::new(model.params(), MOMENTUM, WEIGHT_DECAY, None));
        let optimizer: Box<dyn Optimizer> =
            Box::new(DistributedOptimizer::new(nesterov, comm, model.params(), AllreduceOptions::default()));
        let plan = config_report(&spec, schedule, Some(photos.len()), topology.size.0, 0, (&*model, &*optimizer));
        report.event(Event::Config(plan));
        report.evidence(|| startup::parameters_digest(DigestMoment::InitialParameters, 0, &*model));
        let (sums, now) = (MetricSums::new(placement.device), Instant::now());
        self.training = Some(Training {
            decay: schedule.decay(spec.rate(topology.size.0)),
            spec,
            placement,
            schedule,
            pipeline,
            model,
            optimizer,
            average: MovingAverage::default(),
            sums,
            clock: Clock::since(now, None, None),
            step: 0,
            began: now,
            since: now,
            has_ended: false,
        });
        Ok(schedule.steps)
    }

    /// nvcnn's sync(): every rank takes the root's weights and momentum.
    pub fn sync(&mut self) -> anyhow::Result<()> {
        let Training { model, optimizer, .. } = self.training.as_mut().context(NOT_BEGUN)?;
        self.report.event(Event::Broadcast(broadcast_told(self.comm, &mut **model, &mut **optimizer)?));
        Ok(())
    }

    /// The loop begins.
    pub fn enter(&mut self) -> anyhow::Result<()> {
        let training = self.training.as_mut().context(NOT_BEGUN)?;
        self.report.evidence(|| startup::parameters_digest(DigestMoment::StartParameters, 0, &*training.model));
        TRAINING.iter().for_each(|line| self.report.line(line));
        (training.began, training.since) = (Instant::now(), Instant::now());
        Ok(())
    }

    /// One step; its loss, or nothing if there are no more photos.
    pub fn train_step(&mut self) -> anyhow::Result<Option<f64>> {
        let (process, size, report) = (comm::launched_index(), self.comm.topology().size.0, &self.report);
        let training = self.training.as_mut().context(NOT_BEGUN)?;
        let Training { spec, placement, schedule, decay, pipeline, model, optimizer, average, sums, clock, .. } = training;
        let step = training.step;
        ensure!(step < schedule.steps, "all {} steps are done: call train_step() once in each round of the loop", schedule.steps);
        let Some(ready) = pipeline.next_batch()? else { return Ok(None) };
        let batch = Batch::of_planes(placement.device, ready.side, &ready.images, &ready.labels);
        let mut dropout = Dropout::new(model.dropout_rate(), stream(spec.seed, process, step, Purpose::Dropout));
        let lr = decay.rate(step);
        let pass = Pass { model: &mut **model, optimizer: &mut **optimizer, dropout: &mut dropout, clock };
        let (scores, loss) = pass.train(&batch, Update::each(lr), |_, _| {})?;
        sums.add(&scores, &batch, &loss);
        let loss = loss.double_value(&[]);
        let (epoch, within) = (step / schedule.steps_per_epoch, step % schedule.steps_per_epoch);
        report.event(Event::Step { epoch, batch: within, lr, loss });
        let images_per_sec = (spec.batch_size * size) as f64 / training.since.elapsed().as_secs_f64();
        training.since = Instant::now();
        report.line(&row(step + 1, epoch + 1, images_per_sec, average.take(loss), lr));
        ensure!(loss.is_finite(), "the loss is {loss} at step {}: lower the learning rate", step + 1);
        if step + 1 == schedule.steps || within + 1 == schedule.steps_per_epoch {
            let trained = std::mem::replace(sums, MetricSums::new(placement.device)).read();
            let seconds = training.began.elapsed().as_secs_f64();
            report.event(Event::Epoch(EpochReport {
                epoch: epoch + 1,
                train: trained.metrics(),
                // nvcnn looks at no validation image while it trains.
                validation: Metrics { loss: f64::NAN, accuracy: f64::NAN },
                averaged: None,
                lr,
                batches: within + 1,
                images: trained.images,
                images_per_sec,
                cumulative_seconds: seconds,
                phases: PhaseSeconds::from([(Phase::Training, seconds)]),
            }));
        }
        training.step += 1;
        Ok(Some(loss))
    }

    /// The loop is over.
    pub fn leave(&mut self) -> anyhow::Result<()> {
        let training = self.training.as_mut().context(NOT_BEGUN)?;
        let (epochs, model) = (training.schedule.epochs(), &*training.model);
        self.report.evidence(|| startup::parameters_digest(DigestMoment::EpochParameters, epochs, model));
        training.has_ended = true;
        Ok(())
    }

    /// Tell that this rank is done, when all are.
    pub fn last_words(&mut self) -> anyhow::Result<()> {
        let Some(training) = self.training.as_mut().filter(|training| training.has_ended && training.step > 0) else {
            anyhow::bail!("the program ended before its training was over: run `for step in trainer.steps()` to its end")
        };
        let prepared = training.pipeline.report();
        self.report.line(&format!("# pipeline of rank {}: {prepared}", self.comm.topology().rank.0));
        self.report.event(Event::Pipeline(prepared));
        self.comm.barrier()?;
        let seconds = training.began.elapsed().as_secs_f64();
        self.report.event(startup::finished(training.schedule.epochs(), seconds, self.launched));
        Ok(())
    }

    /// Leave the job, together with all others.
    pub fn close(self) {
        let Photos { ranks, training, .. } = self;
        drop(training);
        ranks.leave();
    }

    /// A rank that fails must not leave quietly: the others would wait for it in the next collective forever.
    pub fn fail(self, cause: &str) -> ! {
        self.report.fatal("training", cause);
        self.comm.abort(EXIT_CODE.load(Ordering::Relaxed))
    }
}
