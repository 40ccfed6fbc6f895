//! Runs that measure collectives, from their start to every verb that reads them. The program of the ranks is a stand-in.

use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::runs::recording::{Player, Recording};
use serde_json::Value;

use crate::support::lab::{Lab, stderr, stdout};
use crate::support::wait::wait_for;

const SMALL: [&str; 8] = ["collectives", "run", "--np", "2", "-b", "1K", "-e", "16K"];

/// A small run of these algorithms, over and listed.
fn measure(lab: &Lab, flags: &[&str]) -> std::process::Output {
    lab.run(&[&SMALL, flags].concat())
}

fn json(output: &std::process::Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap_or_else(|error| panic!("{error}: {}", stdout(output)))
}

#[test]
fn a_run_prints_its_table_and_is_kept_like_any_other() {
    let lab = Lab::with_fake_mpirun("4");
    let output = measure(&lab, &["--algorithm", "ring,mpi", "--name", "first"]);
    let table = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows: Vec<Vec<&str>> =
        table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 6, "{table}");
    // The link is a nanosecond a byte and a tenth of it a byte added: the stand-in says what follows from that.
    assert_eq!(rows[0][..2], ["ring", "1024"]);
    assert_eq!(rows[0][11], "+0", "{table}");
    assert_eq!(rows[3][..2], ["mpi", "1024"]);
    assert_eq!(rows[3][10..], ["-", "-"]);
    assert!(table.contains("# no prediction for mpi: MPI picks"), "{table}");
    assert!(table.lines().last().unwrap().starts_with("# Avg bus bandwidth mpi"), "{table}");
    assert!(!table.contains("own table"), "the ranks' own words are in their logs");
    assert_eq!(lab.status(1).message, "measured 6 rows");
    lab.assert_nothing_left(1);

    let listed = stdout(&lab.run(&["runs"]));
    let row: Vec<&str> = listed.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row, ["1", "finished", "2", "-", "-", "collectives", "-", "-", "-", "-", "first"]);
    let shown = stdout(&lab.run(&["collectives", "show"]));
    assert!(shown.starts_with("# run 1 (first)\n"), "{shown}");
    assert_eq!(shown.lines().filter(|line| !line.starts_with('#')).count(), 6);
    let one = lab.run(&["collectives", "show", "1", "--algorithm", "mpi", "--json"]);
    assert_eq!(json(&one)["rows"].as_array().unwrap().len(), 3);
    for words in [["runs", "delete", "1"], ["runs", "restore", "1"]] {
        assert_eq!(lab.run(&words).status.code(), Some(0));
    }
    let recording = lab.home().join("collectives.hvdrun");
    assert_eq!(lab.run(&["record", "1", "--out", recording.to_str().unwrap(), "--anonymous"]).status.code(), Some(0));
    let player = Player::open(Recording::open(&recording).unwrap(), 1.0).unwrap();
    assert_eq!(player.recording.record.request.spec.workload.kind(), "collectives");
}

#[test]
fn the_log_is_told_step_by_step_and_compared_with_the_schedule() {
    let lab = Lab::with_fake_mpirun("4");
    measure(&lab, &["--algorithm", "ring", "--log-bytes", "1K"]);
    let text = stdout(&lab.run(&["collectives", "replay", "1", "--algorithm", "ring"]));
    assert!(text.contains("# the log equals the schedule: 4 messages\n"), "{text}");
    assert!(text.contains("  rank 0 -> rank 1  numbers 0 to 127  512 B  adds  0.0 to 10.0 us (10.0 us)\n"), "{text}");
    let log = json(&lab.run(&["collectives", "replay", "--json"]));
    assert_eq!((log["messages"].as_array().unwrap().len(), &log["schedule"]), (4, &Value::Bool(false)));
    let none = lab.run(&["collectives", "replay", "1", "--algorithm", "mpi"]);
    assert_eq!((none.status.code(), stderr(&none)), (Some(2), "hvd-lab: run 1 has no log of these: it has ring\n".into()));
}

#[test]
fn advice_comes_from_the_newest_run_with_a_link() {
    let lab = Lab::with_fake_mpirun("4");
    let without = lab.run(&["collectives", "advise", "--size", "65M"]);
    assert_eq!(without.status.code(), Some(2));
    assert!(stderr(&without).contains("`hvd-lab collectives run --np 2` does"), "{}", stderr(&without));
    measure(&lab, &["--algorithm", "ring"]);
    lab.run(&["collectives", "run", "--np", "1", "--algorithm", "ring", "-e", "1K"]);
    let advice = json(&lab.run(&["collectives", "advise", "--size", "65M", "--json"]));
    assert_eq!((&advice["run"], &advice["np"], advice["fastest"].as_str()), (&1.into(), &2.into(), Some("ring")));
    let text = stdout(&lab.run(&["collectives", "advise", "--size", "65M", "--np", "4"]));
    assert!(text.contains("4 ranks share 2 cores") && text.contains("2(p-1)a"), "{text}");
    let of_one = lab.run(&["collectives", "advise", "--size", "1K", "--run", "2"]);
    assert_eq!(of_one.status.code(), Some(2), "{}", stdout(&of_one));
}

#[test]
fn a_schedule_needs_no_run() {
    let lab = Lab::with_fake_mpirun("4");
    let text = stdout(&lab.run(&["collectives", "show", "--algorithm", "ring", "--np", "4", "--size", "1K"]));
    assert!(text.starts_with("# schedule, no run: ring, np 4, 256 numbers"), "{text}");
    let value = json(&lab.run(&["collectives", "show", "--algorithm", "ring,parameter-server", "--np", "3", "--json"]));
    assert_eq!(value[0]["rounds"].as_array().unwrap().len(), 4);
    assert_eq!((value[1]["algorithm"].as_str(), value[1]["rounds"].as_array().unwrap().len()), (Some("parameter-server"), 2));
}

#[test]
fn two_runs_are_compared_size_by_size_and_exported() {
    let lab = Lab::with_fake_mpirun("4");
    measure(&lab, &["--algorithm", "ring,mpi"]);
    measure(&lab, &["--algorithm", "ring"]);
    lab.run(&["collectives", "run", "--np", "3", "--algorithm", "ring", "-b", "1K", "-e", "1K"]);
    let text = stdout(&lab.run(&["compare", "1", "2", "3"]));
    let row: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row, ["ring", "1.0", "KiB", "1.08", "us", "1.08", "us", "1.00x", "1.08", "us", "-"], "{text}");
    assert!(text.contains("run 3: np 3 (not compared: np 3, the baseline has 2"), "{text}");
    for (format, words) in [("md", "| ring |"), ("csv", "median_s"), ("json", "times_as_fast"), ("svg", "<polyline")] {
        let file = lab.home().join(format!("runs.{format}"));
        assert_eq!(lab.run(&["compare", "1", "2", "--out", file.to_str().unwrap()]).status.code(), Some(0));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn what_is_about_training_leaves_them_out_in_one_line() {
    let lab = Lab::with_fake_mpirun("4");
    measure(&lab, &["--algorithm", "ring"]);
    lab.run(&["run", "--data", "generated", "--np", "2"]);
    for (words, said) in [
        (["run", "--continue", "1"].as_slice(), "run 1 trains nothing (collectives)"),
        (&["collectives", "show", "2"], "run 2 (wrn-10-1) measures no collectives"),
    ] {
        let output = lab.run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let line = stderr(&output);
        assert!(line.contains(said) && line.lines().count() == 1, "{words:?}: {line}");
    }
    let compared = stdout(&lab.run(&["compare", "2", "1"]));
    assert!(compared.contains("(measures collectives and trains nothing)"), "{compared}");
    let all = stdout(&lab.run(&["compare"]));
    assert_eq!(all.lines().filter(|line| line.trim_start().starts_with(['1', '2'])).count(), 1, "{all}");
    assert!(!stdout(&lab.run(&["report"])).contains("collectives"));
}

#[test]
fn wrong_input_is_answered_in_one_line() {
    let lab = Lab::with_fake_mpirun("4");
    for (words, said) in [
        (["run", "--algorithm", "sneeze"].as_slice(), "`sneeze` is not an algorithm"),
        (&["run", "-b", "lots"], "`lots` is not a size"),
        (&["run", "-b", "1M", "-e", "1K"], "below the smallest"),
        (&["run", "-b", "2", "-e", "2"], "one number has 4 B"),
        (&["run", "-n", "0"], "0 iterations"),
        (&["run", "-f", "1"], "a factor of 1"),
        (&["run", "--np", "2", "--servers", "3"], "3 servers are more than the 2 ranks"),
        (&["run", "--np", "0"], "np is 0"),
        (&["run", "--np", "999"], "999"),
        (&["show", "7"], "there is no run 7"),
        (&["show", "--np", "4"], "--algorithm"),
        (&["show", "--algorithm", "mpi"], "has no schedule"),
        (&["show", "--algorithm", "ring", "--np", "100000"], "too long to read"),
        (&["advise", "--np", "4"], "--size"),
        (&["replay"], "no run has measured collectives yet"),
    ] {
        let output = lab.run(&[&["collectives"], words].concat());
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {line}");
        assert!(line.contains(said) && line.lines().count() == 1, "{words:?}: {line}");
    }
    let missing = lab.env("HVD_MEASURE", "/proc/none/hvd-measure").run(&SMALL);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("HVD_MEASURE is /proc/none"), "{}", stderr(&missing));
}

#[test]
fn a_run_is_stopped_fails_and_runs_out_of_time_like_a_training() {
    let hanging = Lab::with_fake_mpirun("4").env("STAND_IN", "hang");
    let child = hanging.spawn(&SMALL);
    wait_for("ranks to report", || (hanging.pids(1).len() == 2).then_some(()));
    assert_eq!(stdout(&hanging.run(&["stop", "1"])), "run 1 stopped after 0 rows\n");
    assert_eq!(crate::support::lab::finish(child).status.code(), Some(1));
    let late = hanging.run(&[SMALL.as_slice(), &["--time-limit", "1"]].concat());
    assert_eq!(late.status.code(), Some(1));
    assert!(hanging.status(2).message.contains("its time limit of 0:01 was over"), "{}", hanging.status(2).message);
    hanging.assert_nothing_left(2);
    let failing = Lab::with_fake_mpirun("4").env("STAND_IN", "exit");
    assert_eq!(failing.run(&SMALL).status.code(), Some(1));
    let status = failing.status(1);
    assert_eq!((status.state, status.failed_process), (RunState::Failed, Some(1)));
    assert!(status.message.contains("cannot send"), "{}", status.message);
    let refusing = Lab::with_fake_mpirun("4").env("STAND_IN", "refuse");
    let output = refusing.run(&SMALL);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("nccl needs a GPU for each rank"), "{}", stderr(&output));
}

#[test]
fn wrong_sums_are_a_failure() {
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN_WRONG", "2");
    let output = measure(&lab, &["--algorithm", "ring"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("6 numbers are not the sum that they should be"), "{}", stderr(&output));
}

#[test]
fn events_come_as_json_and_the_table_last() {
    let lab = Lab::with_fake_mpirun("4");
    let output = measure(&lab, &["--algorithm", "ring", "--json"]);
    let lines: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().filter(|line| line["event"] == "allreduce").count(), 3);
    assert_eq!(lines.last().unwrap()["collectives"]["rows"].as_array().unwrap().len(), 3);
    let left = measure(&lab, &["--detach", "--json"]);
    assert_eq!(json(&left)["id"], 2);
    lab.wait_until_over(2);
    let line = stdout(&measure(&lab, &["--dry-run", "--algorithm", "mpi-ring"]));
    assert!(line.contains("OMPI_MCA_coll_tuned_use_dynamic_rules=1 ") && line.contains("--algorithm mpi-ring "), "{line}");
}
