//! No size, key or message makes the screen fall.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::runs::RunId;
use crate::tui::actions::Pane;
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::runs::confirm::Continue;
use crate::tui::runs::details::Details;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{picture, type_text};

fn states() -> Vec<State> {
    let mut states = vec![samples::fresh(), samples::never_used(), samples::running(), samples::compared(), samples::failed()];
    let mut gpus = samples::running();
    samples::say(&mut gpus, Message::Telemetry(samples::gpu_sample()));
    states.push(gpus);
    for keys in ["?", "i", "d", "E", "q", "x", "r", ":", ":zz", "?/run", "P", "C", "Cr", "C>. "] {
        let mut state = samples::running();
        type_text(&mut state, keys);
        states.push(state);
    }
    let mut tour = samples::never_used();
    tour.help.start_tour();
    states.push(tour);
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
        state.shared.notice =
            (index % 2 == 0).then(|| crate::tui::widgets::notice::Notice { text: "word ".repeat(60), is_error: true });
    }
    // Where the layout changes, and at both ends, every state; everywhere else one of them.
    let (edges_wide, edges_high) =
        ([1, 2, 59, 60, 79, 80, 81, 109, 110, 149, 150, 200], [1, 2, 3, 15, 16, 23, 24, 25, 36, 37, 60]);
    for width in 1..=200_u16 {
        for height in 1..=60 {
            let (turn, count) = (usize::from(width) * 7 + usize::from(height) * 3, states.len());
            let all = edges_wide.contains(&width) && edges_high.contains(&height);
            for index in turn..turn + if all { count } else { 1 } {
                let state = &mut states[index % count];
                state.zoom = (width + height) % 5 == 0;
                picture(state, width, height);
            }
        }
    }
}

#[test]
fn a_hundred_thousand_random_events_do_no_harm() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut pick = move |len: usize| (random.next_u32() as usize) % len;
    let mut state = samples::never_used();
    for turn in 0..100_000 {
        let message = message(&mut pick);
        update(&mut state, message);
        state.done = false;
        assert_eq!(state.shared.spec.problem(), None, "a setting without meaning was taken over");
        let is_about_a_run = state.windows.get::<Details>().is_some() || state.windows.get::<Continue>().is_some();
        assert!(!is_about_a_run || state.shared.watched.is_some());
        if turn % 97 == 0 {
            let (width, height) = state.shared.size;
            picture(&state, width.max(1), height.max(1));
        }
    }
    // Whatever it came to, it is a screen that is left as ever.
    state.shared.notice = None;
    for _ in 0..4 {
        crate::tui::tests::press(&mut state, KeyCode::Esc);
    }
    assert!(crate::tui::tests::text(&state, 120, 40).contains("hvd-lab"));
    state.help.tour = None;
    type_text(&mut state, "?");
    assert!(state.windows.get::<crate::tui::help::windows::Keys>().is_some(), "{:?}", state.windows);
}

fn random_mouse(pick: &mut impl FnMut(usize) -> usize) -> MouseEvent {
    use MouseEventKind::{Down, Drag, ScrollDown, ScrollUp, Up};
    let left = MouseButton::Left;
    let kinds = [Down(left), Drag(left), Drag(left), Up(left), ScrollUp, ScrollDown, Down(MouseButton::Right)];
    let kind = kinds[pick(kinds.len())];
    MouseEvent { kind, column: pick(220) as u16, row: pick(70) as u16, modifiers: KeyModifiers::NONE }
}

fn message(pick: &mut impl FnMut(usize) -> usize) -> Message {
    match pick(30) {
        7 => Message::Resize(pick(210) as u16, pick(64) as u16),
        8..=13 => Message::Mouse(random_mouse(pick)),
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
    const CODES: [KeyCode; 18] = [
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
        KeyCode::F(2),
        KeyCode::F(5),
        KeyCode::Char('é'),
    ];
    let code = match pick(2) {
        0 => CODES[pick(CODES.len())],
        _ => KeyCode::Char((b' ' + pick(95) as u8) as char),
    };
    let modifiers = [KeyModifiers::NONE, KeyModifiers::NONE, KeyModifiers::CONTROL, KeyModifiers::ALT];
    KeyEvent::new(code, modifiers[pick(modifiers.len())])
}
