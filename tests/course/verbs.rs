//! The verbs of the course that need no run: lessons to read and to proofread, and bad input in one line.
//!
//! Never starts a run.

use std::fs;

use hvd_lab_terminal::course::Catalog;

use super::lessons::GOOD;
use crate::support::lab::{Lab, stderr, stdout};

#[test]
fn lessons_are_listed_shown_and_proofread() {
    let lab = Lab::with_fake_mpirun("5");
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    fs::write(folder.path().join("04_broadcast.md"), GOOD).unwrap();
    let list = lab.run(&["lessons", "--lessons", dir]);
    assert_eq!(list.status.code(), Some(0), "{}", stderr(&list));
    let row = stdout(&list).lines().find(|line| line.contains("Start from the same weights")).map(str::to_owned);
    assert!(row.is_some_and(|row| row.contains("[ ]") && row.contains("Rank 0's weights go to all")), "{}", stdout(&list));

    let shown = lab.run(&["lessons", "show", "4", "--lessons", dir, "--hints", "1"]);
    let text = stdout(&shown);
    for line in [
        "Step 4/10: Start from the same weights",
        "The problem",
        "rank 0 --> rank 1",
        "1. one",
        "hvd-lab run --np 2 --steps 1-4 --epochs 2",
        "1. What differs?",
        "A broadcast inside `if rank == 0` hangs.",
        "  https://horovod.readthedocs.io/en/stable/",
    ] {
        assert!(text.contains(line), "no `{line}` in:\n{text}");
    }
    assert!(!text.contains("Look above the loop.") && !text.contains("**") && !text.contains("```"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    fs::write(folder.path().join("05_steps.md"), GOOD.replace("step = 4", "step = 5").replace("```rust", "```")).unwrap();
    let proof = lab.run(&["lessons", "check", dir]);
    assert_eq!(proof.status.code(), Some(1));
    assert!(stdout(&proof).contains("05_steps.md:38: the code fence names no language"), "{}", stdout(&proof));
    assert!(!stdout(&proof).contains("04_broadcast.md"), "{}", stdout(&proof));
}

#[test]
fn the_lessons_of_the_program_are_proofread() {
    let lab = Lab::with_fake_mpirun("5");
    let proof = lab.run(&["lessons", "check"]);
    assert_eq!(proof.status.code(), Some(0), "{}{}", stdout(&proof), stderr(&proof));
    for lesson in Catalog::embedded().unwrap().lessons() {
        let shown = lab.run(&["lessons", "show", &lesson.number.to_string()]);
        assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
        let is_too_wide =
            |line: &&str| line.chars().count() > 80 && line.contains(char::is_whitespace) && !line.starts_with("  http");
        let wide = stdout(&shown).lines().find(is_too_wide).map(str::to_owned);
        assert_eq!(wide, None, "lesson {}", lesson.number);
    }
}

#[test]
fn what_a_step_changes_is_shown_without_a_run() {
    let lab = Lab::with_fake_mpirun("5");
    let output = lab.run(&["exercise", "diff", "--step", "8"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let marked = |mark: &str, code: &str| text.lines().any(|line| line.contains(mark) && line.contains(code));
    assert!(marked(" - ", "let initial_lr = config.base_lr;"), "{text}");
    assert!(marked(" + ", "let initial_lr = config.base_lr * "), "{text}");
    assert!(!text.contains('\x1b'), "a pipe gets no colours");
    let beside = stdout(&lab.run(&["exercise", "diff", "--step", "8", "--side-by-side"]));
    assert!(beside.lines().any(|line| line.matches("let initial_lr").count() == 2), "{beside}");
}

#[test]
fn bad_input_is_one_line_and_exit_code_2() {
    let lab = Lab::with_fake_mpirun("5");
    let gone = lab.home().join("gone").display().to_string();
    let cases: [(&[&str], &str); 9] = [
        (&["check"], "no runs yet"),
        (&["check", "7"], "there is no run 7"),
        (&["check", "seven"], "`seven` is not a run"),
        (&["check", "1", "--step", "11"], "1 to 10"),
        (&["progress", "--reset", "11"], "`11` is not a step"),
        (&["progress", "--reset", "all", "--export", "x"], "cannot be used with"),
        (&["lessons", "show", "99"], "there is no lesson 99"),
        (&["lessons", "--lessons", &gone], &format!("cannot read the lessons {gone}")),
        (&["lessons", "check", "/proc/self/fd"], "no lessons in /proc/self/fd"),
    ];
    for (args, said) in cases {
        let output = lab.run(args);
        let error = stderr(&output);
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{args:?}: {error}");
        assert!(error.contains(said), "{args:?}: {error}");
    }
}

/// A question is answered before the run, without a screen: a wrong answer can be given again, a right one leads to the next.
#[test]
fn questions_are_answered_without_a_screen() {
    let lab = Lab::with_fake_mpirun("5");
    let answer = |value: &str| {
        let output = lab.run(&["lessons", "answer", "15", value]);
        (output.status.code(), stdout(&output) + &stderr(&output))
    };
    let (code, said) = answer("3");
    assert!(code == Some(1) && said.contains("Not quite: ") && !said.contains("Question 2"), "{said}");
    let (code, said) = answer("6");
    assert!(code == Some(0) && said.contains("Right: ") && said.contains("Question 2 of 3"), "{said}");
    let (code, said) = answer("twenty-four");
    assert!(code == Some(2) && said.contains("`twenty-four` is not a number") && said.lines().count() == 1, "{said}");
    assert_eq!(answer("24").0, Some(0));
    let (code, said) = answer("9");
    assert!(code == Some(2) && said.contains("1 to 4"), "{said}");
    assert_eq!((answer("1").0, answer("3").0), (Some(1), Some(0)));
    let missing = lab.run(&["lessons", "answer", "99", "1"]);
    assert!(missing.status.code() == Some(2) && stderr(&missing).contains("there is no lesson 99"), "{}", stderr(&missing));
    let report = lab.run(&["report", "--format", "json"]);
    let report = stdout(&report) + &stderr(&report);
    assert!(report.contains("How an allreduce works, question 2") && report.contains("right at try 2"), "{report}");
}

/// Whoever reads first and answers then has predicted nothing.
#[test]
fn questions_stand_first_and_what_gives_answers_away_comes_after_them() {
    let lab = Lab::with_fake_mpirun("5");
    let show = |number: &str| stdout(&lab.run(&["lessons", "show", number]));
    for (number, away) in [("15", &["2(p-1)", "p - 1", "The crossover", "What it costs"] as &[&str]), ("16", &["1057", "1053"])] {
        let text = show(number);
        let (question, problem) = (text.find("Predict before you run"), text.find("The problem"));
        assert!(question.is_some() && question < problem, "{text}");
        assert!(text.contains("The rest of this lesson"), "{text}");
        assert!(away.iter().all(|words| !text.contains(words)), "{text}");
    }
    for (number, answers) in [("15", &["5", "6", "24", "1", "3"] as &[&str]), ("16", &["4"])] {
        assert!(!show(number).contains("What to look for"));
        answers.iter().for_each(|answer| _ = lab.run(&["lessons", "answer", number, answer]));
        let text = show(number);
        assert!(
            text.contains("What to look for") && text.contains("Right: ") && !text.contains("The rest of this lesson"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80 || line.contains("https://")), "{text}");
    }
    assert!(show("15").contains("2(p-1)a + 2(p-1)/p nb"));
}

/// In every lesson of the program, and each lesson of a step names the place in the exercise.
#[test]
fn no_lesson_gives_its_answer_away() {
    let lab = Lab::with_fake_mpirun("5");
    let away: [&[&str]; 12] = [
        &["120", "3/2", "90"],
        &["rank 0 of 1", "\"rank\":0", "two serial programs", "not exchange anything"],
        &["4 lines", "twice in both"],
        &["0.2 "],
        &["apart", "diverge", "any more", "as many models"],
        &["750", "6,000 of"],
        &["differ a little", "different values", "their results differ"],
        &["says 4", "4 times"],
        &["0.004 "],
        &["0.012"],
        &["0.01 0.01", "moves", "how far"],
        &[],
    ];
    for lesson in Catalog::embedded().unwrap().lessons().filter(|lesson| !lesson.questions.is_empty()) {
        let text = stdout(&lab.run(&["lessons", "show", &lesson.number.to_string()]));
        let body = lesson.body.lines().find(|line| line.starts_with("## ")).unwrap().trim_start_matches("## ");
        let (question, body) = (text.find("Predict before you run"), text.find(body));
        assert!(question.is_some() && question < body, "lesson {}:\n{text}", lesson.number);
        let read = &text[body.unwrap()..];
        for words in away.get(lesson.number).copied().unwrap_or_default() {
            assert!(!read.contains(words), "lesson {} gives `{words}` away:\n{read}", lesson.number);
        }
        let Some(step) = lesson.step else { continue };
        assert!(text.contains(&format!("TODO: Step {}", step.number())), "lesson {step} names its place in the exercise");
        assert!(!text.contains("What to look for") && text.contains("The rest of this lesson"), "{text}");
    }
}

/// Python is shown, and the same lines in PyTorch and in Rust when they are asked for.
#[test]
fn the_lines_in_pytorch_and_rust_are_folded_until_they_are_asked_for() {
    let lab = Lab::with_fake_mpirun("5");
    // A sentence may go on in the next row.
    let folded = stdout(&lab.run(&["lessons", "show", "3"])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(folded.contains("opt = hvd.DistributedOptimizer(opt)"), "{folded}");
    assert!(folded.contains("Folded: Horovod with PyTorch, Here in Rust."), "{folded}");
    assert!(folded.contains("`hvd-lab lessons show 3 --unfold` shows them."), "{folded}");
    assert!(!folded.contains("torch.optim") && !folded.contains("DistributedOptimizer::new"), "{folded}");
    let all = stdout(&lab.run(&["lessons", "show", "3", "--unfold"]));
    assert!(all.contains("torch.optim") && all.contains("DistributedOptimizer::new") && !all.contains("Folded"), "{all}");
}
