//! The palette and the help's search: everything in the key table is found and run by its words.

use crossterm::event::KeyCode;

use crate::domain::run::RunState;
use crate::domain::step::Step;
use crate::tui::actions::{Command, Effect, Move, Pane};
use crate::tui::app::keymap;
use crate::tui::app::keymap::{Key, Scope};
use crate::tui::app::update::update;
use crate::tui::help::palette::{SYNONYMS, found};
use crate::tui::message::Message;
use crate::tui::shared::Mark;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text, window};

#[test]
fn every_command_of_the_panes_is_in_the_palette() {
    let all = found(keymap::entries(), "", &[]);
    let entry = |number: usize| (keymap::entries()[number].command, keymap::entries()[number].pane);
    let all: Vec<_> = all.into_iter().map(entry).collect();
    let moves = |command: Command| {
        let fingers = [Move::Up, Move::Down, Move::PageUp, Move::PageDown];
        matches!(command, Command::Move(by) | Command::Scroll(by) if fingers.contains(&by))
            || [Command::Back, Command::App("palette")].contains(&command)
    };
    let wanted =
        keymap::table().filter(|key| key.scope != Scope::Replay && !key.binding.help.is_empty() && !moves(key.binding.command));
    for Key { scope, binding } in wanted {
        let pane = if let Scope::Pane(pane) = scope { Some(*pane) } else { None };
        assert!(all.contains(&(binding.command, pane)), "{binding:?}");
    }
    assert_eq!(all.iter().filter(|(command, _)| matches!(command, Command::ToggleStep(_))).count(), 10);
}

#[test]
fn words_find_a_command_and_enter_runs_it() {
    let mut state = samples::never_used();
    assert_eq!(type_text(&mut state, ":start with"), []);
    assert!(text(&state, 80, 24).contains("start a run with these steps and settings"));
    assert!(matches!(press(&mut state, KeyCode::Enter)[..], [Effect::Start { .. }]));
    assert!(state.windows.is_empty());
}

#[test]
fn a_step_is_toggled_by_its_name() {
    let mut state = samples::never_used();
    type_text(&mut state, ":BROAD");
    press(&mut state, KeyCode::Enter);
    assert!(!state.shared.spec.workload.steps.contains(Step::Broadcast));
}

#[test]
fn a_command_of_a_pane_takes_the_focus_there() {
    let mut state = samples::never_used();
    state.focus = Pane::Runs;
    type_text(&mut state, ":serial program");
    press(&mut state, KeyCode::Enter);
    assert!(state.shared.spec.workload.steps.is_empty() && state.focus == Pane::Steps);
}

#[test]
fn the_palette_is_chosen_from_mended_and_left() {
    let mut state = samples::never_used();
    type_text(&mut state, ":");
    assert_eq!(type_text(&mut state, "qx1"), [], "keys are text here");
    assert!(text(&state, 80, 24).contains("No matching command"));
    press(&mut state, KeyCode::Enter);
    assert!(
        matches!(state.windows.get(), Some(crate::tui::help::windows::Palette { typed, .. }) if typed == "qx1"),
        "nothing found, nothing run"
    );
    for _ in 0..3 {
        press(&mut state, KeyCode::Backspace);
    }
    for _ in 0..500 {
        press(&mut state, KeyCode::Down);
    }
    let last = keymap::entries().len() - 1;
    assert!(matches!(state.windows.get(), Some(crate::tui::help::windows::Palette { chosen, .. }) if *chosen == last));
    assert!(
        text(&state, 80, 24).contains(&keymap::entries()[found(keymap::entries(), "", &[])[last]].text[..20]),
        "the chosen one is in view"
    );
    press(&mut state, KeyCode::Esc);
    assert_eq!((state.windows.is_empty(), state.done), (true, false));
}

#[test]
fn the_help_is_searched() {
    let mut state = samples::never_used();
    type_text(&mut state, "?/zoom");
    let shown = text(&state, 80, 24);
    assert!(shown.contains("/ zoom_") && shown.contains("zoom the pane") && !shown.contains("baseline"), "{shown}");
    press(&mut state, KeyCode::Enter);
    assert!(matches!(state.windows.get(), Some(crate::tui::help::windows::Keys { words, typing: false, .. }) if words == "zoom"));
    type_text(&mut state, "/x!x");
    assert!(text(&state, 80, 24).contains("no matching key"));
    press(&mut state, KeyCode::Esc);
    assert!(text(&state, 80, 24).contains("Train one model"));
    press(&mut state, KeyCode::Esc);
    assert!(state.windows.is_empty());
}

#[test]
fn other_words_find_it_too_and_what_was_used_last_comes_first() {
    let entries = keymap::entries();
    let first = |typed: &str| &entries[*found(entries, typed, &[]).first().unwrap_or_else(|| panic!("{typed}"))];
    for (typed, key) in [("export", "X"), ("rename", "R"), ("regex", "/"), ("speedup", "v"), ("kill", "x"), ("timestamps", "@")] {
        assert_eq!(first(typed).key, key, "{typed}: {:?}", first(typed));
    }
    assert!(found(entries, "espresso", &[]).is_empty());
    let place = entries.iter().position(|entry| entry.key == "T").unwrap();
    assert_eq!(found(entries, "", &[place])[0], place);
    for (of, _) in SYNONYMS {
        assert!(entries.iter().any(|entry| entry.text.contains(of)), "no command says {of:?} any more");
    }
}

/// The last word of each help is to be seen, on whatever line.
#[test]
fn nothing_in_the_help_is_cut_on_the_smallest_screen() {
    let mut state = samples::never_used();
    update(&mut state, Message::Resize(60, 16));
    type_text(&mut state, "?");
    let mut seen = String::new();
    for _ in 0..60 {
        seen.push_str(&window(&state, 60, 16));
        press(&mut state, KeyCode::PageDown);
    }
    let rows = state.help.sections.iter().flat_map(|section| &section.keys).map(|row| row.help);
    let helps = rows.chain(["A run goes on when the screen is closed."]);
    for help in helps {
        let last = help.split_whitespace().last().unwrap();
        assert!(seen.contains(last), "{help}:\n{seen}");
    }
}

#[test]
fn the_signs_of_the_screen_are_explained() {
    let mut state = samples::compared();
    type_text(&mut state, "?/baseline");
    let shown = text(&state, 80, 24);
    assert!(shown.contains("◆") && shown.contains("the baseline, which the other runs are compared with"), "{shown}");
    // Each sign that a run can have stands there.
    let mut all = samples::compared();
    type_text(&mut all, "?/signs");
    let shown = text(&all, 80, 24);
    for state in [RunState::Running, RunState::Finished, RunState::Failed, RunState::Stopped] {
        assert!(shown.contains(crate::tui::widgets::sign(state)), "{state:?}: {shown}");
    }
    for mark in [Mark::Done, Mark::Seen, Mark::Failed] {
        assert!(shown.contains(mark.sign()), "{mark:?}: {shown}");
    }
}
