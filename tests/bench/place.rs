//! Where everything is that the benchmark runs: programs, images, the peer; and what this machine is.
//!
//! Never installs anything: what is not there is said, and its rows are left out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hvd_lab_terminal::dataset;
use hvd_lab_terminal::launch::{Launcher, Machine, Setup};
use serde_json::{Value, json};

use super::process::{Flow, watch};
use super::training::Engine;

const PEER_HOW_TO: &str =
    "python3 -m venv DIR && DIR/bin/pip install torch==2.11.0 numpy, then HVD_LAB_PEER_PYTHON=DIR/bin/python";

const TORCH_VERSION: &str = "import numpy, torch; print('PyTorch', torch.__version__)";

const IMAGES_HOW_TO: &str =
    "python3 -m venv DIR && DIR/bin/pip install tensorflow-cpu torch torchvision, then HVD_LAB_IMAGES_PYTHON=DIR/bin/python";
/// Those of the two that are there; it fails without any.
const IMAGES_VERSION: &str = "from importlib.metadata import distributions as all; \
    found = [f'{d.name} {d.version}' for d in all() if d.name in ('tensorflow', 'tensorflow_cpu', 'tensorflow-cpu', 'torchvision')]; \
    assert found, 'neither tensorflow nor torchvision is there'; print(', '.join(found))";

const KERAS_HOW_TO: &str = "BENCHMARKS.md says how, then HVD_LAB_KERAS_PYTHON=DIR/bin/python";
const KERAS_VERSION: &str =
    "from importlib.metadata import version as of; print('Horovod', of('horovod'), 'with Keras', of('keras'))";

/// All that runs share.
pub struct Place {
    pub setup: Setup,
    /// The rank program of the allreduce benchmark.
    pub allreduce: PathBuf,
    /// Folder of the real images; `None` for the generator.
    pub images: Option<PathBuf>,
    /// The same as the lab keeps them after a download.
    cached: Option<PathBuf>,
    pub ddp: Result<Peer, String>,
    pub keras: Result<Peer, String>,
    /// PyTorch alone, with the networks of `tests/golden`.
    pub torch: Result<Peer, String>,
    /// tf.data and torchvision, as far as they are there.
    pub pipelines: Result<Peer, String>,
    pub lab: PathBuf,
    /// The image pipeline alone.
    pub images_program: PathBuf,
    /// The convolutions of a model alone.
    pub convolutions: PathBuf,
    /// What `hvd-train --help` says: flags come and go.
    pub help: String,
    pub build: Value,
}

fn word_of(images: Option<&PathBuf>) -> String {
    images.map_or_else(|| "generated".into(), |folder| folder.display().to_string())
}

/// A program of others with the same network, images and augmentation.
pub struct Peer {
    pub python: PathBuf,
    pub script: PathBuf,
    pub version: String,
}

impl Place {
    /// # Errors
    /// No hvd-train beside hvd-lab, or no mpirun.
    pub fn find(with_peer: bool) -> Result<Place, String> {
        let beside = Path::new(env!("CARGO_BIN_EXE_hvd-lab"));
        let hvd_train = beside.with_file_name("hvd-train");
        if !hvd_train.is_file() {
            return Err("there is no hvd-train beside hvd-lab: `make bench` builds both".into());
        }
        let Launcher { mpirun, flavour, version } = Launcher::detect().map_err(|error| error.to_string())?;
        let help = output_of(Command::new(&hvd_train).arg("--help"))?;
        let build = output_of(Command::new(&hvd_train).arg("--build-info"))?;
        let images =
            above("shared/fashion-mnist", "HVD_LAB_TEST_DATA").filter(|at| at.join("train-images-idx3-ubyte.gz").is_file());
        let cached = beside.with_file_name("bench-data");
        let kept = images.as_ref().and_then(|from| dataset::import(from, &cached).ok());
        Ok(Place {
            cached: kept.map(|_| cached),
            allreduce: beside.with_file_name("examples").join("bench-allreduce"),
            images,
            ddp: if with_peer { Peer::ddp() } else { Err("not asked for".into()) },
            torch: if with_peer { Peer::torch() } else { Err("not asked for".into()) },
            pipelines: if with_peer { Peer::pipelines() } else { Err("not asked for".into()) },
            images_program: beside.with_file_name("examples").join("bench-images"),
            convolutions: beside.with_file_name("examples").join("bench-convolutions"),
            lab: beside.to_owned(),
            keras: if with_peer { Peer::keras() } else { Err("not asked for".into()) },
            help,
            build: serde_json::from_str(&build).map_err(|error| format!("hvd-train --build-info: {error}"))?,
            setup: Setup {
                mpirun,
                flavour,
                mpirun_version: version,
                program: hvd_train,
                command: None,
                machine: Machine::detect(),
            },
        })
    }

    /// The program of others that an engine is.
    pub fn peer(&self, engine: Engine) -> &Result<Peer, String> {
        if engine == Engine::Keras { &self.keras } else { &self.ddp }
    }

    /// As a peer's folder of images.
    pub fn data_dir(&self) -> String {
        word_of(self.images.as_ref())
    }

    /// As the trainer's own `--data-dir`.
    pub fn cached_dir(&self) -> String {
        word_of(self.cached.as_ref())
    }

    pub fn images_label(&self) -> &'static str {
        if self.images.is_some() { "Fashion-MNIST" } else { "generated garments (the real files are not here)" }
    }

    /// A command line as others can read it: without the paths of this machine.
    pub fn shown(&self, line: &str) -> String {
        let mut names = vec![(self.setup.mpirun.display().to_string(), "mpirun")];
        names.extend(self.images.iter().chain(&self.cached).map(|folder| (folder.display().to_string(), "FASHION_MNIST")));
        let scripts = [
            (&self.ddp, "ddp_fashion_mnist.py"),
            (&self.keras, "horovod_fashion_mnist.py"),
            (&self.torch, "peer_models.py"),
            (&self.pipelines, "peer_images.py"),
        ];
        for (peer, script) in scripts {
            names.extend(peer.iter().map(|peer| (peer.python.display().to_string(), "PYTHON")));
            names.extend(peer.iter().map(|peer| (peer.script.display().to_string(), script)));
        }
        names.push((format!("{}/", env!("HVD_LAB_CHECKOUT")), ""));
        names.iter().fold(line.to_owned(), |line, (path, name)| line.replace(path, name))
    }

    pub fn machine(&self) -> Value {
        let said = |name: &str| self.build[name].as_str().unwrap_or("unknown").to_owned();
        let mut peers: Vec<&str> = [&self.ddp, &self.torch, &self.keras, &self.pipelines]
            .into_iter()
            .flatten()
            .map(|peer| peer.version.as_str())
            .collect();
        peers.dedup();
        json!({
            "cpu": cpu_model(),
            "cores": self.setup.machine.cores,
            "physical_cores": self.setup.machine.physical_cores,
            "gpus": self.setup.machine.room.gpus,
            "kernel": read_line("/proc/sys/kernel/osrelease"),
            "libtorch": said("libtorch"),
            "mpi": said("mpi"),
            "launcher": self.setup.mpirun_version,
            "peers": peers.join(", "),
        })
    }
}

impl Peer {
    /// PyTorch's DistributedDataParallel.
    fn ddp() -> Result<Peer, String> {
        let script = above("shared/peers/ddp_fashion_mnist.py", "HVD_LAB_PEER").filter(|path| path.is_file());
        let script = script.ok_or("its script is not here: HVD_LAB_PEER names it")?;
        Peer::python("HVD_LAB_PEER_PYTHON", PEER_HOW_TO, TORCH_VERSION, script)
    }

    /// PyTorch on one rank.
    fn torch() -> Result<Peer, String> {
        Peer::python("HVD_LAB_PEER_PYTHON", PEER_HOW_TO, TORCH_VERSION, own("tests/bench/peer_models.py"))
    }

    /// The image pipelines of others.
    fn pipelines() -> Result<Peer, String> {
        Peer::python("HVD_LAB_IMAGES_PYTHON", IMAGES_HOW_TO, IMAGES_VERSION, own("tests/bench/peer_images.py"))
    }

    /// Keras on Horovod, built against the MPI whose mpirun starts it.
    fn keras() -> Result<Peer, String> {
        Peer::python("HVD_LAB_KERAS_PYTHON", KERAS_HOW_TO, KERAS_VERSION, own("tests/bench/horovod_fashion_mnist.py"))
    }

    /// The python that this variable names, if it can print its version by these words; else how it is installed.
    fn python(variable: &str, how_to: &str, version: &str, script: PathBuf) -> Result<Peer, String> {
        let python = named(variable).ok_or_else(|| format!("not installed: {how_to}"))?;
        let version = output_of(Command::new(&python).args(["-c", version]))
            .map_err(|error| format!("not installed: {how_to} ({})", error.lines().last().unwrap_or_default()))?;
        Ok(Peer { python, script, version: version.trim().to_owned() })
    }
}

/// A file of this checkout.
fn own(path: &str) -> PathBuf {
    Path::new(env!("HVD_LAB_CHECKOUT")).join(path)
}

fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// What the variable names, else this path in the nearest folder above the repository that has it.
fn above(path: &str, variable: &str) -> Option<PathBuf> {
    let folders = Path::new(env!("HVD_LAB_CHECKOUT")).ancestors();
    named(variable).or_else(|| folders.map(|folder| folder.join(path)).find(|path| path.exists()))
}

fn output_of(command: &mut Command) -> Result<String, String> {
    let mut lines = Vec::new();
    let command = std::mem::replace(command, Command::new(""));
    watch(command, Duration::from_secs(60), |_, line| {
        lines.push(line.to_owned());
        Flow::GoOn
    })?;
    Ok(lines.join("\n"))
}

fn read_line(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| "unknown".into(), |text| text.lines().next().unwrap_or_default().to_owned())
}

fn cpu_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| "unknown".into(), |(_, name)| name.trim().to_owned())
}

/// How busy the machine is before anything starts.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Of the last minute: a build that has just ended counts.
    pub average: f64,
    /// Cores in use during the second before the start.
    pub cores_in_use: f64,
}

impl Load {
    /// Takes a second.
    pub fn now(cores: usize) -> Load {
        let average = read_line("/proc/loadavg").split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
        let before = busy_and_all();
        std::thread::sleep(Duration::from_secs(1));
        let after = busy_and_all();
        let (busy, all) = (after.0 - before.0, (after.1 - before.1).max(1.0));
        Load { average, cores_in_use: busy / all * cores as f64 }
    }

    /// More than a tenth of a core in use by others tells in the figures.
    pub fn is_busy(&self) -> bool {
        self.cores_in_use > 0.1 || self.average > 1.0
    }
}

/// Clock ticks of all cores since boot: in use (by others than this machine as well), and in all.
fn busy_and_all() -> (f64, f64) {
    let line = read_line("/proc/stat");
    let ticks: Vec<f64> = line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
    let all: f64 = ticks.iter().sum();
    let idle: f64 = ticks.iter().skip(3).take(2).sum();
    (all - idle, all)
}
