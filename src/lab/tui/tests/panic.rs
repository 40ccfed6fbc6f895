//! A panic while the screen is up: the terminal comes back, and the message is on it.
//!
//! The test runs itself again inside a pseudo terminal, where it may fall.

use std::io::Read;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::tui::app::view;
use crate::tui::io::terminal::Screen;
use crate::tui::testing::samples;

const CHILD: &str = "HVD_LAB_TEST_PANICS";

#[test]
fn a_panic_gives_the_terminal_back_and_shows_its_message() {
    if let Ok(place) = std::env::var(CHILD) {
        let mut screen = Screen::enter(true, true).unwrap();
        let state = samples::never_used();
        screen.draw(view::title(&state), |frame| view::draw(frame, &state)).unwrap();
        match place.as_str() {
            "drawing thread" => panic!("fell on purpose"),
            _ => drop(std::thread::spawn(|| panic!("fell on purpose")).join()),
        }
        unreachable!("a panic of a helper thread ends the program");
    }
    for place in ["drawing thread", "helper thread"] {
        let (screen, bytes) = watch(place);
        for once in
            ["\x1b[?1049h", "\x1b[?1049l", "\x1b[?1000h", "\x1b[?1000l", "\x1b[?2004h", "\x1b[?2004l", "\x1b[22;2t", "\x1b[23;2t"]
        {
            let count = bytes.windows(once.len()).filter(|window| *window == once.as_bytes()).count();
            assert_eq!(count, 1, "{place}: {once:?}");
        }
        let shown = screen.contents();
        assert!(shown.contains("fell on purpose"), "{place}: {shown}");
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{place}");
    }
}

/// The terminal after the child has fallen, and all that the child wrote.
fn watch(place: &str) -> (vt100::Screen, Vec<u8>) {
    let pty = native_pty_system().openpty(PtySize { rows: 24, cols: 120, pixel_width: 0, pixel_height: 0 }).unwrap();
    let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", "tui::tests::panic::a_panic_gives_the_terminal_back_and_shows_its_message"]);
    command.env(CHILD, place);
    command.env("RUST_BACKTRACE", "0");
    command.env("TERM", "xterm-256color");
    let mut child = pty.slave.spawn_command(command).unwrap();
    drop(pty.slave);
    let mut output = pty.master.try_clone_reader().unwrap();
    let mut terminal = vt100::Parser::new(24, 120, 0);
    let (mut bytes, mut all) = ([0; 4096], Vec::new());
    // Ends when the child does: reading a terminal that nobody holds open is an error.
    while let Ok(read @ 1..) = output.read(&mut bytes) {
        terminal.process(&bytes[..read]);
        all.extend(&bytes[..read]);
    }
    let end = Instant::now() + Duration::from_secs(20);
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > end => child.kill().unwrap(),
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    assert!(!status.success());
    let termios = pty.master.get_termios().unwrap();
    assert!(termios.local_flags.bits() & nix::libc::ICANON != 0, "{place}: still raw");
    (terminal.screen().clone(), all)
}
