//! The exercise on photos in Python, run for real: it begins with the original's error, and passes when all is done.
//!
//! Without mpirun, hvd-train or the native module the tests are skipped by name.

use std::fs;
use std::process::Output;

use hvd_lab_terminal::exercise::NVCNN_IN_PYTHON;

use super::exercise_in_python::{judged_rows, started};
use crate::support::lab::{Lab, stderr, stdout};
use crate::support::trainer::turn;

const TRACK: [&str; 2] = ["--track", "nvcnn"];

/// Hand a program in as the learner's own.
fn attempt(lab: &Lab, program: &str) -> Output {
    fs::write(lab.home().join("exercise/nvcnn.py"), program).unwrap();
    lab.run(&[&["exercise", "run"], &TRACK[..]].concat())
}

#[test]
fn the_photos_in_python_begin_with_the_error_of_the_original_and_every_solution_passes() {
    let (_turn, Some(lab)) = (turn(), started(&TRACK)) else { return };
    // The two differ in their places only.
    assert_eq!(NVCNN_IN_PYTHON.solution(0), NVCNN_IN_PYTHON.exercise);
    for done in 0..=NVCNN_IN_PYTHON.count {
        let output = attempt(&lab, &NVCNN_IN_PYTHON.solution(done));
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(if done == 0 { 1 } else { 0 }), "change {done}:\n{text}{}", stderr(&output));
        if done == 0 {
            assert!(text.contains("nvcnn.py:35: ValueError: Invalid model type: alexnet"), "{text}");
            assert!(text.contains("next: change 1 ("), "{text}");
            continue;
        }
        for change in 1..=done {
            assert!(text.contains(&format!("change  {change} passed: ")), "solution {done}:\n{text}");
        }
        if done < NVCNN_IN_PYTHON.count {
            assert!(text.contains(&format!("change  {} is still to do: ", done + 1)), "solution {done}:\n{text}");
        }
    }
    let progress = stdout(&lab.run(&["progress"]));
    assert!(progress.contains("exercise nvcnn: passed 20"), "{progress}");
}

#[test]
fn wrong_photos_in_python_are_rejected_with_their_cause() {
    let (_turn, Some(lab)) = (turn(), started(&TRACK)) else { return };
    let solution = NVCNN_IN_PYTHON.solution(NVCNN_IN_PYTHON.count);
    let astray = judged_rows("tests/wrong/photos_in_python.toml", &solution, "change", |program| attempt(&lab, program));
    assert!(astray.is_empty(), "{}", astray.join("\n"));
}
