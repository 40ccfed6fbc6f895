//! No size, key or message makes the screen fall.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::super::message::Message;
use super::super::mode::Mode;
use super::super::samples;
use super::super::state::{Pane, State};
use super::super::update::update;
use super::{picture, type_text};
use crate::runs::RunId;

fn states() -> Vec<State> {
    let mut states = vec![samples::fresh(), samples::never_used(), samples::running(), samples::compared(), samples::failed()];
    let mut gpus = samples::running();
    samples::say(&mut gpus, Message::Telemetry(samples::gpu_sample()));
    states.push(gpus);
    for keys in ["?", "i", "d", "q", "x", "r"] {
        let mut state = samples::running();
        type_text(&mut state, keys);
        states.push(state);
    }
    states
}

#[test]
fn every_size_draws() {
    let mut states = states();
    for (index, state) in states.iter_mut().enumerate() {
        state.focus = Pane::ALL[index % Pane::ALL.len()];
        if state.focus.shares_slot() {
            state.slot = state.focus;
        }
        state.notice = (index % 2 == 0).then(|| super::super::state::Notice { text: "word ".repeat(60), is_error: true });
    }
    let widths = (1..=20).chain((21..=200).step_by(13));
    for width in widths {
        for height in (1..=26).step_by(3).chain((27..=60).step_by(11)) {
            for state in &mut states {
                state.zoom = (width + height) % 5 == 0;
                picture(state, width, height);
            }
        }
    }
}

#[test]
fn ten_thousand_random_keys_and_messages_do_no_harm() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut pick = move |len: usize| (random.next_u32() as usize) % len;
    let mut state = samples::never_used();
    for turn in 0..10_000 {
        let message = message(&mut pick);
        update(&mut state, message);
        state.done = false;
        assert_eq!(state.spec.problem(), None, "a setting without meaning was taken over");
        if let Mode::Details { .. } | Mode::Continue { .. } = state.mode {
            assert!(state.watched.is_some());
        }
        if turn % 29 == 0 {
            let sizes = [(80, 24), (120, 40), (160, 50), (60, 10)];
            let (width, height) = sizes[pick(sizes.len())];
            picture(&state, width, height);
        }
    }
}

fn message(pick: &mut impl FnMut(usize) -> usize) -> Message {
    match pick(20) {
        0 => Message::Runs((1..=pick(6) as u32).map(|id| samples::finished(id, 1 + pick(4), 900.0)).collect()),
        1 => Message::Updates(RunId(1 + pick(6) as u32), samples::updates(1 + pick(4), pick(4), pick(90))),
        2 => Message::Telemetry(if pick(2) == 0 { samples::gpu_sample() } else { samples::cpu_sample(&[(0, 1)]) }),
        3 => Message::Started(RunId(1 + pick(6) as u32)),
        4 => Message::Failed("something went wrong".into()),
        5 => Message::Tick(pick(1_000_000) as f64),
        6 => Message::Curves(RunId(1 + pick(6) as u32), samples::curves(1).into()),
        _ => Message::Key(random_key(pick)),
    }
}

fn random_key(pick: &mut impl FnMut(usize) -> usize) -> KeyEvent {
    const CODES: [KeyCode; 16] = [
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::F(1),
        KeyCode::Char('é'),
    ];
    let code = match pick(2) {
        0 => CODES[pick(CODES.len())],
        _ => KeyCode::Char((b' ' + pick(95) as u8) as char),
    };
    let modifiers = [KeyModifiers::NONE, KeyModifiers::NONE, KeyModifiers::CONTROL, KeyModifiers::ALT];
    KeyEvent::new(code, modifiers[pick(modifiers.len())])
}
