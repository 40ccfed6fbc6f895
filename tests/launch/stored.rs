//! What other versions of the lab wrote: files of version 0.1.0 (tests/data/version_0.1.0), and of versions to come.
//!
//! Never writes into the test data: each test has a copy.

use std::fs;
use std::path::{Path, PathBuf};

use hvd_lab_terminal::runs::recording::{Player, PlayerOrder, Recording};
use hvd_lab_terminal::runs::{RunId, RunStore};
use serde_json::Value;

use crate::support::lab::{Lab, stderr, stdout};

pub fn data() -> PathBuf {
    Path::new(env!("HVD_LAB_CHECKOUT")).join("tests/data/version_0.1.0")
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// A lab whose home holds the three runs of version 0.1.0.
fn old_home() -> Lab {
    let lab = Lab::with_fake_mpirun("5");
    copy(&data().join("runs"), &lab.home().join("runs"));
    lab
}

fn run_json(lab: &Lab, id: u32) -> Value {
    serde_json::from_slice(&fs::read(lab.folder(id).record_file()).unwrap()).unwrap()
}

/// Changes `run.json` as another version of the lab might have written it.
fn rewrite(lab: &Lab, id: u32, change: impl FnOnce(&mut Value)) -> Value {
    let mut record = run_json(lab, id);
    change(&mut record);
    fs::write(lab.folder(id).record_file(), serde_json::to_vec_pretty(&record).unwrap()).unwrap();
    lab.store().forget_summary(RunId(id));
    record
}

#[test]
fn runs_of_the_version_before_are_listed_as_it_listed_them() {
    let lab = old_home();
    let expected = fs::read_to_string(data().join("runs.txt")).unwrap();
    assert_eq!(stdout(&lab.run(&["runs"])), expected);
    // And added up anew from their events.
    (1..=3).for_each(|id| lab.store().forget_summary(RunId(id)));
    assert_eq!(stdout(&lab.run(&["runs"])), expected);
    assert_eq!(lab.run(&["check", "1"]).status.code(), Some(0), "it passed all ten steps");
    for verb in [["compare", "1", "3"].as_slice(), &["runs", "--json"]] {
        let output = lab.run(verb);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{verb:?}");
    }
}

#[test]
fn an_old_record_that_is_changed_keeps_all_it_had() {
    let lab = old_home();
    for id in 1..=3 {
        let mut before = run_json(&lab, id);
        assert_eq!(lab.run(&["runs", "name", &id.to_string(), "another name"]).status.code(), Some(0));
        before["name"] = "another name".into();
        assert_eq!(run_json(&lab, id), before, "so the version before can still read it");
    }
}

#[test]
fn recordings_of_the_version_before_play_to_their_end() {
    let store = RunStore::open(old_home().home()).unwrap();
    drop(store);
    for (id, epochs) in [(1, 3), (2, 1), (3, 6)] {
        let recording = Recording::open(&data().join(format!("recordings/run-{id}.hvdrun"))).unwrap();
        let mut player = Player::open(recording, 1.0).unwrap();
        player.order(PlayerOrder::ToEnd);
        player.step(0.0);
        let summary = player.summary();
        assert_eq!((summary.last_epoch, summary.record.is_some()), (epochs, true), "run {id}");
    }
}

#[test]
fn progress_of_the_version_before_still_counts() {
    for (name, words) in
        [("all_done", "seen 10, predicted 0"), ("tried", "seen 0, predicted 0"), ("predicted", "seen 0, predicted 1")]
    {
        let lab = Lab::with_fake_mpirun("5");
        let file = lab.home().join("progress.json");
        fs::copy(data().join(format!("progress/{name}.json")), &file).unwrap();
        let before = fs::read(&file).unwrap();
        let output = lab.run(&["progress"]);
        assert!(stdout(&output).contains(words) && stderr(&output).is_empty(), "{}{}", stdout(&output), stderr(&output));
        assert_eq!(fs::read(&file).unwrap(), before, "looking changes nothing");
    }
}

#[test]
fn a_run_of_a_newer_version_is_listed_as_what_it_is() {
    let lab = old_home();
    let newer = rewrite(&lab, 2, |record| {
        record["queue"] = serde_json::json!({ "partition": "gpu" });
        record["spec"] =
            serde_json::json!({ "np": 4, "hosts": null, "hostfile": null, "workload": "benchmark", "algorithms": ["ring"] });
        record["attempts"][0]["restarts"] = 2.into();
    });
    let output = lab.run(&["runs"]);
    let row = stdout(&output).lines().nth(2).unwrap().to_owned();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[..4], ["2", "finished", "4", "-"], "{row}");
    assert!(row.contains("benchmark") && !stdout(&output).contains("damaged"), "{}", stdout(&output));
    for (verb, code) in [(["check", "2"].as_slice(), 2), (&["run", "--continue", "2"], 2), (&["compare", "1", "2"], 0)] {
        let output = lab.run(verb);
        let said = stderr(&output) + &stdout(&output);
        assert_eq!(output.status.code(), Some(code), "{verb:?}: {said}");
        assert!(!said.contains("damaged"), "{verb:?}: {said}");
    }
    // What it does not know, it keeps.
    assert_eq!(lab.run(&["runs", "note", "2", "seen"]).status.code(), Some(0));
    assert_eq!(run_json(&lab, 2), {
        let mut noted = newer;
        noted["note"] = "seen".into();
        noted
    });
}

#[test]
fn a_model_of_a_newer_version_is_no_damage() {
    let lab = old_home();
    rewrite(&lab, 1, |record| {
        record["spec"]["model"] = "efficientnet-b0".into();
        record["spec"]["loss_scale"] = 128.into();
    });
    let row = stdout(&lab.run(&["runs", "--filter", "model:efficientnet-b0"]));
    assert!(row.contains("finished") && row.contains("efficientnet-b0"), "{row}");
    assert_eq!(stdout(&lab.run(&["runs", "--filter", "np:2"])).lines().count(), 3, "the other fields count as before");
}

#[test]
fn a_number_from_a_stranger_costs_neither_time_nor_memory() {
    let lab = old_home();
    rewrite(&lab, 1, |record| {
        record["spec"]["np"] = 1_000_000_000_000_000_000_u64.into();
        record["spec"]["time_limit_s"] = 1e300.into();
    });
    rewrite(&lab, 3, |record| record["attempts"][0]["np"] = 1_000_000_000_000_000_000_u64.into());
    for verb in [["runs"].as_slice(), &["compare", "1", "2", "3"], &["check", "1"], &["check", "3"], &["run", "--continue", "1"]]
    {
        let output = lab.run(verb);
        assert!(output.status.code().is_some_and(|code| code < 3), "{verb:?}: {}", stderr(&output));
    }
}

#[test]
fn a_damaged_record_is_still_called_so() {
    let lab = old_home();
    rewrite(&lab, 3, |record| {
        record["spec"].as_object_mut().unwrap().remove("epochs");
    });
    assert!(stdout(&lab.run(&["runs"])).contains("run.json is damaged"));
}
