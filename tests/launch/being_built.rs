//! Runs that come before the programs of the ranks are built, and the script that opens the lab meanwhile.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use hvd_lab_terminal::domain::run::RunState;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;

use crate::support::lab::{Lab, finish, program, stderr, stdout};
use crate::support::wait::wait_for;

const STAND_IN: &str = concat!(env!("HVD_LAB_CHECKOUT"), "/tests/launch/hvd-train.sh");

/// hvd-lab in a folder without other programs, where a build is going on until `lock` is let go.
struct Building {
    lab: Lab,
    folder: tempfile::TempDir,
    lock: Option<Flock<File>>,
}

impl Building {
    fn of(lab: Lab) -> Building {
        // On the same file system, so that no program is copied while another test starts one.
        let folder = tempfile::tempdir_in(program().parent().unwrap()).unwrap();
        fs::hard_link(program(), folder.path().join("hvd-lab")).unwrap();
        let log = folder.path().join("build.log");
        fs::write(&log, "   Compiling tch v0.24.0\n   Compiling hvd-lab v0.1.0\n").unwrap();
        let lock = Flock::lock(File::open(log).unwrap(), FlockArg::LockExclusiveNonblock).unwrap();
        Building { lab, folder, lock: Some(lock) }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.folder.path().join("hvd-lab"));
        self.lab.set_environment(&mut command);
        command.env_remove("HVD_TRAIN").env("PATH", "/usr/bin:/bin").args(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn asked(&self, words: &[&str]) -> Output {
        finish(self.command(words).spawn().unwrap())
    }

    /// A run that waits for its program.
    fn waiting(&self) -> Child {
        let child = self.command(&["run", "--data", "generated", "--np", "1"]).spawn().unwrap();
        let message = wait_for("the run to wait", || {
            let status = self.lab.folder(1).read_status().ok()?;
            (status.state == RunState::Preparing && status.message.contains("built")).then_some(status.message)
        });
        assert_eq!(message, "waiting for hvd-train, which is still being built");
        child
    }
}

#[test]
fn a_run_waits_for_its_program_and_then_trains() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let mut building = Building::of(lab);
    let run = building.waiting();
    let output = building.asked(&["doctor"]);
    let said = stdout(&output);
    let line = said.lines().find(|line| line.contains("still being built: 2 packages so far"));
    assert!(line.is_some_and(|line| !line.contains("FAIL")), "{said}");
    // What cannot wait says that it has to.
    assert_eq!(building.asked(&["exercise", "start", "--language", "python", "--track", "four-changes"]).status.code(), Some(0));
    let output = building.asked(&["exercise", "run", "--track", "four-changes"]);
    assert!(stderr(&output).contains("for Python is still being built: try again"), "{}", stderr(&output));
    symlink(STAND_IN, building.folder.path().join("hvd-train")).unwrap();
    building.lock = None;
    let output = finish(run);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let status = building.lab.status(1);
    assert_eq!(status.state, RunState::Finished, "{}", status.message);
    building.lab.assert_nothing_left(1);
}

#[test]
fn a_run_whose_program_could_not_be_built_says_what_to_do() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let mut building = Building::of(lab);
    let run = building.waiting();
    building.lock = None;
    assert_ne!(finish(run).status.code(), Some(0));
    let status = building.lab.status(1);
    assert_eq!(status.state, RunState::Failed);
    let log = building.folder.path().join("build.log").display().to_string();
    assert!(status.message.starts_with("hvd-train was not built: run `make build`"), "{}", status.message);
    assert!(status.message.contains(&log), "{}", status.message);
    let doctor = building.asked(&["doctor"]);
    assert!(stdout(&doctor).contains("says how the last try ended"), "{}", stdout(&doctor));
    building.lab.assert_nothing_left(1);
}

#[test]
fn a_run_that_waits_for_its_program_can_be_stopped() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let building = Building::of(lab);
    let run = building.waiting();
    assert_eq!(building.asked(&["stop", "1"]).status.code(), Some(0));
    finish(run);
    assert_eq!(building.lab.status(1).state, RunState::Stopped);
    building.lab.assert_nothing_left(1);
}

/// What `assets/setup/behind.py` is given: a build and a lab, both shell scripts, in a folder with two pipes to hold them up.
struct Behind {
    folder: tempfile::TempDir,
}

impl Behind {
    fn new() -> Behind {
        let folder = tempfile::tempdir().unwrap();
        for pipe in ["go", "seen"] {
            nix::unistd::mkfifo(&folder.path().join(pipe), Mode::S_IRWXU).unwrap();
        }
        Behind { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn script(&self) -> Command {
        let script = Path::new(env!("HVD_LAB_CHECKOUT")).join("assets/setup/behind.py");
        let mut command = Command::new("python3");
        command.arg(script).arg("build.log").current_dir(self.folder.path());
        command
    }

    fn start(&self, build: &str, lab: &str) -> Child {
        let mut command = self.script();
        command.args(["sh", "-c", build, "--", "sh", "-c", lab]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn run(&self, build: &str, lab: &str) -> Output {
        finish(self.start(build, lab))
    }

    /// Whether the script says so too.
    fn is_going_on(&self) -> bool {
        self.script().status().unwrap().success()
    }

    fn is_locked(&self) -> bool {
        Flock::lock(File::open(self.path("build.log")).unwrap(), FlockArg::LockSharedNonblock).is_err()
    }
}

#[test]
fn the_lab_opens_before_the_build_is_done() {
    let behind = Behind::new();
    // Each waits for the other: so neither is over before the other has begun. The lock goes with the build, not with the lab.
    let lab = "echo open; echo now > go; read word < seen; flock --wait 60 build.log true || exit 4; exit 3";
    let output = behind.run("echo Compiling; read word < go; echo done > seen", lab);
    assert_eq!((stdout(&output).lines().next(), output.status.code()), (Some("open"), Some(3)), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(behind.path("build.log")).unwrap(), "Compiling\n", "what the build says is in its log alone");
    assert!(!behind.is_locked());
}

#[test]
fn the_log_is_locked_while_the_build_goes_on_and_no_second_build_begins() {
    let behind = Behind::new();
    let first = behind.start("read word < go", "true");
    wait_for("the lock", || (behind.path("build.log").exists() && behind.is_locked()).then_some(()));
    assert!(behind.is_going_on());
    let second = behind.run("echo second > second", "echo open");
    assert_eq!((stdout(&second).as_str(), second.status.code()), ("open\n", Some(0)), "{}", stderr(&second));
    fs::write(behind.path("go"), "now\n").unwrap();
    let output = finish(first);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("still being built"), "{}", stdout(&output));
    assert!(!behind.is_locked() && !behind.is_going_on() && !behind.path("second").exists());
}

#[test]
fn what_a_build_leaves_behind_is_not_waited_for() {
    let behind = Behind::new();
    // A server of a compiler's cache, say, which has the log open as its output.
    let output = behind.run("(read word < go; echo ended > seen) & exit 2", "flock --wait 60 build.log true || exit 4");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("build: it failed with 2"), "{}", stderr(&output));
    fs::write(behind.path("go"), "now\n").unwrap();
    assert_eq!(fs::read_to_string(behind.path("seen")).unwrap(), "ended\n");
}

#[test]
fn a_build_that_is_killed_or_cannot_start_is_told() {
    let output = Behind::new().run("kill -9 $$", "true");
    assert!(output.status.code() == Some(1) && stderr(&output).contains("killed by signal 9"), "{}", stderr(&output));
    let behind = Behind::new();
    fs::create_dir(behind.path("build.log")).unwrap();
    let output = behind.run("true", "true");
    let said = stderr(&output);
    assert!(
        output.status.code() == Some(1) && said.contains("cannot write to build.log") && said.contains("make build"),
        "{said}"
    );
}

#[test]
fn a_build_that_fails_is_told_when_the_lab_is_closed() {
    let output = Behind::new().run("echo 'error: no g++'; exit 2", "true");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("could not be built") && stderr(&output).contains("error: no g++"), "{}", stderr(&output));
}

#[test]
fn ctrl_c_behind_the_lab_ends_the_build() {
    let behind = Behind::new();
    let mut child = behind.start("echo $$ > pid; read word < go", "true");
    // Whoever reads that the build goes on may end it.
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    // It stays open: a Python that buffers nothing has not written all of it yet.
    let offer = said.find(|line| line.contains("Ctrl-C does"));
    assert!(offer.is_some());
    let pid: u32 = wait_for("the build's number", || fs::read_to_string(behind.path("pid")).ok()?.trim().parse().ok());
    hvd_lab_terminal::process::signal(child.id(), Signal::SIGINT);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(hvd_lab_terminal::process::look_up(pid).is_none(), "the build has ended");
}
