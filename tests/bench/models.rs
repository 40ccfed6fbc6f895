//! Models by name, timed on one batch of noise with one thread a rank: hvd-measure, and PyTorch as it comes and channels-last.
//!
//! Never counts the warm-up. A figure is the median of the timed batches of one run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hvd_lab_terminal::domain::benchmark::{BenchmarkSpec, NumberFormat, Style};
use hvd_lab_terminal::domain::event::{Event, EventLine, MARKER};
use hvd_lab_terminal::domain::job::{Job, Resources, RunSpec, Workload};
use hvd_lab_terminal::domain::model::ModelSpec;
use hvd_lab_terminal::domain::phase::Phase;
use hvd_lab_terminal::launch::{CommandLine, Setup, command_line};

use super::figures::{Round, Spread};
use super::options::Scale;
use super::place::{Peer, Place};
use super::process::{Flow, watch};
use super::training::numbers_after;

/// ResNet-50 at 224 pixels takes seconds a batch.
const LIMIT: Duration = Duration::from_secs(420);

/// A model at a size of images, with the batch of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub model: &'static str,
    pub side: usize,
    pub batch: usize,
    /// Batches that are timed.
    pub batches: usize,
    /// Numbers of ranks that are measured: beside PyTorch with one, and the exchange with two.
    pub ranks: &'static [usize],
}

const RESNET50: Shape = Shape { model: "resnet50", side: 64, batch: 32, batches: 6, ranks: &[1, 2] };
const ALEXNET: Shape = Shape { model: "alexnet", side: 227, batch: 32, batches: 4, ranks: &[1, 2] };
const MNIST_CNN: Shape = Shape { model: "mnist-cnn", side: 28, batch: 128, batches: 12, ranks: &[1] };
/// Its speed stands beside its peers on real data; here its exchange is looked at step by step.
const WIDE_RESNET: Shape = Shape { model: "wrn-10-1", side: 28, batch: 128, batches: 60, ranks: &[2] };
/// It takes minutes a round.
const LARGE: Shape = Shape { model: "resnet50", side: 224, batch: 16, batches: 4, ranks: &[1] };

pub const SHAPES: [Shape; 4] = [WIDE_RESNET, RESNET50, ALEXNET, MNIST_CNN];
pub const WITH_LARGE: [Shape; 5] = [WIDE_RESNET, RESNET50, ALEXNET, MNIST_CNN, LARGE];
pub const QUICK: Shape = Shape { model: "mnist-cnn", side: 28, batch: 16, batches: 2, ranks: &[1, 2] };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Measure,
    /// Two ranks that exchange no gradients: the most that two ranks could reach.
    Apart,
    WithoutOverlap,
    WithoutFusion,
    /// Images channel by channel, as PyTorch has them by itself.
    Torch,
    ChannelsLast,
}

impl Engine {
    pub const OF_ONE_RANK: [Engine; 3] = [Engine::Measure, Engine::ChannelsLast, Engine::Torch];
    pub const OF_TWO_RANKS: [Engine; 4] = [Engine::Measure, Engine::Apart, Engine::WithoutOverlap, Engine::WithoutFusion];

    pub fn is_peer(self) -> bool {
        matches!(self, Engine::Torch | Engine::ChannelsLast)
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Engine::Apart => &["--no-exchange"],
            Engine::WithoutOverlap => &["--no-overlap"],
            Engine::WithoutFusion => &["--fusion-threshold-mb", "0"],
            Engine::ChannelsLast => &["--channels-last"],
            Engine::Measure | Engine::Torch => &[],
        }
    }
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    pub engine: Engine,
    pub shape: Shape,
    pub np: usize,
    pub precision: NumberFormat,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} px", self.model, self.side)
    }
}

/// `hvd-measure resnet50 at 64 px fp32 np 1`: names the run in the figures.
impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = match self.engine {
            Engine::Measure => "hvd-measure",
            Engine::Apart => "hvd-measure without exchange",
            Engine::WithoutOverlap => "hvd-measure without overlap",
            Engine::WithoutFusion => "hvd-measure without fusion",
            Engine::Torch => "PyTorch",
            Engine::ChannelsLast => "PyTorch channels-last",
        };
        write!(f, "{engine} {} {} np {}", self.shape, self.precision, self.np)
    }
}

/// What is measured in each round: one rank beside PyTorch in both formats of numbers, and two ranks beside two that exchange
/// nothing.
pub fn all(shapes: &[Shape], has_peer: bool) -> Vec<Measured> {
    let mut all = Vec::new();
    for &shape in shapes {
        for precision in [NumberFormat::Fp32, NumberFormat::Bf16] {
            let engines = Engine::OF_ONE_RANK.into_iter().filter(|engine| has_peer || !engine.is_peer());
            let engines = engines.filter(|_| shape.ranks.contains(&1));
            all.extend(engines.map(|engine| Measured { engine, shape, np: 1, precision }));
        }
        let two = |engine| Measured { engine, shape, np: 2, precision: NumberFormat::Fp32 };
        all.extend(Engine::OF_TWO_RANKS.map(two).into_iter().filter(|_| shape.ranks.contains(&2)));
    }
    all
}

impl Measured {
    /// Runs it: `images_per_sec` of all ranks, and of two ranks `exposed_share`, what a rank waits, and `exchange_share`, what it
    /// waits where the other one is there already. The rest of the first is waiting for a slower rank.
    pub fn run(&self, place: &Place, scale: &Scale) -> Result<Round, String> {
        let line = self.line(place, scale)?;
        let mut command = Command::new(&line.argv[0]);
        command.args(&line.argv[1..]).envs(line.env).env_remove("OMP_NUM_THREADS");
        let (mut rates, mut exposed, mut exchange) = (Vec::new(), Vec::new(), BTreeMap::new());
        watch(command, LIMIT, |_, text| {
            rates.extend(numbers_after(text, "Iteration: "));
            let event = text.split_once(MARKER).and_then(|(_, event)| EventLine::parse_line(event));
            if let Some(EventLine { event: Event::Iteration(report), process, .. }) = event {
                let share = report.phases[Phase::AllreduceExposed] / report.seconds;
                // The rank that comes last to an exchange waits for nothing else.
                exchange.entry(report.iteration).and_modify(|least: &mut f64| *least = least.min(share)).or_insert(share);
                if process == 0 {
                    rates.push(report.images_per_sec);
                    exposed.push(share);
                }
            }
            Flow::GoOn
        })?;
        let exchange = Spread::of(exchange.into_values().collect());
        let figures =
            [("images_per_sec", Spread::of(rates)), ("exposed_share", Spread::of(exposed)), ("exchange_share", exchange)];
        let figures: Round =
            figures.into_iter().filter_map(|(what, spread)| Some((figure(*self, what), spread?.median))).collect();
        if figures.is_empty() { Err(format!("{self}: it ended without a figure")) } else { Ok(figures) }
    }

    /// What is started.
    ///
    /// # Errors
    /// The peer is not here, or the settings cannot run on this machine.
    pub fn line(&self, place: &Place, scale: &Scale) -> Result<CommandLine, String> {
        match (self.engine.is_peer(), &place.torch) {
            (true, Ok(peer)) => Ok(self.peer_line(peer, scale)),
            (true, Err(why)) => Err(format!("the peer is {why}")),
            (false, _) => self.own_line(place, scale),
        }
    }

    fn batches(&self, scale: &Scale) -> usize {
        self.shape.batches.min(scale.model_batches)
    }

    /// `hvd-measure bench` as the lab would start it.
    fn own_line(&self, place: &Place, scale: &Scale) -> Result<CommandLine, String> {
        let model: ModelSpec = self.shape.model.parse()?;
        let benchmark = BenchmarkSpec {
            image_size: (self.shape.side != model.input().height).then_some(self.shape.side),
            batch_size: self.shape.batch,
            warmup_batches: 2,
            batches_per_iteration: 1,
            iterations: self.batches(scale),
            precision: self.precision,
            no_cuda: true,
            ..BenchmarkSpec::of_style(Style::Horovod, model)
        };
        let spec: RunSpec = Job { resources: Resources::ranks(self.np), workload: Workload::Benchmark(benchmark) };
        let program = place.setup.program.with_file_name("hvd-measure");
        let setup = Setup { program, command: Some("bench"), ..place.setup.clone() };
        let line = command_line(&spec, "", &setup, "", Path::new("logs"), true);
        let mut line = line.map_err(|error| error.to_string())?;
        line.argv.extend(self.engine.flags().iter().map(|flag| (*flag).to_owned()));
        line.env.extend(scale.vectors.env());
        Ok(line)
    }

    fn peer_line(&self, peer: &Peer, scale: &Scale) -> CommandLine {
        let mut argv = vec![peer.python.display().to_string(), peer.script.display().to_string()];
        let mut add = |flag: &str, value: String| argv.extend([format!("--{flag}"), value]);
        add("model", self.shape.model.into());
        add("image-size", self.shape.side.to_string());
        add("batch-size", self.shape.batch.to_string());
        add("batches", self.batches(scale).to_string());
        add("precision", self.precision.to_string());
        argv.extend(self.engine.flags().iter().map(|flag| (*flag).to_owned()));
        CommandLine { argv, env: scale.vectors.env(), notes: Vec::new(), directory: None }
    }
}

/// Name of a figure of a run.
pub fn figure(measured: Measured, what: &str) -> String {
    format!("{measured}: {what}")
}
