//! The line of keys at the foot of the screen: what it keeps where there is no room for all.

use crossterm::event::KeyCode;

use crate::tui::actions::Pane;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text};

/// What the last row of the screen says.
fn footer(state: &State, width: u16) -> String {
    let screen = text(state, width, 24);
    screen.lines().last().unwrap_or_default().trim_matches('"').to_owned()
}

/// However narrow it is: how to get help, start, stop and leave, and what the pane is for.
#[test]
fn the_footer_keeps_what_one_needs_most_of_every_pane() {
    let wanted: [(Pane, &[&str]); 6] = [
        (Pane::Steps, &["Space ", "Enter lesson", "g "]),
        (Pane::Settings, &["←→ change", "Enter type"]),
        (Pane::Devices, &["←→ field", "Enter ", "s sort", "/ "]),
        (Pane::Chart, &["←→ graph", "t ", "[ ] zoom", ", . "]),
        (Pane::Log, &["←→ ", "End ", "/ ", "f "]),
        (Pane::Runs, &["p pin", "/ ", "s sort", "v ", "D "]),
    ];
    for (pane, keys) in wanted {
        let mut state = samples::running();
        (state.focus, state.slot) = (pane, if pane.shares_slot() { pane } else { state.slot });
        for width in [80, 100, 120, 200] {
            // A preset is chosen, not typed.
            press(&mut state, KeyCode::Down);
            let shown = footer(&state, width);
            for key in ["r run", "x stop", "Tab pane", "? help", "q quit"].iter().chain(keys) {
                assert!(shown.contains(&format!(" {key}")), "`{key}` of {pane:?} at {width}: {shown}");
            }
        }
        assert!(footer(&state, 200).len() > footer(&state, 80).trim_end().len() + 20);
    }
    let mut over = samples::compared();
    over.focus = Pane::Runs;
    let shown = footer(&over, 80);
    assert!(!shown.contains("x stop") && shown.contains("v compare"), "nothing to stop, so the words are whole: {shown}");
    type_text(&mut over, "w");
    assert!(footer(&over, 80).contains("Esc close") || over.windows.is_empty(), "{}", footer(&over, 80));
}
