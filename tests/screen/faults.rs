//! A fault from the menu, in a run of stand-ins that is going: made by the supervisor, found, and undone.

use crate::support::pty::{Home, Options};

#[test]
fn a_rank_is_frozen_from_the_menu_and_the_menu_says_who_found_it() {
    let home = Home::new();
    let mut lab = Options { columns: 100, rows: 40, env: &[("STAND_IN", "hang")], ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    lab.press("F");
    lab.wait_for("a fault is made in a run that is going");
    lab.press("r");
    lab.wait_for("waiting");
    lab.press("F");
    lab.wait_for("Make a fault in run 1");
    // These ranks have no network of their own, and the refusal says what to do.
    lab.press("jjjj");
    lab.wait_for("The cable to rank 1");
    lab.press("\r");
    lab.wait_for("talk through memory");
    lab.press("kkk");
    lab.wait_for("Rank 1 is stopped (SIGSTOP)");
    lab.press("\r");
    lab.wait_for("freeze in rank 1: found after");
    lab.wait_for("rank 1 is stopped by a signal");
    // One at a time, and the refusal says so.
    lab.press("\r");
    lab.wait_for("another fault lasts");
    lab.press("F");
    lab.wait("the menu closed", |seen| !seen.terminal.screen().contents().contains("Make a fault in run 1"));
    lab.press("x");
    lab.wait_for("Stop");
    lab.press("y");
    lab.wait_for("stopped");
    lab.press("q");
    assert!(lab.exit().success());
}
