//! The learner's editor on the terminal: lent once, taken back once, and no key stolen.
//!
//! Never builds anything: there is no checkout where these labs look for one.

use std::fs;

use crate::support::pty::{Home, Lab, Options};

/// A folder of this repository that is no checkout.
const NO_CHECKOUT: (&str, &str) = ("HVD_LAB_SOURCE", concat!(env!("HVD_LAB_CHECKOUT"), "/tests/screen"));
const EDITOR: &[(&str, &str)] = &[("VISUAL", concat!(env!("HVD_LAB_CHECKOUT"), "/tests/screen/vi")), NO_CHECKOUT];

/// Closes the window of the exercise.
fn close(lab: &mut Lab) {
    lab.press("\x1b");
    lab.wait("the window closed", |seen| !seen.terminal.screen().contents().contains("Your own trainer"));
}

#[test]
fn the_editor_gets_every_key_and_the_screen_comes_back() {
    let home = Home::new();
    let mut lab = Options { env: EDITOR, ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    lab.press("e");
    lab.wait_for("editing +32 fashion_mnist.rs");
    assert!(!lab.is_raw(), "the editor finds the terminal as a shell leaves it");
    // On the screen these would quit, toggle steps and start a run.
    lab.press("q1r5 all for the editor\r");
    lab.wait_for("saved");
    lab.press("\r");
    lab.wait_for("Your own trainer");
    // The save was seen, and there is nothing to build it from.
    lab.wait_for("there is none in");
    let program = home
        .store()
        .folder(hvd_lab_terminal::runs::RunId(1))
        .path()
        .ancestors()
        .nth(2)
        .unwrap()
        .join("exercise/fashion_mnist.rs");
    assert!(fs::read_to_string(program).unwrap().ends_with("// q1r5 all for the editor\n"));
    assert!(lab.is_raw());
    assert_eq!(lab.count("\x1b[?1049h"), 2, "taken at the start, and after the editor");
    close(&mut lab);
    lab.press("q");
    assert!(lab.exit().success());
    lab.expect_restored();
}

#[test]
fn an_editor_that_is_not_there_is_said_and_the_screen_goes_on() {
    let home = Home::new();
    let mut lab = Options { env: &[("VISUAL", "no-such-editor"), NO_CHECKOUT], ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    lab.press("e");
    lab.wait_for("no-such-editor");
    lab.wait_for("Your own trainer");
    // What is in front goes first: the problem, then the window.
    lab.press("\x1b");
    lab.wait("the problem dismissed", |seen| !seen.terminal.screen().contents().contains("Problem"));
    close(&mut lab);
    lab.press("q");
    assert!(lab.exit().success());
    lab.expect_restored();
}

#[test]
fn a_reset_from_the_screen_keeps_what_there_was() {
    let home = Home::new();
    let mut lab = Options { env: EDITOR, ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    lab.press("e");
    lab.wait_for("editing +32 fashion_mnist.rs");
    lab.press("my own line\r");
    lab.wait_for("saved");
    lab.press("\r");
    lab.wait_for("there is none in");
    lab.press("u");
    lab.wait_for("a the whole program");
    lab.press("a");
    lab.wait_for("fashion_mnist.1.bak");
    let folder = home.store().folder(hvd_lab_terminal::runs::RunId(1)).path().ancestors().nth(2).unwrap().join("exercise");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert!(read("fashion_mnist.1.bak").ends_with("// my own line\n"));
    assert_eq!(read("fashion_mnist.rs"), hvd_lab_terminal::exercise::TEN_STEPS.exercise);
    lab.press("\x1b\x1b");
    close(&mut lab);
    // Not `q`: behind an Esc that is still on its way it would be read as Alt-q.
    lab.press("\x03");
    assert!(lab.exit().success());
    lab.expect_restored();
}
