//! The exercise of the four changes in Python, run for real: it fails as shipped, each solution passes, and what goes wrong is named.
//!
//! Without mpirun, hvd-train or the native module the tests that train are skipped by name.

use std::fs;
use std::process::Output;

use hvd_lab_terminal::exercise::{FOUR_CHANGES, FOUR_CHANGES_IN_PYTHON};

use super::exercise_in_python::{judged_rows, started};
use crate::support::lab::{Lab, stderr, stdout};
use crate::support::trainer::turn;

fn exercise(lab: &Lab, words: &[&str]) -> Output {
    lab.run(&[&["exercise"], words, &["--track", "four-changes"]].concat())
}

/// Hand a program in as the learner's own.
fn attempt(lab: &Lab, program: &str) -> Output {
    fs::write(lab.home().join("exercise/mnist.py"), program).unwrap();
    exercise(lab, &["run"])
}

#[test]
fn a_learner_goes_on_in_the_language_that_a_program_was_begun_in() {
    let lab = Lab::with_fake_mpirun("5");
    let path = |words: &[&str]| {
        let output = exercise(&lab, words);
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output).trim().rsplit('/').next().unwrap().to_owned()
    };
    // The choice holds for every exercise that is there in both languages.
    assert!(lab.run(&["exercise", "start", "--language", "python"]).status.success());
    assert_eq!(path(&["path"]), "mnist.py");
    assert_eq!(path(&["start", "--language", "rust"]), "mnist.rs");
    let file = lab.home().join("exercise/mnist.rs");
    fs::write(&file, FOUR_CHANGES.solution(2)).unwrap();
    assert!(lab.run(&["exercise", "start", "--language", "python"]).status.success());
    assert_eq!(path(&["path"]), "mnist.rs", "it is the one that was begun");
    assert!(stderr(&exercise(&lab, &["start"])).contains("next: change 3"), "the learner's work is found");
    assert_eq!(path(&["start", "--language", "python"]), "mnist.py");
    assert_eq!(fs::read_to_string(lab.home().join("exercise/mnist.py")).unwrap(), FOUR_CHANGES_IN_PYTHON.exercise);
    assert_eq!(path(&["path"]), "mnist.py", "both are there, and this was chosen last");
}

#[test]
fn a_change_in_python_is_shown_and_put_back() {
    let lab = Lab::with_fake_mpirun("5");
    assert!(exercise(&lab, &["start", "--language", "python"]).status.success());
    let file = lab.home().join("exercise/mnist.py");
    fs::write(&file, FOUR_CHANGES_IN_PYTHON.solution(3)).unwrap();
    let diff = stdout(&exercise(&lab, &["diff"]));
    assert!(diff.contains("no difference: yours and solution after change 3"), "{diff}");
    let diff = stdout(&exercise(&lab, &["diff", "--change", "2"]));
    assert!(diff.contains("- after change 1") && diff.contains("math.ceil(args.epochs / hvd.size())"), "{diff}");
    let reset = exercise(&lab, &["reset", "--change", "3", "--yes"]);
    assert!(reset.status.success() && stderr(&reset).contains("mnist.1.bak"), "{}", stderr(&reset));
    assert_eq!(fs::read_to_string(&file).unwrap(), FOUR_CHANGES_IN_PYTHON.solution(2));
    // With all places put back it is the exercise: the two differ in their places only.
    assert_eq!(FOUR_CHANGES_IN_PYTHON.solution(0), FOUR_CHANGES_IN_PYTHON.exercise);
}

#[test]
fn the_program_in_python_fails_as_shipped_and_every_solution_passes() {
    let (_turn, Some(lab)) = (turn(), started(&["--track", "four-changes"])) else { return };
    for done in 0..=FOUR_CHANGES_IN_PYTHON.count {
        let output = attempt(&lab, &FOUR_CHANGES_IN_PYTHON.solution(done));
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(if done == 0 { 1 } else { 0 }), "change {done}:\n{text}{}", stderr(&output));
        for change in 1..=done {
            assert!(text.contains(&format!("change  {change} passed: ")), "solution {done}:\n{text}");
        }
        if done < FOUR_CHANGES_IN_PYTHON.count {
            assert!(text.contains(&format!("change  {} is still to do: ", done + 1)), "solution {done}:\n{text}");
        }
    }
    let progress = stdout(&lab.run(&["progress"]));
    assert!(progress.contains("exercise four-changes: passed 20"), "{progress}");
    let check = lab.run(&["check", "5"]);
    assert!(check.status.success() && stdout(&check).contains("change  verdict"), "{}{}", stdout(&check), stderr(&check));
}

#[test]
fn an_error_in_the_python_program_is_shown_with_its_line_and_its_change() {
    let (_turn, Some(lab)) = (turn(), started(&["--track", "four-changes"])) else { return };
    let all = FOUR_CHANGES_IN_PYTHON.solution(FOUR_CHANGES_IN_PYTHON.count);
    let cases = [
        ("opt = Adadelta(args.base_lr * hvd.size())", "opt = Adadelta(args.base_lr *  # MINE", "(change 2): SyntaxError"),
        ("opt = Adadelta(args.base_lr * hvd.size())", "opt = Adadelta(args.base_lr * size)  # MINE", "NameError: name 'size'"),
        ("model.add(Flatten())\n", "# MINE\n", "put Flatten() before it"),
        ("model.add(Dense(10, ", "model.add(Dense(9,  ", "has 9 outputs, and there are 10 classes"),
        ("    x_train,\n    y_train,\n", "    x_train,\n    y_test,\n", "fit takes x_train, y_train"),
    ];
    for (find, put, said) in cases {
        assert_eq!(all.matches(find).count(), 1, "{find}");
        let program = all.replace(find, put);
        let output = attempt(&lab, &program);
        let text = stdout(&output);
        assert!(output.status.code() == Some(1) && text.contains(said), "no `{said}` in:\n{text}{}", stderr(&output));
        match program.lines().position(|line| line.contains("MINE") && !line.starts_with('#')) {
            Some(line) => assert!(text.contains(&format!("mnist.py:{}:", line + 1)), "{text}"),
            None => assert!(text.contains("mnist.py:"), "{text}"),
        }
    }
}

#[test]
fn wrong_changes_in_python_are_rejected_with_their_cause() {
    let (_turn, Some(lab)) = (turn(), started(&["--track", "four-changes"])) else { return };
    let solution = FOUR_CHANGES_IN_PYTHON.solution(FOUR_CHANGES_IN_PYTHON.count);
    let files = ["tests/wrong/changes_in_python.toml", "tests/wrong/changes_in_python_words.toml"];
    let rows = |file| judged_rows(file, &solution, "change", |program| attempt(&lab, program));
    let astray: Vec<String> = files.into_iter().flat_map(rows).collect();
    assert!(astray.is_empty(), "{}", astray.join("\n"));
}
