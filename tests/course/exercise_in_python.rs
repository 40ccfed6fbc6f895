//! The learner's own trainer in Python, run for real: the exercise fails as shipped, each solution passes, and what goes wrong
//! names the learner's line.
//!
//! Never uses a stand-in but where nothing is run. Without mpirun, hvd-train or the native module the others are skipped by name.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use hvd_lab_terminal::domain::event::Event;
use hvd_lab_terminal::domain::step::Step;
use hvd_lab_terminal::exercise::TEN_STEPS_IN_PYTHON;
use hvd_lab_terminal::process;
use serde::Deserialize;

use crate::support::lab::{Lab, finish, program, stderr, stdout};
use crate::support::needs::skip;
use crate::support::trainer::{self, turn};
use crate::support::wait::wait_for;
use crate::support::wrong_only::asked_for;

const MODULE: &str = "libhvd_lab_python.so";

/// With a copy of an exercise, which these words choose.
pub fn started(track: &[&str]) -> Option<Lab> {
    let lab = trainer::with_trainer()?;
    if !program().with_file_name(MODULE).is_file() {
        skip("train", format_args!("no {MODULE} beside hvd-lab; `make test` builds it"));
        return None;
    }
    assert!(lab.run(&[&["exercise", "start", "--language", "python"], track].concat()).status.success());
    Some(lab)
}

/// Hand a program in as the learner's own.
fn attempt(lab: &Lab, program: &str) -> Output {
    fs::write(lab.home().join("exercise/fashion_mnist.py"), program).unwrap();
    lab.run(&["exercise", "run"])
}

#[test]
fn the_language_is_chosen_once_and_remembered() {
    let lab = Lab::with_fake_mpirun("5");
    let path = |words: &[&str]| {
        let output = lab.run(&[&["exercise"], words].concat());
        (stdout(&output).trim().rsplit('/').next().unwrap().to_owned(), stderr(&output))
    };
    // Where the native module is not, Python is no offer.
    assert_eq!(path(&["path"]).0, "fashion_mnist.rs");
    let (file, said) = path(&["start", "--language", "python"]);
    assert!(file == "fashion_mnist.py" && said.contains("next: step 1 (Init and pin a device"), "{file}: {said}");
    assert_eq!(fs::read_to_string(lab.home().join("exercise").join(file)).unwrap(), TEN_STEPS_IN_PYTHON.exercise);
    assert_eq!(path(&["path"]).0, "fashion_mnist.py");
    assert_eq!(path(&["path", "--language", "rust"]).0, "fashion_mnist.rs", "asked for once");
    assert_eq!(path(&["path"]).0, "fashion_mnist.py");
    let run = lab.run(&["exercise", "run"]);
    assert_eq!(run.status.code(), Some(2), "{}", stdout(&run));
    assert!(stderr(&run).contains("`hvd-lab exercise start --language rust`"), "{}", stderr(&run));
    for (words, said) in [
        (["start", "--language", "cobol"].as_slice(), "use python or rust"),
        (&["start", "--track", "collectives", "--language", "rust"], "in python only"),
    ] {
        let output = lab.run(&[&["exercise"], words].concat());
        assert!(output.status.code() == Some(2) && stderr(&output).contains(said), "{}", stderr(&output));
    }
    assert_eq!(path(&["start", "--language", "rust"]).0, "fashion_mnist.rs");
    assert_eq!(path(&["path"]).0, "fashion_mnist.rs");
}

#[test]
fn nothing_is_said_of_a_program_that_is_saved_or_deleted_while_it_is_checked() {
    let (_turn, Some(lab)) = (turn(), started(&[])) else { return };
    let file = lab.home().join("exercise/fashion_mnist.py");
    type Change = fn(&Path);
    let changes: [(Change, &str); 2] = [
        (|file| fs::write(file, TEN_STEPS_IN_PYTHON.exercise).unwrap(), "You saved your program while"),
        (|file| fs::remove_file(file).unwrap(), "Your program was moved or deleted while"),
    ];
    for (run, (change, said)) in changes.into_iter().enumerate() {
        fs::write(&file, TEN_STEPS_IN_PYTHON.solution(10)).unwrap();
        let check = lab.spawn(&["exercise", "run"]);
        // Both ranks have read it by then.
        wait_for("the first step", || {
            let id = u32::try_from(run + 1).unwrap();
            lab.store().ids().iter().any(|found| found.0 == id).then_some(())?;
            lab.folder(id).events().any(|line| matches!(line.event, Event::Step { .. })).then_some(())
        });
        change(&file);
        let output = finish(check);
        let text = stdout(&output);
        assert!(output.status.code() == Some(1) && text.contains(said), "{text}{}", stderr(&output));
        assert!(!text.contains("passed") && !text.contains("failed"), "{text}");
    }
    let progress = stdout(&lab.run(&["progress"]));
    assert!(progress.contains("written 0 of 10 steps"), "{progress}");
}

#[test]
fn a_step_in_python_is_shown_and_put_back() {
    let lab = Lab::with_fake_mpirun("5");
    assert!(lab.run(&["exercise", "start", "--language", "python"]).status.success());
    let file = lab.home().join("exercise/fashion_mnist.py");
    fs::write(&file, TEN_STEPS_IN_PYTHON.solution(5)).unwrap();
    assert!(stderr(&lab.run(&["exercise", "start"])).contains("next: step 6"), "the learner's work is left alone");
    let diff = stdout(&lab.run(&["exercise", "diff"]));
    assert!(diff.contains("no difference: yours and solution after step 5"), "{diff}");
    let diff = stdout(&lab.run(&["exercise", "diff", "--step", "6", "--mine"]));
    assert!(diff.contains("+ ") && diff.contains("MetricAverageCallback"), "{diff}");
    let reset = lab.run(&["exercise", "reset", "--step", "5", "--yes"]);
    assert!(reset.status.success() && stderr(&reset).contains("fashion_mnist.1.bak"), "{}", stderr(&reset));
    assert!(fs::read_to_string(&file).unwrap().contains("# TODO: Step 5"));
}

#[test]
fn every_exercise_in_python_fails_as_shipped_and_every_solution_passes() {
    let (_turn, Some(lab)) = (turn(), started(&[])) else { return };
    for done in 0..=Step::ALL.len() {
        let output = attempt(&lab, &TEN_STEPS_IN_PYTHON.solution(done));
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(if done == 0 { 1 } else { 0 }), "step {done}:\n{text}{}", stderr(&output));
        for step in 1..=done {
            assert!(text.contains(&format!("step {step:>2} passed: ")), "solution {done}:\n{text}");
        }
        if done < Step::ALL.len() {
            assert!(text.contains(&format!("step {:>2} is still to do: ", done + 1)), "exercise {}:\n{text}", done + 1);
        }
        let progress = stdout(&lab.run(&["progress"]));
        assert!(
            progress.contains(&format!("seen {done}, predicted 0, proven 0, written {done} of 10 steps")),
            "solution {done}:\n{progress}"
        );
    }
}

#[test]
fn an_error_in_python_is_shown_with_its_line_and_its_step() {
    let (_turn, Some(lab)) = (turn(), started(&[])) else { return };
    let all = TEN_STEPS_IN_PYTHON.solution(10);
    let said = |find: &str, put: &str| {
        assert_eq!(all.matches(find).count(), 1, "{find}");
        let program = all.replace(find, put);
        let output = attempt(&lab, &program);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(1), "{text}{}", stderr(&output));
        (text, 1 + program.lines().position(|line| line.contains("MINE")).unwrap())
    };
    // What Python does not read is not run.
    let (text, line) = said("lr = args.base_lr * hvd.size()\n\n", "lr = (args.base_lr *  # MINE\n\n");
    assert!(text.contains(&format!("fashion_mnist.py:{line}:")) && text.contains("(step 8): SyntaxError"), "{text}");
    assert!(lab.store().ids().is_empty(), "{text}");
    // What it finds out while it runs names the line, on whichever rank.
    let (text, line) = said("lr = args.base_lr * hvd.size()\n\n", "lr = args.base_lr * size  # MINE\n\n");
    for part in [&format!("fashion_mnist.py:{line}: NameError: name 'size' is not defined"), "This line belongs to step 8."] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    let (text, _) = said(
        "opt = hvd.DistributedOptimizer(opt)\n\n",
        "opt = hvd.DistributedOptimizer(hvd.DistributedOptimizer(opt))  # MINE\n\n",
    );
    assert!(text.contains("wrap it in hvd.DistributedOptimizer once") && text.contains("belongs to step 3"), "{text}");
}

#[test]
fn a_file_that_cannot_be_run_is_told_in_one_line() {
    let Some(lab) = started(&[]) else { return };
    let file = lab.home().join("exercise/fashion_mnist.py");
    let said = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        let output = lab.run(&["exercise", "run"]);
        assert!(!output.status.success());
        format!("{}{}", stdout(&output), stderr(&output))
    };
    for (bytes, cause) in [
        (b" \n".as_slice(), "the file is empty"),
        (b"x = 1\n", "the program never imports hvd_lab"),
        (b"import hvd_lab\n# caf\xe9\n", "line 2 has a byte that is not UTF-8"),
        (b"import hvd_lab\n\n\0\n", "line 3 has a NUL byte"),
    ] {
        let text = said(bytes);
        assert!(text.contains(cause), "no `{cause}` in:\n{text}");
    }
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("gone/mine.py", &file).unwrap();
    let text = stderr(&lab.run(&["exercise", "run"]));
    assert!(text.contains("it is a link to gone/mine.py, which is not there"), "{text}");
    fs::remove_file(&file).unwrap();
    fs::write(&file, TEN_STEPS_IN_PYTHON.solution(1)).unwrap();
    let lab = lab.env("HVD_LAB_PYTHON", "/bin/true");
    let text = stderr(&lab.run(&["exercise", "run"]));
    assert!(text.contains("it is not Python"), "{text}");
    let lab = lab.env("HVD_LAB_PYTHON", "/bin/ls");
    let text = stderr(&lab.run(&["exercise", "run"]));
    assert!(text.contains("it is not Python") && !text.contains("import json"), "{text}");
}

/// A row of tests/wrong/python.toml, which says what its fields mean.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    find: String,
    put: String,
    /// Further words that are changed, each with what takes their place.
    #[serde(default)]
    also: Vec<[String; 2]>,
    step: Option<usize>,
    says: Vec<String>,
    #[serde(default)]
    passes: bool,
    /// The first minor version of Python 3 that says it.
    #[serde(default)]
    python: u32,
}

#[derive(Deserialize)]
struct Rows {
    wrong: Vec<Row>,
}

/// What is wrong with how the lab judged each row of a file, which changes this solution; `noun` is a place of it.
pub fn judged_rows(file: &str, solution: &str, noun: &str, attempt: impl Fn(&str) -> Output) -> Vec<String> {
    let path = Path::new(env!("HVD_LAB_CHECKOUT")).join(file);
    let rows: Rows = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let (mut astray, minor) = (Vec::new(), minor_version());
    for row in asked_for(rows.wrong, |row| &row.name).into_iter().filter(|row| row.python <= minor) {
        let mut program = solution.to_owned();
        for [find, put] in row.also.iter().chain([&[row.find.clone(), row.put.clone()]]) {
            assert_eq!(program.matches(find).count(), 1, "{}: {find}", row.name);
            program = program.replace(find, put);
        }
        let output = attempt(&program);
        let text = stdout(&output);
        let verdict = match (row.step, row.passes) {
            (Some(step), true) => format!("{noun} {step:>2} passed: "),
            (Some(step), false) => format!("{noun} {step:>2} failed: "),
            (None, _) => "the run failed: ".to_owned(),
        };
        let is_said = text.contains(&verdict) && row.says.iter().all(|words| text.contains(words));
        if !is_said || output.status.success() != row.passes {
            astray.push(format!("{}: no `{verdict}` with {:?} in\n{text}", row.name, row.says));
        }
        let all = text.clone() + &stderr(&output);
        if all.contains("MPI_ABORT") {
            astray.push(format!("{}: what MPI says of an abort is for the log:\n{all}", row.name));
        }
        // An error is told once, and one thing is next.
        let cause = text.lines().find_map(|line| line.strip_prefix("the run failed: ")?.split_once(": ")).map(|(_, cause)| cause);
        let times = cause.map_or(1, |cause| all.matches(cause).count());
        if times != 1 || text.matches("\nnext: ").count() > 1 {
            astray.push(format!("{}: `{}` is told {times} times in\n{all}", row.name, cause.unwrap_or_default()));
        }
    }
    astray
}

#[test]
fn numbers_of_other_libraries_are_taken_and_functions_are_not() {
    let module = program().with_file_name(MODULE);
    if !module.is_file() {
        eprintln!("skipped: no {MODULE} beside hvd-lab; `make test` builds it");
        return;
    }
    let root = Path::new(env!("HVD_LAB_CHECKOUT"));
    let python = std::env::var("HVD_LAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(python);
    command.arg("-B").arg(root.join("tests/course/package_in_python.py"));
    let output = command.env("HVD_LAB_PYTHON_MODULE", module).env("PYTHONPATH", root.join("python")).output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
}

/// Of Python 3, as it runs the programs.
fn minor_version() -> u32 {
    let python = std::env::var("HVD_LAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(python).args(["-c", "import sys; print(sys.version_info[1])"]).output().unwrap();
    stdout(&output).trim().parse().unwrap()
}

#[test]
fn programs_in_python_that_break_are_told_their_line_and_their_step() {
    let (_turn, Some(lab)) = (turn(), started(&[])) else { return };
    let solution = TEN_STEPS_IN_PYTHON.solution(10);
    let astray = judged_rows("tests/wrong/python_words.toml", &solution, "step", |program| attempt(&lab, program));
    assert!(astray.is_empty(), "{}", astray.join("\n"));
}

#[test]
fn wrong_programs_in_python_are_rejected_with_their_cause() {
    let (_turn, Some(lab)) = (turn(), started(&[])) else { return };
    let solution = TEN_STEPS_IN_PYTHON.solution(10);
    let astray = judged_rows("tests/wrong/python.toml", &solution, "step", |program| attempt(&lab, program));
    assert!(astray.is_empty(), "{}", astray.join("\n"));
}

#[test]
fn programs_in_python_that_are_easily_taken_for_others_are_told_apart() {
    let (_turn, Some(lab)) = (turn(), started(&[])) else { return };
    let solution = TEN_STEPS_IN_PYTHON.solution(10);
    let astray = judged_rows("tests/wrong/python_causes.toml", &solution, "step", |program| attempt(&lab, program));
    assert!(astray.is_empty(), "{}", astray.join("\n"));
}

#[test]
fn a_deadlock_in_python_is_ended_and_explained() {
    let (_turn, Some(lab)) = (turn(), started(&[])) else { return };
    let all = TEN_STEPS_IN_PYTHON.solution(10);
    let cases = [
        // The root alone makes a call between ranks.
        (
            "if hvd.rank() == 0:\n    hvd.barrier()\n",
            "rank 0 came to hvd.barrier at fashion_mnist.py:103 while rank 1 came to model.fit",
        ),
        // One rank never comes.
        ("while hvd.rank() == 1:\n    pass\n", "in model.fit at fashion_mnist.py:104 (collective 4); rank 1 has not arrived"),
    ];
    for (lines, said) in cases {
        let began = Instant::now();
        let output = attempt(&lab, &all.replacen("model.fit(", &format!("{lines}model.fit("), 1));
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(1), "{text}{}", stderr(&output));
        assert!(text.contains("the run failed: ") && text.contains(said), "no `{said}` in:\n{text}");
        let is_at_fault = text.contains("next: fix step") && said.contains("has not arrived");
        assert!(!is_at_fault, "the line at which a rank waits is not at fault:\n{text}");
        assert!(began.elapsed() < Duration::from_secs(90), "{:?}", began.elapsed());
        let id = lab.store().ids().last().copied().unwrap();
        let has_ended = |pid: &u32| process::look_up(*pid).is_none_or(|found| found.zombie);
        assert!(lab.pids(id.0).iter().all(has_ended), "a rank outlived its run");
    }
}
