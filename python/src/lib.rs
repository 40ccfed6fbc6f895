//! `hvd_lab._native`: the trainer's parts as functions for Python, a few for each batch.
//!
//! The learner's program decides what a step does, `python/hvd_lab/` puts it into the words of Keras and Horovod, and the library of
//! hvd-train does the work. All evidence is sent from here, from what was done.

mod bounds;
mod calls;
mod ending;
mod images;
mod layers;
mod photos;
mod plan;
mod progress;
mod ranks;
mod session;
mod training;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use hvd_lab::comm::ReduceOp;
use hvd_lab::domain::bounds::MAX_EPOCHS;
use hvd_lab::domain::event::{Metrics, Observation, ScheduleReport};
use hvd_lab::domain::images::InputShape;
use hvd_lab::domain::topology::{LocalRank, Rank, Topology};
use hvd_lab::trainer::config::Config;
use hvd_lab::trainer::evaluate::metric_average;
use hvd_lab::trainer::tensorboard::EventWriter;
use hvd_lab::trainer::{device, resume, startup};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use self::calls::{COPY, LabError};
use self::images::Taken;
use self::layers::Written;
use self::photos::{Known, PHOTOS, Photos, Preparing, with_photos};
use self::plan::Plan;
use self::session::{SESSION, Session, tell_of_other_folder, with};
use self::training::{EpochEnd, NOT_BEGUN};

/// Read the flags of a training on photos, and find the other ranks. As [`start`].
#[pyfunction]
fn photos_start(arguments: Vec<OsString>) -> Option<(String, u8)> {
    match Photos::start(arguments) {
        Ok(started) => {
            PHOTOS.set(Some(started));
            None
        }
        Err(stop) => Some((stop.text, stop.code)),
    }
}

/// The flags by their names in Python: what they ask for.
#[pyfunction]
fn photos_flags(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let spec = with_photos(py, |photos| Ok(photos.spec.clone()))?;
    let flags = PyDict::new(py);
    flags.set_item("model", spec.model.to_string())?;
    flags.set_item("batch_size", spec.batch_size)?;
    flags.set_item("data_dir", spec.data_dir)?;
    flags.set_item("learning_rate", spec.learning_rate)?;
    flags.set_item("image_size", spec.image_size)?;
    Ok(flags)
}

/// Layers as Python writes them: the kind of each, and its numbers.
type Layers = Vec<(String, Vec<f64>)>;

/// `model` is its name, height, width, classes, rate and layers; `preparing` is whether the transform is the accurate one, whether
/// colours are smoothed, and the chance of a mirror. The number of steps.
#[pyfunction]
fn photos_begin(
    py: Python<'_>,
    model: (String, usize, usize, usize, f64, Layers),
    preparing: (bool, bool, f64),
) -> PyResult<usize> {
    let (name, height, width, classes, rate, layers) = model;
    let (accurate, fancy, flip) = preparing;
    with_photos(py, |photos| {
        let layers = layers.iter().map(|(kind, numbers)| Written::read(kind, numbers)).collect::<anyhow::Result<Vec<_>>>()?;
        photos.begin(&Known { name, height, width, classes, rate, layers }, &Preparing { accurate, fancy, flip })
    })
}

#[pyfunction]
fn photos_sync(py: Python<'_>) -> PyResult<()> {
    with_photos(py, Photos::sync)
}

/// Before the first round of the loop.
#[pyfunction]
fn photos_enter(py: Python<'_>) -> PyResult<()> {
    with_photos(py, Photos::enter)
}

#[pyfunction]
fn photos_step(py: Python<'_>) -> PyResult<Option<f64>> {
    with_photos(py, Photos::train_step)
}

/// After the last round of the loop.
#[pyfunction]
fn photos_leave(py: Python<'_>) -> PyResult<()> {
    with_photos(py, Photos::leave)
}

/// Read the program's flags. What is to be printed instead of training, and the exit code: of --help, and of a bad flag.
#[pyfunction]
fn start(arguments: Vec<OsString>) -> Option<(String, u8)> {
    SESSION.with_borrow_mut(|session| match Session::start(arguments) {
        Ok(started) => {
            *session = Some(started);
            None
        }
        Err(stop) => Some((stop.text, stop.code)),
    })
}

/// The defaults of flags: pairs of a flag and its value.
#[pyfunction]
fn set_defaults(py: Python<'_>, defaults: Vec<(String, String)>) -> PyResult<()> {
    with(py, |session| {
        let late = "parse_args() comes too late: call it before the images are loaded and the model is made";
        ensure!(session.placed.is_none(), late);
        let defaults: Vec<[&str; 2]> = defaults.iter().map(|(flag, value)| [flag.as_str(), value.as_str()]).collect();
        let read = Config::with_defaults(&defaults, session.arguments.iter().cloned());
        session.config = read.map_err(|stop| anyhow::Error::msg(stop.text))?;
        Ok(())
    })
}

/// The flags by their names in Python.
#[pyfunction]
fn flags(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let config = with(py, |session| Ok(session.config.clone()))?;
    let flags = PyDict::new(py);
    flags.set_item("epochs", config.epochs)?;
    flags.set_item("batch_size", config.batch_size)?;
    flags.set_item("base_lr", config.base_lr)?;
    flags.set_item("momentum", config.momentum)?;
    flags.set_item("wd", config.wd)?;
    flags.set_item("target_accuracy", config.target_accuracy)?;
    flags.set_item("patience", config.patience)?;
    flags.set_item("use_checkpointing", config.use_checkpointing)?;
    flags.set_item("warmup_epochs", config.warmup_epochs)?;
    // A text, as argparse gives it: programs put more text behind it.
    flags.set_item("log_dir", config.log_dir.into_os_string())?;
    flags.set_item("model", config.model.to_string())?;
    flags.set_item("seed", config.seed)?;
    Ok(flags)
}

#[pyfunction]
fn init(py: Python<'_>) -> PyResult<()> {
    with(py, Session::init)
}

/// Rank, size, local rank and local size; `None` before `init`.
#[pyfunction]
fn topology(py: Python<'_>) -> PyResult<Option<(usize, usize, usize, usize)>> {
    let of_photos = PHOTOS.with_borrow(|photos| photos.as_ref().map(Photos::topology));
    let place = match of_photos {
        Some(place) => Some(place),
        None if COPY.get().is_some() => SESSION.with_borrow(|session| session.as_ref().and_then(Session::topology)),
        None => with(py, |session| Ok(session.topology()))?,
    };
    Ok(place.map(|place| (place.rank.0, place.size.0, place.local_rank.0, place.local_size.0)))
}

/// A device for each process on this host: GPUs, which come again where there are more processes, or equal shares of the cores.
#[pyfunction]
fn devices(py: Python<'_>) -> PyResult<Vec<String>> {
    with(py, |session| {
        let (processes, gpus) = (session.comm.topology().local_size.0, device::gpu_count());
        let name = |index: usize| if gpus == 0 { format!("CPU:{index}") } else { format!("GPU:{}", index % gpus) };
        Ok((0..processes.max(gpus)).map(name).collect())
    })
}

/// Step 1, second half: compute on this device of [`devices`].
#[pyfunction]
fn pin(py: Python<'_>, index: usize) -> PyResult<()> {
    with(py, |session| {
        ensure!(session.placed.is_none(), "choose a device before the images are loaded and the model is made");
        session.chosen = Some(device::pin(&Topology { local_rank: LocalRank(index), ..session.comm.topology() }));
        Ok(())
    })
}

/// Numbers of images: to train on, to validate on after an epoch, to test on. `is_plain` leaves them as they are: digits.
#[pyfunction]
fn load_data(py: Python<'_>, is_plain: bool) -> PyResult<(usize, usize, usize)> {
    with(py, |session| session.load_data(if is_plain { Taken::Plain } else { Taken::Shifted }))
}

#[pyfunction]
fn build_model(py: Python<'_>, name: String) -> PyResult<()> {
    with(py, |session| session.build_model(&name))
}

/// A network of layers, one after the other: the kind of each and its numbers, as `layers` reads them. `input` is height, width and
/// channels.
#[pyfunction]
fn build_network(py: Python<'_>, input: (usize, usize, usize), layers: Layers) -> PyResult<()> {
    let (height, width, channels) = input;
    with(py, |session| {
        let layers = layers.iter().map(|(kind, numbers)| Written::read(kind, numbers)).collect::<anyhow::Result<Vec<_>>>()?;
        session.build_network(InputShape { channels, height, width }, &layers)
    })
}

#[pyfunction]
fn build_optimizer(py: Python<'_>, name: String, momentum: f64, wd: f64, is_distributed: bool) -> PyResult<()> {
    with(py, |session| session.build_optimizer(&name, momentum, wd, is_distributed))
}

/// Load the newest checkpoint of the folder; its epoch, or 0.
#[pyfunction]
fn load_latest(py: Python<'_>, folder: PathBuf, up_to: &Bound<'_, PyAny>) -> PyResult<usize> {
    let up_to = bounds::count("epochs", up_to, MAX_EPOCHS)?;
    with(py, |session| {
        let (Some(model), Some(optimizer)) = (&mut session.model, &mut session.optimizer) else {
            anyhow::bail!("compile the model before a checkpoint is loaded into it")
        };
        tell_of_other_folder(&session.config.log_dir, &folder);
        session.found = resume::load_from(&folder, up_to, &session.report, &mut **model, &mut **optimizer);
        Ok(session.found.epoch)
    })
}

/// Give this rank's JSON to all, if it is the root; every rank gets the root's.
#[pyfunction]
fn broadcast(py: Python<'_>, json: String, root: usize) -> PyResult<String> {
    let mut bytes = json.into_bytes();
    with(py, |session| {
        session.comm.broadcast_bytes(&mut bytes, Rank(root))?;
        Ok(String::from_utf8(bytes)?)
    })
}

#[pyfunction]
fn allgather(py: Python<'_>, json: String) -> PyResult<Vec<String>> {
    with(py, |session| session.comm.allgather(json.as_bytes())?.into_iter().map(|bytes| Ok(String::from_utf8(bytes)?)).collect())
}

#[pyfunction]
fn allreduce(py: Python<'_>, mut numbers: Vec<f64>, average: bool) -> PyResult<Vec<f64>> {
    with(py, |session| {
        session.comm.allreduce_f64(&mut numbers, if average { ReduceOp::Average } else { ReduceOp::Sum })?;
        Ok(numbers)
    })
}

#[pyfunction]
fn barrier(py: Python<'_>) -> PyResult<()> {
    with(py, |session| Ok(session.comm.barrier()?))
}

/// `plan` is a dictionary: its keys are the fields of [`Plan`].
#[pyfunction]
fn begin_training(py: Python<'_>, plan: Bound<'_, PyDict>) -> PyResult<()> {
    let plan = Plan::read(&plan)?;
    with(py, |session| session.begin_training(plan))
}

#[pyfunction]
fn broadcast_state(py: Python<'_>, root: usize) -> PyResult<()> {
    with(py, |session| session.broadcast_state(root))
}

#[pyfunction]
fn write_tensorboard(py: Python<'_>, folder: PathBuf) -> PyResult<()> {
    with(py, |session| {
        session.training.as_mut().context(NOT_BEGUN)?.board = Some(EventWriter::create(&folder)?);
        Ok(())
    })
}

#[pyfunction]
fn stop_at(py: Python<'_>, target: f64, patience: &Bound<'_, PyAny>) -> PyResult<()> {
    let patience = bounds::count("patience", patience, MAX_EPOCHS)?;
    with(py, |session| session.stop_at(target, patience))
}

/// The last thing before the first batch.
#[pyfunction]
fn start_training(py: Python<'_>) -> PyResult<()> {
    with(py, Session::start_training)
}

#[pyfunction]
fn begin_epoch(py: Python<'_>, epoch: usize) -> PyResult<()> {
    with(py, |session| session.begin_epoch(epoch))
}

/// Train on one batch at this rate; its loss.
#[pyfunction]
fn train_batch(py: Python<'_>, batch: usize, lr: f64) -> PyResult<f64> {
    with(py, |session| session.train_batch(batch, lr))
}

/// Loss and accuracy of training and of validation.
#[pyfunction]
fn validate(py: Python<'_>) -> PyResult<(f64, f64, f64, f64)> {
    with(py, Session::validate)
}

/// Step 6.
#[pyfunction]
fn average_metrics(py: Python<'_>, loss: f64, accuracy: f64) -> PyResult<(f64, f64)> {
    let mean = with(py, |session| Ok(metric_average(session.comm, Metrics { loss, accuracy })?))?;
    Ok((mean.loss, mean.accuracy))
}

/// The root decides when to stop, and broadcasts it.
#[pyfunction]
fn agree_to_stop(py: Python<'_>, accuracy: f64) -> PyResult<bool> {
    with(py, |session| {
        let training = session.training.as_mut().context(NOT_BEGUN)?;
        Ok(training.stop.as_mut().context(NOT_BEGUN)?.agreed(session.comm, accuracy)?)
    })
}

#[pyfunction]
fn end_epoch(
    py: Python<'_>,
    averaged: Option<(f64, f64)>,
    checkpoint: Option<PathBuf>,
    warmed_up_to: Option<f64>,
    stops: bool,
) -> PyResult<()> {
    let averaged = averaged.map(|(loss, accuracy)| Metrics { loss, accuracy });
    with(py, |session| session.end_epoch(EpochEnd { averaged, checkpoint, warmed_up_to, stops }))
}

/// What a function of the program gives for the first epochs; its name, and its file and line.
#[pyfunction]
fn tell_of_schedule(py: Python<'_>, name: String, place: String, rates: Vec<f64>) -> PyResult<()> {
    with(py, |_| {
        if rates.iter().all(|rate| rate.is_finite()) {
            startup::tell(Observation::Schedule(ScheduleReport { name, place, rates }));
        }
        Ok(())
    })
}

#[pyfunction]
fn end_training(py: Python<'_>) -> PyResult<()> {
    with(py, |session| {
        let training = session.training.as_mut().context(NOT_BEGUN)?;
        let seconds = training.began.elapsed().as_secs_f64();
        training.ended = Some(seconds);
        session.report.training_end(seconds);
        Ok(())
    })
}

#[pyfunction]
fn evaluate(py: Python<'_>, is_verbose: bool) -> PyResult<(f64, f64)> {
    with(py, |session| session.evaluate(is_verbose))
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::ending::{abandon, children, fail, fail_apart, finish, forked, name_call};
    #[pymodule_export]
    use super::{
        LabError, agree_to_stop, allgather, allreduce, average_metrics, barrier, begin_epoch, begin_training, broadcast,
        broadcast_state, build_model, build_network, build_optimizer, devices, end_epoch, end_training, evaluate, flags, init,
        load_data, load_latest, photos_begin, photos_enter, photos_flags, photos_leave, photos_start, photos_step, photos_sync,
        pin, set_defaults, start, start_training, stop_at, tell_of_schedule, topology, train_batch, validate, write_tensorboard,
    };
}
