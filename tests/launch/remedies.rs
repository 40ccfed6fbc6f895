//! What goes wrong outside of the lab: each message names the thing and says what to do, and the exit code says whose fault it is.
//!
//! Never waits for what can be seen, and leaves no process behind.

use std::fs;
use std::path::Path;
use std::process::Output;

use hvd_lab_terminal::domain::run::{RunState, RunStatus};
use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::RunId;
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;

use super::stored::{copy, data};
use crate::support::lab::{Lab, finish, stderr, stdout};
use crate::support::wait::wait_for;

/// A lab whose home holds the three runs of version 0.1.0; the first one passed all checks.
fn with_runs() -> Lab {
    let lab = Lab::with_fake_mpirun("4");
    copy(&data().join("runs"), &lab.home().join("runs"));
    lab
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

/// What a home that cannot be written is like, for root too: where the file goes stands a folder that is not empty.
fn block(path: &Path) {
    fs::create_dir(path).unwrap();
    fs::write(path.join("in the way"), "").unwrap();
}

#[test]
fn a_run_is_judged_where_progress_cannot_be_kept() {
    let lab = with_runs();
    block(&lab.home().join("progress.damaged-1.json"));
    let whole = lab.run(&["check", "1"]);
    assert!(code(&whole) == Some(0) && stdout(&whole).contains("passed"), "{}", stderr(&whole));
    // Of a newer lab: it may be neither read nor replaced.
    fs::write(lab.home().join("progress.json"), r#"{"version": 99}"#).unwrap();
    let output = lab.run(&["check", "1"]);
    assert_eq!((code(&output), stdout(&output)), (Some(0), stdout(&whole)), "{}", stderr(&output));
    assert!(stderr(&output).contains("progress could not be kept") && stderr(&output).contains("progress.json"));
    assert_eq!(fs::read_to_string(lab.home().join("progress.json")).unwrap(), r#"{"version": 99}"#);
}

#[test]
fn events_that_are_no_file_are_named() {
    let lab = with_runs();
    let events = lab.folder(1).events_file();
    fs::remove_file(&events).unwrap();
    nix::unistd::mkfifo(&events, Mode::S_IRWXU).unwrap();
    for verb in [["check", "1"].as_slice(), &["runs"], &["compare", "1", "3"], &["report"]] {
        let output = lab.run(verb);
        let said = format!("{}{}", stdout(&output), stderr(&output));
        assert!(said.contains("run 1: ") && said.contains("events.jsonl") && said.contains("a pipe"), "{verb:?}: {said}");
    }
}

#[test]
fn a_value_without_end_makes_no_message_without_end() {
    let lab = with_runs();
    let record = fs::read_to_string(lab.folder(1).record_file()).unwrap();
    for (value, expected) in [("\"np\": 2", "run.json is damaged"), ("\"model\": \"wrn-10-1\"", "xxx")] {
        let (name, _) = value.split_once(' ').unwrap();
        let long = record.replacen(value, &format!("{name} \"{}\"", "x".repeat(100_000)), 1);
        assert_ne!(record, long);
        fs::write(lab.folder(1).record_file(), long).unwrap();
        for verb in [["runs"].as_slice(), &["check", "1"]] {
            let output = lab.run(verb);
            let said = format!("{}{}", stdout(&output), stderr(&output));
            assert!(said.contains(expected) && said.len() < 4000, "{value}, {verb:?}: {} bytes", said.len());
        }
    }
}

#[test]
fn a_supervisor_that_was_suspended_is_named_with_how_to_wake_it() {
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN", "hang");
    let child = lab.start(1, 1);
    let supervisor = lab.status(1).supervisor_pid;
    process::signal(supervisor, Signal::SIGSTOP);
    wait_for("the supervisor to be suspended", || {
        let stat = fs::read_to_string(format!("/proc/{supervisor}/stat")).unwrap();
        stat.contains(") T ").then_some(())
    });
    let output = lab.run(&["stop", "1"]);
    let said = stderr(&output);
    assert!(code(&output) == Some(1) && said.contains(&format!("`kill -CONT {supervisor}`")), "{said}");
    process::signal(supervisor, Signal::SIGCONT);
    assert_eq!(lab.wait_until_over(1).state, RunState::Stopped, "it was asked to");
    finish(child);
    lab.assert_nothing_left(1);
}

#[test]
fn several_runs_are_stopped_at_once_and_each_is_told() {
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN", "hang");
    let children = [lab.start(1, 1), lab.start(2, 1)];
    let output = lab.run(&["stop", "1", "2", "1"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let said: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
    assert!(said.len() == 2 && said[0].starts_with("run 1 stopped") && said[1].starts_with("run 2 stopped"), "{said:?}");
    children.into_iter().for_each(|child| drop(finish(child)));
    // One that cannot be stopped keeps none of the others going, and shows in the exit code.
    let child = lab.start(3, 1);
    let output = lab.run(&["stop", "1", "9", "3"]);
    assert!(stdout(&output).starts_with("run 3 stopped") && code(&output) != Some(0), "{}", stdout(&output));
    assert!(stderr(&output).contains("run 1 is not running") && stderr(&output).contains("run 9"), "{}", stderr(&output));
    finish(child);
    (1..=3).for_each(|id| lab.assert_nothing_left(id));
}

#[test]
fn what_is_left_of_a_removed_folder_is_named_as_that() {
    let lab = with_runs();
    fs::remove_file(lab.folder(2).record_file()).unwrap();
    lab.store().forget_summary(RunId(2));
    for verb in [["runs"].as_slice(), &["stop", "2"], &["check", "2"], &["run", "--continue", "2"]] {
        let output = lab.run(verb);
        let said = format!("{}{}", stdout(&output), stderr(&output));
        assert!(said.contains("the folder of run 2 is gone") && said.contains("hvd-lab runs delete 2"), "{verb:?}: {said}");
        assert!(!said.contains("os error"), "{verb:?}: {said}");
    }
    assert_eq!(code(&lab.run(&["runs", "delete", "2"])), Some(0));
}

#[test]
fn a_run_that_is_deleted_while_another_lab_continues_it_is_in_use_or_gone() {
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN_EPOCH_SECONDS", "0");
    assert_eq!(code(&lab.run(&["run", "--np", "1", "--data", "generated", "--epochs", "1"])), Some(0));
    for epochs in 2..12 {
        let both = [lab.spawn(&["run", "--continue", "1", "--epochs", &epochs.to_string()]), lab.spawn(&["runs", "delete", "1"])];
        for output in both.map(finish) {
            let said = stderr(&output);
            assert!(!said.contains("os error"), "{said}");
            let is_clear = ["still running", "there is no run 1", "is gone", "finished"].iter().any(|word| said.contains(word));
            assert!(code(&output) == Some(0) || is_clear, "{said}");
        }
        // As it was, for the next try.
        lab.run(&["runs", "restore", "1"]);
    }
    lab.assert_nothing_left(1);
}

#[test]
fn a_file_among_the_runs_is_no_run() {
    let lab = with_runs();
    fs::write(lab.home().join("runs/0004"), "notes").unwrap();
    let listed = lab.run(&["runs"]);
    assert!(!format!("{}{}", stdout(&listed), stderr(&listed)).contains("0004"), "{}", stdout(&listed));
    let output = lab.run(&["check", "4"]);
    let said = stderr(&output);
    assert!(code(&output) == Some(2) && said.contains("runs/0004 is a file") && !said.contains("HVD_LAB_HOME"), "{said}");
    assert_eq!(lab.store().next_id(), RunId(5), "its number is taken");
}

#[test]
fn each_run_that_is_to_be_deleted_is_answered_for() {
    let lab = with_runs();
    let output = lab.run(&["runs", "delete", "2", "2", "77", "3"]);
    let (done, said) = (stdout(&output), stderr(&output));
    assert_eq!(code(&output), Some(2));
    assert!(done.matches("run 2 is in the trash").count() == 1 && done.contains("run 3 is in the trash"), "{done}");
    assert!(said.contains("there is no run 77") && !said.contains("run 2"), "{said}");
    let output = lab.run(&["runs", "restore", "3", "77", "2"]);
    assert!(code(&output) == Some(2) && stdout(&output) == "run 3 is back\nrun 2 is back\n", "{}", stdout(&output));
    assert!(stderr(&output).contains("run 77 is not in the trash"), "{}", stderr(&output));
}

#[test]
fn a_host_file_that_is_not_there_is_refused_in_a_dry_run_too() {
    let lab = Lab::with_fake_mpirun("4");
    let gone = lab.home().join("gone/hosts").display().to_string();
    for more in [[].as_slice(), &["--dry-run"]] {
        let output = lab.run(&[&["run", "--data", "generated", "--hostfile", &gone], more].concat());
        let said = stderr(&output);
        assert!(code(&output) == Some(2) && said.contains(&gone) && said.contains("host file"), "{said}");
        assert_eq!((stdout(&output).as_str(), lab.store().ids()), ("", vec![]));
    }
}

#[test]
fn a_home_that_cannot_be_made_says_what_to_do() {
    let lab = Lab::with_fake_mpirun("4");
    for home in ["/proc/nohome", "/dev/null/lab"] {
        for verb in [["runs"].as_slice(), &["progress", "--reset", "all"], &["run", "--data", "generated"]] {
            let output = lab.command(verb).env("HVD_LAB_HOME", home).output().unwrap();
            let said = stderr(&output);
            assert!(code(&output) == Some(2) && said.contains("Set HVD_LAB_HOME to"), "{verb:?}: {said}");
        }
    }
}

#[test]
fn a_run_that_is_over_is_not_to_be_given_up() {
    let lab = with_runs();
    let output = lab.run(&["stop", "1", "--gone"]);
    let said = stderr(&output);
    assert!(code(&output) == Some(2) && said.contains("run 1 is over") && said.contains("finished"), "{said}");
    assert!(!said.contains("is only for runs on hosts"), "{said}");
}

#[test]
fn a_number_of_ranks_in_anothers_spelling_gets_a_tip() {
    let lab = Lab::with_fake_mpirun("4");
    for words in [["run", "-np2"].as_slice(), &["run", "-n", "2"], &["run", "-n2"], &["guided", "4", "-n=2"]] {
        let output = lab.run(words);
        let said = stderr(&output);
        assert!(code(&output) == Some(2) && said.contains("use `--np 2`") && !said.contains("-- -n"), "{words:?}: {said}");
    }
}

#[test]
fn a_rate_without_end_is_no_rate() {
    let lab = Lab::with_fake_mpirun("4");
    for (rate, word) in
        [("inf", "is not a number"), ("nan", "is not a number"), ("0", "is not above 0"), ("-1", "is not above 0")]
    {
        let output = lab.run(&["run", "--base-lr", rate, "--data", "generated", "--dry-run"]);
        assert!(code(&output) == Some(2) && stderr(&output).contains(word), "{rate}: {}", stderr(&output));
    }
}

#[test]
fn a_model_that_no_machine_holds_is_refused_by_name() {
    let lab = Lab::with_fake_mpirun("4");
    let output = lab.run(&["run", "--model", "wrn-1000-64", "--data", "generated", "--dry-run"]);
    let said = stderr(&output);
    assert!(code(&output) == Some(2) && said.contains("wrn-1000-64") && said.contains("parameters"), "{said}");
}

#[test]
fn a_process_is_not_taken_for_the_rank_of_a_run_whose_supervisor_is_gone() {
    let lab = with_runs();
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let status = RunStatus {
        supervisor_pid: gone.id(),
        supervisor_start_ticks: 1,
        supervisor_place: Some(hvd_lab_terminal::host::place()),
        ..RunStatus::new(RunState::Running, "training", 1.7e9)
    };
    lab.folder(1).write_status(&status).unwrap();
    // The number of its rank is that of this test by now.
    let events = fs::read_to_string(lab.folder(1).events_file()).unwrap();
    let topology = events.lines().find(|line| line.contains("\"topology\"")).unwrap();
    let mut topology: serde_json::Value = serde_json::from_str(topology).unwrap();
    (topology["pid"], topology["host"]) = (std::process::id().into(), hvd_lab_terminal::host::name().into());
    fs::write(lab.folder(1).events_file(), format!("{topology}\n")).unwrap();
    let output = lab.run(&["devices", "--json"]);
    let sample: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let processes = sample["devices"].as_array().unwrap().iter().flat_map(|device| device["processes"].as_array().unwrap());
    let ranks: Vec<_> = processes.filter(|process| !process["rank"].is_null()).collect();
    assert!(ranks.is_empty(), "{ranks:?}");
}
