//! The verbs of the course on real runs: the lab starts the real trainer, and judges what it left.
//!
//! Never uses a stand-in. Without mpirun or hvd-train these are skipped by name, as in `end_to_end`.

use hvd_lab_terminal::domain::event::Event;
use hvd_lab_terminal::runs::RunId;
use serde_json::Value;

use crate::support::fashion_mnist;
use crate::support::lab::{Lab, stderr, stdout};
use crate::support::trainer::{self, turn};

pub const SMALL: [&str; 16] = [
    "run",
    "--np",
    "2",
    "--epochs",
    "2",
    "--data",
    "generated",
    "--train-images",
    "400",
    "--validation-images",
    "100",
    "--batch-size",
    "32",
    "--model",
    "wrn-10-1",
    "--checkpointing",
];

/// Away from lessons of the user's own.
pub fn with_trainer() -> Option<Lab> {
    Some(trainer::with_trainer()?.env("HVD_LAB_LESSONS", ""))
}

pub fn train(lab: &Lab, flags: &[&str]) {
    let output = lab.run(&[&SMALL, flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
}

/// Exit code, and the verdicts by step.
fn judged(lab: &Lab, flags: &[&str]) -> (Option<i32>, Vec<Value>) {
    let output = lab.run(&[["check", "--json"].as_slice(), flags].concat());
    let whole: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    (output.status.code(), whole["verdicts"].as_array().unwrap().clone())
}

#[test]
fn with_all_steps_every_check_passes_and_progress_is_kept() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    train(&lab, &["--steps", "1-10"]);
    let (code, verdicts) = judged(&lab, &["1"]);
    for verdict in &verdicts {
        assert_eq!((&verdict["outcome"], &verdict["on"]), (&"passed".into(), &true.into()), "{verdict}");
    }
    assert_eq!((code, verdicts.len()), (Some(0), 10));
    let progress = lab.run(&["progress"]);
    assert!(stdout(&progress).contains("seen 10, predicted 0, proven 0, written 0 of 10 steps"), "{}", stdout(&progress));

    let file = lab.home().join("handed-in.md");
    let export = lab.run(&["progress", "--export", file.to_str().unwrap()]);
    assert_eq!(export.status.code(), Some(0), "{}", stderr(&export));
    assert!(std::fs::read_to_string(file).unwrap().contains("| 10 NovoGrad optimizer |"));
    lab.run(&["progress", "--reset", "4"]);
    assert!(stdout(&lab.run(&["progress"])).contains("seen 9,"));
    let one = lab.run(&["check", "1", "--step", "4"]);
    assert!(one.status.success() && stderr(&one).contains("run 1 was the first to show step 4"), "{}", stderr(&one));
    lab.run(&["progress", "--reset", "all"]);
    assert!(stdout(&lab.run(&["progress"])).contains("seen 0,"));

    let output = lab.run(&["run", "--continue", "1", "--epochs", "3"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (code, verdicts) = judged(&lab, &["1"]);
    assert_eq!(code, Some(0), "{verdicts:?}");
    assert!(verdicts[6]["evidence"].as_str().unwrap().contains("went on after epoch 2"), "{}", verdicts[6]);
}

/// Whoever watches, and without a check that anybody asks for.
#[test]
fn a_run_is_credited_when_it_ends_and_two_that_differ_in_a_step_prove_it() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let progress = || stdout(&lab.run(&["progress"]));
    train(&lab, &["--steps", "1-3"]);
    assert!(progress().contains("seen 3, predicted 0, proven 0, written 0 of 10 steps"), "{}", progress());
    assert!(lab.run(&["lessons", "answer", "4", "2"]).status.success());
    train(&lab, &["--steps", "1-5"]);
    assert!(progress().contains("seen 5, predicted 1, proven 0,"), "two steps differ: {}", progress());
    train(&lab, &["--steps", "1-4", "--seed", "7"]);
    assert!(progress().contains("proven 0,"), "another seed is other work: {}", progress());
    train(&lab, &["--steps", "1-4"]);
    assert!(progress().contains("seen 5, predicted 1, proven 2, written 0 of 10 steps"), "{}", progress());
    let row = |step: &str| progress().lines().find(|line| line.trim_start().starts_with(step)).unwrap().to_owned();
    assert!(row("4").contains("right at once") && row("4").contains("runs 1 and 4"), "{}", row("4"));
    assert!(row("5").contains("runs 4 and 2"), "the run without the step may come later: {}", row("5"));
    let check = lab.run(&["check", "4"]);
    let said = stderr(&check);
    for step in [4, 5] {
        assert!(said.contains(&format!("step {step} is proven: run ")) && said.contains(" without it, run 4 with it"), "{said}");
    }
}

#[test]
fn a_step_that_is_off_fails_its_own_check_and_names_the_rank() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let cases = [
        ("1,3-10", 2, "rank 1 printed epoch 1 too"),
        ("1,2,4-10", 3, "rank 1 applied other gradients"),
        ("1-3,5-10", 4, "rank 1 started from other weights"),
        ("1-5,7-10", 6, "ranks 0 and 1 judged epoch 1 by their own"),
    ];
    for (id, (steps, off, said)) in (1..).zip(cases) {
        train(&lab, &["--steps", steps]);
        let id = id.to_string();
        let (code, verdicts) = judged(&lab, &[&id]);
        for verdict in &verdicts {
            let step = verdict["step"].as_u64().unwrap();
            let expected = match step {
                _ if step == off => "failed",
                // Without averaged gradients nobody can stay equal, however they start.
                4 if off == 3 => "cannot_tell",
                _ => "passed",
            };
            assert_eq!(verdict["outcome"], expected, "steps {steps}: {verdict}");
            assert_eq!(verdict["on"], step != off);
        }
        let evidence = verdicts[off as usize - 1]["evidence"].as_str().unwrap();
        assert!(evidence.contains(said), "{evidence}");
        assert_eq!(code, Some(if off == 3 { 1 } else { 0 }), "steps {steps}: only what is on counts");
        let (code, _) = judged(&lab, &[&id, "--step", &off.to_string()]);
        assert_eq!(code, Some(1));
    }
    train(&lab, &["--steps", "none"]);
    let (code, verdicts) = judged(&lab, &[]);
    let outcomes: Vec<&str> = verdicts.iter().map(|verdict| verdict["outcome"].as_str().unwrap()).collect();
    assert_eq!((code, outcomes), (Some(0), vec!["failed"; 10]), "nothing is on, so nothing is missed: {verdicts:?}");
}

/// The losses that lessons 8 to 10 name, of the preset `cpu` on the real images with seed 1. Other processors' kernels round
/// otherwise, and the second batch shows next to nothing of it.
#[test]
fn the_losses_that_lessons_name_are_those_of_seed_1() {
    let (_turn, Some(lab), Some(folder)) = (turn(), with_trainer(), fashion_mnist::folder()) else { return };
    let flags = ["run", "--preset", "cpu", "--np", "2", "--seed", "1", "--epochs", "1", "--data-dir", folder.to_str().unwrap()];
    for (run, (steps, second)) in [("1-7", 10.7), ("1-8", 8.9), ("1-9", 10.7), ("1-10", 12.4)].into_iter().enumerate() {
        let output = lab.run(&[flags.as_slice(), &["--steps", steps]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let events = lab.store().folder(RunId(run as u32 + 1)).events();
        let losses: Vec<f64> = events
            .filter(|line| line.process == 0)
            .filter_map(|line| if let Event::Step { loss, .. } = line.event { Some(loss) } else { None })
            .collect();
        for (loss, named) in losses.iter().zip([11.3, second]) {
            assert!((loss - named).abs() < 0.15, "steps {steps}: {loss}, and the lesson says {named}");
        }
    }
}
