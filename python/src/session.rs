//! What hvd-train's `main` holds in variables, kept between calls from Python: flags, ranks, device, images, model, optimizer.
//!
//! A call in the wrong order is an error that says what is missing.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Context, ensure};
use hvd_lab::comm::{self, Communicator, LocalComm};
use hvd_lab::domain::images::InputShape;
use hvd_lab::domain::model::ModelSpec;
use hvd_lab::domain::topology::Topology;
use hvd_lab::trainer::config::{Config, Stop};
use hvd_lab::trainer::device::{self, Placement};
use hvd_lab::trainer::model::{self, Model};
use hvd_lab::trainer::optimizer::{self, Optimizer, OptimizerKind};
use hvd_lab::trainer::random::{Purpose, stream};
use hvd_lab::trainer::resume::ResumeState;
use hvd_lab::trainer::startup::{self, Data};
use hvd_lab::trainer::stopwatch::Clock;
use hvd_lab::trainer::{distributed::DistributedOptimizer, report::Reporter, timeline::Timeline};
use pyo3::prelude::*;
use rand_chacha::ChaCha8Rng;

use crate::calls::{EXIT_CODE, LISTENS, program_name, within};
use crate::images::Taken;
use crate::layers::{self, Written};
use crate::progress::Training;
use crate::ranks::Ranks;

thread_local! {
    /// Of a program that trains on small images.
    pub static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

/// Lets the session work while other threads of Python go on.
pub fn with<T: Send>(py: Python<'_>, work: impl FnOnce(&mut Session) -> anyhow::Result<T> + Send) -> PyResult<T> {
    within(py, &SESSION, "call this on the main thread, and not after the end of the program", work)
}

/// Before `hvd.init()` every process is alone.
static ALONE: LocalComm = LocalComm;

pub struct Session {
    /// The program's flags, as they were given.
    pub arguments: Vec<OsString>,
    pub config: Config,
    pub report: Reporter,
    pub comm: &'static dyn Communicator,
    /// What `comm` refers to once there are other ranks.
    connected: Option<Ranks>,
    pub timeline: Timeline,
    /// The device that the program has chosen, before it is used.
    pub chosen: Option<Placement>,
    pub placed: Option<Placed>,
    pub data: Option<Data>,
    pub model: Option<Box<dyn Model>>,
    pub optimizer: Option<Box<dyn Optimizer>>,
    /// The optimizer averages its gradients over the ranks.
    pub is_distributed: bool,
    pub found: ResumeState,
    pub training: Option<Training>,
    pub taken: Taken,
}

/// Tells a lab of a folder for checkpoints that is not that of the flag, however it is spelt.
pub fn tell_of_other_folder(asked: &Path, used: &Path) {
    let of = |folder: &Path| folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    startup::tell_of_other("--log-dir", &of(asked).display().to_string(), &of(used).display().to_string());
}

/// Where this rank computes, and where its time goes.
pub struct Placed {
    pub placement: Placement,
    pub clock: Clock,
}

impl Session {
    /// # Errors
    /// What there is to print instead.
    pub fn start(arguments: Vec<OsString>) -> Result<Session, Stop> {
        let launched = Instant::now();
        let name = program_name(&arguments);
        let config = Config::from_args(arguments.iter().cloned())?;
        if config.build_info {
            return Err(Stop { text: startup::build_info().to_string(), code: 0 });
        }
        device::keep_freed_memory();
        LISTENS.store(config.events, Ordering::Relaxed);
        let mut report = Reporter::new(comm::launched_index(), config.events);
        report.set_program(name);
        Ok(Session {
            report,
            comm: &ALONE,
            connected: None,
            timeline: Timeline::new(config.timeline.as_deref(), launched),
            chosen: None,
            placed: None,
            data: None,
            model: None,
            optimizer: None,
            is_distributed: false,
            found: ResumeState::default(),
            training: None,
            taken: Taken::Shifted,
            arguments,
            config,
        })
    }

    /// Step 1: find the other ranks. A second call does nothing.
    pub fn init(&mut self) -> anyhow::Result<()> {
        if self.is_connected() {
            return Ok(());
        }
        ensure!(self.placed.is_none(), "hvd.init() comes too late: call it before the images are loaded and the model is made");
        let comm = comm::connect(true, self.config.stall_limits(), startup::on_stall(&self.config))?;
        let (connected, comm) = Ranks::join(self.timeline.observe(comm));
        (self.connected, self.comm) = (Some(connected), comm);
        // Until the program says who prints.
        self.report.set_verbose(self.comm.topology().is_root());
        Ok(())
    }

    pub fn is_connected(&self) -> bool {
        self.connected.is_some()
    }

    /// Which rank this is, once the others are found.
    pub fn topology(&self) -> Option<Topology> {
        self.is_connected().then(|| self.comm.topology())
    }

    /// The device, which is chosen now at the latest; all ranks hear of it.
    pub fn placed(&mut self) -> anyhow::Result<&mut Placed> {
        if self.placed.is_none() {
            let placement = self.chosen.take().unwrap_or_else(device::first);
            startup::introduce(self.comm, &placement, &self.report)?;
            self.timeline.begin(self.comm, &self.report, &device::name(placement.device))?;
            let clock = self.timeline.clock(&placement);
            self.placed = Some(Placed { placement, clock });
        }
        self.placed.as_mut().context("there is no device")
    }

    pub fn load_data(&mut self, taken: Taken) -> anyhow::Result<(usize, usize, usize)> {
        let device = self.placed()?.placement.device;
        ensure!(self.data.is_none() || self.taken == taken, "this program has loaded other images already");
        if self.data.is_none() {
            let data = startup::load_data(&self.config, comm::launched_index(), device)?;
            self.data = Some(taken.scaled(data));
            self.taken = taken;
        }
        let data = self.data.as_ref().context("there are no images")?;
        Ok((data.training.len(), self.validation_images(data), data.test.len()))
    }

    pub fn validation_images(&self, data: &Data) -> usize {
        self.config.validation_images.map_or(data.test.len(), |limit| limit.min(data.test.len()))
    }

    /// Every process draws its own weights, as programs that seed themselves do.
    pub fn build_model(&mut self, name: &str) -> anyhow::Result<()> {
        ensure!(self.model.is_none(), "this program has a model already: a program trains one");
        let spec: ModelSpec = name.parse().map_err(anyhow::Error::msg)?;
        // The images were checked against the flag.
        ensure!(spec == self.config.model, "the model is {name}, and --model says {}: use args.model", self.config.model);
        let device = self.placed()?.placement.device;
        let model = model::build(spec, &mut self.weights(), device);
        self.take_model(model)
    }

    /// The same of a network that the program writes down itself.
    pub fn build_network(&mut self, input: InputShape, layers: &[Written]) -> anyhow::Result<()> {
        ensure!(self.model.is_none(), "this program has a model already: a program trains one");
        let (spec, network) = layers::network(input, self.config.model, layers)?;
        let device = self.placed()?.placement.device;
        let model = model::build_network(spec, &network, &mut self.weights(), device);
        self.take_model(model)
    }

    /// What the weights are drawn from.
    fn weights(&self) -> ChaCha8Rng {
        stream(self.config.seed, comm::launched_index(), 0, Purpose::Weights)
    }

    fn take_model(&mut self, mut model: Box<dyn Model>) -> anyhow::Result<()> {
        let precision = self.config.precision;
        model.compute_in(device::prepare(self.placed()?.placement.device, precision));
        self.model = Some(model);
        Ok(())
    }

    pub fn build_optimizer(&mut self, name: &str, momentum: f64, wd: f64, is_distributed: bool) -> anyhow::Result<()> {
        let named = optimizer::choice(name).map_err(anyhow::Error::msg)?;
        let model = self.model.as_deref().context("there is no model to train yet")?;
        if named == Some(OptimizerKind::Sgd) {
            startup::tell_of_other("--momentum", &self.config.momentum, &momentum);
        }
        startup::tell_of_other("--wd", &self.config.wd, &wd);
        // An optimizer that --optimizer names wins.
        let kind = self.config.optimizer.or(named).unwrap_or(OptimizerKind::Sgd);
        let mut optimizer = optimizer::build(kind, model.params(), momentum, wd);
        if is_distributed {
            let options = self.config.allreduce_options();
            optimizer = Box::new(DistributedOptimizer::new(optimizer, self.comm, model.params(), options));
        }
        (self.optimizer, self.is_distributed) = (Some(optimizer), is_distributed);
        Ok(())
    }

    /// Tell that this rank is done, when all are.
    pub fn last_words(&mut self) -> anyhow::Result<()> {
        let trained = self.training.as_ref().map(|training| training.ended.map(|seconds| (training.last_epoch, seconds)));
        let is_cut_short = matches!(trained, Some(None));
        ensure!(!is_cut_short, "the program ended in the middle of its training, and the other ranks would wait for it");
        // A program by itself may do without; one that the lab looks at is to train.
        let is_early = trained.is_none() && self.config.events;
        if is_early {
            // If others train, they hear of it here, and the words say where they are.
            self.comm.barrier()?;
            anyhow::bail!("the program ended before it trained anything: was model.fit called?");
        }
        self.timeline.end(self.comm, &self.report)?;
        self.comm.barrier()?;
        if let Some((epochs, seconds)) = trained.flatten() {
            self.report.event(startup::finished(epochs, seconds, self.timeline.launched()));
        }
        Ok(())
    }

    /// Leave the job, together with all others.
    pub fn close(mut self) {
        let connected = self.connected.take();
        drop(self);
        if let Some(ranks) = connected {
            ranks.leave();
        }
    }

    /// A rank that fails must not leave quietly: the others would wait for it in the next collective forever.
    pub fn fail(self, cause: &str) -> ! {
        self.report.fatal(if self.training.is_some() { "training" } else { "start-up" }, cause);
        self.comm.abort(EXIT_CODE.load(Ordering::Relaxed))
    }
}
