//! Every way out of the screen, and the way to the shell and back: the terminal is as it was, exactly once.
//!
//! Never trains. A panic has a test of its own inside the library, where a thread can be made to fall.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::pty::{ENTER, LEAVE, Lab, Options};
use crate::support::wait::wait_until;

#[test]
fn quit_restores_the_terminal() {
    let mut lab = Lab::start(100, 30);
    lab.wait_for("press r to run");
    assert!(lab.is_raw());
    lab.press("q");
    assert!(lab.exit().success());
    lab.expect_restored();
    assert_eq!((lab.count(ENTER), lab.count(LEAVE)), (1, 1));
}

#[test]
fn signals_restore_the_terminal_and_end() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT] {
        let mut lab = Lab::start(80, 24);
        lab.wait_for("press r to run");
        kill(lab.pid(), signal).unwrap();
        assert!(lab.exit().success(), "{signal}");
        lab.expect_restored();
        assert_eq!((lab.count(ENTER), lab.count(LEAVE)), (1, 1), "{signal}");
    }
}

#[test]
fn a_terminal_that_takes_no_output_holds_up_no_signal() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let mut lab = Lab::start(200, 60);
        lab.wait_for("press r to run");
        let reading = Arc::clone(&lab.reading);
        let stalled = reading.lock().unwrap();
        lab.fill();
        let before = Instant::now();
        kill(lab.pid(), signal).unwrap();
        assert!(lab.exit().success(), "{signal}");
        assert!(before.elapsed() < Duration::from_secs(3), "{signal}: took {:?}", before.elapsed());
        // Whoever reads on finds the terminal as it was.
        drop(stalled);
        lab.expect_restored();
    }
}

#[test]
fn a_terminal_that_takes_no_output_for_a_while_is_waited_for() {
    let mut lab = Lab::start(200, 60);
    lab.wait_for("press r to run");
    let reading = Arc::clone(&lab.reading);
    let stalled = reading.lock().unwrap();
    lab.fill();
    drop(stalled);
    lab.press("?");
    lab.wait_for("Everywhere");
    lab.press("\x1b");
    lab.wait("the help closed", |seen| !seen.terminal.screen().contents().contains("Everywhere"));
    lab.press("q");
    assert!(lab.exit().success());
    lab.expect_restored();
}

#[test]
fn a_closed_terminal_ends_the_program_at_once() {
    let mut lab = Options { until: Some("press r to run"), ..Options::default() }.start_alone();
    lab.wait_for("press r to run");
    let before = Instant::now();
    // The last ends of the master: the kernel hangs up.
    lab.keys = None;
    lab.master = None;
    lab.exit();
    assert!(before.elapsed() < Duration::from_secs(3), "took {:?}", before.elapsed());
}

/// A shell, and the screen that it started.
fn in_a_shell() -> Lab {
    let mut shell = Options { shell: true, ..Options::default() }.start_alone();
    shell.wait_for("prompt>");
    shell.press("\"$LAB\"\n");
    shell.wait_for("press r to run");
    shell
}

/// `T` for a process that is stopped, from the kernel.
fn process_state(pid: Pid) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

/// The one child of the shell.
fn job_of(shell: &Lab) -> Pid {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children", pid = shell.pid())).unwrap();
    Pid::from_raw(children.split_whitespace().next().unwrap().parse().unwrap())
}

fn leave_the_shell(shell: &mut Lab) {
    // Whatever is typed before the prompt may still be read by the program on its way out.
    shell.wait("a new prompt", |seen| seen.terminal.screen().contents().trim_end().ends_with("prompt>"));
    shell.press("exit\n");
    shell.exit();
    shell.expect_restored();
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_and_fg_shows_the_screen_again() {
    let mut shell = in_a_shell();
    let job = job_of(&shell);
    for round in 1..=2 {
        shell.press("\x1a");
        shell.wait("the shell's word of a stopped job", |seen| {
            let screen = seen.terminal.screen();
            !screen.alternate_screen() && screen.contents().matches("Stopped").count() >= round
        });
        assert_eq!(process_state(job), Some('T'));
        assert!(!shell.is_raw() && !shell.seen.0.lock().unwrap().terminal.screen().hide_cursor());
        assert_eq!((shell.count(ENTER), shell.count(LEAVE)), (round, round));
        shell.press("fg\n");
        shell.wait("the screen drawn again", |seen| {
            seen.terminal.screen().alternate_screen() && seen.terminal.screen().contents().contains("NovoGrad optimizer")
        });
        assert!(shell.is_raw());
    }
    // It still takes keys.
    shell.press("4");
    shell.wait_for("[ ]  4 Broadcast");
    shell.press("q");
    shell.wait("the shell", |seen| !seen.terminal.screen().alternate_screen());
    assert_eq!((shell.count(ENTER), shell.count(LEAVE)), (3, 3));
    leave_the_shell(&mut shell);
    assert_eq!(process_state(job), None, "no process is left");
}

#[test]
fn ctrl_z_works_with_a_window_open_and_the_window_stays() {
    let mut shell = in_a_shell();
    shell.press("?");
    shell.wait_for("Everywhere");
    shell.press("\x1a");
    shell.wait_for("Stopped");
    shell.press("fg\n");
    shell.wait_for("Everywhere");
    shell.press("\x1b");
    shell.wait("the help closed", |seen| !seen.terminal.screen().contents().contains("Everywhere"));
    shell.press("q");
    shell.wait("the shell", |seen| !seen.terminal.screen().alternate_screen());
    leave_the_shell(&mut shell);
}

#[test]
fn the_signal_of_ctrl_z_is_the_same_and_a_stop_from_outside_is_drawn_over() {
    let mut shell = in_a_shell();
    let job = job_of(&shell);
    kill(job, Signal::SIGTSTP).unwrap();
    shell.wait_for("Stopped");
    assert_eq!((shell.count(ENTER), shell.count(LEAVE)), (1, 1));
    shell.press("fg\n");
    shell.wait_for("NovoGrad optimizer");
    // Nobody can see this one coming: the terminal is not given back, but drawn anew.
    kill(job, Signal::SIGSTOP).unwrap();
    shell.wait_for("Stopped");
    shell.press("fg\n");
    shell.wait("the screen without the shell's words", |seen| {
        let contents = seen.terminal.screen().contents();
        // What the shell writes may scroll its own word away: raw again is what only the screen makes it.
        contents.contains("NovoGrad optimizer") && !contents.contains("Stopped") && shell.is_raw()
    });
    shell.press("q");
    shell.wait("the shell", |seen| !seen.terminal.screen().alternate_screen());
    leave_the_shell(&mut shell);
}

#[test]
fn a_stopped_screen_that_is_told_to_end_leaves_nothing() {
    let mut shell = in_a_shell();
    let job = job_of(&shell);
    shell.press("\x1a");
    shell.wait_for("Stopped");
    shell.press("kill %1; fg\n");
    wait_until("the end of the screen", || process_state(job).is_none());
    shell.press("echo then-$?\n");
    shell.wait_for("then-");
    leave_the_shell(&mut shell);
}

#[test]
fn without_a_shell_to_come_back_to_ctrl_z_says_so_and_goes_on() {
    let mut lab = Lab::start(80, 24);
    lab.wait_for("press r to run");
    lab.press("\x1a");
    lab.wait_for("no shell here could continue it");
    lab.press("q");
    assert!(lab.exit().success());
    lab.expect_restored();
}
