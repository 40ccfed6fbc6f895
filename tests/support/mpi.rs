//! Starts programs under the real mpirun for tests, with a time limit, and leaves nothing of them behind.
//!
//! Never hides a failure: a launch that hits its limit or leaves a process fails the test. `HVD_LAB_REQUIRE=mpi` turns
//! the skip for want of mpirun into a failure.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::needs::skip;

/// Marks every process of a launch in its environment, so that survivors are found.
const MARK: &str = "HVD_LAB_TEST_LAUNCH";

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// mpirun of the MPI library that this test is linked with, if it is there.
pub fn mpirun() -> Option<PathBuf> {
    let path = PathBuf::from(env!("HVD_LAB_BUILD_MPIRUN"));
    if path.is_file() {
        return Some(path);
    }
    skip("mpi", format_args!("no mpirun at `{}`", path.display()));
    None
}

/// `mpirun -np SIZE`, ready for a program and its arguments.
pub fn command(mpirun: &Path, size: usize) -> Command {
    let mut command = Command::new(mpirun);
    let version = Command::new(mpirun).arg("--version").output().map(|output| text(&output)).unwrap_or_default();
    if version.contains("Open MPI") || version.contains("Open RTE") {
        command.args(["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "pml", "ob1"]);
        if std::fs::metadata("/proc/self").is_ok_and(|this| this.uid() == 0) {
            command.arg("--allow-run-as-root");
        }
    }
    command.args(["-np", &size.to_string()]);
    command
}

/// Runs the command to its end or to the limit, ends what is left of it, and fails if anything was or the limit hit.
pub fn run_limited(mut command: Command, limit: Duration) -> Output {
    let output = run_once(&mut command, limit);
    // Open MPI 5's launcher now and then aborts in a lock of its own when its ranks leave at the same moment.
    let is_its_own_abort =
        output.status.signal() == Some(Signal::SIGABRT as i32) && text(&output).contains("prterun: pthread_mutex");
    if is_its_own_abort { run_once(&mut command, limit) } else { output }
}

fn run_once(command: &mut Command, limit: Duration) -> Output {
    static LAUNCHES: AtomicUsize = AtomicUsize::new(0);
    let mark = format!("{}-{}", std::process::id(), LAUNCHES.fetch_add(1, Ordering::SeqCst));
    // Of its own, for Open MPI names its session folder by pid and fails on one that a killed launch left.
    let scratch = tempfile::tempdir().unwrap();
    command
        .env("TMPDIR", scratch.path())
        .env(MARK, &mark)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let group = Pid::from_raw(child.id() as i32);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let ended = receiver.recv_timeout(limit);
    if ended.is_err() {
        // mpirun passes SIGTERM on; the group is killed if that does not do.
        let _ = killpg(group, Signal::SIGTERM);
        if receiver.recv_timeout(Duration::from_secs(5)).is_err() {
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
    let survivors = marked_processes(&mark);
    for pid in &survivors {
        let _ = kill(*pid, Signal::SIGKILL);
    }
    let output = ended.unwrap_or_else(|_| panic!("no end within {limit:?}")).unwrap();
    assert!(survivors.is_empty(), "left behind: {survivors:?}\n{}", text(&output));
    output
}

/// Processes that carry the mark and are still there a moment after the launcher ended.
fn marked_processes(mark: &str) -> Vec<Pid> {
    let wanted = format!("{MARK}={mark}");
    let deadline = Instant::now() + Duration::from_secs(3);
    loop {
        let carries = |pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes())
        };
        let pids = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let found: Vec<_> = pids.filter(carries).map(Pid::from_raw).collect();
        if found.is_empty() || Instant::now() > deadline {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
