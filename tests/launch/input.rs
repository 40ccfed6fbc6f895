//! Bad input: one clear line, exit code 2, and nothing made.
//!
//! Never starts a rank.

use std::process::{Command, Output};

use crate::support::lab::{Lab, finish, program, stderr, stdout};

/// Exit code 2, one line on standard error with these words, nothing on standard output, no run folder.
fn assert_refused(lab: &Lab, output: &Output, words: &[&str]) {
    let said = stderr(output);
    assert_eq!((output.status.code(), stdout(output).as_str()), (Some(2), ""), "{words:?}: {said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("hvd-lab: ") && words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
    assert_eq!(lab.store().ids(), [], "{words:?}");
}

#[test]
fn bad_flags_get_one_line_and_code_2() {
    let lab = Lab::with_fake_mpirun("4");
    let gone = lab.home().join("gone").display().to_string();
    let cases: [(&[&str], &[&str]); 29] = [
        (&["run", "--np", "0"], &["np is 0", "at least 1"]),
        (&["run", "--np", "-1"], &["-1"]),
        (&["run", "--np", "two"], &["two", "--np", "a whole number, such as 2"]),
        (&["run", "--wd", "inf"], &["weight decay inf", "not a number from 0"]),
        (&["run", "--base-lr", "fast"], &["`fast` is not a number"]),
        (&["run", "--target-accuracy", "85"], &["85 is not in 0 to 1", "write 0.85"]),
        (&["run", "--target-accuracy", "1000"], &["1000 is not in 0 to 1"]),
        (&["runs", "--filter", "foo:bar"], &["`foo`", "run, state, np", "name, note", "name:foo:bar"]),
        (&["runs", "empty-trash", "--older-than", "-1"], &["number of days"]),
        (&["lessons", "show", "four"], &["four", "expected a whole number"]),
        (&["lessons", "show", "4", "--json"], &["--json"]),
        (&["data", "fetch", "--json"], &["hvd-lab data --json"]),
        (&["run", "--np", "100000"], &["100000"]),
        // A variable of the shell that is not set.
        (&["run", "-H", "", "--np", "2"], &["--hosts"]),
        (&["run", "--np", "3000", "--data", "generated"], &["np 3000", "--np", "--force"]),
        (&["run", "--steps", "1-11"], &["1-11", "is not a valid step list"]),
        (&["run", "--steps", ""], &["--steps"]),
        (&["run", "--epochs", "0"], &["epochs is 0"]),
        (&["run", "--batch-size", "0"], &["batch size is 0"]),
        (&["run", "--base-lr", "nan"], &["base LR"]),
        (&["run", "--train-images", "some"], &["some", "or all"]),
        (&["run", "--model", "resnet-50"], &["resnet-50", "wrn-10-1"]),
        (&["run", "--model", "resnet50"], &["3x224x224", "1x28x28", "mnist-cnn", "--synthetic"]),
        (&["run", "--data", "garments"], &["garments", "fashion-mnist", "generated-digits"]),
        (&["run", "--preset", "tpu"], &["tpu", "cpu, cpu-target, gpu"]),
        (&["run", "--data-dir", &gone], &[&gone]),
        (&["run", "--continue", "7"], &["no run 7"]),
        (&["stop", "seven"], &["seven"]),
        (&["sing"], &["sing"]),
    ];
    for (args, words) in cases {
        assert_refused(&lab, &lab.run(args), words);
    }
}

#[test]
fn a_missing_trainer_says_how_to_get_one() {
    let place = tempfile::tempdir().unwrap();
    for variable in ["HVD_TRAIN", "HVD_LAB_MPIRUN"] {
        let gone = place.path().join("gone").display().to_string();
        let lab = Lab::with_fake_mpirun("4").env(variable, &gone);
        assert_refused(&lab, &lab.run(&["run", "--data", "generated"]), &[&gone, variable]);
    }
}

#[test]
fn a_missing_cargo_says_how_to_get_one() {
    let place = tempfile::tempdir().unwrap();
    let lab = Lab::with_fake_mpirun("4").env("CARGO", &place.path().join("gone/cargo").display().to_string());
    assert_eq!(lab.run(&["exercise", "start"]).status.code(), Some(0));
    let output = lab.run(&["exercise", "build"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("gone/cargo") && said.contains("rustup.rs"), "{said}");
}

#[test]
fn damaged_images_are_refused_before_anything_starts() {
    let lab = Lab::with_fake_mpirun("4");
    let folder = tempfile::tempdir().unwrap();
    for name in ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"] {
        std::fs::write(folder.path().join(format!("{name}-ubyte.gz")), b"no gzip at all").unwrap();
    }
    let output = lab.run(&["run", "--data-dir", folder.path().to_str().unwrap()]);
    assert_refused(&lab, &output, &["ubyte", "expected"]);
}

#[test]
fn a_home_that_cannot_be_written_is_named() {
    let lab = Lab::with_fake_mpirun("4");
    for (home, word) in [("/proc/lab", "/proc/lab"), ("/dev/null/lab", "/dev/null/lab")] {
        let output = finish(
            lab.command(&["run", "--data", "generated"])
                .env("HVD_LAB_HOME", home)
                .stderr(piped())
                .stdout(piped())
                .spawn()
                .unwrap(),
        );
        assert_refused(&lab, &output, &[word]);
    }
}

fn piped() -> std::process::Stdio {
    std::process::Stdio::piped()
}

#[test]
fn without_a_terminal_the_lab_says_what_to_use() {
    let lab = Lab::with_fake_mpirun("4");
    assert_refused(&lab, &lab.run(&[]), &["terminal", "hvd-lab run"]);
}

#[test]
fn a_dry_run_shows_the_line_and_makes_nothing() {
    let lab = Lab::with_fake_mpirun("4");
    let output = lab.run(&["run", "--np", "2", "--steps", "1,3-5", "--data", "generated", "--dry-run"]);
    let line = stdout(&output);
    assert_eq!((output.status.code(), line.lines().count()), (Some(0), 1), "{}", stderr(&output));
    assert!(line.contains("mpirun.sh") && line.contains("-np 2") && line.contains("--steps 1,3-5"), "{line}");
    assert_eq!(lab.store().ids(), []);
}

#[test]
fn np_is_taken_as_mpirun_takes_it() {
    let lab = Lab::with_fake_mpirun("4");
    let output = lab.run(&["run", "-np", "2", "--data", "generated", "--dry-run"]);
    assert!(stdout(&output).contains(" -np 2 "), "{}", stderr(&output));
}

#[test]
fn what_is_shown_is_told_to_programs_as_json() {
    let lab = Lab::with_fake_mpirun("4");
    let json = |args: &[&str]| -> serde_json::Value {
        let output = lab.run(args);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{args:?}");
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    let line = json(&["run", "--np", "2", "--data", "generated", "--dry-run", "--json"]);
    assert!(
        line["argv"][0].as_str().unwrap().ends_with("mpirun.sh") && line["shell"].as_str().unwrap().contains("-np 2"),
        "{line}"
    );
    assert_eq!(line["env"]["CUDA_DEVICE_ORDER"], "PCI_BUS_ID");
    assert_eq!(json(&["progress", "--json"])["done"], serde_json::json!({}));
    let lessons = json(&["lessons", "--json"]);
    assert_eq!((lessons[4]["lesson"].as_u64(), lessons[4]["is_done"].as_bool()), (Some(4), Some(false)), "{lessons}");
    let data = json(&["data", "--json"]);
    assert_eq!(data["files"].as_array().unwrap().len(), 4);
    assert_eq!(data["run"]["from"], "generated");
    assert_eq!(lab.store().ids(), []);
}

#[test]
fn help_shows_examples_for_every_verb() {
    let lab = Lab::with_fake_mpirun("4");
    let help = |words: &[&str]| {
        let output = lab.command(words).env("COLUMNS", "80").output().unwrap();
        assert!(output.status.success(), "{words:?}");
        stdout(&output)
    };
    let all = help(&["--help"]);
    let verbs = all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: Vec<&str> = verbs.filter_map(|line| line.strip_prefix("  ")?.split_once(' ').map(|(verb, _)| verb)).collect();
    let verbs: Vec<&str> = verbs.into_iter().filter(|verb| !verb.is_empty()).collect();
    assert!(verbs.len() > 15 && !verbs.contains(&"supervise"), "{verbs:?}");
    for text in std::iter::once(all.clone()).chain(verbs.iter().map(|verb| help(&[verb, "--help"]))) {
        let examples: Vec<&str> = text.lines().skip_while(|line| *line != "Examples:").skip(1).collect();
        let examples: Vec<&str> = examples.into_iter().take_while(|line| !line.is_empty()).collect();
        assert!(!examples.is_empty(), "no examples:\n{text}");
        for line in examples {
            // What goes on in another line stands below the words that it goes on from.
            let goes_on = line.starts_with("      ");
            assert!(line.chars().count() <= 80 && (goes_on || line.contains("hvd-lab")), "{line:?} in\n{text}");
        }
    }
}

#[test]
fn the_supervisor_refuses_to_share_a_session() {
    let lab = Lab::with_fake_mpirun("4");
    // A shell that is told to lead a group starts it as the leader of a group in somebody else's session.
    let mut command = Command::new("bash");
    command.args(["-c", "set -m; \"$0\" supervise \"$HVD_LAB_HOME/gone\" & wait $!"]).arg(program());
    lab.set_environment(&mut command);
    let output = finish(command.stdout(piped()).stderr(piped()).spawn().unwrap());
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("started by hvd-lab itself"), "{}", stderr(&output));
}

#[test]
fn the_lab_links_neither_libtorch_nor_mpi() {
    let output = Command::new("ldd").arg(program()).output().unwrap();
    let libraries = stdout(&output);
    assert!(libraries.contains("libc.so"), "{libraries}");
    assert!(!["torch", "libmpi", "libc10", "cuda", "nvidia"].iter().any(|name| libraries.contains(name)), "{libraries}");
}
