//! The exercise of the four changes: the MNIST program is started, put back, built, run, judged and noted like the trainer.
//!
//! What each wrong program is told is in tests/wrong_trainers.rs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;

use hvd_lab_terminal::exercise::FOUR_CHANGES;

use crate::support::lab::{Lab, program, stderr, stdout};
use crate::support::trainer::{self, turn};

const TRACK: [&str; 2] = ["--track", "four-changes"];

fn exercise(lab: &Lab, words: &[&str]) -> (Option<i32>, String) {
    let output = lab.run(&[&["exercise"], words, &TRACK].concat());
    (output.status.code(), stdout(&output) + &stderr(&output))
}

/// The libraries of the ranks' half that were built beside the lab, of any version.
fn libraries() -> BTreeSet<OsString> {
    let names = fs::read_dir(program().with_file_name("deps")).unwrap().map(|entry| entry.unwrap().file_name());
    let is_one = |name: &OsString| {
        let name = name.to_string_lossy();
        name.ends_with(".rlib") && ["libtch-", "libtorch_sys-", "libhvd_lab"].iter().any(|library| name.starts_with(library))
    };
    names.filter(is_one).collect()
}

#[test]
fn a_copy_is_made_compared_and_put_back_change_by_change() {
    let lab = Lab::with_fake_mpirun("5");
    let file = lab.home().join("exercise/mnist.rs");
    let (code, said) = exercise(&lab, &["run"]);
    assert!(code == Some(2) && said.contains("`hvd-lab exercise start --track four-changes` makes it"), "{said}");
    let (code, said) = exercise(&lab, &["start", "--language", "rust"]);
    assert!(code == Some(0) && said.contains("next: change 1 (Initialise, and pin"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), FOUR_CHANGES.exercise);
    let progress = stdout(&lab.run(&["progress"]));
    assert!(progress.contains("exercise four-changes: started 20"), "{progress}");

    let (_, said) = exercise(&lab, &["diff", "--change", "2"]);
    assert!(said.contains("- after change 1") && said.contains("config.epochs.div_ceil(size)"), "{said}");
    fs::write(&file, FOUR_CHANGES.solution(3)).unwrap();
    let (_, said) = exercise(&lab, &["diff"]);
    assert!(said.contains("no difference: yours and solution after change 3"), "{said}");
    let (code, said) = exercise(&lab, &["reset", "--change", "2", "--yes"]);
    assert!(code == Some(0) && said.contains("change 2 is as it was; what you had is in"), "{said}");
    let (_, next) = exercise(&lab, &["start"]);
    assert!(next.contains("next: change 2"), "{next}");
    assert_eq!(fs::read_to_string(file.with_extension("1.bak")).unwrap(), FOUR_CHANGES.solution(3));

    let (code, said) = exercise(&lab, &["diff", "--change", "5"]);
    assert!(
        code == Some(2) && said.contains("change 5 is not in this exercise: use --change with a number from 1 to 4"),
        "{said}"
    );
    for refused in
        [&["exercise", "start", "--track", "five"][..], &["exercise", "diff", "--step", "11"], &["exercise", "compare"]]
    {
        let output = lab.run(refused);
        assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(2), 1), "{refused:?}: {}", stderr(&output));
    }
}

#[test]
fn the_program_fails_as_shipped_and_passes_when_all_is_done() {
    let (_turn, Some(lab)) = (turn(), trainer::with_trainer()) else { return };
    assert_eq!(exercise(&lab, &["start", "--language", "rust"]).0, Some(0));
    let before = libraries();
    let (code, said) = exercise(&lab, &["build"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(libraries(), before, "a first build takes what the checkout has built");
    let (code, said) = exercise(&lab, &["run"]);
    assert!(code == Some(1) && said.contains("change  1 is still to do: processes 0 and 1 each think"), "{said}");

    let file = lab.home().join("exercise/mnist.rs");
    fs::write(&file, FOUR_CHANGES.solution(1).replace("let rate = config.base_lr;", "let rate = config.base_lr * size;"))
        .unwrap();
    let (code, said) = exercise(&lab, &["build"]);
    assert!(
        code == Some(1) && said.contains("mnist.rs:") && said.contains("(change 2): cannot multiply `f64` by `usize`"),
        "{said}"
    );

    fs::write(&file, FOUR_CHANGES.solution(FOUR_CHANGES.count)).unwrap();
    let (code, said) = exercise(&lab, &["run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(FOUR_CHANGES.numbers().all(|number| said.contains(&format!("change  {number} passed: "))), "{said}");
    assert!(said.contains("5 / 2 rounded up = 3 epochs"), "{said}");

    // Judging the run again is no new attempt, and it shows nothing of the ten steps.
    let check = lab.run(&["check", "2"]);
    assert!(check.status.success() && stdout(&check).contains("change  verdict"), "{}{}", stdout(&check), stderr(&check));
    let progress = stdout(&lab.run(&["progress"]));
    assert!(progress.contains("seen 0, predicted 0") && progress.contains("exercise four-changes: passed 20"), "{progress}");
    assert!(progress.contains(", 2 attempts"), "{progress}");
    let report = stdout(&lab.run(&["report"]));
    assert!(report.contains("exercise four-changes: passed 20"), "{report}");
    let step = lab.run(&["check", "2", "--step", "4"]);
    assert!(step.status.code() == Some(2) && stderr(&step).contains("leave out --step"), "{}", stderr(&step));
    let more = lab.run(&["run", "--continue", "2", "--epochs", "9"]);
    assert!(more.status.code() == Some(2) && stderr(&more).contains("always starts from scratch"), "{}", stderr(&more));
}
