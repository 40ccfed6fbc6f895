//! Runs on a machine that other programs keep busy.
//!
//! Never needs a busy machine: it brings its own programs, which go with the test.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hvd_lab_terminal::domain::run::{RunState, RunStatus};
use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::{RunId, RunRecord, RunRequest};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use super::run;
use crate::support::lab::{Lab, program, stderr, stdout};
use crate::support::trainer::turn;

/// Programs that do nothing but work, until they are dropped.
struct Others(Vec<Child>);

impl Others {
    /// In sessions of their own: some kernels share a core out among sessions rather than programs.
    fn start(count: usize) -> Others {
        let other = |_| {
            let mut command = Command::new("setsid");
            // Not the leader of a group, or setsid forks and the loop outlives its parent's `kill`. A test that is killed
            // itself leaves none behind: each looks whether its parent is still there.
            command.args(["sh", "-c", "while kill -0 $PPID; do :; done"]).stdin(Stdio::null());
            command.spawn().unwrap()
        };
        Others((0..count).map(other).collect())
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for other in &mut self.0 {
            let _ = other.kill();
            let _ = other.wait();
        }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[test]
fn a_run_that_others_disturbed_is_marked_wherever_its_times_are_shown() {
    // It takes the cores from all that runs beside it.
    let _turn = turn();
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN_EPOCH_SECONDS", "0.5");
    let others = Others::start(cores());
    run(&lab, &["--np", "1"]);
    drop(others);
    let record = lab.store().record(RunId(1)).unwrap();
    let part = record.attempts[0].others_cpu.unwrap();
    assert!(part > 0.5 && part <= 1.0, "{part}");
    assert_eq!(record.disturbed(), Some(part));
    let words = "other programs used ";
    for verb in [["runs"].as_slice(), &["compare", "1"], &["check", "1"], &["report"]] {
        let output = lab.run(verb);
        assert!(stdout(&output).contains(words), "{verb:?}: {}{}", stdout(&output), stderr(&output));
    }
    assert!(stdout(&lab.run(&["runs"])).contains("640*"), "{}", stdout(&lab.run(&["runs"])));
}

/// A run of a learner's program, of which the lab expects to hear something every 16 s.
fn start_own_program(lab: &Lab) -> (RunId, Child) {
    run(lab, &["--np", "1"]);
    let template = lab.store().record(RunId(1)).unwrap();
    let trainer = concat!(env!("HVD_LAB_CHECKOUT"), "/tests/launch/hvd-train.sh");
    let record =
        RunRecord { request: RunRequest { program: Some(trainer.into()), ..template.request }, attempts: Vec::new(), ..template };
    let status = RunStatus::new(RunState::Preparing, "starting", record.created_s);
    let id = lab.store().create(record, &status).unwrap().id;
    let mut command = Command::new(program());
    lab.set_environment(&mut command);
    let folder = lab.store().folder(id);
    command.arg("supervise").arg(folder.path()).env(process::RUN_DIR_VARIABLE, folder.path()).env("STAND_IN", "slow");
    (id, command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

#[test]
fn a_program_that_gets_hardly_any_core_is_slow_and_not_stuck() {
    // It takes the cores from all that runs beside it.
    let _turn = turn();
    let lab = Lab::with_fake_mpirun("4");
    // All on one core, with so many others that hardly any of it is left for a program that works for 20 s by the clock.
    let this_thread = Pid::from_raw(0);
    let all = sched_getaffinity(this_thread).unwrap();
    let mut one = CpuSet::new();
    one.set((0..CpuSet::count()).rfind(|core| all.is_set(*core).unwrap()).unwrap()).unwrap();
    sched_setaffinity(this_thread, &one).unwrap();
    let others = Others::start(24);
    let begin = Instant::now();
    let (id, mut supervisor) = start_own_program(&lab);
    sched_setaffinity(this_thread, &all).unwrap();
    // Longer than any patience of the lab on a quiet machine. What comes behind the silence needs no others.
    let log = || std::fs::read_to_string(lab.folder(id.0).path().join("rank-0.log")).unwrap_or_default();
    let is_silent = || !lab.status(id.0).state.is_over() && !log().contains("Epoch 1/");
    while is_silent() && begin.elapsed() < Duration::from_secs(240) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let silence = begin.elapsed();
    drop(others);
    let status = lab.wait_until_over(id.0);
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    assert_eq!(status.state, RunState::Finished, "after {silence:?}: {}\n{}", status.message, log());
    assert!(silence > Duration::from_secs(20), "it was not silent for long enough: {silence:?}");
    lab.assert_nothing_left(id.0);
}
