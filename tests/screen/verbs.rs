//! What the shell sees of the habits: configuration, completions and the manual page.
//!
//! Never opens a screen.

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;

use crate::support::pty::PATIENCE;

const VERBS: [&str; 23] = [
    "simulate",
    "collectives",
    "run",
    "runs",
    "stop",
    "compare",
    "lessons",
    "check",
    "progress",
    "doctor",
    "data",
    "devices",
    "config",
    "completions",
    "man",
    "report",
    "class",
    "exercise",
    "guided",
    "ablation",
    "record",
    "replay",
    "demo",
];

fn lab(home: &Path, arguments: &[&str]) -> Output {
    let mut lab = Command::new(env!("CARGO_BIN_EXE_hvd-lab"));
    lab.env("HVD_LAB_HOME", home).env_remove("HVD_LAB_CONFIG").args(arguments).timeout(PATIENCE).output().unwrap()
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn completions_know_every_verb() {
    let home = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let made = lab(home.path(), &["completions", shell]);
        assert!(made.status.success());
        let script = words(&made.stdout);
        for verb in VERBS {
            assert!(script.contains(verb), "{shell} does not know {verb}");
        }
        assert!(script.contains("ascii") && script.contains("target-accuracy"), "{shell} knows no flags");
        assert!(!script.contains("supervise"), "what is hidden is not offered");
    }
    let file = home.path().join("completions.bash");
    fs::write(&file, lab(home.path(), &["completions", "bash"]).stdout).unwrap();
    Command::new("bash").arg("-n").arg(&file).timeout(PATIENCE).assert().success();
    // What Tab offers after `hvd-lab co`.
    let script = format!(
        "source {}; COMP_WORDS=(hvd-lab co); COMP_CWORD=1; _hvd__lab hvd-lab co hvd-lab; echo ${{COMPREPLY[*]}}",
        file.display()
    );
    let offered = Command::new("bash").args(["-c", &script]).timeout(PATIENCE).output().unwrap();
    assert_eq!(words(&offered.stdout).trim(), "compare collectives config completions");
    assert_eq!(lab(home.path(), &["completions", "cmd"]).status.code(), Some(2));
}

#[test]
fn the_manual_page_has_every_verb_and_its_flags() {
    let home = tempfile::tempdir().unwrap();
    let made = lab(home.path(), &["man"]);
    assert!(made.status.success());
    let page = words(&made.stdout);
    assert!(page.contains(".TH hvd-lab 1"), "{}", &page[..200]);
    for verb in VERBS {
        assert!(page.contains(&format!("HVD-LAB {}\"", verb.to_uppercase())), "no section on {verb}");
    }
    assert!(page.contains("batch\\-size") && !page.to_lowercase().contains("supervise"));
    // It is all there is: it names no other page, and has what is no flag too.
    assert!(!page.contains("run(1)") && page.contains("\nhvd\\-lab run\n"), "{page}");
    for words in ["HVD-LAB CONFIG CHECK", "ENVIRONMENT", "NO_COLOR", "EXIT STATUS", "delete 3 4"] {
        assert!(page.contains(words), "no {words}");
    }
}

#[test]
fn a_verb_without_its_own_verb_names_those_there_are() {
    let home = tempfile::tempdir().unwrap();
    let said = lab(home.path(), &["config"]);
    assert_eq!(said.status.code(), Some(2));
    let expected = "hvd-lab: `hvd-lab config` needs one of: path, show, write, check (`hvd-lab config --help` says what they do)";
    assert_eq!(words(&said.stderr).trim(), expected);
}

#[test]
fn a_configuration_is_written_once_shown_and_checked() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| lab(home.path(), arguments);
    let path = words(&run(&["config", "path"]).stdout);
    assert_eq!(Path::new(path.trim()), home.path().join("config.toml"));
    assert!(words(&run(&["config", "check"]).stdout).contains("you do not need one"));
    assert!(!Path::new(path.trim()).exists(), "nothing is written unless asked for");
    assert!(run(&["config", "write"]).status.success());
    let written = fs::read_to_string(path.trim()).unwrap();
    assert_eq!(words(&run(&["config", "show"]).stdout), written);
    assert!(run(&["config", "check"]).status.success());
    fs::write(path.trim(), "bell = true\n").unwrap();
    let again = run(&["config", "write"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(words(&again.stderr).contains("is there already"));
    assert_eq!(fs::read_to_string(path.trim()).unwrap(), "bell = true\n");
    assert!(words(&run(&["config", "show"]).stdout).contains("bell = true"));
}

#[test]
fn a_bad_configuration_is_named_line_by_line() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("config.toml"), "theme = \"drak\"\n\nmous = false\n").unwrap();
    let checked = lab(home.path(), &["config", "check"]);
    assert_eq!(checked.status.code(), Some(2));
    let said = words(&checked.stderr);
    assert!(said.contains("config.toml, line 1: theme: no theme is called \"drak\""), "{said}");
    assert!(said.contains("config.toml, line 3: unknown key `mous`: did you mean `mouse`?"), "{said}");
    let other = home.path().join("other.toml");
    assert_eq!(lab(home.path(), &["config", "check", other.to_str().unwrap()]).status.code(), Some(2));
}
