//! Another size at any time, also behind a window: the next key counts, and nothing is busy.
//!
//! Never trains.

use std::time::{Duration, Instant};

use crate::support::pty::{Lab, Options, Seen};
use crate::support::wait::wait_until;

/// Clock ticks that the program has computed for.
fn ticks(lab: &Lab) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", lab.pid())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

fn shows(text: &'static str) -> impl Fn(&Seen) -> bool {
    move |seen| seen.terminal.screen().contents().contains(text)
}

/// The panes reach the last column, above the footer.
fn fills(columns: u16, rows: u16) -> impl Fn(&Seen) -> bool {
    move |seen| {
        let line = seen.terminal.screen().rows(0, columns).nth(usize::from(rows) - 2);
        line.is_some_and(|line| line.trim_end().chars().count() == usize::from(columns))
    }
}

#[test]
fn the_key_after_a_change_of_size_counts_and_nothing_is_busy() {
    let mut lab = Lab::start(80, 24);
    lab.wait_for("press r to run");
    // Each key at another size: one that is forgotten until the next comes would be a window late.
    for (turn, (columns, rows)) in [(120, 40), (40, 10), (90, 30), (200, 60), (80, 24)].into_iter().enumerate() {
        lab.resize(columns, rows);
        if columns == 40 {
            // In as many lines as it needs.
            lab.wait_for("the lab needs 60x16,");
            lab.wait_for("40x10");
            continue;
        }
        lab.wait("the new size", fills(columns, rows));
        lab.press("?");
        lab.wait_for("Train one model on several");
        lab.resize(columns + 1, rows);
        lab.wait("the window at its new size", fills(columns + 1, rows));
        lab.press("\x1b");
        lab.wait(&format!("the window closed, turn {turn}"), |seen| !shows("Train one model")(seen));
    }
    let (before, since) = (ticks(&lab), Instant::now());
    std::thread::sleep(Duration::from_millis(500));
    let (spent, most) = (ticks(&lab) - before, since.elapsed().as_millis() as u64 / 10 / 4);
    assert!(spent < most, "{spent} ticks of 10 ms in {:?}", since.elapsed());
    lab.press("q");
    assert!(lab.exit().success());
    lab.expect_restored();
}

/// As on a serial console and in some containers.
#[test]
fn a_terminal_that_does_not_say_its_size_is_drawn_on_all_the_same() {
    let usual: &[(&str, &str)] = &[("COLUMNS", ""), ("LINES", "0")];
    let mut lab = Options { columns: 0, rows: 0, env: usual, ..Options::default() }.start_alone();
    lab.wait("the usual size", fills(80, 24));
    lab.resize(120, 40);
    lab.wait("the size that the terminal tells at last", fills(120, 40));
    lab.press("q");
    assert!(lab.exit().success());

    let of_shell: &[(&str, &str)] = &[("COLUMNS", "100"), ("LINES", "30")];
    let mut lab = Options { env: of_shell, ..Options::default() }.start_alone();
    lab.wait("the size of the terminal", fills(80, 24));
    lab.seen.0.lock().unwrap().terminal.screen_mut().set_size(30, 100);
    lab.tell_size(0, 0);
    lab.wait("the size of the shell", fills(100, 30));
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn sizes_that_no_screen_has_do_no_harm() {
    let mut lab = Lab::start(80, 24);
    lab.wait_for("press r to run");
    // What a frame begins with.
    let frames = |lab: &Lab| lab.count("\x1b[?2026h");
    for (columns, rows) in [(65_535, 65_535), (0, 0), (65_535, 1), (1, 65_535), (0, 65_535)] {
        let before = frames(&lab);
        lab.tell_size(columns, rows);
        wait_until(&format!("a frame at {columns}x{rows}"), || frames(&lab) > before);
    }
    lab.resize(100, 30);
    lab.wait("the new size", fills(100, 30));
    lab.press("q");
    assert!(lab.exit().success());
    lab.expect_restored();
}
