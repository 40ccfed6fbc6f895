//! Whose process it is, and who may supervise a run: other hosts and containers, several labs at once, folders that go.
//!
//! Never trusts a number: who must live is asked.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::RunId;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::lab::{Lab, finish, program, stderr, stdout};
use crate::support::wait::wait_for;

/// Changes what the status says of the supervisor.
fn rewrite(lab: &Lab, id: u32, change: impl FnOnce(&mut Value)) {
    let file = lab.folder(id).status_file();
    let mut status: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    change(&mut status);
    fs::write(&file, serde_json::to_vec_pretty(&status).unwrap()).unwrap();
}

fn lives(pid: u32) -> bool {
    process::look_up(pid).is_some_and(|found| !found.zombie)
}

/// Nothing to do with any run; ended with its test.
struct Bystander(Child);

impl Bystander {
    fn start() -> Bystander {
        Bystander(Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The lab in namespaces of its own; `None` where that is not allowed.
fn apart(lab: &Lab, namespaces: &[&str], script: &str) -> Option<Child> {
    if !Command::new("unshare").args(namespaces).arg("true").stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: no namespaces here");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(namespaces).args(["sh", "-c", script]).arg(program());
    lab.set_environment(&mut command);
    Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

#[test]
fn a_number_from_another_host_or_another_boot_gets_no_signal() {
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN", "hang");
    let child = lab.start(1, 1);
    let (supervisor, bystander) = (lab.status(1).supervisor_pid, Bystander::start());
    let its_start = process::look_up(bystander.0.id()).unwrap().start_ticks;
    let before: Value = serde_json::from_slice(&fs::read(lab.folder(1).status_file()).unwrap()).unwrap();
    // The bystander has the number and the start time that the run's supervisor has there.
    rewrite(&lab, 1, |status| {
        (status["supervisor_pid"], status["supervisor_start_ticks"]) = (bystander.0.id().into(), its_start.into());
        status["supervisor_place"] = serde_json::json!({ "host": "node3", "boot": "another", "machine": "another" });
    });
    for verb in [["stop", "1"].as_slice(), &["runs", "delete", "1"], &["run", "--continue", "1"], &["stop", "1", "--gone"]] {
        let output = lab.run(verb);
        assert_eq!(output.status.code(), Some(2), "{verb:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("on host `node3`"), "{verb:?}: {}", stderr(&output));
    }
    let listed = stdout(&lab.run(&["runs"]));
    assert!(listed.contains("running") && listed.contains("it may still be running on host `node3`"), "{listed}");
    assert!(lives(bystander.0.id()) && lives(supervisor));
    // As it is in truth, it is stopped.
    fs::write(lab.folder(1).status_file(), before.to_string()).unwrap();
    assert_eq!(lab.run(&["stop", "1"]).status.code(), Some(0));
    assert!(lives(bystander.0.id()));
    lab.assert_nothing_left(1);
    finish(child);
}

#[test]
fn a_process_that_only_has_the_number_gets_no_signal() {
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN", "hang");
    let mut child = lab.start(1, 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let (supervisor, bystander) = (lab.status(1).supervisor_pid, Bystander::start());
    process::signal(supervisor, Signal::SIGKILL);
    wait_for("the supervisor's end", || (!lives(supervisor)).then_some(()));
    let its_start = process::look_up(bystander.0.id()).unwrap().start_ticks;
    // This host, this boot, a number and a start time that are right: only the mark is missing.
    rewrite(&lab, 1, |status| {
        (status["supervisor_pid"], status["supervisor_start_ticks"]) = (bystander.0.id().into(), its_start.into());
    });
    let output = lab.run(&["stop", "1"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("it has failed"), "{}", stderr(&output));
    assert!(lives(bystander.0.id()));
    // The status still names it.
    drop(bystander);
    lab.assert_nothing_left(1);
}

#[test]
fn a_run_is_stopped_though_its_host_has_another_name_since() {
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN", "hang");
    let script = "hostname another-name && exec \"$0\" run --np 1 --data generated";
    let Some(child) = apart(&lab, &["--user", "--map-root-user", "--uts"], script) else { return };
    wait_for("the rank to report", || (lab.pids(1).len() == 1).then_some(()));
    assert_eq!(lab.store().record(RunId(1)).unwrap().host, "another-name");
    let output = lab.run(&["stop", "1"]);
    assert_eq!(stdout(&output), "run 1 stopped after 0 epochs\n", "{}", stderr(&output));
    lab.assert_nothing_left(1);
    finish(child);
}

#[test]
fn a_run_in_another_container_is_left_alone_and_has_failed_when_that_is_gone() {
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN", "hang");
    let namespaces = ["--user", "--map-root-user", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let script = "hostname container && \"$0\" run --np 1 --data generated";
    let Some(mut container) = apart(&lab, &namespaces, script) else { return };
    wait_for("the rank to report", || (lab.pids(1).len() == 1).then_some(()));
    let going = lab.run(&["stop", "1"]);
    assert_eq!(going.status.code(), Some(2), "{}{}", stdout(&going), stderr(&going));
    assert!(stderr(&going).contains("in another container of this machine, `container`"), "{}", stderr(&going));
    assert!(!lab.status(1).state.is_over());
    container.kill().unwrap();
    container.wait().unwrap();
    wait_for("the end of its processes", || (lab.store().status(RunId(1)).unwrap().state == RunState::Failed).then_some(()));
    assert_eq!(lab.run(&["runs", "delete", "1"]).status.code(), Some(0));
}

#[test]
fn of_six_that_continue_a_run_at_once_one_does() {
    let lab = Lab::with_fake_mpirun("4");
    assert_eq!(lab.run(&["run", "--np", "1", "--data", "generated"]).status.code(), Some(0));
    let lab = lab.env("STAND_IN_EPOCH_SECONDS", "1");
    let all: Vec<Child> = (0..6).map(|_| lab.spawn(&["run", "--continue", "1", "--epochs", "5"])).collect();
    let all: Vec<_> = all.into_iter().map(finish).collect();
    let mut codes: Vec<_> = all.iter().map(|output| output.status.code()).collect();
    codes.sort_unstable();
    let said: Vec<String> = all.iter().map(|output| stdout(output) + &stderr(output)).collect();
    assert_eq!(codes, [Some(0), Some(2), Some(2), Some(2), Some(2), Some(2)], "{said:#?}");
    for output in all.iter().filter(|output| output.status.code() == Some(2)) {
        // The second on a machine so busy that it came when the winner had finished.
        let said = stderr(output);
        assert!(said.contains("run 1 is still running") || said.contains("run 1 has trained 5 epochs already"), "{said}");
    }
    let summary = lab.store().summary(RunId(1)).unwrap();
    assert_eq!((summary.status.state, summary.last_epoch), (RunState::Finished, 5), "{:?}", summary.status);
    assert_eq!(summary.record.unwrap().attempts.len(), 2, "the start, and one of six");
    let trained = lab.folder(1).events().filter(|line| matches!(line.event, hvd_lab_terminal::domain::event::Event::Epoch(_)));
    assert_eq!(trained.count(), 5);
    lab.assert_nothing_left(1);
}

#[test]
fn a_second_supervisor_and_one_of_a_run_that_is_over_say_so_and_change_nothing() {
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN", "hang");
    let child = lab.start(1, 1);
    let before = fs::read(lab.folder(1).status_file()).unwrap();
    // As a shell does not start it, so that it leads a session.
    let second = || {
        let mut command = Command::new("setsid");
        command.args(["--wait"]).arg(program()).arg("supervise").arg(lab.folder(1).path());
        lab.set_environment(&mut command);
        finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    let output = second();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("the run has a supervisor already"), "{}", stderr(&output));
    assert_eq!(fs::read(lab.folder(1).status_file()).unwrap(), before);
    lab.run(&["stop", "1"]);
    finish(child);
    let output = second();
    assert!(output.status.code() == Some(2) && stderr(&output).contains("this run is over"), "{}", stderr(&output));
    assert_eq!(lab.status(1).state, RunState::Stopped);
    lab.assert_nothing_left(1);
}

/// All that the run had ends within seconds, and nothing is made at `path` again.
fn ends(pids: &[u32], path: &Path) {
    let begin = Instant::now();
    wait_for("the end of the run", || pids.iter().all(|pid| !lives(*pid)).then_some(()));
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    assert!(!path.exists(), "{path:?} is there again");
}

#[test]
fn a_run_whose_folder_is_removed_ends_and_leaves_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN", "stubborn").env("TMPDIR", scratch.path().to_str().unwrap());
    let child = lab.start(1, 2);
    let all = lab.processes(1);
    assert!(all.len() >= 4, "a supervisor, a launcher, two ranks: {all:?}");
    fs::remove_dir_all(lab.folder(1).path()).unwrap();
    ends(&all, lab.folder(1).path());
    let output = finish(child);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("there is no run 1"), "{}", stderr(&output));
    let stop = lab.run(&["stop", "1"]);
    assert!(stop.status.code() == Some(2) && stderr(&stop).contains("there is no run 1"), "{}", stderr(&stop));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn a_run_whose_folder_is_moved_or_replaced_ends_and_writes_nothing_in_its_place() {
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN", "stubborn");
    let child = lab.start(1, 1);
    let (all, aside) = (lab.processes(1), lab.home().join("aside"));
    fs::rename(lab.folder(1).path(), &aside).unwrap();
    fs::create_dir(lab.folder(1).path()).unwrap();
    let begin = Instant::now();
    wait_for("the end of the run", || all.iter().all(|pid| !lives(*pid)).then_some(()));
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    assert_eq!(fs::read_dir(lab.folder(1).path()).unwrap().count(), 0);
    finish(child);
    // Back in its place, it is a run whose supervisor is gone.
    fs::remove_dir(lab.folder(1).path()).unwrap();
    fs::rename(&aside, lab.folder(1).path()).unwrap();
    assert_eq!(lab.store().status(RunId(1)).unwrap().state, RunState::Failed);
}

#[test]
fn what_ranks_leave_behind_ends_with_the_run_even_with_a_session_and_an_environment_of_its_own() {
    let orphans = tempfile::tempdir().unwrap();
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN", "orphan").env("ORPHANS", orphans.path().to_str().unwrap());
    finish(lab.start(1, 2));
    assert_eq!(lab.status(1).state, RunState::Finished, "{:?}", lab.status(1));
    for rank in ["0", "1"] {
        let pid: u32 = fs::read_to_string(orphans.path().join(rank)).unwrap().trim().parse().unwrap();
        wait_for("the end of what a rank left behind", || (!lives(pid)).then_some(()));
    }
}

#[test]
fn a_run_that_was_given_up_ends_where_it_lives_after_all() {
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN", "stubborn");
    let child = lab.start(1, 1);
    let all = lab.processes(1);
    // As a host that slept through: it is thought to be gone, and cannot be asked.
    process::signal(lab.status(1).supervisor_pid, Signal::SIGSTOP);
    rewrite(&lab, 1, |status| status["supervisor_place"] = serde_json::json!({ "host": "node3", "boot": "another" }));
    let then = std::time::SystemTime::now() - Duration::from_secs(120);
    for file in fs::read_dir(lab.folder(1).path()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let file = fs::File::options().append(true).open(file).unwrap();
        file.set_times(fs::FileTimes::new().set_modified(then)).unwrap();
    }
    let output = lab.run(&["stop", "1", "--gone"]);
    assert!(output.status.success() && stdout(&output).contains("run 1 failed: given up"), "{}", stderr(&output));
    process::signal(lab.status(1).supervisor_pid, Signal::SIGCONT);
    wait_for("the end of the run", || all.iter().all(|pid| !lives(*pid)).then_some(()));
    assert!(lab.status(1).message.starts_with("given up"), "{:?}", lab.status(1));
    finish(child);
}

#[test]
fn what_a_killed_supervisor_leaves_is_removed_by_the_next_look_and_what_lives_is_not() {
    let scratch = tempfile::tempdir().unwrap();
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN", "hang").env("TMPDIR", scratch.path().to_str().unwrap());
    let children = [lab.start(1, 1), lab.start(2, 1)];
    let left = || fs::read_dir(scratch.path()).unwrap().count();
    assert_eq!(left(), 2);
    let supervisor = lab.status(1).supervisor_pid;
    process::signal(supervisor, Signal::SIGKILL);
    wait_for("the supervisor's end", || (!lives(supervisor)).then_some(()));
    lab.run(&["runs"]);
    assert_eq!((lab.status(1).state, left()), (RunState::Failed, 1));
    lab.assert_nothing_left(1);
    assert_eq!(lab.run(&["stop", "2"]).status.code(), Some(0));
    assert_eq!(left(), 0);
    children.into_iter().for_each(|child| drop(finish(child)));
}

#[test]
fn strange_numbers_and_times_hang_nothing() {
    let lab = Lab::with_fake_mpirun("4");
    fs::create_dir_all(lab.home().join("runs/4294967295")).unwrap();
    fs::create_dir_all(lab.home().join("trash/4294967295-1")).unwrap();
    let output = lab.run(&["run", "--np", "1", "--data", "generated"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(lab.status(1).state, RunState::Finished);
    // A clock that stood in the future, and a supervisor that never came.
    rewrite(&lab, 1, |status| {
        status["state"] = "preparing".into();
        (status["started_s"], status["supervisor_pid"]) = (2e11.into(), 0.into());
        status.as_object_mut().unwrap().remove("supervisor_place");
    });
    let output = lab.run(&["stop", "1"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("it has failed"), "{}", stderr(&output));
    assert_eq!(lab.status(1).ended_s, Some(2e11));
}
