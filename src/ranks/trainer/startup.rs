//! What a rank says about itself before it trains, and the small decisions that belong to no step.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};
use tch::{Device, Tensor};

use super::batches::{Images, LABEL_SYNTHETIC};
use super::checkpoint::SaveError;
use super::config::{Config, Stop};
use super::device::{self, Placement};
use super::digest::digest;
use super::host_report;
use super::model::Model;
use super::optimizer::Optimizer;
use super::params::{FlatTensors, to_vec};
use super::pipeline::PipelineError;
use super::random::{Purpose, stream};
use super::report::Reporter;
use super::tensorboard::TensorBoardError;
use super::timeline::TimelineError;
use super::{evidence, shortage};
use crate::comm::{self, CommError, Communicator};
use crate::dataset::{self, DatasetError, Split, SplitKind};
use crate::domain::event::{ConfigReport, DigestMoment, Event, Instead, Observation, TopologyReport};
use crate::domain::model::ModelSpec;
use crate::domain::schedule::LearningRateSchedule;
use crate::domain::training::DataSource;
use crate::host::{self, file_limit, files};

/// Says on standard error that the trainer cannot start MPI.
pub fn refuse(error: &CommError) -> ExitCode {
    refuse_as("hvd-train", error)
}

/// As [`refuse`], for any program.
pub fn refuse_as(program: &str, error: &CommError) -> ExitCode {
    // If MPI does not connect the processes, all of them find out: the first one speaks for all.
    if comm::launched_index() == 0 || !matches!(error, CommError::Apart { .. }) {
        eprintln!("{program}: {error}");
    }
    ExitCode::FAILURE
}

/// How a rank reports a long wait: an event, and a line on standard error, verbose or not.
///
/// A rank that panics makes the others wait as well: from here on its panic is an event too.
pub fn on_stall(config: &Config) -> impl Fn(&str) + use<> {
    let needs = format!("the model and its batches of {}", config.batch_size);
    shortage::explain("hvd-train", "training", needs, "Lower --batch-size, or start fewer ranks on this host", config.events);
    let report = Reporter::new(comm::launched_index(), config.events);
    move |message| {
        report.event(Event::Warning { message: message.to_owned() });
        // Training continues if standard error is closed.
        let _ = writeln!(std::io::stderr(), "hvd-train: Warning: {message}");
    }
}

/// 2 for what the user gave and can fix (images, a forbidden log folder), 1 for everything else, such as a full disk.
pub fn exit_code(error: &anyhow::Error) -> i32 {
    let is_bad_input = error.is::<DatasetError>()
        || error.is::<PipelineError>()
        || error.is::<Refused>()
        || error.downcast_ref::<SaveError>().is_some_and(|error| !files::is_full(&error.cause))
        || error.downcast_ref::<TensorBoardError>().is_some_and(|error| !files::is_full(&error.cause))
        || error.downcast_ref::<TimelineError>().is_some_and(|error| !files::is_full(&error.error));
    if is_bad_input { 2 } else { 1 }
}

/// Nothing to train: say why, or show what was asked for.
pub fn explain(stop: &Stop) -> ExitCode {
    // A reader that is gone needs no text.
    let _ = match stop.code {
        0 => writeln!(std::io::stdout(), "{}", stop.text.trim_end()),
        _ => writeln!(std::io::stderr(), "{}", stop.text),
    };
    ExitCode::from(stop.code)
}

/// Flags that cannot be used, which every process finds by itself: the first one speaks for all. The others do not fail, for mpirun
/// would end the first one before it has spoken.
pub fn refuse_flags(stop: &Stop) -> ExitCode {
    if comm::launched_index() == 0 { explain(stop) } else { ExitCode::SUCCESS }
}

/// From now on a shortage of memory is reported in one line that says what to change, instead of libtorch's own message.
pub fn explain_shortage(config: &Config) {
    let needs = format!("a batch of {} images of {} with {}", config.batch_size, config.model.input(), config.model);
    let advice = "Lower --batch-size, choose a smaller --model, or start fewer ranks on a host";
    shortage::explain("hvd-train", "training", needs, advice, config.events);
}

/// Version of libtorch that `tch` binds to.
const LIBTORCH: &str = "2.11.0";

/// What this build can do, for `hvd-lab doctor`: libtorch, MPI, CUDA and NCCL, each with its version, or why there is none.
///
/// It never initialises MPI, so it needs no mpirun.
pub fn build_info() -> Value {
    let cuda = device::open_cuda();
    let nccl = device::open_cuda().and_then(|()| comm::nccl_version());
    json!({
        "libtorch": LIBTORCH,
        "mpi": comm::library_version(),
        "mpi_standard": comm::standard_version(),
        "cuda": cuda.is_ok(),
        "cuda_reason": cuda.err(),
        "gpus": device::gpu_count(),
        "nccl": nccl.as_ref().ok(),
        "nccl_reason": nccl.as_ref().err(),
    })
}

/// `--build-info`.
pub fn print_build_info() -> ExitCode {
    let _ = writeln!(std::io::stdout(), "{}", build_info());
    ExitCode::SUCCESS
}

/// Evidence whether ranks hold the same parameters. The same digest as a checkpoint's.
pub fn parameters_digest(moment: DigestMoment, epoch: usize, model: &dyn Model) -> Event {
    evidence::parameters(moment, epoch, model.params())
}

/// Evidence whether ranks apply the same gradients, and whether these are the mean of each rank's own.
pub fn report_gradients(report: &Reporter, epoch: usize, params: &FlatTensors, applied: &Tensor) {
    for (moment, gradients) in [(DigestMoment::OwnGradients, &params.gradients), (DigestMoment::FirstGradients, applied)] {
        report.evidence(|| {
            let sample = evidence::sample(gradients);
            Event::Digest { moment, epoch, digest: digest(&to_vec(gradients)), sample }
        });
    }
}

/// What a run trains and tests on.
pub struct Data {
    /// What the images are, in one word or two.
    pub label: String,
    pub training: Images,
    pub test: Images,
}

impl Data {
    /// The same images with every pixel divided by 255, and not normalised otherwise.
    pub fn in_zero_to_one(self) -> Data {
        Data { training: self.training.in_zero_to_one(), test: self.test.in_zero_to_one(), ..self }
    }
}

/// Reads the images from where they are, or draws them.
///
/// # Errors
/// If the files cannot be used.
pub fn load_data(config: &Config, process: usize, device: Device) -> anyhow::Result<Data> {
    if config.synthetic {
        let mut rng = stream(config.seed, process, 0, Purpose::Synthetic);
        let mut noise = |len| Images::synthetic(config.model, len, config.batch_size, &mut rng, device);
        let training = noise(config.train_images.unwrap_or(SplitKind::Train.official_len()));
        return Ok(Data { label: LABEL_SYNTHETIC.into(), training, test: noise(config.batch_size) });
    }
    // In `--data-dir`, in the cache, or drawn: the trainer itself downloads nothing.
    let located = dataset::locate(DataSource::Auto, config.data_dir.as_deref(), true)?;
    let load = |which, limit| -> anyhow::Result<Split> {
        let split = located.load(which, limit)?;
        check_fit(config.model, &split, &located.label)?;
        Ok(split)
    };
    let training = Images::training(load(SplitKind::Train, config.train_images)?, device);
    let test = training.like(load(SplitKind::Test, None)?);
    Ok(Data { label: located.label, training, test })
}

/// What the flags ask for cannot be had on the machine of this rank.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

fn check_fit(model: ModelSpec, split: &Split, data: &str) -> Result<(), Refused> {
    let (takes, Split { shape, classes, .. }) = (model.input(), split);
    if *shape == takes && *classes <= model.classes() {
        return Ok(());
    }
    Err(Refused(format!(
        "--model {model} takes images of {takes} (channels, height, width) in up to {} classes, and those of {data} are {shape} in \
         {classes}: choose another model, or other images with --data-dir",
        model.classes()
    )))
}

/// Reports which rank this is, where it computes, and how gradients on a GPU are sent; and from now on what the devices of
/// other hosts do.
///
/// # Collective
/// Every rank calls it, once.
///
/// # Errors
/// As for every collective, see [`Communicator`].
pub fn introduce(comm: &dyn Communicator, placement: &Placement, report: &Reporter) -> Result<(), CommError> {
    let transport = comm.connect_gpus(placement.gpu())?;
    file_limit::survive();
    report.event(topology_report(comm, placement));
    host_report::start(comm, report)?;
    if let Some(transport) = transport {
        report.line(&format!("Gradients: {}", transport.text));
        if !transport.direct {
            report.event(Event::Warning { message: format!("gradients travel by {}", transport.text) });
        }
    }
    Ok(())
}

fn topology_report(comm: &dyn Communicator, placement: &Placement) -> Event {
    let rank = comm.topology().rank.0;
    // A simulated host has a name of its own.
    let simulated = comm::simulated_hosts().map(|ranks| format!("-{}", rank / ranks.get())).unwrap_or_default();
    Event::Topology(TopologyReport {
        topology: comm.topology(),
        host: host::name() + &simulated,
        pid: std::process::id(),
        communicator: if comm.is_cuda_aware() { "nccl" } else { comm.name() }.to_owned(),
        device: device::name(placement.device),
        device_uuid: placement.uuid.clone(),
        cores: placement.cores.clone(),
        devices_found: Some(placement.found),
        threads: placement.threads,
        versions: vec![format!("libtorch {LIBTORCH}"), comm::library_version()],
        is_watched: true,
    })
}

/// What this rank is going to do.
pub struct Plan<'a> {
    pub schedule: &'a LearningRateSchedule,
    pub data: &'a Data,
    pub validation_batches: usize,
    pub resume_epoch: usize,
    /// The step (from 0) of that epoch with which it goes on, after a commit.
    pub resume_step: usize,
}

/// Sends evidence of a program in another language.
pub fn tell(seen: Observation) {
    evidence::tell(|| seen);
}

/// The same for a flag, if the program uses another value than the flag's.
pub fn tell_of_other<T: PartialEq + ToString>(flag: &str, asked: &T, used: &T) {
    if asked != used {
        let [asked, used] = [asked, used].map(T::to_string);
        tell(Observation::Instead(Instead { flag: flag.to_owned(), asked, used }));
    }
}

/// The event that says what this rank is going to do.
pub fn config_report(config: &Config, model: &dyn Model, optimizer: &dyn Optimizer, plan: &Plan<'_>) -> Event {
    Event::Config(ConfigReport {
        steps: config.steps,
        seed: config.seed,
        epochs: config.epochs,
        resume_epoch: plan.resume_epoch,
        resume_step: plan.resume_step,
        local_batch_size: config.batch_size,
        global_batch_size: config.batch_size * plan.schedule.size,
        steps_per_epoch: plan.schedule.steps_per_epoch,
        validation_steps: plan.validation_batches,
        train_images: plan.data.training.len(),
        optimizer: optimizer.name().to_owned(),
        model: model.name(),
        precision: config.precision.name().to_owned(),
        parameters: model.params().len(),
        gradient_tensors: model.params().segments.len(),
        data: plan.data.label.clone(),
        base_lr: config.base_lr,
        warmup_epochs: plan.schedule.warmup_epochs,
        target_accuracy: config.target_accuracy,
    })
}

/// The last event of a rank that trained to the end. `launched` is when its process began.
pub fn finished(epochs: usize, training_seconds: f64, launched: Instant) -> Event {
    let total_seconds = launched.elapsed().as_secs_f64();
    Event::Finished { epochs, training_seconds, total_seconds, peak_rss_bytes: peak_rss_bytes() }
}

/// The kernel's own high-water mark of this process's memory; it counts in KiB. On Linux, getrusage would also count the program
/// that ran here before exec.
#[cfg(target_os = "linux")]
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Elsewhere it counts in bytes.
#[cfg(not(target_os = "linux"))]
fn peak_rss_bytes() -> Option<u64> {
    use nix::sys::resource::{UsageWho, getrusage};
    getrusage(UsageWho::RUSAGE_SELF).ok()?.max_rss().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::images::InputShape;

    #[test]
    fn a_full_disk_is_not_the_users_fault() {
        let code = |kind: std::io::ErrorKind| {
            let path = std::path::PathBuf::from("logs/checkpoint-1.safetensors");
            let save = SaveError { path: path.clone(), bytes: 1, cause: kind.into() };
            [exit_code(&save.into()), exit_code(&TensorBoardError { path, cause: kind.into() }.into())]
        };
        assert_eq!(code(std::io::ErrorKind::StorageFull), [1, 1]);
        assert_eq!(code(std::io::ErrorKind::PermissionDenied), [2, 2]);
    }

    #[test]
    fn a_model_that_does_not_take_the_images_says_so() {
        let split = |shape: InputShape, classes| Split {
            images: vec![0; shape.numbers()],
            labels: vec![0],
            shape,
            classes,
            may_mirror: true,
        };
        let model = ModelSpec::wrn(10, 1);
        let (right, wrong) = (model.input(), InputShape { channels: 3, height: 32, width: 32 });
        assert_eq!(check_fit(model, &split(right, 10), "these"), Ok(()));
        for (shape, classes) in [(wrong, 10), (right, 100)] {
            let error = check_fit(model, &split(shape, classes), "these").unwrap_err();
            let said = error.to_string();
            assert!(
                said.contains("wrn-10-1 takes images of 1x28x28") && said.contains(&format!("{shape} in {classes}")),
                "{said}"
            );
            assert_eq!(exit_code(&error.into()), 2);
        }
    }
}
