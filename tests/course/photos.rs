//! The exercise on photos: nvcnn's training is started, built, run, judged and noted like the trainer.
//!
//! What each wrong program is told is in tests/wrong_trainers.rs.

use std::fs;

use hvd_lab_terminal::exercise::NVCNN;

use crate::support::lab::{Lab, stderr, stdout};
use crate::support::trainer::{self, turn};

const TRACK: [&str; 2] = ["--track", "nvcnn"];

fn exercise(lab: &Lab, words: &[&str]) -> (Option<i32>, String) {
    let output = lab.run(&[&["exercise"], words, &TRACK].concat());
    (output.status.code(), stdout(&output) + &stderr(&output))
}

#[test]
fn the_program_begins_with_the_error_of_the_original_and_passes_when_all_is_done() {
    let (_turn, Some(lab)) = (turn(), trainer::with_trainer()) else { return };
    let (code, said) = exercise(&lab, &["start", "--language", "rust"]);
    assert!(code == Some(0) && said.contains("next: change 1 (Add AlexNet to the models)"), "{said}");
    let (code, said) = exercise(&lab, &["run"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("Invalid model type: alexnet") && said.contains("change  1 is still to do: "), "{said}");
    let (code, said) = exercise(&lab, &["compare"]);
    assert!(code == Some(2) && said.contains("this exercise compares inside one run"), "{said}");

    let file = lab.home().join("exercise/nvcnn.rs");
    fs::write(&file, NVCNN.solution(2)).unwrap();
    let (code, said) = exercise(&lab, &["run"]);
    assert_eq!(code, Some(0), "what is done passes: {said}");
    assert!(said.contains("change  3 is still to do: none of 192 photos was mirrored"), "{said}");

    fs::write(&file, NVCNN.solution(NVCNN.count)).unwrap();
    let (code, said) = exercise(&lab, &["run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(NVCNN.numbers().all(|number| said.contains(&format!("change  {number} passed: "))), "{said}");
    for words in
        ["16 tensors, 24,400,", "differ, by at most", "of 192 photos were mirrored", "one broadcast of", "without it (medians)"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }

    // Judging the run again is no new attempt.
    let check = lab.run(&["check", "3"]);
    assert!(check.status.success() && stdout(&check).contains("change  verdict"), "{}{}", stdout(&check), stderr(&check));
    let progress = stdout(&lab.run(&["progress"]));
    assert!(progress.contains("exercise nvcnn: passed 20") && progress.contains(", 3 attempts"), "{progress}");
}
