//! What terminal users are used to, in a real terminal: mouse and background.
//!
//! Never trains.

use super::pty::{Lab, Options};

#[test]
fn clicks_and_the_wheel_reach_the_screen_and_m_releases_the_mouse() {
    let mut lab = Lab::start(80, 24);
    lab.wait_for("press r to run");
    // The mark of step 4, in the terminal's own words: button, column and row from 1, pressed and released.
    lab.wait_for("[x]  4 Broadcast");
    lab.press("\x1b[<0;4;7M\x1b[<0;4;7m");
    lab.wait_for("[ ]  4 Broadcast");
    lab.press("\x1b[<65;4;7M");
    lab.wait_for("Step 5/10");
    assert_eq!(lab.count("\x1b[?1000h"), 1);
    lab.press("m");
    lab.wait_for("it selects text");
    assert!(lab.last("\x1b[?1000h") < lab.last("\x1b[?1000l"));
    lab.press("m");
    lab.wait("the mouse taken again", |seen| seen.bytes.windows(8).filter(|window| *window == b"\x1b[?1000h").count() == 2);
    lab.press("q");
    assert!(lab.exit().success());
    lab.expect_restored();
}

#[test]
fn the_terminals_reply_sets_the_theme_and_is_not_typed() {
    let mut lab = Lab::start(80, 24);
    lab.wait_for("press r to run");
    lab.wait("the question", |seen| seen.bytes.windows(6).filter(|window| *window == b"\x1b]11;?").count() == 1);
    lab.press("\x1b]11;rgb:ffff/ffff/f0f0\x1b\\");
    lab.wait("the colours for a light background", |seen| {
        let screen = seen.terminal.screen();
        screen.cell(0, 1).is_some_and(|cell| cell.fgcolor() == vt100::Color::Idx(25))
    });
    lab.wait_for("[x]  1 Init");
    lab.press("q");
    assert!(lab.exit().success());
}

#[test]
fn no_color_asks_for_no_background_and_shows_none() {
    let mut lab = Options { env: &[("NO_COLOR", "1")], ..Options::default() }.start(&super::Home::new());
    lab.wait_for("press r to run");
    assert_eq!(lab.count("\x1b]11;?"), 0);
    assert_eq!(lab.count("\x1b[38;5;"), 0);
    lab.press("q");
    assert!(lab.exit().success());
}
