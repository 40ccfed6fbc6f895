//! Standard output and standard error that are closed, full, or a terminal that is gone: an exit code, and never a panic.
//!
//! Never trains.

use std::fs::{File, OpenOptions};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::pty::{Home, Options, PATIENCE};
use crate::support::wait::wait_for;

/// A panic's exit code.
const PANIC: i32 = 101;

/// Nothing can be written there.
fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

fn lab(home: &Home, arguments: &[&str]) -> Command {
    let mut lab = Command::new(env!("CARGO_BIN_EXE_hvd-lab"));
    lab.args(arguments).envs(home.variables()).env_remove("STAND_IN").stdin(Stdio::null());
    lab
}

fn code(mut command: Command) -> i32 {
    let mut child = command.spawn().unwrap();
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("{command:?} did not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn nowhere_to_write_is_an_exit_code() {
    let home = Home::new();
    for (arguments, expected) in [
        (["run", "--np", "1", "--data", "generated"].as_slice(), 0),
        (&["run", "--dry-run"], 0),
        (&["runs"], 0),
        (&["check", "1"], 1),
        (&["compare", "99"], 2),
        (&["config"], 2),
        (&["--no-such-flag"], 2),
        (&["runs", "--help"], 0),
        (&["--version"], 0),
        (&["lessons", "check"], 0),
        (&["report"], 0),
    ] {
        let mut command = lab(&home, arguments);
        command.stdout(Stdio::null()).stderr(full());
        assert_eq!(code(command), expected, "{arguments:?}: what goes to standard error changes nothing");
        let mut command = lab(&home, arguments);
        command.stdout(full()).stderr(full());
        let both = code(command);
        assert!(both != PANIC && both <= 2, "{arguments:?}: {both}");
    }
}

#[test]
fn a_full_disk_under_standard_output_is_said() {
    let home = Home::new();
    for arguments in
        [["runs"].as_slice(), &["runs", "--json"], &["man"], &["completions", "bash"], &["exercise", "diff", "--step", "4"]]
    {
        let output = lab(&home, arguments).stdout(full()).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.starts_with("hvd-lab: standard output cannot be written: No space left"), "{said}");
        assert_eq!(said.matches("No space left").count(), 1, "{said}");
    }
}

#[test]
fn what_the_shell_has_closed_is_no_panic() {
    let home = Home::new();
    for redirected in
        ["runs >&-", "runs 2>&-", "compare 99 2>&-", "runs >&- 2>&- <&-", "man | head -1 >/dev/null; exit ${PIPESTATUS[0]}"]
    {
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("\"$LAB\" {redirected}")]).envs(home.variables()).env("LAB", env!("CARGO_BIN_EXE_hvd-lab"));
        let ended = code(shell);
        assert_eq!(ended, if redirected.starts_with("compare") { 2 } else { 0 }, "{redirected}");
    }
}

/// The code of a command whose terminal is closed when `until` is on it, and which no signal ends.
fn code_without_a_terminal(home: &Home, command: &str, env: &'static [(&'static str, &'static str)], until: &'static str) -> i32 {
    let mut shell = Options { shell: true, until: Some(until), env, ..Options::default() }.start(home);
    shell.wait_for("prompt>");
    shell.press(&format!("trap '' HUP; {command}; echo $? > \"$HVD_LAB_HOME/code\"\n"));
    shell.wait_for(until);
    shell.keys = None;
    shell.master = None;
    let file = home.path().join("code");
    wait_for("an end without a terminal", || std::fs::read_to_string(&file).unwrap_or_default().trim().parse().ok())
}

#[test]
fn a_terminal_that_goes_ends_the_screen_and_the_verbs_without_a_panic() {
    let home = Home::new();
    assert_eq!(code_without_a_terminal(&home, "\"$LAB\"", &[], "press r to run"), 0);
    // In the middle of the first frame.
    for _ in 0..8 {
        let home = Home::new();
        assert_eq!(code_without_a_terminal(&home, "\"$LAB\"", &[], "Steps 1-10"), 0);
    }
    let home = Home::new();
    assert_eq!(code_without_a_terminal(&home, "\"$LAB\" devices --watch", &[], "cores in %"), 1);
    let home = Home::new();
    let run = "\"$LAB\" run --np 1 --data generated";
    assert_eq!(code_without_a_terminal(&home, run, &[("STAND_IN", "chatter")], "of a long line"), 1);
}
