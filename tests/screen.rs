//! The real binary in a real terminal: what a person sees, and how the terminal is left.
//!
//! Never trains: launcher and trainer are stand-ins that print a small run.

mod closed;
mod editor;
mod faults;
mod gain;
mod habits;
mod hostile;
mod leaving;
mod paste;
mod pictures;
mod replay;
mod resize;
mod session;
mod verbs;

use nix::sys::signal::{Signal, kill};
use portable_pty::PtySize;

use crate::support::pty::{Home, Lab, Options, PATIENCE};
use crate::support::wait::wait_until;

#[test]
fn the_first_screen_shows_steps_and_keys_at_80x24() {
    let mut lab = Lab::start(80, 24);
    lab.wait_for("Init and pin a device");
    lab.wait_for("generated garments");
    lab.wait_for("press r to run");
    for text in ["NovoGrad optimizer", "Next run", "r run", "q quit", "np (ranks)"] {
        lab.wait_for(text);
    }
    assert!(lab.seen.0.lock().unwrap().terminal.screen().alternate_screen());
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn keys_reach_the_screen() {
    let mut lab = Lab::start(120, 40);
    lab.wait_for("press r to run");
    lab.press("4");
    lab.wait_for("[ ]  4 Broadcast");
    lab.press("?");
    lab.wait_for("Everywhere");
    lab.press("\x1b");
    lab.wait("the help closed", |seen| !seen.terminal.screen().contents().contains("Everywhere"));
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn a_resized_terminal_is_drawn_again() {
    let mut lab = Lab::start(80, 24);
    lab.wait_for("press r to run");
    let size = |columns, rows| PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
    lab.seen.0.lock().unwrap().terminal.screen_mut().set_size(14, 50);
    lab.master.as_ref().unwrap().resize(size(50, 14)).unwrap();
    lab.wait_for("50x14");
    lab.seen.0.lock().unwrap().terminal.screen_mut().set_size(40, 120);
    lab.master.as_ref().unwrap().resize(size(120, 40)).unwrap();
    lab.wait_for("In Horovod:");
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn ascii_on_a_real_terminal() {
    let mut lab = Options { arguments: &["--ascii"], ..Options::default() }.start_alone();
    lab.wait_for("press r to run");
    let contents = lab.seen.0.lock().unwrap().terminal.screen().contents();
    assert!(contents.is_ascii(), "{contents}");
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_hvd-lab")).timeout(PATIENCE).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("hvd-lab run") && message.lines().count() == 1, "{message}");
}

#[test]
fn a_run_from_the_key_to_its_result() {
    let home = Home::new();
    // As the user chose it: the lab's own choice goes by how busy the machine was.
    std::fs::write(home.path().join("screen.json"), r#"{"toured": true, "baseline": 1}"#).unwrap();
    let mut lab = Options { columns: 120, rows: 40, ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    lab.press("r");
    for text in ["Epoch 3/3", "✓ finished", "test accuracy 70.0 %", "on generated garments"] {
        lab.wait_for(text);
    }
    // The runs table, the details with the exact command, and the next run against this one.
    lab.press("i");
    lab.wait_for("mpirun.sh");
    lab.press("\x1b");
    lab.wait("the details closed", |seen| !seen.terminal.screen().contents().contains("mpirun.sh"));
    lab.press("r");
    // Of two runs of which others disturbed one, the line on top has no room for how the second ended.
    lab.wait_for("run 2 ✓");
    lab.wait_for("2 ✓ finished  1-10");
    lab.wait_for("compared with run 1");
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn a_run_continues_for_more_epochs() {
    let home = Home::new();
    let mut lab = Options { columns: 120, rows: 40, ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    lab.press("r");
    lab.wait_for("✓ finished");
    lab.press("c");
    lab.wait_for("3 more epochs");
    lab.press("\r");
    lab.wait_for("Epoch 6/6");
    lab.wait("the end of all epochs", |seen| {
        let shown = seen.terminal.screen().contents();
        shown.contains("run 1 ✓ finished") && shown.contains("6/6 ")
    });
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn a_failed_run_says_which_rank_and_why_and_the_screen_goes_on() {
    let home = Home::new();
    let mut lab = Options { columns: 120, rows: 40, env: &[("STAND_IN", "fatal")], ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    // Two ranks, on a machine of any size.
    lab.press("-------+r");
    lab.wait_for("✗ failed");
    lab.wait_for("rank 1 failed during epoch 1: the loss is not a number");
    lab.wait_for("about to fail");
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn stopping_asks_and_leaves_no_process() {
    let home = Home::new();
    let mut lab = Options { columns: 120, rows: 40, env: &[("STAND_IN", "hang")], ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    lab.press("r");
    lab.wait_for("waiting");
    assert!(!home.processes(1).is_empty());
    lab.press("x");
    lab.wait_for("Stop run 1?");
    lab.press("y");
    lab.wait_for("◼ stopped");
    assert!(home.processes(1).is_empty());
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn quitting_asks_what_becomes_of_the_run() {
    let home = Home::new();
    let options = || Options { columns: 120, rows: 40, env: &[("STAND_IN", "hang")], ..Options::default() };
    let mut lab = options().start(&home);
    lab.wait_for("press r to run");
    lab.press("r");
    lab.wait_for("waiting");
    lab.press("q");
    lab.wait_for("leave it running");
    lab.press("l");
    assert!(lab.exit().success());
    lab.expect_restored();
    assert!(!home.processes(1).is_empty(), "the run was left running");
    // The next screen finds it, and can stop it on its way out.
    let mut next = options().start(&home);
    next.wait_for("run 1 ▶ running");
    next.wait_for("waiting");
    next.press("q");
    next.wait_for("leave it running");
    next.press("s");
    assert!(next.exit().success());
    wait_until("the end of the run", || home.processes(1).is_empty());
}

#[test]
fn a_killed_screen_loses_nothing() {
    let home = Home::new();
    let options = || Options { columns: 120, rows: 40, env: &[("STAND_IN_EPOCH_SECONDS", "0.4")], ..Options::default() };
    let mut lab = options().start(&home);
    lab.wait_for("press r to run");
    lab.press("r");
    lab.wait_for("Epoch 1/3");
    kill(lab.pid(), Signal::SIGKILL).unwrap();
    lab.exit();
    let mut next = options().start(&home);
    next.wait_for("Epoch 1/3");
    next.wait_for("run 1 ✓ finished");
    next.press("q");
    assert!(next.exit().success());
}

#[test]
fn what_cannot_start_is_a_notice() {
    let home = Home::new();
    // Below a file there is nothing.
    let mut lab = Options { env: &[("HVD_TRAIN", "/dev/null/hvd-train")], ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    lab.press("r");
    lab.wait_for("/dev/null/hvd-train");
    lab.press("\x1b");
    lab.wait("the notice gone", |seen| !seen.terminal.screen().contents().contains("/dev/null/hvd-train"));
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn a_run_started_elsewhere_shows_up() {
    let home = Home::new();
    let mut lab = Options { columns: 120, rows: 40, ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    let mut elsewhere = assert_cmd::Command::new(env!("CARGO_BIN_EXE_hvd-lab"));
    elsewhere.args(["run", "--np", "1", "--data", "generated"]).envs(home.variables()).timeout(PATIENCE).assert().success();
    lab.wait_for("run 1 ✓ finished");
    lab.press("q");
    assert!(lab.exit().success());
}
