//! Themes: each is on the screen, keeps to the terminal's own background and text, and tells without colour as well.

use std::collections::BTreeSet;

use crossterm::event::KeyCode;
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{picture, press};
use crate::tui::widgets::{Background, Look, RUN_COLOURS};

fn cells(state: &State) -> Vec<Cell> {
    picture(state, 120, 40).backend().buffer().content.clone()
}

fn foregrounds(state: &State) -> BTreeSet<String> {
    cells(state).iter().map(|cell| cell.fg.to_string()).collect()
}

/// A failed run has something that is well, something to look at, and much that is neither.
fn themed(look: Look, background: Background) -> State {
    let mut state = samples::failed();
    (state.shared.theme.look, state.shared.theme.background) = (look, background);
    state
}

#[test]
fn each_theme_changes_what_is_on_the_screen() {
    let expected = [
        (Look::Auto, Background::Unknown, vec!["63", "131"]),
        (Look::Auto, Background::Dark, vec!["75", "215"]),
        (Look::Auto, Background::Light, vec!["25", "130"]),
        (Look::Dark, Background::Light, vec!["75", "215"]),
        (Look::Light, Background::Dark, vec!["25", "130"]),
        (Look::HighContrast, Background::Dark, vec!["51", "226"]),
        (Look::HighContrast, Background::Light, vec!["18", "88"]),
        (Look::HighContrast, Background::Unknown, vec![]),
        (Look::ColourBlind, Background::Dark, vec!["74", "208"]),
        (Look::ColourBlind, Background::Unknown, vec!["63", "131"]),
        (Look::Mono, Background::Dark, vec![]),
    ];
    for (look, background, colours) in expected {
        let state = themed(look, background);
        let mut wanted: BTreeSet<String> = colours.into_iter().chain(["Reset"]).map(String::from).collect();
        assert!(foregrounds(&state).is_superset(&wanted), "{look:?} on {background:?}");
        // The curves of runs have colours of their own.
        wanted.extend((0..RUN_COLOURS).map(|slot| look.colours(background).run(slot).to_string()));
        assert!(foregrounds(&state).is_subset(&wanted), "{look:?} on {background:?}: {:?}", foregrounds(&state));
        assert!(cells(&state).iter().all(|cell| cell.bg == Color::Reset), "{look:?}: the background is the terminal's");
    }
}

#[test]
fn high_contrast_dims_nothing_and_mono_marks_a_warning_by_weight() {
    let count = |look, modifier: Modifier| {
        cells(&themed(look, Background::Dark)).iter().filter(|cell| cell.modifier.contains(modifier)).count()
    };
    assert!(count(Look::Auto, Modifier::DIM) > 0 && count(Look::HighContrast, Modifier::DIM) == 0);
    assert!(count(Look::Mono, Modifier::UNDERLINED) > count(Look::Dark, Modifier::UNDERLINED) + 10);
}

#[test]
fn the_terminals_background_counts_and_a_key_takes_the_next_theme() {
    let mut state = samples::failed();
    update(&mut state, Message::Background(Background::Light));
    assert!(foregrounds(&state).contains("25"));
    press(&mut state, KeyCode::Char('T'));
    assert!(foregrounds(&state).contains("75"));
    assert!(state.shared.notice.clone().unwrap().text.contains("theme dark"));
}

#[test]
fn each_press_changes_what_is_seen() {
    for background in [Background::Dark, Background::Light, Background::Unknown] {
        let mut state = samples::failed();
        update(&mut state, Message::Background(background));
        for _ in 0..8 {
            let look = state.shared.theme.look;
            let before = look.colours(background);
            press(&mut state, KeyCode::Char('T'));
            assert_ne!(state.shared.theme.look.colours(background), before, "after {look:?} on {background:?}");
        }
    }
}

#[test]
fn no_color_has_none_in_any_theme() {
    let mut state = samples::failed();
    state.shared.theme.colour = false;
    for _ in 0..6 {
        press(&mut state, KeyCode::Char('T'));
        assert_eq!(foregrounds(&state), BTreeSet::from(["Reset".into()]), "{:?}", state.shared.theme.look);
    }
    assert!(state.shared.notice.unwrap().text.contains("NO_COLOR"));
}
