//! Runs through the real processes: supervisor, launcher, ranks. The trainer is a stand-in that trains nothing.
//!
//! Never leaves a process behind: each test checks that, and its lab ends what is left where the test fails.

mod being_built;
mod benchmarks;
mod brought;
mod busy;
mod collected;
mod collectives;
mod examples;
mod files;
mod hostile;
mod hosts;
mod input;
mod kept;
mod launchers;
mod made;
mod mutations;
mod own;
mod owned;
mod remedies;
mod scale;
mod stored;
mod time_limit;
mod unruly;

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::host::signals::is_ignored;
use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::{Follower, RunId, RunUpdate};
use nix::sys::signal::Signal;

use crate::support::lab::{Lab, finish, program, stderr, stdout};
use crate::support::wait::wait_for;

const GENERATED: [&str; 3] = ["run", "--data", "generated"];

/// `run --data generated` and these flags.
fn run(lab: &Lab, flags: &[&str]) -> std::process::Output {
    lab.run(&[&GENERATED, flags].concat())
}

#[test]
fn a_run_finishes_and_prints_every_line_once() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let output = run(&lab, &["--np", "2"]);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("Epoch 1/3\nEpoch 2/3\nEpoch 3/3\n", Some(0)));
    let summary = lab.store().summary(RunId(1)).unwrap();
    assert_eq!((summary.status.state, summary.last_epoch), (RunState::Finished, 3));
    // Two processes with 640 images a second each.
    assert_eq!(summary.figures.images_per_sec, Some(1280.0));
    let record = summary.record.unwrap();
    assert!(record.attempts[0].argv[0].ends_with("mpirun") && record.versions.contains(&"stand-in 1".to_owned()));
    lab.assert_nothing_left(1);
}

#[test]
fn with_step_2_off_every_line_says_whose_it_is() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN_ALL_PRINT", "1");
    let output = run(&lab, &["--np", "2", "--steps", "1,3-10", "--epochs", "3"]);
    let mut lines: Vec<String> = stdout(&output).lines().map(String::from).collect();
    lines.sort();
    assert_eq!(lines, ["[0] Epoch 1/3", "[0] Epoch 2/3", "[0] Epoch 3/3", "[1] Epoch 1/3", "[1] Epoch 2/3", "[1] Epoch 3/3"]);
}

#[test]
fn json_is_events_and_a_summary() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let output = run(&lab, &["--np", "2", "--json"]);
    let lines: Vec<serde_json::Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().filter(|line| line["event"] == "epoch").count(), 6);
    assert_eq!(lines.last().unwrap()["summary"]["status"]["state"], "finished");
}

#[test]
fn a_fatal_event_names_rank_step_and_cause() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN", "fatal");
    let output = run(&lab, &["--np", "2"]);
    assert_eq!(output.status.code(), Some(1));
    let status = lab.status(1);
    assert_eq!((status.state, status.failed_process), (RunState::Failed, Some(1)));
    assert_eq!(status.message, "rank 1 failed during epoch 1: the loss is not a number");
    assert_eq!(status.last_lines, ["about to fail"]);
    assert!(stderr(&output).contains(&status.message), "{}", stderr(&output));
    lab.assert_nothing_left(1);
}

#[test]
fn a_rank_that_exits_with_a_code_is_named_with_its_last_words() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN", "exit");
    run(&lab, &["--np", "2"]);
    let status = lab.status(1);
    assert_eq!((status.state, status.failed_process, status.exit_code), (RunState::Failed, Some(1), Some(7)));
    assert_eq!(status.message, "rank 1 ended with exit code 7: error: unexpected argument");
    lab.assert_nothing_left(1);
}

#[test]
fn kill_9_of_one_rank_fails_the_run_and_ends_the_others() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN", "stubborn");
    let child = lab.start(1, 3);
    let begin = Instant::now();
    process::signal(lab.pids(1)[2], Signal::SIGKILL);
    let status = lab.wait_until_over(1);
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!((status.state, status.failed_process), (RunState::Failed, Some(2)));
    assert!(status.message.starts_with("rank 2 was ended by signal 9 (SIGKILL)"), "{}", status.message);
    lab.assert_nothing_left(1);
    assert_eq!(finish(child).status.code(), Some(1));
}

#[test]
fn kill_9_of_the_launcher_leaves_no_rank_and_no_session_files() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let lab = lab.env("STAND_IN", "stubborn").env("TMPDIR", scratch.path().to_str().unwrap());
    let child = lab.start(1, 2);
    let session = lab.status(1).supervisor_pid;
    let ranks = lab.pids(1);
    let launcher = process::of_session(session).into_iter().find(|pid| {
        let command = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        command.trim() == "prterun" || command.trim() == "mpirun"
    });
    process::signal(launcher.unwrap(), Signal::SIGKILL);
    let status = lab.wait_until_over(1);
    assert_eq!(status.state, RunState::Failed);
    assert!(status.message.contains("mpirun was ended by signal 9"), "{}", status.message);
    assert_eq!(ranks.len(), 2);
    lab.assert_nothing_left(1);
    finish(child);
    // Open MPI would refuse to start on them once a launcher gets the same pid again.
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn stop_ends_ranks_that_do_not_listen() {
    let Some(lab) = Lab::with_mpirun() else { return };
    for (id, kind) in [(1, "hang"), (2, "stubborn")] {
        let lab = &lab;
        let child = lab
            .command(&["run", "--np", "2", "--data", "generated"])
            .env("STAND_IN", kind)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        wait_for("ranks to report", || (lab.pids(id).len() == 2).then_some(()));
        let output = lab.run(&["stop", &id.to_string()]);
        assert_eq!(stdout(&output), format!("run {id} stopped after 0 epochs\n"));
        lab.assert_nothing_left(id);
        assert_eq!(finish(child.unwrap()).status.code(), Some(1));
        let again = lab.run(&["stop", &id.to_string()]);
        assert_eq!((again.status.code(), stderr(&again).lines().count()), (Some(2), 1));
    }
}

#[test]
fn stop_without_a_number_stops_the_only_run_and_asks_where_there_are_several() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN", "hang");
    let refused = |flags: &[&str], why: &str| {
        let output = lab.run(&[&["stop"], flags].concat());
        assert_eq!((output.status.code(), stderr(&output)), (Some(2), format!("hvd-lab: {why}\n")));
    };
    refused(&[], "no run is going");
    let first = lab.start(1, 1);
    refused(&["--gone"], "--gone needs the numbers of the runs, such as `hvd-lab stop 7 --gone`");
    let second = lab.start(2, 1);
    refused(&[], "the runs 1, 2 are going: name those to stop, such as `hvd-lab stop 2`");
    lab.run(&["stop", "2"]);
    assert_eq!(stdout(&lab.run(&["stop"])), "run 1 stopped after 0 epochs\n");
    for (id, child) in (1..).zip([first, second]) {
        finish(child);
        lab.assert_nothing_left(id);
    }
}

#[test]
fn ctrl_c_stops_the_run_and_says_so() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN", "hang");
    let child = lab.start(1, 2);
    process::signal(child.id(), Signal::SIGINT);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("stopping run 1") && stderr(&output).contains("stopped after 0 epochs"));
    assert_eq!(lab.status(1).state, RunState::Stopped);
    lab.assert_nothing_left(1);
}

#[test]
fn a_second_ctrl_c_leaves_at_once_and_the_run_still_stops() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN", "stubborn");
    let child = lab.start(1, 1);
    process::signal(child.id(), Signal::SIGINT);
    wait_for("the stop", || (lab.status(1).state == RunState::Stopping).then_some(()));
    process::signal(child.id(), Signal::SIGINT);
    assert_eq!(finish(child).status.code(), Some(130));
    assert_eq!(lab.status(1).state, RunState::Stopping);
    assert_eq!(lab.wait_until_over(1).state, RunState::Stopped);
    lab.assert_nothing_left(1);
}

#[test]
fn a_run_outlives_the_program_that_started_it() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN_EPOCH_SECONDS", "1");
    // Under nohup programs are started deaf to SIGHUP, and follow on as they should.
    let signals = [Signal::SIGKILL, Signal::SIGHUP, Signal::SIGTERM].into_iter().filter(|signal| !is_ignored(*signal));
    for (id, signal) in (1..).zip(signals) {
        let child = lab.start(id, 2);
        process::signal(child.id(), signal);
        let status = lab.status(id);
        assert!(!status.state.is_over(), "after {signal}: {status:?}");
        let output = finish(child);
        assert_eq!(output.status.signal(), Some(signal as i32));
        let says_so = stderr(&output).contains(&format!("run {id} goes on: `hvd-lab stop {id}` stops it"));
        assert_eq!(says_so, signal != Signal::SIGKILL, "after {signal}: {}", stderr(&output));
        assert_eq!(lab.wait_until_over(id).state, RunState::Finished);
        assert_eq!(lab.store().summary(RunId(id)).unwrap().last_epoch, 3);
        lab.assert_nothing_left(id);
    }
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_run() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN_EPOCH_SECONDS", "0.5");
    let mut child = lab.spawn(&["run", "--np", "1", "--data", "generated"]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "Epoch 1/3\n");
    assert!(stderr(&finish(child)).contains("run 1 goes on"));
    assert_eq!(lab.wait_until_over(1).state, RunState::Finished);
}

#[test]
fn after_the_supervisor_was_killed_the_next_look_cleans_up() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN", "stubborn");
    let mut child = lab.start(1, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let supervisor = lab.status(1).supervisor_pid;
    process::signal(supervisor, Signal::SIGKILL);
    wait_for("the supervisor's end", || process::look_up(supervisor).is_none_or(|it| it.zombie).then_some(()));
    assert!(!lab.status(1).state.is_over(), "nobody can have said so");
    // Its other threads may hold the lock of the run for a moment longer.
    wait_for("a look that cleans up", || stdout(&lab.run(&["runs"])).contains("failed").then_some(()));
    assert!(lab.status(1).message.contains("was killed"), "{}", lab.status(1).message);
    lab.assert_nothing_left(1);
}

#[test]
fn following_while_the_supervisor_is_killed_ends() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN", "hang");
    let child = lab.start(1, 2);
    process::signal(lab.status(1).supervisor_pid, Signal::SIGKILL);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("was killed"), "{}", stderr(&output));
    lab.assert_nothing_left(1);
}

#[test]
fn a_finished_run_goes_on_from_its_checkpoint() {
    let Some(lab) = Lab::with_mpirun() else { return };
    run(&lab, &["--np", "2", "--epochs", "2"]);
    let output = lab.run(&["run", "--continue", "1", "--epochs", "4"]);
    assert_eq!(stdout(&output), "Epoch 3/4\nEpoch 4/4\n", "{}", stderr(&output));
    let summary = lab.store().summary(RunId(1)).unwrap();
    assert_eq!((summary.last_epoch, summary.training_seconds), (4, Some(4.0)));
    assert_eq!(summary.record.unwrap().attempts.iter().map(|one| one.epochs).collect::<Vec<_>>(), [2, 4]);
    let too_few = lab.run(&["run", "--continue", "1", "--epochs", "4"]);
    assert_eq!(too_few.status.code(), Some(2));
    assert!(stderr(&too_few).contains("4 epochs already"), "{}", stderr(&too_few));
}

#[test]
fn a_follower_sees_everything_once_and_the_end_last() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN_EPOCH_SECONDS", "0.1");
    let child = lab.start(1, 2);
    let mut follower = Follower::new(lab.folder(1));
    let mut updates = Vec::new();
    wait_for("the end", || {
        updates.extend(follower.poll());
        matches!(updates.last(), Some(RunUpdate::Status(status)) if status.state.is_over()).then_some(())
    });
    assert_eq!(follower.poll(), []);
    let count = |wanted: fn(&RunUpdate) -> bool| updates.iter().filter(|update| wanted(update)).count();
    assert_eq!(count(|update| matches!(update, RunUpdate::Log { process: 0, .. })), 3);
    let lines = std::fs::read_to_string(lab.folder(1).events_file()).unwrap().lines().count();
    assert_eq!(count(|update| matches!(update, RunUpdate::Event(_))), lines);
    finish(child);
}

#[test]
fn a_file_that_may_not_grow_fails_the_run_and_leaves_no_rank() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN", "flood");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 512; exec \"$0\" run --np 1 --data generated"]).arg(program());
    lab.set_environment(&mut command);
    let output = finish(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let status = lab.status(1);
    for words in ["cannot write", "rank-0.log", "no file may be larger than", "`ulimit -f`"] {
        assert!(status.message.contains(words), "{}", status.message);
    }
    lab.assert_nothing_left(1);
}

#[test]
fn a_full_disk_fails_the_run_with_a_clear_word() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN", "flood");
    // A disk of its own, in a namespace of its own; where that is not allowed there is nothing to try.
    let script = "mount -t tmpfs -o size=400k none \"$HVD_LAB_HOME\" || exit 77
        \"$0\" run --np 1 --data generated >/dev/null; echo \"code $?\"; \"$0\" runs --json; \"$0\" run --np 1 --data generated";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(program());
    lab.set_environment(&mut command);
    let Ok(child) = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() else { return };
    let output = finish(child);
    if !stdout(&output).contains("code") {
        eprintln!("skipped: no namespace with a disk of its own here ({})", stderr(&output).trim());
        return;
    }
    let said = stderr(&output);
    assert!(stdout(&output).starts_with("code 1\n"), "{said}");
    assert!(stdout(&output).contains("No space left on device"), "{} {said}", stdout(&output));
    // Another run cannot even begin.
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("Free some space"), "{said}");
    lab.assert_nothing_left(1);
}

#[test]
fn a_run_that_still_fetches_its_images_can_be_stopped() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let lab = Lab::with_fake_mpirun("4").env("HVD_LAB_OFFLINE", "0").env("HVD_LAB_DATA_URL", &address);
    let child = lab.spawn(&["run", "--np", "1", "--data", "fashion-mnist"]);
    wait_for("the download", || {
        let status = lab.folder(1).read_status().ok()?;
        (status.state == RunState::Preparing && status.message.starts_with("fetching")).then_some(())
    });
    let begin = Instant::now();
    assert_eq!(stdout(&lab.run(&["stop", "1"])), "run 1 stopped before training began\n");
    assert!(begin.elapsed() < Duration::from_secs(5));
    lab.assert_nothing_left(1);
    assert_eq!(finish(child).status.code(), Some(1));
}

#[test]
fn a_lab_that_was_built_anew_still_starts_runs() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let copy = lab.home().join("hvd-lab-copy");
    // By another process: what this one has open for writing nobody can start.
    assert!(std::process::Command::new("cp").arg(program()).arg(&copy).status().unwrap().success());
    // The shell becomes the copy only after the copy's file is gone: what runs has no path any more.
    let script = "exec 9<\"$0\"; rm \"$0\"; exec /proc/self/fd/9 run --np 1 --data generated";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(&copy);
    lab.set_environment(&mut command);
    let output = finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!(stdout(&output), "Epoch 1/3\nEpoch 2/3\nEpoch 3/3\n", "{}", stderr(&output));
    assert_eq!(lab.status(1).state, RunState::Finished);
}
