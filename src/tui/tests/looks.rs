//! Every pane in its main states, at the smallest size and a usual one, against committed pictures.

use ratatui::style::Modifier;

use super::super::samples;
use super::super::state::{Pane, State};
use super::{picture, text, type_text};

pub(super) const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn look(name: &str, state: &State) {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), text(state, width, height));
    }
}

#[test]
fn first_frame() {
    look("first_frame", &samples::fresh());
}

#[test]
fn never_used() {
    look("never_used", &samples::never_used());
}

#[test]
fn running() {
    look("running", &samples::running());
}

#[test]
fn compared() {
    let mut state = samples::compared();
    state.focus = Pane::Runs;
    look("compared", &state);
}

#[test]
fn failed() {
    look("failed", &samples::failed());
}

#[test]
fn gpus() {
    let mut state = samples::running();
    samples::say(&mut state, super::Message::Telemetry(samples::gpu_sample()));
    state.focus = Pane::Devices;
    state.slot = Pane::Devices;
    look("gpus", &state);
}

#[test]
fn chart() {
    let mut state = samples::running();
    (state.focus, state.slot) = (Pane::Chart, Pane::Chart);
    look("chart", &state);
}

#[test]
fn cpu_devices() {
    let mut state = samples::running();
    (state.focus, state.slot) = (Pane::Devices, Pane::Devices);
    look("cpu_devices", &state);
}

#[test]
fn windows() {
    for (name, keys) in [("help", "?"), ("details", "i"), ("quit", "q"), ("stop", "x")] {
        let mut state = samples::running();
        type_text(&mut state, keys);
        insta::assert_snapshot!(format!("{name}_80x24"), text(&state, 80, 24));
    }
}

#[test]
fn steps_without_the_first() {
    let mut state = samples::never_used();
    type_text(&mut state, "144");
    look("step_1_off", &state);
}

#[test]
fn ascii_has_nothing_else() {
    for mut state in [samples::running(), samples::compared(), samples::failed()] {
        state.theme.ascii = true;
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
    state.theme.colour = false;
    let terminal = picture(&state, 80, 24);
    let reversed = terminal.backend().buffer().content.iter().filter(|cell| cell.modifier.contains(Modifier::REVERSED));
    assert!(reversed.count() > 20);
}
