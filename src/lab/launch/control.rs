//! Start, continue and stop runs: what a screen or a verb may do to them.
//!
//! The supervisor does the work: this starts it and sends it signals, and does not wait.

use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::discovery::Discovery;
use super::hosts::{hosts_of, unreadable};
use super::prepare;
use super::{CommandLine, LaunchError, Setup, command_line, leased, rank_networks};
use crate::dataset::Location;
use crate::domain::job::RunSpec;
use crate::domain::run::{RunState, RunStatus};
use crate::host::cpu::host_memory;
use crate::host::{self, read};
use crate::process::{self, RunLock};
use crate::runs::{RunFolder, RunId, RunRecord, RunRequest, RunStore, StoreError, Supervision};

/// How long we wait for a supervisor to come up.
const START_PATIENCE: Duration = Duration::from_secs(15);

/// The exact line that [`start`] would run, as far as can be told before the images are fetched.
///
/// # Errors
/// As [`start`].
pub fn preview(store: &RunStore, wanted: &RunRequest) -> Result<CommandLine, LaunchError> {
    plan(wanted.clone(), &store.folder(store.next_id())).map(|(_, line)| line)
}

/// The record of a run that is asked for, with whole paths, and the line that starts its ranks.
fn plan(mut request: RunRequest, folder: &RunFolder) -> Result<(RunRecord, CommandLine), LaunchError> {
    // The run may be continued from another folder.
    request.data_dir = request.data_dir.map(|folder| Location::from_argument(&folder).into_argument());
    let resources = &mut request.spec.resources;
    resources.hostfile = resources.hostfile.take().map(|file| prepare::absolute(Path::new(&file)).display().to_string());
    LaunchError::refuse_if(request.spec.problem())?;
    if request.spec.resources.slurm && request.spec.command().is_some() {
        let text = "--slurm starts the lab's own programs: put a program of your own into a script of yours, for sbatch";
        return Err(LaunchError::Spec(text.into()));
    }
    if let Some(file) = &request.spec.resources.hostfile {
        read::open(Path::new(file)).map_err(|error| unreadable(file, &error))?;
    }
    if request.spec.link_bits().is_some() {
        rank_networks::probe()?;
    }
    let resources = &mut request.spec.resources;
    if let Some(script) = &mut resources.host_discovery_script {
        *script = prepare::absolute(Path::new(script)).display().to_string();
    }
    Discovery::of(resources).map(|discovery| discovery.hosts()).transpose().map_err(LaunchError::Spec)?;
    let setup = Setup::detect(&request.spec, request.program.as_deref())?;
    if request.spec.resources.hostfile.is_some() && !request.force {
        hosts_of(&request.spec.resources, setup.flavour)?;
    }
    let training = request.spec.training();
    let images = match training {
        Some(training) => prepare::expected(&training.data, request.data_dir.as_deref(), request.offline)?,
        None => prepare::named(&request.spec.workload)?,
    };
    let (spec, log_dir) = (&request.spec, folder.log_dir());
    let mut line = command_line(spec, &request.preset, &setup, &images.argument, &log_dir, request.force)?;
    // Those of an exercise are the lab's own: they are shortened where they have to be.
    if request.program.is_none() {
        leased::check_time_limit(spec)?;
    }
    line.notes.extend(leased::wanted(spec, request.force)?.map(|wanted| wanted.in_words()));
    LaunchError::refuse_if(too_large(spec).filter(|_| !setup.machine.in_allocation))?;
    // A program that someone is working on may do anything, also never answer.
    let has_own_flags = training.is_some_and(|training| !training.trainer_flags.is_empty());
    if has_own_flags && request.program.is_none() && setup.is_built() {
        setup.ask_trainer(&line.argv)?;
    }
    let versions = [format!("hvd-lab {}", env!("CARGO_PKG_VERSION")), setup.mpirun_version];
    let versions = versions.into_iter().filter(|version| !version.is_empty()).collect();
    Ok((RunRecord::new(request, images.label, versions), line))
}

/// Buffers that this host has no memory for. Of other hosts only their ranks know.
fn too_large(spec: &RunSpec) -> Option<String> {
    let collectives = spec.collectives().filter(|_| spec.resources.hosts.is_none() && spec.resources.hostfile.is_none())?;
    let (needed, available) = (collectives.memory_bytes(spec.resources.np), host_memory().0);
    (available > 0 && needed > available).then(|| collectives.does_not_fit(needed))
}

/// Make a run folder and start its supervisor; returns at once.
///
/// # Errors
/// Whatever is known to be wrong before the ranks start: settings, launcher, trainer, data, the run folder.
pub fn start(store: &RunStore, wanted: RunRequest) -> Result<RunId, LaunchError> {
    // Planned to refuse early. The supervisor builds the line again, for images and devices may differ by then.
    let (record, _) = plan(wanted, &store.folder(store.next_id()))?;
    let (record, lock) = store.create_claimed(record, &beginning())?;
    let folder = store.folder(record.id);
    spawn_supervisor(&folder, lock)?;
    Ok(record.id)
}

/// What a run is given when it is continued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoreWork {
    /// In total.
    pub epochs: usize,
    /// Another time limit in seconds, or none from now on; left out, it stays as it is.
    pub time_limit_s: Option<Option<f64>>,
    /// It goes on even if the machine has too little room for it now.
    pub force: bool,
}

impl MoreWork {
    pub fn epochs(epochs: usize) -> MoreWork {
        MoreWork { epochs, time_limit_s: None, force: false }
    }

    /// Changes what the run is asked for.
    fn apply_to(self, record: &mut RunRecord) {
        if let Some(training) = record.request.spec.workload.training_mut() {
            training.epochs = self.epochs;
        }
        record.request.force |= self.force;
        let resources = &mut record.request.spec.resources;
        resources.time_limit_s = self.time_limit_s.unwrap_or(resources.time_limit_s);
    }
}

/// Give a run that is over more epochs, from its last checkpoint; returns at once.
///
/// Of several that try at once one succeeds: the lock of the run is taken before anything is looked at, and handed to the
/// supervisor.
///
/// # Errors
/// [`StoreError::Elsewhere`], [`LaunchError::CheckpointsGone`], [`LaunchError::Spec`] with why it cannot go on, and as [`start`].
pub fn continue_run(store: &RunStore, id: RunId, more: MoreWork) -> Result<(), LaunchError> {
    let refuse = |why: String| Err(LaunchError::Spec(why));
    let lock = store.claim(id).map_err(|error| match error {
        StoreError::StillGoing { id } => {
            LaunchError::Spec(format!("run {id} is still running: stop it first (`hvd-lab stop {id}`), or wait for its end"))
        }
        error => error.into(),
    })?;
    let mut record = store.record(id)?;
    if let Some(exercise) = &record.request.exercise {
        return refuse(format!(
            "run {id} belongs to the exercise {exercise}, whose program always starts from scratch: run it again instead"
        ));
    }
    more.apply_to(&mut record);
    let Some(training) = record.training() else {
        let title = record.request.spec.workload.title();
        return refuse(match record.request.spec.problem() {
            Some(problem) => problem,
            None if record.request.spec.command().is_some() => format!(
                "run {id} is a program of your own ({title}), which the lab cannot go on with: start it anew, with its own flag for that"
            ),
            None => format!("run {id} trains nothing ({title}), so there are no epochs to go on with: start another one"),
        });
    };
    if !training.checkpointing {
        return refuse(format!("run {id} kept no checkpoints, so it cannot go on: start a new one with checkpointing on"));
    }
    let summary = store.summary(id)?;
    let done = summary.last_epoch;
    // One that was ended after its last epoch has its test still to do.
    if more.epochs < done || more.epochs == done && summary.status.state == RunState::Finished {
        let more = done + 3;
        return refuse(format!("run {id} has trained {done} epochs already: ask for more than that in total, such as {more}"));
    }
    let folder = store.folder(id);
    if done > 0 && folder.last_checkpoint().is_none() {
        return Err(LaunchError::CheckpointsGone { id, folder: folder.log_dir() });
    }
    plan(record.request, &folder)?;
    folder.change_record(|record| more.apply_to(record))?;
    folder.reserve_status()?;
    folder.write_status(&beginning())?;
    store.forget_summary(id);
    spawn_supervisor(&folder, lock)
}

/// Ask a run to stop; returns once the supervisor has the signal. It ends the ranks, by force after 5 s.
///
/// # Errors
/// [`LaunchError::NotGoing`] where it is over already, [`StoreError::Elsewhere`] where nothing can be sent to it from here,
/// [`LaunchError::Failed`] where it cannot hear that, or no supervisor comes up.
pub fn stop(store: &RunStore, id: RunId) -> Result<(), LaunchError> {
    let begin = Instant::now();
    loop {
        let (status, supervision) = store.supervision(id)?;
        match supervision {
            Supervision::Over if store.stop_left_job(id)? => return Ok(()),
            Supervision::Over => return Err(LaunchError::NotGoing { id, state: status.state.name() }),
            Supervision::Elsewhere(place) => return Err(StoreError::Elsewhere { id, place }.into()),
            Supervision::Here { pid, start_ticks }
                if process::signal_proven(pid, start_ticks, store.folder(id).path(), Signal::SIGTERM) =>
            {
                let is_suspended = process::look_up(pid).is_some_and(|supervisor| supervisor.suspended);
                let problem = format!(
                    "run {id} was asked to stop, but its supervisor (process {pid}) is suspended and cannot hear it: wake it with \
                     `kill -CONT {pid}`, then it stops the run"
                );
                return if is_suspended { Err(LaunchError::Failed(problem)) } else { Ok(()) };
            }
            // A supervisor that has just been started needs a moment to say its number.
            Supervision::Here { .. } | Supervision::Beginning | Supervision::Nobody => {}
        }
        if begin.elapsed() > START_PATIENCE {
            return Err(LaunchError::Failed(format!(
                "run {id} has been starting for {} s and does not answer: launcher.log in its folder may say why; try again later",
                START_PATIENCE.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn beginning() -> RunStatus {
    let place = Some(host::place());
    RunStatus { supervisor_place: place, ..RunStatus::new(RunState::Preparing, "starting the supervisor", host::now_s()) }
}

/// Start this program again as the supervisor of a folder, which gets its lock.
fn spawn_supervisor(folder: &RunFolder, lock: RunLock) -> Result<(), LaunchError> {
    process::this_program::supervise(folder.path(), &folder.launcher_log(), lock).map_err(|cause| {
        let path = process::this_program::path().unwrap_or_else(|_| "hvd-lab".into());
        let message = format!("cannot start the supervisor {}: {cause}", path.display());
        // No supervisor will report it. Where it cannot be written, the next look finds a run without a supervisor.
        let now = beginning();
        let ended_s = Some(now.started_s);
        let _ = folder.write_status(&RunStatus { state: RunState::Failed, message: message.clone(), ended_s, ..now });
        LaunchError::Failed(message)
    })
}
