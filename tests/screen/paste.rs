//! Text that is pasted: typed where a line is being typed, and never taken for keys.
//!
//! Never trains.

use std::time::{Duration, Instant};

use crate::support::pty::{Home, Lab, Options};

/// As a terminal sends it when it was asked for marks.
fn marked(text: &str) -> String {
    format!("\x1b[200~{text}\x1b[201~")
}

#[test]
fn pasted_text_starts_nothing_opens_nothing_and_quits_nothing() {
    let home = Home::new();
    let mut lab = Options { columns: 120, rows: 40, ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    assert_eq!(lab.count("\x1b[?2004h"), 1);
    lab.press(&marked("r1xeq\nr\n"));
    lab.wait_for("the pasted text is ignored");
    // A key after it works as ever, and shows that nothing else came before it.
    lab.press("4");
    lab.wait_for("[ ]  4 Broadcast");
    let contents = lab.seen.0.lock().unwrap().terminal.screen().contents();
    assert!(contents.contains("[x]  1 Init") && contents.contains("press r to run"), "{contents}");
    assert_eq!(home.store().ids(), []);
    lab.press("q");
    assert!(lab.exit().success());
    lab.expect_restored();
}

#[test]
fn a_line_that_is_typed_takes_the_first_line_made_safe() {
    let home = Home::new();
    let mut lab = Options { columns: 120, rows: 40, ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    lab.press(":");
    lab.wait_for("Commands");
    lab.press(&marked("the \x1b[31mto\u{202e}ur\nquit\n"));
    lab.wait_for(": the tour_");
    lab.press("\r");
    lab.wait_for("Tour 1 of 5");
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn what_comes_at_once_behind_a_paste_belongs_to_it() {
    let mut lab = Lab::start(120, 40);
    lab.wait_for("press r to run");
    // The text held an end mark of its own.
    lab.press(&marked("one\x1b[201~rq"));
    lab.wait_for("the pasted text is ignored");
    lab.press("4");
    lab.wait_for("[ ]  4 Broadcast");
    lab.wait_for("press r to run");
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn a_megabyte_is_no_burden() {
    let mut lab = Lab::start(120, 40);
    lab.wait_for("press r to run");
    let pid = lab.pid();
    let memory = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
    };
    let before = memory();
    let start = Instant::now();
    let mut keys = lab.keys.take().unwrap();
    // The program reads while this writes.
    let text = marked(&"rq1x\n".repeat(1 << 18));
    let writer = std::thread::spawn(move || {
        keys.write_all(text.as_bytes()).unwrap();
        keys
    });
    lab.wait_for("the pasted text is ignored");
    assert!(start.elapsed() < Duration::from_secs(10), "took {:?}", start.elapsed());
    let grown = memory().saturating_sub(before);
    assert!(grown < 16 << 10, "{grown} KiB more");
    lab.keys = Some(writer.join().unwrap());
    lab.press("4");
    lab.wait_for("[ ]  4 Broadcast");
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn the_shell_gets_its_terminal_back_without_marks() {
    let mut shell = Options { shell: true, ..Options::default() }.start_alone();
    shell.wait_for("prompt>");
    shell.press("\"$LAB\"\n");
    shell.wait_for("press r to run");
    shell.press("\x1a");
    shell.wait_for("Stopped");
    assert!(shell.last("\x1b[?2004h") < shell.last("\x1b[?2004l"));
    shell.press("fg\n");
    shell.wait("the screen again", |seen| seen.terminal.screen().alternate_screen());
    shell.wait_for("NovoGrad optimizer");
    assert!(shell.last("\x1b[?2004h") > shell.last("\x1b[?2004l"));
    shell.press("q");
    shell.wait("the shell", |seen| !seen.terminal.screen().alternate_screen());
    shell.wait("a new prompt", |seen| seen.terminal.screen().contents().trim_end().ends_with("prompt>"));
    shell.press("exit\n");
    shell.exit();
    shell.expect_restored();
}
