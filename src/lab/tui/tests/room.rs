//! What a terminal with little room shows: the devices and what was gained, or one line that says how much is needed.

use crossterm::event::KeyCode;
use ratatui::layout::Rect;

use crate::tui::actions::Pane;
use crate::tui::app::places::{current, in_area};
use crate::tui::app::update::update;
use crate::tui::devices::tests::gpus;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{picture, press, text};

const SMALLEST: (u16, u16) = (60, 16);

fn sized(mut state: State, (columns, rows): (u16, u16)) -> State {
    update(&mut state, Message::Resize(columns, rows));
    state
}

fn shown(state: &State) -> Vec<Pane> {
    current(state).unwrap().panes.iter().map(|(pane, _)| *pane).collect()
}

#[test]
fn the_smallest_screen_shows_the_devices_and_what_was_gained() {
    let mut eight = samples::compared();
    samples::say(&mut eight, Message::Telemetry(gpus(8)));
    for (name, state) in [("running", samples::running()), ("compared", samples::compared()), ("eight_gpus", eight)] {
        for size in [SMALLEST, (200, 16)] {
            let mut state = sized(state.clone(), size);
            assert_eq!(shown(&state), [Pane::Devices, Pane::Chart], "{name}");
            assert!(shown(&state).contains(&state.focus), "the keys go to a pane that is on the screen");
            let chart = text(&state, size.0, size.1);
            type_runs(&mut state);
            assert_eq!((shown(&state)[1], state.focus), (Pane::Runs, Pane::Runs));
            insta::assert_snapshot!(
                format!("room_{name}_{}x{}", size.0, size.1),
                [chart, text(&state, size.0, size.1)].join("\n")
            );
        }
    }
}

/// Tab, until the runs have the keyboard.
fn type_runs(state: &mut State) {
    while state.focus != Pane::Runs {
        press(state, KeyCode::Tab);
    }
}

#[test]
fn tab_brings_each_pane_to_the_screen_in_turn() {
    for size in [SMALLEST, (79, 50), (119, 20), (200, 16), (80, 24), (100, 30), (120, 40)] {
        let mut state = sized(samples::running(), size);
        let mut seen = Vec::new();
        for _ in Pane::ALL {
            press(&mut state, KeyCode::Tab);
            let shown = shown(&state);
            assert!(shown.contains(&state.focus) && shown.contains(&Pane::Devices), "{:?} at {size:?}: {shown:?}", state.focus);
            seen.push(state.focus);
            if size.1 < 36 {
                let screen = text(&state, size.0, size.1);
                assert!(screen.contains(&format!(" {} ", state.focus.title())), "{screen}");
            }
        }
        assert!(Pane::ALL.iter().all(|pane| seen.contains(pane)), "{seen:?}");
    }
}

#[test]
fn the_pane_with_the_keyboard_is_on_the_screen_after_every_change_of_size() {
    for pane in Pane::ALL {
        let mut state = sized(samples::running(), (200, 60));
        while state.focus != pane {
            press(&mut state, KeyCode::Tab);
        }
        for size in [SMALLEST, (120, 40), (80, 24), (200, 16), (200, 60)] {
            state = sized(state, size);
            assert!(shown(&state).contains(&state.focus), "{:?} at {size:?}", state.focus);
        }
    }
}

#[test]
fn a_terminal_that_is_too_small_is_told_so_in_one_line_and_nothing_else() {
    let state = samples::running();
    let lines = |width, height| -> Vec<String> {
        let screen = text(&state, width, height);
        let lines = screen.lines().map(|line| line.trim_matches('"').trim().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    };
    assert_eq!(lines(59, 16), ["the lab needs 60x16, this terminal has 59x16; q quits"]);
    assert_eq!(lines(200, 15), ["the lab needs 60x16, this terminal has 200x15; q quits"]);
    assert_eq!(lines(30, 10).join(" "), "the lab needs 60x16, this terminal has 30x10; q quits", "wrapped, not cut");
    assert!(lines(60, 16).len() > 10);
    for (width, height) in [(1, 1), (2, 40), (59, 1)] {
        picture(&state, width, height);
    }
}

#[test]
fn no_key_changes_what_a_terminal_that_is_too_small_does_not_show() {
    let mut state = sized(samples::running(), (59, 16));
    let before = (state.shared.spec.clone(), state.focus);
    for key in "r+4xO".chars() {
        let effects = press(&mut state, KeyCode::Char(key));
        assert!(effects.is_empty() && state.windows.is_empty() && !state.done, "{key}: {effects:?}");
    }
    update(&mut state, Message::Paste("4".into()));
    assert_eq!((state.shared.spec.clone(), state.focus), before);
    let mut larger = sized(state.clone(), SMALLEST);
    press(&mut larger, KeyCode::Char('+'));
    assert_ne!(larger.shared.spec, before.0, "the same key where it is seen");
    press(&mut state, KeyCode::Char('q'));
    assert!(state.done, "nothing is asked that nobody sees");
}

/// A log that has nothing to show leaves its room to devices and chart, and gets it when there is something.
#[test]
fn the_log_gets_room_when_something_is_printed() {
    let height = |state: &State, (width, height): (u16, u16)| {
        let places = in_area(state, Rect::new(0, 0, width, height)).unwrap();
        places.panes.iter().find(|(pane, _)| *pane == Pane::Log).unwrap().1.height
    };
    for size in [(120, 40), (200, 60)] {
        let (empty, mut printed) = (samples::never_used(), samples::running());
        assert!(height(&empty, size) <= 5, "{}", text(&empty, size.0, size.1));
        samples::print_many(&mut printed, 200);
        assert!(height(&printed, size) >= 8 && height(&printed, size) <= size.1 / 2, "{}", height(&printed, size));
        assert!(text(&sized(printed, size), size.0, size.1).contains("line 199"));
    }
}
