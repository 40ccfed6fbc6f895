//! The whole house at once: the real lab starts the real trainer under the real mpirun, on few images.
//!
//! Never uses a stand-in. Without mpirun or hvd-train its tests are skipped by name; HVD_LAB_REQUIRE=mpi,train turns the
//! skip into a failure.

use std::path::Path;
use std::process::Output;

use hvd_lab_terminal::domain::event::{Event, EventLine};
use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::RunId;
use nix::sys::signal::Signal;

use crate::support::lab::{Lab, finish, stderr, stdout};
use crate::support::trainer::{turn, with_trainer};
use crate::support::wait::wait_for;

mod benchmarks;
mod commits;
mod damaged;
mod elastic;
mod killed;
mod libraries;
mod links;
mod mistakes;
mod photos;
mod slow_network;

const SMALL: [&str; 8] = ["--train-images", "400", "--validation-images", "100", "--batch-size", "32", "--model", "wrn-10-1"];

fn run(lab: &Lab, flags: &[&str]) -> Output {
    lab.run(&[["run"].as_slice(), &SMALL, flags].concat())
}

fn events(lab: &Lab, id: u32) -> Vec<EventLine> {
    let text = std::fs::read_to_string(lab.folder(id).events_file()).unwrap();
    text.lines().filter_map(EventLine::parse_line).collect()
}

fn log_files(lab: &Lab, id: u32) -> Vec<String> {
    let folder = lab.folder(id).path().join("logs");
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn two_runs_are_made_compared_and_continued() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    for (np, id) in [("1", 1), ("2", 2)] {
        let output = run(&lab, &["--np", np, "--steps", "1-10", "--epochs", "2", "--data", "generated"]);
        assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
        for line in ["Epoch 1/2", "Epoch 2/2"] {
            assert_eq!(stdout(&output).lines().filter(|found| *found == line).count(), 1, "{line}");
        }
        let summary = lab.store().summary(RunId(id)).unwrap();
        assert_eq!((summary.status.state, summary.last_epoch), (RunState::Finished, 2));
        assert!(summary.figures.images_per_sec.unwrap() > 0.0 && summary.test.is_some());
        assert_eq!(summary.record.unwrap().data_label, "generated garments");
        lab.assert_nothing_left(id);
    }
    let files = log_files(&lab, 2);
    assert_eq!(files[..2], ["checkpoint-1.safetensors", "checkpoint-2.safetensors"]);
    assert!(files[2].starts_with("events.out.tfevents.") && files.len() == 3, "{files:?}");

    let compared = lab.run(&["compare", "1", "2", "--json"]);
    let rows: serde_json::Value = serde_json::from_slice(&compared.stdout).unwrap();
    assert!(rows.to_string().contains("speedup"), "{rows}");

    let output = lab.run(&["run", "--continue", "2", "--epochs", "3"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stdout(&output).contains("Epoch 2/3") && stdout(&output).contains("Epoch 3/3"), "{}", stdout(&output));
    assert_eq!(lab.store().summary(RunId(2)).unwrap().last_epoch, 3);
}

#[test]
fn the_real_images_are_used_where_they_are() {
    let (_turn, Some(lab), Some(folder)) = (turn(), with_trainer(), crate::support::fashion_mnist::folder()) else { return };
    let folder = folder.display().to_string();
    let flags = ["--train-images", "3000", "--validation-images", "500", "--np", "2", "--epochs", "2", "--data-dir", &folder];
    let output = lab.run(&[["run", "--model", "wrn-10-1", "--batch-size", "32"].as_slice(), &flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let summary = lab.store().summary(RunId(1)).unwrap();
    assert_eq!(summary.record.as_ref().unwrap().data_label, "Fashion-MNIST");
    let accuracy = summary.test.unwrap().accuracy;
    assert!(accuracy > 0.35, "two short epochs learn something: {accuracy}");
}

#[test]
fn killing_a_rank_fails_the_run_by_name() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let going = lab.spawn(&[["run"].as_slice(), &SMALL, &["--np", "2", "--epochs", "1000", "--data", "auto"]].concat());
    let trains = || events_so_far(&lab).iter().any(|line| line.process == 1 && matches!(line.event, Event::Step { .. }));
    wait_for("the second rank to train", || trains().then_some(()));
    process::signal(lab.pids(1)[1], Signal::SIGKILL);
    let output = finish(going);
    assert_eq!(output.status.code(), Some(1));
    let status = lab.status(1);
    assert_eq!((status.state, status.failed_process), (RunState::Failed, Some(1)), "{status:?}");
    lab.assert_nothing_left(1);
}

/// Files of shared memory that a process has open.
fn segments(pid: u32) -> Vec<String> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let paths = maps.lines().filter_map(|line| line.find("/dev/shm/").map(|at| line[at..].to_owned()));
    paths.filter(|path| Path::new(path).exists()).collect()
}

#[test]
fn when_all_of_a_run_is_killed_the_next_look_removes_its_shared_memory() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let mut going = lab.spawn(&[["run"].as_slice(), &SMALL, &["--np", "2", "--epochs", "1000", "--data", "auto"]].concat());
    let trains = || events_so_far(&lab).iter().any(|line| line.process == 1 && matches!(line.event, Event::Step { .. }));
    wait_for("the second rank to train", || trains().then_some(()));
    let segments: Vec<String> = lab.pids(1).into_iter().flat_map(segments).collect();
    going.kill().unwrap();
    going.wait().unwrap();
    // The supervisor first: it would clean up.
    let supervisor = lab.status(1).supervisor_pid;
    let all = lab.processes(1);
    std::iter::once(supervisor).chain(all).for_each(|pid| process::signal(pid, Signal::SIGKILL));
    wait_for("the end of them all", || lab.processes(1).is_empty().then_some(()));
    eprintln!("{} files of shared memory", segments.len());
    assert!(stdout(&lab.run(&["runs"])).contains("failed"));
    assert!(segments.iter().all(|path| !Path::new(path).exists()), "{segments:?}");
}

fn events_so_far(lab: &Lab) -> Vec<EventLine> {
    if lab.store().ids().is_empty() || !lab.folder(1).events_file().exists() { Vec::new() } else { events(lab, 1) }
}

#[test]
fn a_run_that_diverges_fails_with_the_loss_that_it_saw() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let output = run(&lab, &["--np", "2", "--epochs", "1", "--data", "auto", "--steps", "1-7", "--base-lr", "1e30"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(lab.status(1).last_lines.iter().any(|line| line.contains("lower --base-lr")), "{:?}", lab.status(1));
    let diverged = |line: &EventLine| matches!(line.event, Event::Step { loss, .. } if !loss.is_finite());
    assert!(events(&lab, 1).iter().any(diverged), "the curve shows where it broke off");
}

#[test]
fn damaged_images_are_refused_by_name() {
    let (_turn, Some(lab), Some(good)) = (turn(), with_trainer(), crate::support::fashion_mnist::folder()) else { return };
    let folder = tempfile::tempdir().unwrap();
    for entry in
        std::fs::read_dir(good).unwrap().flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "gz"))
    {
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let cut = folder.path().join("train-images-idx3-ubyte.gz");
    let bytes = std::fs::read(&cut).unwrap();
    std::fs::remove_file(&cut).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 3]).unwrap();
    let output = run(&lab, &["--np", "1", "--data-dir", path(folder.path())]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("train-images-idx3-ubyte.gz"), "{said}");
}

#[test]
fn the_doctor_finds_all_that_a_run_needs() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let output = lab.run(&["doctor"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    for word in ["libtorch", "MPI", "mpirun"] {
        assert!(stdout(&output).contains(word), "{word}: {}", stdout(&output));
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn more_flags_of_the_trainer_are_passed_on_or_refused_before_anything_starts() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let small = ["--np", "2", "--epochs", "1", "--data", "auto", "--"];
    for (flags, named) in [(["--time-line", "x"], "--timeline"), (["--epochs", "2"], "--epochs")] {
        let output = run(&lab, &[&small[..], &flags].concat());
        assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(2), 1), "{}", stderr(&output));
        assert!(stderr(&output).contains(named), "{}", stderr(&output));
    }
    assert!(lab.store().ids().is_empty());
    let output = run(&lab, &[&small[..], &["--timeline", "trace.json", "--no-overlap"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let trace = std::fs::read_to_string(lab.folder(1).path().join("trace.json")).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&trace).unwrap().to_string().contains("backward"));
}
