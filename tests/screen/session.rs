//! What the screen remembers, however it ends: killed, its terminal closed, and two of them at once.
//!
//! Never trains.

use nix::sys::signal::{Signal, kill};

use crate::support::pty::{Home, Lab, Options};
use crate::support::wait::wait_until;

fn file(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("screen.json")).unwrap_or_default()
}

/// Waits until it is written down, while the screen goes on.
fn wait_for(home: &Home, text: &str) {
    wait_until(text, || file(home).contains(text));
}

#[test]
fn a_killed_screen_loses_no_theme_pin_baseline_or_step() {
    let home = Home::new();
    let mut lab = Options { columns: 120, rows: 40, ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    lab.press("r");
    lab.wait_for("✓ finished");
    for (key, text) in [("T", "\"theme\": \"dark\""), ("b", "\"baseline\": 1"), ("4", "1-3,5-10"), ("\t\t\t\t\tp", "\"pins\": [")]
    {
        lab.press(key);
        wait_for(&home, text);
    }
    kill(lab.pid(), Signal::SIGKILL).unwrap();
    lab.exit();
    let mut next = Options { columns: 120, rows: 40, ..Options::default() }.start(&home);
    next.wait_for("[ ]  4 Broadcast");
    next.press("T");
    next.wait_for("theme light");
    next.press("q");
    assert!(next.exit().success());
    assert!(file(&home).contains("\"pins\": [") && file(&home).contains("\"baseline\": 1"), "{}", file(&home));
}

#[test]
fn the_tour_is_not_shown_again_after_a_kill() {
    let home = Home::never_used();
    let lab = Options::default().start(&home);
    lab.wait_for("Tour 1 of 5");
    wait_for(&home, "\"toured\": true");
    kill(lab.pid(), Signal::SIGKILL).unwrap();
}

#[test]
fn a_closed_terminal_keeps_what_was_changed_just_before() {
    let home = Home::new();
    let mut lab = Options { until: Some("theme dark"), ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    lab.press("4T");
    lab.wait_for("theme dark");
    // The last ends of the master: the kernel hangs up.
    lab.keys = None;
    lab.master = None;
    lab.exit();
    assert!(file(&home).contains("\"theme\": \"dark\"") && file(&home).contains("1-3,5-10"), "{}", file(&home));
}

#[test]
fn two_screens_at_once_keep_what_each_has_changed() {
    let home = Home::new();
    let (mut one, mut other) = (Lab::start_in(&home), Lab::start_in(&home));
    one.wait_for("press r to run");
    other.wait_for("press r to run");
    one.press("T");
    wait_for(&home, "\"theme\": \"dark\"");
    other.press("4");
    wait_for(&home, "1-3,5-10");
    assert!(file(&home).contains("\"theme\": \"dark\""), "{}", file(&home));
    for lab in [&mut one, &mut other] {
        lab.press("q");
        assert!(lab.exit().success());
    }
    assert!(file(&home).contains("\"theme\": \"dark\"") && file(&home).contains("1-3,5-10"), "{}", file(&home));
}

#[test]
fn looking_around_writes_nothing() {
    let home = Home::new();
    let before = (file(&home), std::fs::metadata(home.path().join("screen.json")).unwrap().modified().unwrap());
    let mut lab = Lab::start_in(&home);
    lab.wait_for("press r to run");
    lab.press("\t?");
    lab.wait_for("Everywhere");
    lab.press("\x1b");
    lab.wait("the help closed", |seen| !seen.terminal.screen().contents().contains("Everywhere"));
    lab.press("q");
    assert!(lab.exit().success());
    assert_eq!(before, (file(&home), std::fs::metadata(home.path().join("screen.json")).unwrap().modified().unwrap()));
}
