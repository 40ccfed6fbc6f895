//! What the verbs do to runs that are there: list, name, delete, bring back, compare and export.
//!
//! Never starts a run: the folders are made by hand.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use hvd_lab_terminal::domain::event::{EpochReport, Event, EventLine, Metrics};
use hvd_lab_terminal::domain::phase::{Phase, PhaseSeconds};
use hvd_lab_terminal::domain::run::{RunState, RunStatus};
use hvd_lab_terminal::launch;
use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::{RunId, RunRecord, RunRequest};

use crate::support::lab::{Lab, stderr, stdout};

/// A lab with runs of 1, 2 and 4 ranks, the last of them still going.
fn lab() -> (Lab, Supervisor) {
    let lab = Lab::with_fake_mpirun("4");
    // In the place of a supervisor: the lab of a test ends what its runs left behind.
    let mut command = Command::new("sh");
    command.args(["-c", "echo; read line"]).env(process::RUN_DIR_VARIABLE, lab.folder(3).path());
    let mut supervisor = Supervisor(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    // Just started, it has no environment to be read yet.
    supervisor.0.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let process = process::look_up(supervisor.0.id()).unwrap();
    for (np, rate) in [(1, 1000.0), (2, 1900.0), (4, 0.0)] {
        let spec = launch::presets().remove(0).spec.with(|job| job.resources.np = np);
        let request = RunRequest { offline: true, ..RunRequest::new(spec, "cpu") };
        let versions = vec!["hvd-lab 0.1.0".into()];
        let record = RunRecord { created_s: 1.7e9, ..RunRecord::new(request, "generated garments", versions) };
        let status = match rate > 0.0 {
            true => RunStatus::new(RunState::Finished, "by hand", 1.7e9),
            false => RunStatus {
                supervisor_pid: process.pid,
                supervisor_start_ticks: process.start_ticks,
                ..RunStatus::new(RunState::Running, "by hand", 1.7e9)
            },
        };
        let id = lab.store().create(record, &status).unwrap().id;
        if rate > 0.0 {
            let events = (0..np).map(|process| epoch(process, rate / np as f64)).collect::<String>();
            std::fs::write(lab.folder(id.0).events_file(), events).unwrap();
        }
    }
    (lab, supervisor)
}

/// Ended with its test.
struct Supervisor(Child);

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One epoch of 1,000 images, as a rank tells it.
fn epoch(process: usize, images_per_sec: f64) -> String {
    let seconds = 1000.0 / images_per_sec;
    let report = EpochReport {
        epoch: 1,
        train: Metrics { loss: 1.0, accuracy: 0.5 },
        validation: Metrics { loss: 1.0, accuracy: 0.9 },
        averaged: None,
        lr: 0.1,
        batches: 1,
        images: 1000,
        images_per_sec,
        cumulative_seconds: seconds,
        phases: PhaseSeconds::from([(Phase::Training, seconds)]),
    };
    EventLine { time_s: 0.0, process, event: Event::Epoch(report) }.to_line() + "\n"
}

fn ok(lab: &Lab, arguments: &[&str]) -> String {
    let output = lab.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn refused(lab: &Lab, arguments: &[&str]) -> String {
    let output = lab.run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    assert_eq!(stderr(&output).trim().lines().count(), 1, "{}", stderr(&output));
    stderr(&output)
}

fn numbers(list: &str) -> Vec<&str> {
    list.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect()
}

#[test]
fn runs_are_filtered_and_sorted() {
    let (lab, _supervisor) = lab();
    assert_eq!(numbers(&ok(&lab, &["runs"])), ["1", "2", "3"]);
    assert_eq!(numbers(&ok(&lab, &["runs", "--reverse"])), ["3", "2", "1"]);
    assert_eq!(numbers(&ok(&lab, &["runs", "--sort", "img/s"])), ["2", "1", "3"]);
    assert_eq!(numbers(&ok(&lab, &["runs", "--filter", "finished !np:2"])), ["1"]);
    assert!(ok(&lab, &["runs", "--filter", "nowhere"]).contains("none of 3 runs matches `nowhere`"));
    let json: serde_json::Value = serde_json::from_str(&ok(&lab, &["runs", "--json", "--filter", "np:2"])).unwrap();
    assert_eq!(json[0]["id"], 2);
    assert!(refused(&lab, &["runs", "--sort", "speed"]).contains("img/s"));
}

#[test]
fn names_and_notes_are_kept() {
    let (lab, _supervisor) = lab();
    ok(&lab, &["runs", "name", "2", "two", "ranks"]);
    ok(&lab, &["runs", "note", "2", "half the time"]);
    assert!(ok(&lab, &["runs", "--filter", "name:two"]).contains("two ranks"));
    // A name that only one run has stands for its number.
    for [verb, number, name] in [["compare", "2", "two ranks"], ["check", "2", "two ranks"]] {
        let [by_name, by_number] = [name, number].map(|run| lab.run(&[verb, run]));
        assert_eq!((by_name.status, stdout(&by_name)), (by_number.status, stdout(&by_number)), "{verb}");
    }
    assert!(refused(&lab, &["stop", "two ranks"]).contains("run 2 is not running"));
    assert!(refused(&lab, &["check", "three"]).contains("`three` is not a run"));
    ok(&lab, &["runs", "name", "1", "two", "ranks"]);
    assert!(refused(&lab, &["check", "two ranks"]).contains("the runs 1, 2 have the name `two ranks`"));
    assert_eq!(numbers(&ok(&lab, &["runs", "--filter", "half"])), ["2"]);
    ok(&lab, &["runs", "name", "2"]);
    assert_eq!(lab.store().record(RunId(2)).unwrap().request.name, None);
    refused(&lab, &["runs", "name", "9", "x"]);
}

#[test]
fn a_deleted_run_can_be_restored_until_the_trash_is_emptied() {
    let (lab, _supervisor) = lab();
    assert!(refused(&lab, &["runs", "delete", "3"]).contains("hvd-lab stop 3"));
    assert!(ok(&lab, &["runs", "delete", "1", "2"]).contains("hvd-lab runs restore 2"));
    assert_eq!(numbers(&ok(&lab, &["runs"])), ["3"]);
    assert_eq!(numbers(&ok(&lab, &["runs", "trash"])), ["1", "2"]);
    assert!(ok(&lab, &["runs", "restore"]).contains("run 2 is back"));
    assert!(refused(&lab, &["runs", "empty-trash"]).contains("--yes"));
    assert!(ok(&lab, &["runs", "empty-trash", "--older-than", "1", "--yes"]).contains("nothing"));
    assert_eq!(numbers(&ok(&lab, &["runs", "trash"])), ["1"]);
    ok(&lab, &["runs", "empty-trash", "--yes"]);
    refused(&lab, &["runs", "restore", "1"]);
    assert_eq!(numbers(&ok(&lab, &["runs"])), ["2", "3"]);
}

#[test]
fn a_comparison_is_written_in_every_format() {
    let (lab, _supervisor) = lab();
    let text = ok(&lab, &["compare", "--published"]);
    assert!(text.contains("1.90x") && text.contains("95 %") && text.contains("published: Scaling Deep"), "{text}");
    for (name, part) in [("a.md", "| 1.90x |"), ("a.csv", ",1.9,0.95,"), ("a.json", "\"speedup\": 1.9"), ("a.svg", "</svg>")] {
        let file = lab.home().join(name);
        ok(&lab, &["compare", "--out", file.to_str().unwrap()]);
        let written = std::fs::read_to_string(&file).unwrap();
        assert!(written.contains(part), "{written}");
    }
    assert!(ok(&lab, &["compare", "--format", "csv"]).starts_with("kind,source,run,"));
    assert!(refused(&lab, &["compare", "--out", "runs.xlsx"]).contains(".svg"));
    assert!(refused(&lab, &["compare", "--format", "pdf"]).contains("md, csv, json, svg"));
}
