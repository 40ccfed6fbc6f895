//! Training runs to be timed: hvd-train as the lab starts it, and PyTorch DDP and Keras on Horovod with the same work.
//!
//! Never trusts a summary: throughput is counted from each epoch's own images and seconds, without the first epoch.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hvd_lab_terminal::domain::event::{EpochReport, Event, EventLine, MARKER};
use hvd_lab_terminal::domain::job::{Resources, TrainingJob};
use hvd_lab_terminal::domain::phase::Phase;
use hvd_lab_terminal::domain::step::{Step, StepSet};
use hvd_lab_terminal::domain::training::TrainingSpec;
use hvd_lab_terminal::launch::{CommandLine, command_line, default_preset};

use super::figures::Round;
use super::options::{Model, Scale};
use super::place::{Peer, Place};
use super::process::{Flow, watch};

/// Images of one step of a rank.
pub const BATCH: usize = 128;
/// No run takes nearly as long; a machine under load might.
const LIMIT: Duration = Duration::from_secs(180);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    HvdTrain,
    /// Ranks that exchange no gradients: the most that so many ranks could reach.
    Apart,
    WithoutOverlap,
    WithoutFusion,
    /// With convolutions in bfloat16.
    Bf16,
    Ddp,
    /// Channels last, and an allocator that keeps freed memory, in huge pages.
    TunedDdp,
    /// Horovod, told to leave the core of a waiting rank to others.
    Keras,
}

impl Engine {
    /// The flags by which hvd-train leaves something out, or does it differently.
    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Engine::WithoutOverlap => &["--no-overlap"],
            Engine::WithoutFusion => &["--fusion-threshold-mb", "0"],
            Engine::Bf16 => &["--precision", "bf16"],
            _ => &[],
        }
    }

    pub fn is_peer(self) -> bool {
        matches!(self, Engine::Ddp | Engine::TunedDdp | Engine::Keras)
    }
}

/// What is trained on, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Epochs with the data pipeline.
    Pipeline,
    /// Epochs on one fixed batch.
    FixedBatch,
    /// From the launch to the first finished step, with all images of the training set.
    FirstStep,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Training {
    pub engine: Engine,
    pub model: Model,
    pub np: usize,
    pub work: Work,
}

/// `hvd-train wrn-10-1 np 2 data`: names the run in the figures.
impl fmt::Display for Training {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = match self.engine {
            Engine::HvdTrain => "hvd-train",
            Engine::Apart => "hvd-train without exchange",
            Engine::WithoutOverlap => "hvd-train without overlap",
            Engine::WithoutFusion => "hvd-train without fusion",
            Engine::Bf16 => "hvd-train in bf16",
            Engine::Ddp => "DDP",
            Engine::TunedDdp => "tuned DDP",
            Engine::Keras => "Keras on Horovod",
        };
        let work = match self.work {
            Work::Pipeline => "data",
            Work::FixedBatch => "fixed batch",
            Work::FirstStep => "first step",
        };
        write!(f, "{engine} {} np {} {work}", self.model.name, self.np)
    }
}

impl Training {
    /// Runs it, and returns its figures: `images_per_sec`, `data_share`, `exposed_share`, `peak_rss_bytes`,
    /// `first_step_s`, as far as this kind of run has them.
    pub fn run(&self, place: &Place, scale: &Scale) -> Result<Round, String> {
        let figures = match (self.engine.is_peer(), place.peer(self.engine)) {
            (true, Ok(peer)) => self.run_peer(place, peer, scale)?,
            (true, Err(why)) => return Err(format!("the peer is {why}")),
            (false, _) => self.run_hvd_train(place, scale)?,
        };
        let wanted = if self.work == Work::FirstStep { "first_step_s" } else { "images_per_sec" };
        match figures.contains_key(wanted) {
            true => Ok(figures),
            false => Err(format!("{self}: it ended without {wanted}")),
        }
    }

    /// At the end of a run stands a test on 10,000 images, which is left out where memory is not asked for.
    fn runs_to_its_end(self) -> bool {
        self.work == Work::FixedBatch || self.np == 2 && self.model.name == "wrn-10-1" && self.work == Work::Pipeline
    }

    fn train_images(&self) -> Option<usize> {
        (self.work != Work::FirstStep).then_some(self.model.steps * BATCH * self.np)
    }

    /// hvd-train as the lab would start it.
    ///
    /// # Errors
    /// The settings cannot run on this machine.
    pub fn line(&self, place: &Place, scale: &Scale) -> Result<CommandLine, String> {
        let preset = default_preset(false);
        let workload = TrainingSpec {
            steps: match self.engine {
                Engine::Apart => StepSet::ALL.without(Step::DistributedOptimizer),
                _ => StepSet::ALL,
            },
            epochs: scale.epochs,
            batch_size: BATCH,
            // Above 1: it never stops early.
            target_accuracy: 2.0,
            model: self.model.name.parse()?,
            train_images: self.train_images(),
            validation_images: Some(BATCH),
            checkpointing: false,
            commit_every: None,
            ..preset.spec.workload
        };
        let spec = TrainingJob { resources: Resources::ranks(self.np), workload };
        let line = command_line(&spec.into(), &preset.name, &place.setup, &place.cached_dir(), Path::new("logs"), true);
        let mut line = line.map_err(|error| error.to_string())?;
        if self.work == Work::FixedBatch
            && let Some(at) = line.argv.iter().position(|word| word == "--data-dir")
        {
            line.argv.splice(at..at + 2, ["--synthetic".to_owned()]);
        }
        line.argv.extend(self.engine.flags().iter().map(|flag| (*flag).to_owned()));
        line.env.extend(scale.vectors.env());
        Ok(line)
    }

    fn run_hvd_train(&self, place: &Place, scale: &Scale) -> Result<Round, String> {
        let line = self.line(place, scale)?;
        let mut command = Command::new(&line.argv[0]);
        // One thread a rank is the default, and what the peer is given.
        command.args(&line.argv[1..]).envs(line.env).env_remove("OMP_NUM_THREADS");
        let mut figures = Round::new();
        let mut epochs: Vec<EpochReport> = Vec::new();
        watch(command, LIMIT, |at, text| {
            let event = text.split_once(MARKER).and_then(|(_, event)| EventLine::parse_line(event));
            match event.map(|line| line.event) {
                Some(Event::Step { .. }) if !figures.contains_key("first_step_s") => {
                    figures.insert("first_step_s".into(), at.as_secs_f64());
                    if self.work == Work::FirstStep {
                        return Flow::Enough;
                    }
                }
                Some(Event::Epoch(report)) if self.work != Work::FirstStep => {
                    epochs.push(report);
                    if epochs.len() == scale.epochs * self.np && !self.runs_to_its_end() {
                        return Flow::Enough;
                    }
                }
                Some(Event::Finished { peak_rss_bytes: Some(bytes), .. }) => keep_greatest(&mut figures, bytes as f64),
                _ => {}
            }
            Flow::GoOn
        })?;
        let counted: Vec<&EpochReport> = epochs.iter().filter(|report| report.epoch > 1).collect();
        if counted.len() == (scale.epochs - 1) * self.np {
            let sum = |part: fn(&EpochReport) -> f64| counted.iter().map(|report| part(report)).sum::<f64>();
            let training = sum(|report| report.phases[Phase::Training]);
            // Ranks work side by side: the time of all is np times the time that passed.
            figures.insert("images_per_sec".into(), sum(|report| report.images as f64) / (training / self.np as f64));
            figures.insert("data_share".into(), sum(|report| report.phases[Phase::Data]) / training);
            figures.insert("exposed_share".into(), sum(|report| report.phases[Phase::AllreduceExposed]) / training);
        }
        Ok(figures)
    }

    pub fn peer_line(&self, place: &Place, peer: &Peer, scale: &Scale) -> CommandLine {
        let (np, python) = (self.np.to_string(), peer.python.display().to_string());
        let mut argv: Vec<String> = match self.engine {
            Engine::Keras => {
                let mut mpirun = vec![place.setup.mpirun.display().to_string()];
                mpirun.extend(place.setup.machine.is_root.then(|| "--allow-run-as-root".to_owned()));
                mpirun.extend(["--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-np", &np, &python].map(str::to_owned));
                mpirun
            }
            _ => [&python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", &np].map(str::to_owned).into(),
        };
        argv.push(peer.script.display().to_string());
        let (depth, width) = self.model.name.trim_start_matches("wrn-").split_once('-').unwrap_or_default();
        let mut add = |flag: &str, value: String| argv.extend([format!("--{flag}"), value]);
        add("depth", depth.into());
        add("width", width.into());
        add("batch-size", BATCH.to_string());
        add("threads", "1".into());
        if self.work == Work::FixedBatch {
            add("steps", ((scale.epochs - 1) * self.model.steps).to_string());
            argv.push("--synthetic".into());
        } else {
            add("data", place.data_dir());
            add("epochs", scale.epochs.to_string());
            add("train-images", self.train_images().unwrap_or(60_000).to_string());
        }
        let mut env = scale.vectors.env();
        if self.engine == Engine::TunedDdp {
            argv.push("--channels-last".into());
            let keep = |name: &str| (name.to_owned(), "4000000000".to_owned());
            env.extend([keep("MALLOC_MMAP_THRESHOLD_"), keep("MALLOC_TRIM_THRESHOLD_")]);
            // Its memory in huge pages, as ours is.
            env.push(("GLIBC_TUNABLES".to_owned(), "glibc.malloc.hugetlb=1".to_owned()));
        }
        CommandLine { argv, env, notes: Vec::new(), directory: None }
    }

    fn run_peer(&self, place: &Place, peer: &Peer, scale: &Scale) -> Result<Round, String> {
        let line = self.peer_line(place, peer, scale);
        let mut command = Command::new(&line.argv[0]);
        for name in ["MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES", "OMP_NUM_THREADS", "PEER_T0"] {
            command.env_remove(name);
        }
        command.args(&line.argv[1..]).envs(line.env);
        let mut figures = Round::new();
        let mut speeds = Vec::new();
        watch(command, LIMIT, |at, text| {
            if text.contains("Time to first step: ") {
                figures.insert("first_step_s".into(), at.as_secs_f64());
            }
            speeds.extend(numbers_after(text, "Images/sec: "));
            for rank in 0..self.np {
                let mark = format!("Peak RSS rank {rank}: ");
                numbers_after(text, &mark).for_each(|mebibytes| keep_greatest(&mut figures, mebibytes * f64::from(1 << 20)));
            }
            let is_enough = match self.work {
                Work::FirstStep => figures.contains_key("first_step_s"),
                _ => speeds.len() == scale.epochs && !self.runs_to_its_end(),
            };
            if is_enough { Flow::Enough } else { Flow::GoOn }
        })?;
        // On a fixed batch it leaves out warm-up by itself and prints once.
        let counted = if self.work == Work::FixedBatch { &speeds[..] } else { speeds.get(1..).unwrap_or_default() };
        if !counted.is_empty() {
            // All epochs have the same number of images: the mean of their times is that of the reciprocals.
            let seconds: f64 = counted.iter().map(|speed| 1.0 / speed).sum();
            figures.insert("images_per_sec".into(), counted.len() as f64 / seconds);
        }
        Ok(figures)
    }
}

fn keep_greatest(figures: &mut BTreeMap<String, f64>, bytes: f64) {
    let most = figures.entry("peak_rss_bytes".into()).or_insert(bytes);
    *most = most.max(bytes);
}

/// The number behind each `mark` in a line. Anything may follow it: ranks that share a pipe run into each other's lines.
pub fn numbers_after(text: &str, mark: &str) -> impl Iterator<Item = f64> {
    let is_of_a_number = |c: char| c.is_ascii_digit() || c == '.';
    text.split(mark).skip(1).filter_map(move |rest| rest.split(|c| !is_of_a_number(c)).next()?.parse().ok())
}
