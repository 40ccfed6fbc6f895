//! Benchmarks, from their start to every verb that reads them. The program of the ranks is a stand-in.

use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::host::cpu::host_memory;
use hvd_lab_terminal::host::numa;
use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::RunId;
use hvd_lab_terminal::runs::recording::{Player, Recording};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::lab::{Lab, finish, stderr, stdout};
use crate::support::wait::wait_for;

/// 32 images an iteration, and each takes a second.
const SMALL: [&str; 9] =
    ["bench", "--batch-size", "16", "--num-batches-per-iter", "2", "--num-iters", "3", "--model", "wrn-10-1"];

fn bench(lab: &Lab, np: &str, flags: &[&str]) -> std::process::Output {
    lab.run(&[&SMALL, ["--np", np].as_slice(), flags].concat())
}

fn json(output: &std::process::Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap_or_else(|error| panic!("{error}: {}", stdout(output)))
}

#[test]
fn a_benchmark_prints_the_lines_of_its_root_and_is_kept_like_any_run() {
    let lab = Lab::with_fake_mpirun("4");
    let output = bench(&lab, "2", &["--name", "first"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = stdout(&output);
    assert_eq!(lines.lines().filter(|line| line.starts_with("Iter #")).count(), 3, "{lines}");
    assert!(lines.contains("Step\tImg/sec\ttotal_loss\n"), "columns are parted as the program parts them: {lines:?}");
    assert!(!lines.contains("[0]"), "only the root prints, so nobody asks who: {lines}");
    assert!(
        stderr(&output).contains("run 1 finished: measured 3 iterations in 3.0 s, 64.0 images/s of all ranks"),
        "{}",
        stderr(&output)
    );
    lab.assert_nothing_left(1);

    let listed = stdout(&lab.run(&["runs"]));
    // Other programs may use the cores: then a star says so.
    let row = listed.lines().nth(1).unwrap().replace('*', "");
    let row: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(row, ["1", "finished", "2", "-", "-", "benchmark", "wrn-10-1", "-", "64.0", "-", "3.0", "s", "first"], "{listed}");
    let summary = lab.store().summary(RunId(1)).unwrap();
    assert_eq!((summary.figures.images_per_sec, summary.exposed_communication), (Some(64.0), Some(0.25)));
    for words in [["runs", "delete", "1"], ["runs", "restore", "1"]] {
        assert_eq!(lab.run(&words).status.code(), Some(0));
    }
    let recording = lab.home().join("bench.hvdrun");
    assert_eq!(lab.run(&["record", "1", "--out", recording.to_str().unwrap(), "--anonymous"]).status.code(), Some(0));
    let player = Player::open(Recording::open(&recording).unwrap(), 1.0).unwrap();
    assert_eq!(player.recording.record.request.spec.workload.kind(), "benchmark");
}

#[test]
fn one_rank_against_two_is_a_speed_up_and_an_efficiency_in_every_format() {
    let lab = Lab::with_fake_mpirun("4");
    bench(&lab, "1", &[]);
    bench(&lab, "2", &["--num-iters", "5"]);
    bench(&lab, "2", &["--batch-size", "8"]);
    let text = stdout(&lab.run(&["compare", "1", "2", "3"]));
    let of_two = text.lines().nth(2).unwrap().replace('*', "");
    assert_eq!(of_two.split_whitespace().collect::<Vec<_>>()[..5], ["2", "2", "64.0", "2.00x", "100"], "{text}");
    assert!(text.lines().nth(3).unwrap().contains("(other batch per rank than the baseline)"), "{text}");
    for (format, words) in [("md", "100 %"), ("csv", "benchmark wrn-10-1"), ("json", "\"speedup\":2.0"), ("svg", "run 2")] {
        let file = lab.home().join(format!("runs.{format}"));
        assert_eq!(lab.run(&["compare", "1", "2", "--out", file.to_str().unwrap()]).status.code(), Some(0));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.replace("\": ", "\":").contains(words), "{format}: {text}");
    }
    let published = stdout(&lab.run(&["compare", "1", "2", "--published"]));
    for words in ["TACC", "Knights Landing", "62.0-64.0"] {
        assert!(published.contains(words), "{words}: {published}");
    }
}

#[test]
fn what_is_about_steps_and_epochs_refuses_a_benchmark_in_one_line() {
    let lab = Lab::with_fake_mpirun("4");
    bench(&lab, "2", &[]);
    for (words, said) in [
        (["run", "--continue", "1"].as_slice(), "run 1 trains nothing (benchmark wrn-10-1)"),
        (&["check", "1"], "run 1 is a benchmark of wrn-10-1, which has no steps to check"),
        (&["collectives", "show", "1"], "run 1 (benchmark wrn-10-1) measures no collectives"),
    ] {
        let output = lab.run(words);
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {line}");
        assert!(line.contains(said) && line.lines().count() == 1, "{words:?}: {line}");
    }
    lab.run(&["run", "--data", "generated", "--np", "2"]);
    let compared = stdout(&lab.run(&["compare", "2", "1"]));
    assert!(compared.contains("(a benchmark, and the baseline is a training)"), "{compared}");
    assert_eq!(lab.run(&["report"]).status.code(), Some(0));
}

#[test]
fn wrong_input_is_answered_in_one_line() {
    let lab = Lab::with_fake_mpirun("4");
    for (words, said) in [
        (["--style", "sneeze"].as_slice(), "`sneeze` is not a style: use horovod, tf-cnn, nvcnn, json"),
        (&["--model", "sneeze"], "`sneeze` is not a model"),
        (&["--batch-size", "0"], "--batch-size is 0"),
        (&["--batch-size", "-5"], "-5"),
        (&["--num-iters", "0"], "0 iterations"),
        (&["--precision", "fp64"], "`fp64` is not a precision"),
        (&["--bind", "moon"], "`moon` is not a binding"),
        (&["--np", "0"], "np is 0"),
        (&["--np", "999"], "999"),
        (&["--distortions=False"], "add --style tf-cnn"),
        (&["--style", "tf-cnn", "--model", "resnet50", "--data_dir", "/proc/none"], "--data-dir /proc/none cannot be read"),
        (&["--model", "resnet50", "--data-dir", "generated"], "`hvd-lab data make-images`"),
        (&["--data-dir", "/proc/none"], "/proc/none"),
        (&["--style", "nvcnn", "--num_batches", "20"], "none is left to count"),
        (&["--sneeze"], "--sneeze"),
        (&["--cuda", "--no-cuda"], "cannot be used with"),
        (&["--no-cuda", "--precision", "tf32"], "--precision tf32 needs an NVIDIA GPU"),
    ] {
        let output = lab.run(&[&["bench"], words].concat());
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {line}");
        assert!(line.contains(said) && line.lines().count() == 1, "{words:?}: {line}");
    }
    for (words, said) in beyond_this_machine() {
        let output = lab.run(&[["bench", "--np", "1"].as_slice(), &words].concat());
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {line}");
        assert!(line.contains(said) && line.lines().count() == 1, "{words:?}: {line}");
    }
    assert!(lab.store().ids().is_empty(), "no run was begun for any of them");
    let missing = lab.env("HVD_MEASURE", "/proc/none/hvd-measure").run(&SMALL);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("HVD_MEASURE is /proc/none"), "{}", stderr(&missing));
}

/// What this machine does not have, as far as it says what it has; and what it answers.
fn beyond_this_machine() -> Vec<(Vec<&'static str>, &'static str)> {
    let mut cases = Vec::new();
    if !numa::nodes().is_empty() {
        cases.push((vec!["--mem-node", "60000"], "--mem-node 60000: this host has"));
    }
    if host_memory().0 > 0 {
        cases.push((vec!["--no-cuda", "--model", "resnet50", "--batch-size", "900000"], "lower it, or --image-size"));
    }
    if !std::path::Path::new("/dev/nvidia0").exists() {
        cases.push((vec!["--style", "tf-cnn", "--device", "gpu"], "a GPU was asked for (--cuda, --device gpu)"));
    }
    cases
}

#[test]
fn json_of_a_run_that_is_stopped_holds_what_was_measured() {
    let lab = Lab::with_fake_mpirun("4").env("STAND_IN", "linger");
    let child = lab.spawn(&[&SMALL, ["--np", "2", "--style", "json"].as_slice()].concat());
    let measured = || lab.store().summary(RunId(1)).is_ok_and(|run| run.figures.images_per_sec.is_some());
    wait_for("three iterations of both ranks", || measured().then_some(()));
    process::signal(child.id(), Signal::SIGINT);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(1));
    let result = json(&output);
    assert_eq!((&result["images_per_sec"]["mean"], &result["ranks"]), (&64.0.into(), &2.into()), "{result}");
    lab.assert_nothing_left(1);
    let hanging = Lab::with_fake_mpirun("4").env("STAND_IN", "hang");
    let child = hanging.spawn(&[&SMALL, ["--np", "1", "--style", "json"].as_slice()].concat());
    wait_for("a rank to report", || (hanging.pids(1).len() == 1).then_some(()));
    process::signal(child.id(), Signal::SIGINT);
    assert_eq!(stdout(&finish(child)), "", "nothing was measured");
    hanging.assert_nothing_left(1);
}

#[test]
fn runs_that_are_timed_in_other_ways_have_no_speed_up() {
    let lab = Lab::with_fake_mpirun("4");
    bench(&lab, "1", &[]);
    bench(&lab, "2", &["--style", "tf-cnn"]);
    bench(&lab, "2", &["--num-warmup-batches", "3"]);
    let text = stdout(&lab.run(&["compare", "1", "2", "3"]));
    for (line, words) in [(2, "(other style than the baseline, "), (3, "(other number of warm-up batches than the baseline)")] {
        let row = text.lines().nth(line).unwrap();
        assert!(row.contains(words) && !row.contains("2.00x"), "{text}");
    }
    assert!(text.contains("style tf-cnn (not horovod)") && text.contains("warmup batches 3 (not 10)"), "{text}");
}

#[test]
fn a_benchmark_is_stopped_and_fails_like_a_training() {
    let hanging = Lab::with_fake_mpirun("4").env("STAND_IN", "hang");
    let child = hanging.spawn(&[&SMALL, ["--np", "2"].as_slice()].concat());
    wait_for("ranks to report", || (hanging.pids(1).len() == 2).then_some(()));
    assert_eq!(stdout(&hanging.run(&["stop", "1"])), "run 1 stopped after 0 iterations\n");
    assert_eq!(finish(child).status.code(), Some(1));
    hanging.assert_nothing_left(1);
    let failing = Lab::with_fake_mpirun("4").env("STAND_IN", "exit");
    assert_eq!(bench(&failing, "2", &[]).status.code(), Some(1));
    let status = failing.status(1);
    assert_eq!((status.state, status.failed_process), (RunState::Failed, Some(1)));
    assert!(status.message.contains("cannot train"), "{}", status.message);
    failing.assert_nothing_left(1);
}

#[test]
fn events_come_as_json_and_the_result_last() {
    let lab = Lab::with_fake_mpirun("4");
    let output = bench(&lab, "2", &["--json"]);
    let lines: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().filter(|line| line["event"] == "iteration").count(), 6);
    let result = &lines.last().unwrap()["benchmark"];
    assert_eq!((&result["images_per_sec"]["mean"], &result["ranks"]), (&64.0.into(), &2.into()), "{result}");
    assert_eq!((&result["batch_size"]["total"], &result["placement"][1]["cores"][0]), (&32.into(), &1.into()));
    assert_eq!(result["iterations"].as_array().unwrap().len(), 3);
    let left = bench(&lab, "2", &["--detach", "--json"]);
    assert_eq!(json(&left)["id"], 2);
    lab.wait_until_over(2);
}

#[test]
fn the_line_of_the_launcher_has_what_was_asked_for() {
    let lab = Lab::with_fake_mpirun("4");
    let line = |flags: &[&str]| stdout(&lab.run(&[["bench", "--np", "1", "--dry-run"].as_slice(), flags].concat()));
    let plain = line(&[]);
    assert!(
        plain.contains(" --bind-to none ") && plain.contains(" --style horovod --model wrn-10-1 --batch-size 32 "),
        "{plain}"
    );
    assert!(plain.contains(" --bind share --events"), "{plain}");
    let all = line(&["--bind", "numa", "--mem-node", "0", "--num-intra-threads", "2", "--precision", "bf16", "--fp16-allreduce"]);
    assert!(all.contains(" --map-by numa --bind-to numa "), "{all}");
    assert!(all.contains(" --num-intra-threads 2 --bind numa --mem-node 0 --fp16-allreduce --events"), "{all}");
    let flags = stdout(&lab.run(&["bench", "--flags"]));
    assert!(flags.lines().count() > 80 && flags.contains("--variable_update horovod"), "{flags}");
    assert!(lab.store().ids().is_empty());
}
