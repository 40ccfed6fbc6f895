//! What terminal users are used to, in a real terminal: mouse, background, tour, configuration, title and bell.
//!
//! Never trains.

use crate::support::pty::{Home, Lab, Options};

#[test]
fn clicks_and_the_wheel_reach_the_screen_and_m_releases_the_mouse() {
    let mut lab = Lab::start(80, 24);
    lab.wait_for("press r to run");
    // The mark of step 4, in the terminal's own words: button, column and row from 1, pressed and released.
    lab.wait_for("[x]  4 Broadcast");
    lab.press("\x1b[<0;4;7M\x1b[<0;4;7m");
    lab.wait_for("[ ]  4 Broadcast");
    lab.press("\x1b[<65;4;7M");
    // The wheel chose the next step, which Space switches off.
    lab.press(" ");
    lab.wait_for("[ ]  5 ");
    assert_eq!(lab.count("\x1b[?1000h"), 1);
    lab.press("m");
    lab.wait_for("you can select text");
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
    let mut lab = Options { env: &[("NO_COLOR", "1")], ..Options::default() }.start_alone();
    lab.wait_for("press r to run");
    assert_eq!(lab.count("\x1b]11;?"), 0);
    assert_eq!(lab.count("\x1b[38;5;"), 0);
    lab.press("q");
    assert!(lab.exit().success());
}

/// A home with this configuration.
fn configured(toml: &str) -> Home {
    let home = Home::new();
    std::fs::write(home.path().join("config.toml"), toml).unwrap();
    home
}

fn count(bytes: &[u8], sequence: &[u8]) -> usize {
    bytes.windows(sequence.len()).filter(|window| *window == sequence).count()
}

#[test]
fn the_tour_is_shown_once() {
    let home = Home::never_used();
    let mut first = Options::default().start(&home);
    first.wait_for("Tour 1 of 5");
    first.press("\r");
    first.wait_for("Tour 2 of 5");
    first.press("q");
    assert!(first.exit().success());
    let mut second = Options::default().start(&home);
    second.wait_for("press r to run");
    second.press("4");
    second.wait_for("[ ]  4 Broadcast");
    assert!(!second.seen.0.lock().unwrap().terminal.screen().contents().contains("Tour"));
    second.press("q");
    assert!(second.exit().success());
    let mut third = Options { arguments: &["--tour"], ..Options::default() }.start(&home);
    third.wait_for("Tour 1 of 5");
    third.press("\x1b");
    third.wait("the tour gone", |seen| !seen.terminal.screen().contents().contains("Tour"));
    third.press("q");
    assert!(third.exit().success());
}

#[test]
fn borders_steps_and_theme_are_as_they_were_left() {
    let home = Home::new();
    let mut lab = Lab::start_in(&home);
    lab.wait_for("press r to run");
    lab.press("4T");
    lab.wait_for("theme dark");
    // The border between the columns, ten cells to the right.
    lab.press("\x1b[<0;34;10M\x1b[<32;44;10M\x1b[<0;44;10m");
    let wide = |seen: &crate::support::pty::Seen| seen.terminal.screen().cell(2, 43).is_some_and(|cell| cell.contents() == "╭");
    lab.wait("the border moved", wide);
    lab.press("q");
    assert!(lab.exit().success());
    let mut next = Lab::start_in(&home);
    next.wait_for("[ ]  4 Broadcast");
    next.wait("the border where it was", wide);
    let key = next.seen.0.lock().unwrap().terminal.screen().cell(0, 1).unwrap().fgcolor();
    assert_eq!(key, vt100::Color::Idx(75));
    next.press("q");
    assert!(next.exit().success());
}

#[test]
fn the_configuration_counts_and_what_is_wrong_in_it_is_said() {
    let home = configured("theme = \"light\"\nascii = true\nmouse = false\nremembr = true\n");
    let mut lab = Lab::start_in(&home);
    lab.wait_for("line 4: unknown key `remembr`");
    lab.wait_for("mean `remember`?");
    let screen = lab.seen.0.lock().unwrap().terminal.screen().clone();
    assert!(screen.contents().is_ascii());
    assert_eq!(screen.cell(0, 1).unwrap().fgcolor(), vt100::Color::Idx(25));
    assert_eq!(lab.count("\x1b[?1000h"), 0);
    lab.press("q");
    assert!(lab.exit().success());
    lab.expect_restored();
}

#[test]
fn the_title_follows_the_run_and_is_given_back() {
    let home = Home::new();
    let mut lab = Lab::start_in(&home);
    lab.wait_for("press r to run");
    lab.press("r");
    lab.wait_for("✓ finished");
    lab.wait("the title", |seen| count(&seen.bytes, b"\x1b]2;hvd-lab: run 1 finished\x07") == 1);
    lab.press("q");
    assert!(lab.exit().success());
    lab.expect_restored();
    assert_eq!(lab.count("\x1b[22;2t"), 1);
}

#[test]
fn the_end_of_a_run_is_told_only_where_that_is_wanted() {
    let wishes = [
        ("title = false\n", 0, 0),
        ("title = false\nbell = true\n", 1, 0),
        ("title = false\nnotify = true\n", 1, 1),
        ("title = false\nbell = true\nnotify = true\n", 2, 1),
    ];
    for (toml, bells, notes) in wishes {
        let home = configured(toml);
        let mut lab = Lab::start_in(&home);
        lab.wait_for("press r to run");
        lab.press("r");
        lab.wait_for("✓ finished");
        lab.press("q");
        assert!(lab.exit().success());
        lab.expect_restored();
        // The end of a notification is a bell's character too.
        assert_eq!(lab.count("\x07"), bells, "{toml}");
        assert_eq!(lab.count("\x1b]9;hvd-lab: run 1 finished\x07"), notes, "{toml}");
    }
}

/// A terminal or a locale that has no UTF-8 gets ASCII without asking for it; who set something else gets that.
#[test]
fn ascii_comes_by_itself_where_the_terminal_or_the_locale_needs_it() {
    type Env = &'static [(&'static str, &'static str)];
    let cases: [(Env, Option<&str>, bool); 7] = [
        (&[], None, false),
        (&[("TERM", "linux")], None, true),
        (&[("LANG", "C")], None, true),
        (&[("LC_ALL", "POSIX")], None, true),
        (&[("LC_ALL", "C"), ("TERM", "linux")], Some("ascii = false\n"), false),
        (&[("LANG", "C")], Some("ascii = \"auto\"\n"), true),
        (&[], Some("ascii = true\n"), true),
    ];
    for (env, config, is_ascii) in cases {
        let home = config.map_or_else(Home::new, configured);
        let mut lab = Options { env, ..Options::default() }.start(&home);
        lab.wait_for("press r to run");
        let contents = lab.seen.0.lock().unwrap().terminal.screen().contents();
        assert_eq!(contents.is_ascii(), is_ascii, "{env:?} {config:?}:\n{contents}");
        lab.press("q");
        assert!(lab.exit().success());
    }
    // The flag says so, whatever the configuration says.
    let home = configured("ascii = false\n");
    let mut lab = Options { arguments: &["--ascii"], ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    assert!(lab.seen.0.lock().unwrap().terminal.screen().contents().is_ascii());
    lab.press("q");
    assert!(lab.exit().success());
}

/// A terminal that cannot place the cursor would get a screen of escape sequences.
#[test]
fn a_dumb_terminal_gets_one_line_and_the_verbs() {
    for arguments in [&[][..], &["demo"]] {
        let mut lab = Options { env: &[("TERM", "dumb")], arguments, ..Options::default() }.start_alone();
        assert_eq!(lab.exit().exit_code(), 2);
        lab.wait("the end of the output", |seen| seen.ended);
        let seen = lab.seen.0.lock().unwrap();
        let text = String::from_utf8_lossy(&seen.bytes);
        assert!(!text.contains('\x1b') && text.contains("TERM=dumb") && text.contains("hvd-lab run"), "{text:?}");
        assert_eq!(text.trim_end().lines().count(), 1, "{text:?}");
    }
}
