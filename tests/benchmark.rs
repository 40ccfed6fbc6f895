//! The benchmark itself: that it still runs, counts right, and leaves nothing behind.
//!
//! Never judges a speed. Without mpirun or hvd-train the runs are skipped by name; HVD_LAB_REQUIRE=mpi,train turns the skip
//! into a failure.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Parser;
use hvd_lab_terminal::process::look_up;

use super::bench::allreduce::SIZES;
use super::bench::figures::{Round, Rounds, Spread};
use super::bench::options::Options;
use super::bench::process::{Flow, watch};
use super::bench::rows::{Row, Target, Unit};
use crate::support::needs::skip;
use crate::support::trainer::turn;

fn options(arguments: &str) -> Options {
    Options::try_parse_from(format!("bench {arguments}").split_whitespace()).unwrap()
}

#[test]
fn a_quick_run_gives_every_row_that_was_asked_for() {
    let trainer = Path::new(env!("CARGO_BIN_EXE_hvd-lab")).with_file_name("hvd-train");
    let ranks = trainer.with_file_name("examples").join("bench-allreduce");
    let there = [("mpi", Path::new(env!("HVD_LAB_BUILD_MPIRUN"))), ("train", &trainer), ("train", &ranks)];
    if let Some((name, path)) = there.into_iter().find(|(_, path)| !path.is_file()) {
        return skip(name, format_args!("there is no {path:?}; `make test` builds it"));
    }
    let _turn = turn();
    let report = super::bench::run(&options("--quick --only allreduce --only synthetic"), false).unwrap();
    assert_eq!(report.failures, Vec::<String>::new());
    let whats: Vec<&str> = report.rows.iter().map(|row| row.what.as_str()).collect();
    assert_eq!(whats[..2], ["images/s on a fixed batch, wrn-10-1, np 1", "images/s on a fixed batch, wrn-10-1, np 2"]);
    assert_eq!(whats[2], "scaling efficiency on a fixed batch, wrn-10-1, np 2 against twice np 1");
    let allreduces = whats.iter().filter(|what| what.contains("against raw MPI_Allreduce")).count();
    // The longest once more, in memory that both ranks see.
    let expected = 2 * SIZES.len() + usize::from(cfg!(target_os = "linux"));
    assert_eq!((allreduces, whats.len()), (expected, 3 + expected), "{whats:?}");
    for row in &report.rows {
        assert!(row.ours.spread.min > 0.0, "{row:?}");
    }
    let figure = |name: &str| report.rounds.figure(&format!("hvd-train wrn-10-1 np 2 fixed batch: {name}")).unwrap().median;
    assert!((1e7..1e11).contains(&figure("peak_rss_bytes")) && figure("data_share") < 0.5);
    let (markdown, json) = (report.to_markdown(), report.to_json());
    assert!(markdown.contains("A quick run") && markdown.contains("| at least 0.95 |"), "{markdown}");
    assert!(!markdown.contains(env!("HVD_LAB_CHECKOUT")), "the paths of this machine are nobody's business:\n{markdown}");
    assert_eq!(json["rows"].as_array().unwrap().len(), report.rows.len());
}

/// Whether these programs are there. Where one is not, the test is skipped by name, or fails if HVD_LAB_REQUIRE names train.
fn are_built(programs: &[&str]) -> bool {
    let beside = |name: &&str| Path::new(env!("CARGO_BIN_EXE_hvd-lab")).with_file_name(name);
    let Some(missing) = programs.iter().map(beside).find(|path| !path.is_file()) else { return true };
    skip("train", format_args!("there is no {missing:?}; `make test` builds it"));
    false
}

#[test]
fn models_and_the_image_pipeline_are_measured_without_their_peers() {
    if !are_built(&["hvd-measure", "hvd-train", "examples/bench-images"]) {
        return;
    }
    let _turn = turn();
    let report = super::bench::run(&options("--quick --only models --only images"), false).unwrap();
    assert_eq!(report.failures, Vec::<String>::new());
    let whats: Vec<&str> = report.rows.iter().map(|row| row.what.as_str()).collect();
    let expected = [
        "images/s of one rank, mnist-cnn at 28 px, fp32",
        "images/s of one rank, mnist-cnn at 28 px, bf16",
        "images/s, mnist-cnn at 28 px, np 2, against two ranks that exchange nothing",
        "images/s, mnist-cnn at 28 px, np 2, overlap on against off",
        "images/s, mnist-cnn at 28 px, np 2, fusion on against off",
        "exposed allreduce's share of a step, mnist-cnn at 28 px, np 2",
        "exposed allreduce's share of a step, mnist-cnn at 28 px, np 2, without overlap",
        "the exchange's own share of a step, mnist-cnn at 28 px, np 2, no rank late",
        "images/s of a core, whole photos decoded",
        "images/s of a core, the shown part decoded",
        "images/s of a core, the shown part decoded, with colours",
    ];
    assert_eq!(whats, expected);
    let apart = report.rounds.figure("hvd-measure without exchange mnist-cnn at 28 px fp32 np 2: exposed_share").unwrap();
    assert!(apart.median < 0.01, "who exchanges nothing waits for nobody: {apart:?}");
    assert_eq!(report.left_out.len(), 2, "both peers are named: {:?}", report.left_out);
}

#[test]
fn the_trainer_is_held_against_its_convolutions_alone() {
    if !are_built(&["hvd-train", "examples/bench-convolutions"]) {
        return;
    }
    let _turn = turn();
    let report = super::bench::run(&options("--quick --only bound"), false).unwrap();
    assert_eq!(report.failures, Vec::<String>::new());
    let whats: Vec<&str> = report.rows.iter().map(|row| row.what.as_str()).collect();
    let of = |what: &str| format!("images/s on real data, wrn-10-1, np 1, {what} convolutions alone");
    assert_eq!(whats, ["fp32, against libtorch's", "fp32, against its own", "bf16, against libtorch's"].map(of));
    for row in &report.rows {
        let target = row.what.contains("libtorch's").then_some(Target::RatioAtLeast(0.85));
        assert!(row.target == target && row.beside.unwrap().spread.min > 0.0, "{row:?}");
    }
    // Each figure with its command.
    let has = |words: [&str; 2]| report.lines.iter().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(has(["bench-convolutions", "fp32 --rounds 1"]) && has(["bench-convolutions", "--libtorch"]), "{:?}", report.lines);
    assert!(has(["bench-convolutions", "bf16"]) && has(["hvd-train", "--precision bf16"]), "{:?}", report.lines);
}

#[test]
fn a_row_of_a_model_has_a_ratio_for_each_peer() {
    let mut round = Round::new();
    let shape = "mnist-cnn at 28 px";
    for (engine, rate) in [("hvd-measure", 900.0), ("PyTorch channels-last", 1000.0), ("PyTorch", 600.0)] {
        round.insert(format!("{engine} {shape} fp32 np 1: images_per_sec"), rate);
    }
    for (library, rate) in [("ours", 1400.0), ("tf.data", 700.0), ("torchvision", 800.0)] {
        round.insert(format!("images: {library} whole photos decoded"), rate);
    }
    round.insert("images: ours the shown part decoded".into(), 1700.0);
    let rows = super::bench::rows::rows(&Rounds(vec![round]), &options("--quick").scale());
    let said: Vec<(&str, Option<bool>)> = rows.iter().map(|row| (row.what.as_str(), row.meets())).collect();
    let expected = [
        ("images/s of one rank, mnist-cnn at 28 px, fp32, against PyTorch channels-last", Some(false)),
        ("images/s of one rank, mnist-cnn at 28 px, fp32, against PyTorch as it comes", Some(true)),
        ("images/s of a core, whole photos decoded, against tf.data", Some(true)),
        ("images/s of a core, whole photos decoded, against torchvision", Some(false)),
        ("images/s of a core, the shown part decoded, against torchvision, which decodes all of them", Some(true)),
    ];
    assert_eq!(said, expected);
}

#[test]
fn medians_bear_one_bad_round() {
    let of = |values: &[f64]| Spread::of(values.to_vec());
    assert_eq!(of(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
    assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]), Some(Spread { median: 2.5, min: 1.0, max: 4.0 }));
    assert_eq!(of(&[f64::NAN, 5.0]).unwrap().median, 5.0);
    assert_eq!(of(&[]), None);
}

#[test]
fn ratios_are_taken_within_a_round() {
    // A machine that slows down by half slows both sides: every round says 2, and a round that lacks a side says nothing.
    let round = |figures: &[(&str, f64)]| figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect::<Round>();
    let rounds = Rounds(vec![round(&[("a", 8.0), ("b", 4.0)]), round(&[("a", 4.0), ("b", 2.0)]), round(&[("a", 100.0)])]);
    assert_eq!(rounds.ratio("a", "b"), Some(Spread { median: 2.0, min: 2.0, max: 2.0 }));
    assert_eq!(rounds.figure("a").unwrap().max, 100.0);
    assert_eq!(rounds.ratio("a", "c"), None);
}

/// Figures of one round in which hvd-train is twice as fast as DDP as it comes, and slower than DDP at its best.
fn one_round() -> Rounds {
    let mut round = Round::new();
    let mut add = |name: &str, value: f64| round.insert(name.into(), value);
    for (engine, one, two) in [("hvd-train", 1000.0, 1880.0), ("DDP", 500.0, 900.0), ("tuned DDP", 1250.0, 2350.0)] {
        add(&format!("{engine} wrn-10-1 np 1 data: images_per_sec"), one);
        add(&format!("{engine} wrn-10-1 np 2 data: images_per_sec"), two);
        add(&format!("AVX2: {engine} wrn-10-1 np 1 data: images_per_sec"), one.min(900.0));
        add(&format!("{engine} wrn-10-1 np 2 first step: first_step_s"), 400.0 / one);
    }
    add("hvd-train without exchange wrn-10-1 np 2 data: images_per_sec", 2000.0);
    add("hvd-train wrn-10-1 np 8 data: images_per_sec", 1974.0);
    add("hvd-train wrn-10-1 np 2 fixed batch: images_per_sec", 2000.0);
    add("hvd-train without overlap wrn-10-1 np 2 fixed batch: images_per_sec", 1600.0);
    add("allreduce: raw 67108864", 0.02);
    add("allreduce: started 67108864", 0.04);
    Rounds(vec![round])
}

#[test]
fn a_ratio_above_1_means_that_ours_is_better_and_targets_are_held_against_it() {
    let rows = super::bench::rows::rows(&one_round(), &options("").scale());
    let row = |what: &str| rows.iter().find(|row| row.what.contains(what)).unwrap_or_else(|| panic!("no row {what}: {rows:#?}"));
    let said = |row: &Row| (row.ratio.map(|ratio| ratio.median), row.meets());
    assert_eq!(said(row("np 1, against DDP as it comes")), (Some(2.0), Some(false)));
    // Less is demanded of narrower vectors.
    assert_eq!(said(row("AVX2: images/s on real data, wrn-10-1, np 1, against DDP as it comes")), (Some(1.8), Some(true)));
    assert_eq!(said(row("AVX2: images/s on real data, wrn-10-1, np 1, against DDP at its best")), (Some(1.0), Some(false)));
    assert_eq!(said(row("np 1, against DDP at its best")), (Some(0.8), Some(false)));
    assert_eq!(said(row("scaling efficiency")), (Some(0.94), Some(false)));
    assert_eq!(said(row("np 2, against two ranks that exchange nothing")), (Some(0.94), Some(false)));
    assert_eq!(said(row("np 8 against np 2")), (Some(1.05), Some(true)));
    // Twice the time of DDP's: less is better.
    assert_eq!(said(row("first finished step, wrn-10-1, np 2, against DDP as it comes")), (Some(2.0), Some(true)));
    assert_eq!(said(row("overlap on against off")), (Some(1.25), None));
    assert_eq!(said(row("started and finished, 64 MB")), (Some(0.5), None));
    let started = row("started and finished, 64 MB");
    assert_eq!((started.ours.unit, started.target), (Unit::Allreduce(64 << 20), None::<Target>));
    assert!(!rows.iter().any(|row| row.what.contains("fusion") || row.what.contains("hvd-lab")), "no figures, no row");
}

#[test]
fn lines_of_programs_are_read() {
    use super::bench::{allreduce::parse, photos::of_core, training::numbers_after};
    assert_eq!(of_core("tf.data 2.21.0 partial                           747 images/s of a core"), Some(747.0));
    assert_eq!((of_core("1390 images/s of a core"), of_core("torchvision: not measured")), (Some(1390.0), None));
    let numbers = |line, mark| numbers_after(line, mark).collect::<Vec<_>>();
    assert_eq!(numbers("Images/sec: 2025.31", "Images/sec: "), [2025.31]);
    assert_eq!(numbers("Epoch 1/2 - loss 2.1", "Images/sec: "), [0.0; 0]);
    let mixed = "Images/sec: 517.33Peak RSS rank 1: 640 MiBPeak RSS rank 0: 641 MiB";
    assert_eq!((numbers(mixed, "Images/sec: "), numbers(mixed, "Peak RSS rank 0: ")), (vec![517.33], vec![641.0]));
    assert_eq!(parse("[1,0]<stdout>: @allreduce raw 1024 1.5e-5"), Some(("raw", 1024, 1.5e-5)));
    assert_eq!(parse("[1,0]<stdout>: Epoch 1/2"), None);
}

#[test]
fn a_program_is_ended_when_enough_was_seen_or_its_time_is_up() {
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    };
    let minute = Duration::from_secs(60);
    let mut lines = Vec::new();
    let began = Instant::now();
    watch(shell("echo one; echo two >&2; sleep 0.1; echo three"), minute, |_, line| {
        lines.push(line.to_owned());
        Flow::GoOn
    })
    .unwrap();
    lines.sort();
    assert_eq!(lines, ["one", "three", "two"]);
    // The sleeping child of the shell outlives the shell's own end: it is found and ended too.
    let mut sleeper = 0;
    watch(shell("sleep 300 & echo $!; wait"), minute, |_, line| {
        sleeper = line.parse().unwrap();
        Flow::Enough
    })
    .unwrap();
    assert!(look_up(sleeper).is_none_or(|process| process.zombie), "the sleeper {sleeper} was left behind");
    let failed = watch(shell("echo why; exit 3"), minute, |_, _| Flow::GoOn).unwrap_err();
    assert!(failed.contains("failed") && failed.contains("why"), "{failed}");
    let late = watch(shell("exec sleep 300"), Duration::from_millis(50), |_, _| Flow::GoOn).unwrap_err();
    assert!(late.contains("no end within"), "{late}");
    assert!(began.elapsed() < Duration::from_secs(30), "nobody waited for a sleep of 300 s");
}
