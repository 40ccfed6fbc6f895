//! The palette and the help's search: everything in the key table is found and run by its words.

use crossterm::event::KeyCode;

use super::super::effect::Effect;
use super::super::keymap::{self, Command, Scope};
use super::super::mode::Mode;
use super::super::palette::found;
use super::super::samples;
use super::super::state::Pane;
use super::{press, text, type_text};
use crate::domain::step::Step;

#[test]
fn every_command_of_the_panes_is_in_the_palette() {
    let all = found("");
    let moves = [Command::Up, Command::Down, Command::PageUp, Command::PageDown, Command::Back, Command::Palette];
    let wanted = keymap::table().filter(|binding| {
        !matches!(binding.scope, Scope::Window(_)) && !binding.help.is_empty() && !moves.contains(&binding.command)
    });
    for binding in wanted {
        assert!(all.iter().any(|entry| entry.command == binding.command && entry.scope == binding.scope), "{binding:?}");
    }
    assert_eq!(all.iter().filter(|entry| matches!(entry.command, Command::ToggleStep(_))).count(), 10);
}

#[test]
fn words_find_a_command_and_enter_runs_it() {
    let mut state = samples::never_used();
    assert_eq!(type_text(&mut state, ":run with"), []);
    assert!(text(&state, 80, 24).contains("start a run with these steps and settings"));
    assert!(matches!(press(&mut state, KeyCode::Enter)[..], [Effect::Start { .. }]));
    assert_eq!(state.mode, Mode::Normal);
}

#[test]
fn a_step_is_toggled_by_its_name() {
    let mut state = samples::never_used();
    type_text(&mut state, ":BROAD");
    press(&mut state, KeyCode::Enter);
    assert!(!state.spec.steps.contains(Step::Broadcast));
}

#[test]
fn a_command_of_a_pane_takes_the_focus_there() {
    let mut state = samples::never_used();
    state.focus = Pane::Runs;
    type_text(&mut state, ":serial");
    press(&mut state, KeyCode::Enter);
    assert!(state.spec.steps.is_empty() && state.focus == Pane::Steps);
}

#[test]
fn the_palette_is_chosen_from_mended_and_left() {
    let mut state = samples::never_used();
    type_text(&mut state, ":");
    assert_eq!(type_text(&mut state, "qx1"), [], "keys are text here");
    assert!(text(&state, 80, 24).contains("no command has these words"));
    press(&mut state, KeyCode::Enter);
    assert!(matches!(&state.mode, Mode::Palette { typed, .. } if typed == "qx1"), "nothing found, nothing run");
    for _ in 0..3 {
        press(&mut state, KeyCode::Backspace);
    }
    for _ in 0..500 {
        press(&mut state, KeyCode::Down);
    }
    let last = found("").len() - 1;
    assert!(matches!(state.mode, Mode::Palette { chosen, .. } if chosen == last));
    assert!(text(&state, 80, 24).contains(&found("")[last].text[..20]), "the chosen one is in view");
    press(&mut state, KeyCode::Esc);
    assert_eq!((&state.mode, state.done), (&Mode::Normal, false));
}

#[test]
fn the_help_is_searched() {
    let mut state = samples::never_used();
    type_text(&mut state, "?/zoom");
    let shown = text(&state, 80, 24);
    assert!(shown.contains("/ zoom_") && shown.contains("the pane alone") && !shown.contains("baseline"), "{shown}");
    press(&mut state, KeyCode::Enter);
    assert!(matches!(&state.mode, Mode::Help { words, typing: false, .. } if words == "zoom"));
    type_text(&mut state, "/x!x");
    assert!(text(&state, 80, 24).contains("no key has these words"));
    press(&mut state, KeyCode::Esc);
    assert!(text(&state, 80, 24).contains("Train one model"));
    press(&mut state, KeyCode::Esc);
    assert_eq!(state.mode, Mode::Normal);
}
