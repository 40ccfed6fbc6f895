//! Every pane in its main states, at the smallest size and a usual one, against committed pictures.

use ratatui::layout::Rect;
use ratatui::style::Modifier;

use crate::tui::actions::Pane;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{cut_out, pane, picture, text, type_text, window};

pub const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// The whole screen; the panes have pictures of their own elsewhere.
fn look(name: &str, state: &State, sizes: &[(u16, u16)]) {
    for (width, height) in sizes {
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), text(state, *width, *height));
    }
}

/// Some panes of a screen, and its header.
fn parts(name: &str, state: &State, panes: &[Pane]) {
    let header = cut_out(state, Rect::new(0, 0, 80, 2), 80, 24);
    let in_front = |shown: Pane| State { slot: if shown.shares_slot() { shown } else { state.slot }, ..state.clone() };
    let panes = panes.iter().map(|shown| pane(&in_front(*shown), *shown, 80, 24));
    let all: Vec<String> = std::iter::once(header).chain(panes).collect();
    insta::assert_snapshot!(format!("{name}_80x24"), all.join("\n"));
}

#[test]
fn first_frame() {
    look("first_frame", &samples::fresh(), &SIZES[..1]);
}

#[test]
fn never_used() {
    look("never_used", &samples::never_used(), &SIZES[..1]);
}

#[test]
fn running() {
    look("running", &samples::running(), &[SIZES[0], SIZES[2]]);
}

#[test]
fn compared() {
    let mut state = samples::compared();
    state.focus = Pane::Runs;
    parts("compared", &state, &[Pane::Runs]);
}

#[test]
fn failed() {
    look("failed", &samples::failed(), &SIZES[1..2]);
    parts("failed_parts", &samples::failed(), &[Pane::Log, Pane::Runs]);
}

#[test]
fn gpus() {
    let mut state = samples::running();
    samples::say(&mut state, crate::tui::message::Message::Telemetry(samples::gpu_sample()));
    state.focus = Pane::Devices;
    state.slot = Pane::Devices;
    look("gpus", &state, &SIZES[2..]);
    parts("gpus_parts", &state, &[Pane::Devices]);
}

#[test]
fn chart() {
    let mut state = samples::running();
    (state.focus, state.slot) = (Pane::Chart, Pane::Chart);
    parts("chart", &state, &[Pane::Chart]);
}

#[test]
fn cpu_devices() {
    let mut state = samples::running();
    (state.focus, state.slot) = (Pane::Devices, Pane::Devices);
    parts("cpu_devices", &state, &[Pane::Devices]);
}

#[test]
fn windows() {
    for (name, keys) in [("help", "?"), ("details", "i"), ("quit", "q"), ("stop", "x")] {
        let mut state = samples::running();
        type_text(&mut state, keys);
        insta::assert_snapshot!(format!("{name}_80x24"), window(&state, 80, 24));
    }
}

#[test]
fn steps_without_the_first() {
    let mut state = samples::never_used();
    type_text(&mut state, "144");
    parts("step_1_off", &state, &[Pane::Steps, Pane::Settings]);
}

#[test]
fn ascii_has_nothing_else() {
    for mut state in [samples::running(), samples::compared(), samples::failed()] {
        state.shared.theme.ascii = true;
        for (width, height) in SIZES {
            let screen = text(&state, width, height);
            assert!(screen.is_ascii(), "{:?}", screen.chars().find(|c| !c.is_ascii()));
            assert!(!screen.contains('?') || screen.matches('?').count() == 1, "an unknown sign became `?`:\n{screen}");
        }
    }
}

#[test]
fn the_cursor_shows_without_colour() {
    let mut state = samples::never_used();
    state.shared.theme.colour = false;
    let terminal = picture(&state, 80, 24);
    let reversed = terminal.backend().buffer().content.iter().filter(|cell| cell.modifier.contains(Modifier::REVERSED));
    assert!(reversed.count() > 20);
}
