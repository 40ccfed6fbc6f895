//! What the screen says of what was asked: seen in front of windows too, gone when it is old, and true while a run starts.

use crossterm::event::{KeyCode, MouseButton, MouseEvent, MouseEventKind};

use crate::domain::run::RunState;
use crate::runs::RunId;
use crate::tui::actions::{Effect, Pane};
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text};

fn notice(state: &State) -> Option<&str> {
    state.shared.notice.as_ref().map(|notice| notice.text.as_str())
}

#[test]
fn what_a_key_in_a_window_did_is_seen_in_front_of_it() {
    let mut state = samples::compared();
    state.shared.size = (80, 24);
    type_text(&mut state, "i");
    update(&mut state, Message::Done("copied".into()));
    assert!(text(&state, 80, 24).contains("copied"), "{}", text(&state, 80, 24));
    press(&mut state, KeyCode::Esc);
    assert!(state.shared.notice.is_none() && state.windows.is_empty(), "news that came by itself costs no key");
    type_text(&mut state, "i");
    update(&mut state, Message::Failed("no clipboard".into()));
    press(&mut state, KeyCode::Esc);
    assert!(
        state.shared.notice.is_none() && state.windows.get::<crate::tui::runs::details::Details>().is_some(),
        "a problem goes before its window"
    );
    press(&mut state, KeyCode::Esc);
    assert!(state.windows.is_empty());
}

#[test]
fn escape_skips_the_tour_whatever_news_there_is() {
    let mut state = samples::compared();
    state.help.start_tour();
    update(&mut state, Message::Done("steps 1 and 2 done".into()));
    press(&mut state, KeyCode::Esc);
    assert!(state.help.tour.is_none() && state.shared.notice.is_none());
}

#[test]
fn news_goes_with_the_next_thing_done_and_a_problem_stays() {
    let mut state = samples::compared();
    state.shared.size = (80, 24);
    update(&mut state, Message::Done("saved".into()));
    update(&mut state, Message::Tick(1.0));
    assert_eq!(notice(&state), Some("saved"), "nobody did anything");
    press(&mut state, KeyCode::Tab);
    assert_eq!(notice(&state), None);
    update(&mut state, Message::Done("saved".into()));
    let (kind, modifiers) = (MouseEventKind::Down(MouseButton::Left), crossterm::event::KeyModifiers::NONE);
    update(&mut state, Message::Mouse(MouseEvent { kind, column: 5, row: 5, modifiers }));
    assert_eq!(notice(&state), None);
    update(&mut state, Message::Failed("no room on the disk".into()));
    press(&mut state, KeyCode::Tab);
    assert_eq!(notice(&state), Some("no room on the disk"));
    press(&mut state, KeyCode::Esc);
    assert_eq!(notice(&state), None);
}

/// By the clock of the state, without a key; a long sentence takes longer to read.
#[test]
fn news_leaves_by_itself_and_a_problem_does_not() {
    for (said, stays_s, gone_s) in [("saved".to_owned(), 4.0, 6.0), ("word ".repeat(40), 10.0, 14.0)] {
        let mut state = samples::compared();
        update(&mut state, Message::Tick(samples::START));
        update(&mut state, Message::Done(said.clone()));
        update(&mut state, Message::Tick(samples::START + stays_s));
        assert!(notice(&state).is_some(), "{said}");
        // The screen that is idle is woken once.
        assert!(state.shared.notice_left_s().is_some_and(|left_s| left_s > 0.0 && left_s < gone_s - stays_s));
        let mut woken = state.clone();
        update(&mut woken, Message::NoticeIsOld);
        update(&mut state, Message::Tick(samples::START + gone_s));
        assert_eq!((notice(&state), notice(&woken), state.shared.notice_left_s()), (None, None, None), "{said}");
    }
    let mut state = samples::compared();
    update(&mut state, Message::Failed("no room on the disk".into()));
    update(&mut state, Message::Tick(samples::START + 1e6));
    update(&mut state, Message::NoticeIsOld);
    assert_eq!((notice(&state), state.shared.notice_left_s()), (Some("no room on the disk"), None));
}

/// Whatever is said, and wherever: the answer and the next key stay, and so do the keys at the foot.
#[test]
fn no_notice_covers_the_answer_or_the_keys() {
    let long = "run 3 may still be running elsewhere: ".repeat(9);
    for (width, height) in [(60, 16), (80, 24), (120, 36), (200, 60)] {
        for keys in ["", "z", "?", "q", "P"] {
            for (said, is_error) in [("saved", false), ("no room on the disk", true), (&*long, true)] {
                let mut state = samples::compared();
                update(&mut state, Message::Resize(width, height));
                type_text(&mut state, keys);
                state.shared.notice = None;
                let quiet = text(&state, width, height);
                if is_error {
                    state.shared.error(said)
                } else {
                    state.shared.inform(said)
                }
                let shown = text(&state, width, height);
                let kept = |screen: &str| -> Vec<String> {
                    let lines: Vec<&str> = screen.lines().collect();
                    [lines[0], lines[1], lines[lines.len() - 1]].map(str::to_owned).into()
                };
                assert_eq!(kept(&shown), kept(&quiet), "{keys} at {width}x{height}");
                let begins = if is_error { format!(" ✗ Problem: {}", &said[..5]) } else { format!(" ▸ {said}") };
                assert!(shown.contains(&begins) && shown.contains(" Esc "), "{keys}\n{shown}");
            }
        }
    }
}

/// A short one covers the lower border of the panes, and nothing that they say.
#[test]
fn a_notice_of_one_line_covers_a_border_only() {
    let mut state = samples::compared();
    let quiet = text(&state, 120, 36);
    state.shared.inform("saved");
    let shown = text(&state, 120, 36);
    let changed: Vec<usize> =
        quiet.lines().zip(shown.lines()).enumerate().filter(|(_, (a, b))| a != b).map(|(row, _)| row).collect();
    assert_eq!(changed, [34], "{shown}");
    assert!(quiet.lines().nth(34).unwrap().contains("╯╰"), "{quiet}");
}

#[test]
fn a_run_that_is_starting_is_not_started_twice() {
    let mut state = samples::compared();
    let asked = |effects: &[Effect]| effects.iter().filter(|effect| matches!(effect, Effect::Start { .. })).count();
    assert_eq!(asked(&type_text(&mut state, "r")), 1);
    assert!(text(&state, 80, 24).contains("a run is starting"), "{}", text(&state, 80, 24));
    assert_eq!(asked(&type_text(&mut state, "r")), 0, "a second press would have made a second run");
    assert_eq!(notice(&state), Some("a run is starting already: wait until it appears"));
    type_text(&mut state, "x");
    assert_eq!(notice(&state), Some("the run is only just starting: x stops it as soon as it appears"));
    update(&mut state, Message::Started(RunId(6)));
    assert!(!text(&state, 80, 24).contains("a run is starting"));
    // What failed to start can be tried again.
    let mut state = samples::compared();
    type_text(&mut state, "r");
    update(&mut state, Message::Failed("no mpirun".into()));
    press(&mut state, KeyCode::Esc);
    assert_eq!(asked(&type_text(&mut state, "r")), 1);
}

#[test]
fn a_window_is_paged_by_what_it_shows() {
    let mut state = samples::never_used();
    for (columns, rows) in [(80, 24), (120, 40)] {
        update(&mut state, Message::Resize(columns, rows));
        type_text(&mut state, "?");
        press(&mut state, KeyCode::PageDown);
        // The last line of one page is the first of the next.
        let shown = usize::from(rows) - 5;
        assert_eq!(state.windows.scroll(), Some(shown - 1));
        press(&mut state, KeyCode::End);
        let scroll = state.windows.scroll();
        assert!(text(&state, columns, rows).contains("the shown runs to a file"), "the last line is not there");
        press(&mut state, KeyCode::Down);
        assert!(state.windows.has::<crate::tui::help::windows::Keys>() && state.windows.scroll() == scroll);
        press(&mut state, KeyCode::Home);
        assert!(state.windows.has::<crate::tui::help::windows::Keys>() && state.windows.scroll() == Some(0));
        press(&mut state, KeyCode::Esc);
    }
}

#[test]
fn two_columns_that_have_no_room_are_said_to_have_none() {
    let mut state = samples::never_used();
    update(&mut state, Message::Resize(80, 24));
    type_text(&mut state, "ds");
    assert_eq!(notice(&state), Some("side by side needs 112 columns, and this screen has 80"));
    update(&mut state, Message::Resize(112, 24));
    let beside = text(&state, 112, 24);
    type_text(&mut state, "s");
    assert!(state.shared.notice.is_none() && text(&state, 112, 24) != beside, "{beside}");
}

#[test]
fn settings_below_the_edge_are_announced() {
    let state = samples::never_used();
    assert!(text(&state, 80, 24).contains("5 more, ↑↓"), "{}", text(&state, 80, 24));
    assert!(!text(&state, 120, 40).contains("more, ↑↓"));
}

#[test]
fn the_focus_shows_without_colour_too() {
    let mut state = samples::compared();
    state.focus = Pane::Runs;
    assert!(!text(&state, 80, 24).contains('┏'), "colour says it");
    state.shared.theme.colour = false;
    let shown = text(&state, 80, 24);
    assert!(shown.contains("┏ Runs") && shown.matches('┏').count() == 1, "{shown}");
    state.shared.theme.ascii = true;
    assert!(text(&state, 80, 24).contains("+ Runs compared with run 1 * ="), "{}", text(&state, 80, 24));
}

#[test]
fn a_paste_is_typed_into_a_line_and_does_nothing_anywhere_else() {
    let paste = |state: &mut State, text: &str| update(state, Message::Paste(text.into()));
    let mut state = samples::compared();
    state.shared.size = (120, 40);
    let before = state.shared.spec.clone();
    assert_eq!(paste(&mut state, "r1xeq"), []);
    assert!(notice(&state).is_some_and(|said| said.contains("pasted text is ignored")), "{:?}", notice(&state));
    assert!(!state.done && state.shared.spec == before && state.windows.is_empty());
    // A question takes no answer from it.
    type_text(&mut state, "c");
    assert!(state.windows.get::<crate::tui::runs::confirm::Continue>().is_some());
    assert_eq!(paste(&mut state, "y"), []);
    assert!(state.windows.get::<crate::tui::runs::confirm::Continue>().is_some());
    press(&mut state, KeyCode::Esc);
    state.focus = Pane::Runs;
    type_text(&mut state, "R");
    assert_eq!(paste(&mut state, "baseline of q1"), []);
    assert!(text(&state, 120, 40).contains("baseline of q1"), "{}", text(&state, 120, 40));
    assert_eq!(notice(&state), None);
}

/// Its header and log are not on the screen: only a notice can say it.
#[test]
fn a_run_that_is_not_shown_and_fails_is_announced_once() {
    let going = |id| samples::summary(id, 2, samples::status(RunState::Running, "training"), None);
    let mut status = samples::status(RunState::Failed, "ended by signal 9 (SIGKILL)");
    status.failed_process = Some(1);
    let failed = samples::summary(3, 2, status, None);
    let mut state = samples::running();
    samples::say(&mut state, Message::Runs(vec![samples::finished(1, 1, 1023.0), going(2), going(3)]));
    assert_eq!(state.shared.notice, None);
    let runs = vec![samples::finished(1, 1, 1023.0), going(2), failed];
    samples::say(&mut state, Message::Runs(runs.clone()));
    let said = state.shared.notice.take().unwrap();
    assert_eq!(said.text, "run 3 failed: rank 1: ended by signal 9 (SIGKILL)");
    samples::say(&mut state, Message::Runs(runs));
    assert_eq!(state.shared.notice, None, "once is enough");
}
