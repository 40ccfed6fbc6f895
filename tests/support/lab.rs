//! A lab of its own for each test: a home folder, the stand-in trainer, and the promise that nothing is left running.
//!
//! Never waits without a limit.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use hvd_lab_terminal::domain::run::RunStatus;
use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::{RunFolder, RunId, RunStore};
use nix::sys::signal::Signal;

use super::needs::skip;
use super::wait::{LIMIT, wait_for};

pub struct Lab {
    home: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl Lab {
    /// With the real mpirun; `None` where there is none, unless HVD_LAB_REQUIRE asks for it.
    pub fn with_mpirun() -> Option<Lab> {
        if Path::new(env!("HVD_LAB_BUILD_MPIRUN")).is_file() {
            return Some(Lab::new());
        }
        skip("mpi", "no mpirun; `make setup` brings one");
        None
    }

    /// With a launcher that only speaks like `flavour` (`4`, `mpich`, anything else for a stranger).
    pub fn with_fake_mpirun(flavour: &str) -> Lab {
        let mpirun = Path::new(env!("HVD_LAB_CHECKOUT")).join("tests/launch/mpirun.sh");
        Lab::new().env("HVD_LAB_MPIRUN", &mpirun.display().to_string()).env("FAKE_MPI", flavour)
    }

    fn new() -> Lab {
        let trainer = Path::new(env!("HVD_LAB_CHECKOUT")).join("tests/launch/hvd-train.sh");
        let lab = Lab { home: tempfile::tempdir().unwrap(), env: Vec::new() };
        let lab = lab.env("HVD_TRAIN", &trainer.display().to_string());
        lab.env("HVD_MEASURE", &trainer.with_file_name("hvd-measure.sh").display().to_string())
    }

    pub fn env(mut self, name: &str, value: &str) -> Lab {
        self.env.push((name.into(), value.into()));
        self
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The lab with these arguments, away from the user's settings and data.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hvd-lab"));
        self.set_environment(&mut command);
        command.args(args);
        command
    }

    pub fn set_environment(&self, command: &mut Command) {
        for name in
            ["HVD_LAB_DATA", "HVD_LAB_MPIRUN", "HVD_TRAIN", "HVD_MEASURE", "HVD_LAB_DATA_URL", "HVD_LAB_CLASS", "STAND_IN"]
        {
            command.env_remove(name);
        }
        command.env("HVD_LAB_HOME", self.home()).env("HVD_LAB_OFFLINE", "1").stdin(Stdio::null());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
    }

    pub fn run(&self, args: &[&str]) -> Output {
        finish(self.spawn(args))
    }

    pub fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Start run `id` in the background and wait until every rank has reported.
    pub fn start(&self, id: u32, np: usize) -> Child {
        let child = self.spawn(&["run", "--np", &np.to_string(), "--force", "--data", "generated"]);
        wait_for("ranks to report", || (self.pids(id).len() == np).then_some(()));
        child
    }

    pub fn store(&self) -> RunStore {
        RunStore::open(self.home()).unwrap()
    }

    pub fn folder(&self, id: u32) -> RunFolder {
        self.store().folder(RunId(id))
    }

    pub fn status(&self, id: u32) -> RunStatus {
        self.folder(id).read_status().unwrap()
    }

    pub fn wait_until_over(&self, id: u32) -> RunStatus {
        wait_for("the end of the run", || self.folder(id).read_status().ok().filter(|status| status.state.is_over()))
    }

    /// Pids of the ranks, in the order of their ranks, as far as they have reported.
    pub fn pids(&self, id: u32) -> Vec<u32> {
        let text = std::fs::read_to_string(self.folder(id).events_file()).unwrap_or_default();
        let events = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let mut pids: Vec<(u64, u32)> = events
            .filter(|event| event["event"] == "topology")
            .filter_map(|event| Some((event["process"].as_u64()?, event["pid"].as_u64()? as u32)))
            .collect();
        pids.sort_unstable();
        pids.into_iter().map(|(_, pid)| pid).collect()
    }

    /// Everything that was started for the run, the supervisor included.
    pub fn processes(&self, id: u32) -> Vec<u32> {
        let status = self.folder(id).read_status().ok();
        let mut left = process::of_run(self.folder(id).path());
        if let Some(status) = status.filter(|status| status.supervisor_pid != 0) {
            left.extend(process::of_session(status.supervisor_pid));
            left.extend(process::is_alive(status.supervisor_pid, status.supervisor_start_ticks).then_some(status.supervisor_pid));
        }
        left
    }

    /// Nothing of the run is left, or will not be in a moment: a process that was killed takes some time to vanish.
    pub fn assert_nothing_left(&self, id: u32) {
        let deadline = Instant::now() + Duration::from_secs(3);
        while !self.processes(id).is_empty() {
            assert!(Instant::now() < deadline, "left running: {:?}", self.processes(id));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Lab {
    /// A test that failed must not leave its ranks behind either.
    fn drop(&mut self) {
        for id in self.store().ids() {
            self.processes(id.0).into_iter().for_each(|pid| process::signal(pid, Signal::SIGKILL));
        }
    }
}

/// The output of a process that has to end by itself.
pub fn finish(mut child: Child) -> Output {
    let pid = child.id();
    let (done, watchdog) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        if watchdog.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            process::signal(pid, Signal::SIGKILL);
        }
    });
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    drop(done);
    guard.join().unwrap();
    output
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Path of the lab's own program.
pub fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_hvd-lab").into()
}
