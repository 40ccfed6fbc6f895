//! What a run starts from on this machine: the launcher, the program of its ranks, cores and GPUs.
//!
//! Never starts a run; it asks `mpirun` for its version and `hvd-train` whether it knows its flags, and reads /proc and /sys.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::build_lock::Build;
use super::flavour::{Flavour, version_line};
use super::libraries::{self, BUILD_MPIRUN, OwnFirst};
use super::{LaunchError, Preset, default_preset};
use crate::domain::benchmark::HostRoom;
use crate::domain::command::CommandSpec;
use crate::domain::device::visible;
use crate::domain::job::{RunSpec, Workload};
use crate::domain::launcher::{LauncherWords, OwnLauncher};
use crate::host::access::GROUP_VARIABLE;
use crate::host::installation::Installation;
use crate::host::{cores, cpu, driver, files, numa};
use crate::process::probe_command::{LAUNCHER_PATIENCE, TRAINER_PATIENCE, ask};
use crate::telemetry::NvmlProbe;

/// Everything a command line depends on beside the run's own settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    pub mpirun: PathBuf,
    pub flavour: Flavour,
    /// `mpirun (Open MPI) 5.0.11`.
    pub mpirun_version: String,
    /// What each rank runs.
    pub program: PathBuf,
    /// The command of `hvd-measure`, if that is the program.
    pub command: Option<&'static str>,
    pub machine: Machine,
}

/// What this machine has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Logical cores that this process may use.
    pub cores: usize,
    /// Physical cores: what Open MPI takes for slots.
    pub physical_cores: usize,
    /// What a benchmark has to fit into.
    pub room: HostRoom,
    /// What keeps GPUs from programs, where there is a driver.
    pub hidden_gpus: String,
    pub is_root: bool,
    /// Inside an allocation of a batch system, which then says where ranks may run.
    pub in_allocation: bool,
    /// Variables of the user's that ranks on other hosts need as well.
    pub forwarded: Vec<String>,
    /// Where libraries of others would hide those of the launcher and its ranks.
    pub libraries: Option<OwnFirst>,
}

impl Setup {
    /// Find the launcher, and the program of this workload if no `program` takes its place, and look at the machine. Takes a
    /// few milliseconds. A program that is still being built is where it will be.
    ///
    /// # Errors
    /// [`LaunchError::NoLauncher`], [`LaunchError::BadLauncher`], [`LaunchError::NoProgramFound`].
    pub fn detect(spec: &RunSpec, program: Option<&Path>) -> Result<Setup, LaunchError> {
        let command = if program.is_none() { measure_command(&spec.workload) } else { None };
        let program = match find_program(spec, program) {
            Err(LaunchError::BeingBuilt { path, .. }) => path,
            found => found?,
        };
        let Launcher { mpirun, flavour, version } = Launcher::of(spec, &program)?;
        let mut machine = Machine::detect();
        machine.in_allocation |= spec.resources.slurm;
        machine.libraries = libraries::own_first(&mpirun, spec.command().is_none());
        Ok(Setup { flavour, mpirun_version: version, mpirun, program, command, machine })
    }

    /// Whether the program is there, and not still being built.
    pub fn is_built(&self) -> bool {
        is_program(&self.program)
    }

    /// Whether the trainer understands its flags in a launcher's words, asked without training.
    ///
    /// # Errors
    /// [`LaunchError::Spec`] with the trainer's own line, or with why it does not start.
    pub fn ask_trainer(&self, argv: &[String]) -> Result<(), LaunchError> {
        let flags = argv.iter().skip_while(|word| **word != self.program.display().to_string()).skip(1);
        let bad = |error| {
            let advice = "See `hvd-lab doctor`, or point HVD_TRAIN at another hvd-train";
            LaunchError::Spec(format!("{} does not work as the trainer: {error}. {advice}", self.program.display()))
        };
        let answer = ask(libraries::command(&self.program).args(flags).arg("--build-info"), TRAINER_PATIENCE).map_err(bad)?;
        match answer.status.code() {
            Some(2) => {
                let line =
                    answer.stderr.lines().find(|line| !libraries::is_remark(line)).unwrap_or("hvd-train refuses its flags");
                Err(LaunchError::Spec(line.to_owned()))
            }
            Some(0) => Ok(()),
            // Whatever else is wrong with it shows when the ranks start.
            _ => libraries::blame(&answer.stderr).map_or(Ok(()), |blame| Err(LaunchError::foreign(&self.program, blame))),
        }
    }
}

/// The launcher that is found, and its version in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    pub mpirun: PathBuf,
    pub flavour: Flavour,
    pub version: String,
}

impl Launcher {
    /// # Errors
    /// [`LaunchError::NoLauncher`], [`LaunchError::BadLauncher`].
    pub fn detect() -> Result<Launcher, LaunchError> {
        let mpirun = find_launcher()?;
        let mut question = libraries::command(&mpirun);
        Launcher::asked(mpirun, &mut question)
    }

    fn asked(mpirun: PathBuf, question: &mut Command) -> Result<Launcher, LaunchError> {
        let bad = |cause: String| LaunchError::BadLauncher { path: mpirun.clone(), cause };
        let answer = ask(question.arg("--version"), LAUNCHER_PATIENCE).map_err(|error| bad(error.to_string()))?;
        if !answer.status.success() {
            let ended = || bad(format!("`--version` ended with {}: {}", answer.status, version_line(&answer.stderr)));
            return Err(libraries::blame(&answer.stderr).map_or_else(ended, |blame| LaunchError::foreign(&mpirun, blame)));
        }
        let (flavour, version) = (Flavour::from_version_text(&answer.stdout), version_line(&answer.stdout));
        let flavour = flavour.ok_or_else(|| bad(format!("its --version says `{version}`")))?;
        Ok(Launcher { flavour, version, mpirun })
    }

    /// The lab's, or the one that the user's own words name.
    fn of(spec: &RunSpec, program: &Path) -> Result<Launcher, LaunchError> {
        let own = spec.command().and_then(|command| Some((command.launcher_words()?, command)));
        // In a container it is not asked.
        let mpirun = |own: &LauncherWords| own.start_of(OwnLauncher::Mpirun).filter(|_| own.container.is_none());
        match own.as_ref().map(|(own, command)| mpirun(own).map(|start| &command.argv[1..start])) {
            None if !spec.starts_alone() => Launcher::detect(),
            // The words between are a wrapper's, such as env.
            Some(Some(words)) => Launcher::asked(program.to_owned(), Command::new(program).args(words)),
            // Another launcher, or none: its version does not matter, since it gets the user's words only.
            _ => {
                let name = program.file_name().filter(|_| !spec.starts_alone());
                let version = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                Ok(Launcher { mpirun: program.to_owned(), flavour: Flavour::OpenMpi5, version })
            }
        }
    }
}

/// The program that the user's words begin with, as the folder of the run finds it.
fn own_program(command: &CommandSpec) -> Result<PathBuf, LaunchError> {
    let name = command.argv.first().map(String::as_str).unwrap_or_default();
    let path = Path::new(name);
    let found = match path.components().count() {
        1 => on_path(name),
        _ => Some(Path::new(&command.directory).join(path)).filter(|path| is_program(path)),
    };
    found.ok_or_else(|| {
        let directory = &command.directory;
        let is_mpirun = matches!(name, "mpirun" | "mpiexec");
        let own = is_mpirun.then(Launcher::detect).and_then(Result::ok);
        // A file that may not be run was meant for an interpreter.
        let advice = if command.argv.len() == 1 && name.contains(' ') {
            format!("there is no program `{name}`: without the quotes its words are a program and its arguments")
        } else if Path::new(directory).join(path).is_file() {
            format!("{name} is not a program that can be run: write what runs it, such as `hvd-lab run -- python3 {name}`, or use `chmod +x`")
        } else if let Some(own) = own {
            let own = own.mpirun.display();
            format!("there is no program `{name}` on PATH. That of the lab is {own}; or leave it to the lab, as with `--np 2 -- python3 train.py`")
        } else {
            format!("there is no program `{name}` on PATH or in {directory}: the words behind -- begin with a program, such as `python3 train.py`")
        };
        LaunchError::Spec(advice)
    })
}

impl Machine {
    pub fn detect() -> Machine {
        let cores = cores::usable();
        Machine {
            cores,
            // A quota on processor time leaves fewer cores than there are.
            physical_cores: cores::physical().unwrap_or(cores).min(cores),
            room: HostRoom { gpus: gpus(), numa_nodes: numa::nodes(), free_memory: cpu::host_memory().0 },
            hidden_gpus: driver::nvidia().map(|()| driver::hiding()).unwrap_or_default(),
            is_root: nix::unistd::geteuid().is_root(),
            in_allocation: ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"].iter().any(|name| std::env::var_os(name).is_some()),
            forwarded: forwarded(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())),
            libraries: None,
        }
    }

    /// The preset for this machine, with as many ranks as it has devices.
    pub fn preset(&self) -> Preset {
        default_preset(self.room.gpus > 0).fitted(self.cores, self.room.gpus)
    }
}

/// HVD_LAB_MPIRUN, else the launcher of an installed lab, else the one that hvd-train was built with, else PATH.
fn find_launcher() -> Result<PathBuf, LaunchError> {
    if let Some(path) = given("HVD_LAB_MPIRUN") {
        let cause = "there is no such program".to_owned();
        return resolve(Path::new(&path)).ok_or(LaunchError::BadLauncher { path: path.into(), cause });
    }
    if let Some(installation) = Installation::here() {
        // No other fits the library that the trainer finds beside it.
        return if installation.is_set_up() {
            Ok(installation.mpirun())
        } else {
            Err(LaunchError::Spec("the libraries of the trainer are not here yet: `hvd-lab setup` fetches them, once".into()))
        };
    }
    let built = (!BUILD_MPIRUN.is_empty()).then(|| Path::new(BUILD_MPIRUN)).filter(|path| is_program(path));
    let found = built.map(Path::to_owned).or_else(|| on_path("mpirun")).or_else(|| on_path("mpiexec"));
    found.ok_or(LaunchError::NoLauncher)
}

/// What each rank of the run is to start.
///
/// # Errors
/// As [`find_measure`], and [`LaunchError::Spec`] of the user's own program.
fn find_program(spec: &RunSpec, program: Option<&Path>) -> Result<PathBuf, LaunchError> {
    match (program, &spec.workload) {
        (Some(program), _) if is_program(program) => Ok(program.to_owned()),
        (Some(program), _) => Err(LaunchError::Spec(format!(
            "the program {} is not there any more: build it again with `hvd-lab exercise run`",
            program.display()
        ))),
        (None, Workload::Command(command)) => own_program(command),
        (None, workload) if measure_command(workload).is_some() => find_measure(),
        (None, _) => find_trainer(),
    }
}

/// The command of `hvd-measure` that runs this workload; `None` if it is the work of another program.
fn measure_command(workload: &Workload) -> Option<&'static str> {
    match workload {
        Workload::Benchmark(_) => Some("bench"),
        Workload::Nvcnn(_) => Some("nvcnn"),
        Workload::Collectives(_) => Some("collectives"),
        Workload::Training(_) | Workload::Command(_) | Workload::Unknown(_) => None,
    }
}

/// That the program of this run is still being built, in words.
pub(super) fn unbuilt(spec: &RunSpec, program: Option<&Path>) -> Option<String> {
    let Err(LaunchError::BeingBuilt { name, .. }) = find_program(spec, program) else { return None };
    Some(format!("waiting for {name}, which is still being built"))
}

/// The trainer: HVD_TRAIN, else beside this program, else on PATH.
///
/// # Errors
/// As [`find_measure`].
pub fn find_trainer() -> Result<PathBuf, LaunchError> {
    find_ours("hvd-train", TRAINER_VARIABLE)
}

/// The program of benchmarks, trainings on photos and collectives: HVD_MEASURE, else beside the trainer that HVD_TRAIN names, else
/// beside this program, else on PATH.
///
/// # Errors
/// [`LaunchError::VariableIsNoProgram`], [`LaunchError::NoProgramFound`], [`LaunchError::BeingBuilt`], [`LaunchError::NotBuilt`].
pub fn find_measure() -> Result<PathBuf, LaunchError> {
    find_ours("hvd-measure", "HVD_MEASURE")
}

const TRAINER_VARIABLE: &str = "HVD_TRAIN";

/// One of the lab's own programs that ranks run. `variable` is the one that may hold its path.
fn find_ours(name: &'static str, variable: &'static str) -> Result<PathBuf, LaunchError> {
    if let Some(path) = given(variable) {
        return resolve(Path::new(&path)).ok_or(LaunchError::VariableIsNoProgram { name, variable, path: path.into() });
    }
    let me = std::env::current_exe().unwrap_or_else(|_| "hvd-lab".into());
    let beside = given(TRAINER_VARIABLE).into_iter().map(PathBuf::from).chain([me.clone()]);
    if let Some(path) = beside.map(|other| other.with_file_name(name)).find(|path| is_program(path)) {
        return Ok(path);
    }
    // Before another one on PATH, which may be of another version.
    let build = Build::beside(&me);
    if let Some(build) = build.as_ref().filter(|build| build.is_going_on) {
        return Err(LaunchError::BeingBuilt { name, path: me.with_file_name(name), progress: build.progress() });
    }
    on_path(name).ok_or(match build {
        Some(Build { log, .. }) => LaunchError::NotBuilt { name, log },
        None => LaunchError::NoProgramFound { name, variable, beside: me },
    })
}

fn given(variable: &str) -> Option<OsString> {
    std::env::var_os(variable).filter(|value| !value.is_empty())
}

/// An absolute path of a program given by name or path.
fn resolve(program: &Path) -> Option<PathBuf> {
    match program.components().count() {
        1 => on_path(program.to_str()?),
        _ => std::path::absolute(program).ok().filter(|path| is_program(path)),
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| is_program(file))
}

/// Whether there is such a program, by its name or path.
pub(super) fn is_program_at(program: &str) -> bool {
    resolve(Path::new(program)).is_some()
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Whether a GPU is cut into MIG devices, as the driver lists them.
fn has_slices() -> bool {
    let gpus = Path::new("/proc/driver/nvidia/capabilities");
    files::names_in(gpus).flat_map(|gpu| files::names_in(&gpus.join(gpu).join("mig"))).any(|slice| slice.starts_with("gi"))
}

/// GPUs by their device files (a container sees only its own), else as the NVIDIA driver lists them, and where it has neither
/// (WSL 2), as NVML counts them, which takes longer.
fn gpus() -> usize {
    if driver::nvidia().is_err() {
        return 0;
    }
    let is_gpu = |name: &String| name.strip_prefix("nvidia").is_some_and(|number| number.parse::<usize>().is_ok());
    let choice = driver::visible_devices();
    let there = match files::names_in(Path::new("/dev")).filter(is_gpu).count() {
        0 => files::names_in(Path::new("/proc/driver/nvidia/gpus")).count(),
        gpus => gpus,
    };
    // Only NVML knows what is hidden by its UUID, and MIG devices.
    match (&choice, there) {
        (None, gpus) if gpus > 0 && !has_slices() => gpus,
        (choice, gpus) => NvmlProbe::open().map_or_else(
            |_| visible(choice.as_deref(), &(0..gpus).map(|index| (index, String::new())).collect::<Vec<_>>()).len(),
            |probe| probe.system().visible.len(),
        ),
    }
}

/// Variables that change how ranks find or use their devices and libraries, and for whom they write.
fn forwarded(names: impl Iterator<Item = String>) -> Vec<String> {
    let wanted = |name: &String| {
        let others = ["CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", GROUP_VARIABLE];
        name.starts_with("NCCL_") || others.contains(&name.as_str())
    };
    let mut names: Vec<String> = names.filter(wanted).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_ranks_need_is_forwarded() {
        let names = ["NCCL_DEBUG", "HOME", "LD_LIBRARY_PATH", "AWS_SECRET_ACCESS_KEY", "NCCL_ALGO", "HVD_LAB_GROUP"];
        assert_eq!(
            forwarded(names.map(String::from).into_iter()),
            ["HVD_LAB_GROUP", "LD_LIBRARY_PATH", "NCCL_ALGO", "NCCL_DEBUG"]
        );
    }

    #[test]
    fn this_machine_has_at_least_one_core() {
        let machine = Machine::detect();
        assert!(machine.cores >= 1 && machine.physical_cores >= 1);
        assert!(machine.preset().spec.resources.np >= 1);
    }
}
