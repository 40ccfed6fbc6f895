//! A recording on the screen: always marked, moved by its own keys, and nothing begins or ends there.

use crossterm::event::KeyCode;
use ratatui::layout::Rect;

use crate::domain::run::RunState;
use crate::runs::recording::{Played, PlayerOrder, Position};
use crate::runs::{RunId, RunUpdate};
use crate::tui::actions::{Effect, LogOrder, Pane};
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::shared::Playing;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{cut_out, press, text, type_text};

fn position(played_s: f64) -> Position {
    Position { played_s, duration_s: 65.0, time_s: 1_700_000_000.0 + played_s, speed: 10.0, paused: false }
}

/// Run 2 is played, and was recorded on two cores.
pub fn replayed() -> State {
    let mut state = samples::running();
    state.shared.replay = Some(Playing { run: RunId(2), hardware: "2 CPU cores".into(), position: position(23.0) });
    state
}

#[test]
fn it_says_replay_at_every_size_and_in_every_window() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        for keys in ["", "z", "?", "i", "w"] {
            let mut state = replayed();
            update(&mut state, Message::Resize(width, height));
            type_text(&mut state, keys);
            let screen = text(&state, width, height);
            let lines: Vec<&str> = screen.lines().collect();
            assert!(lines[0].contains("REPLAY ") && lines[1].contains(" ▶ 0:23/1:05 10x on 2 CPU cores"), "{keys}: {screen}");
        }
    }
    let mut paused = replayed();
    paused.shared.replay.as_mut().unwrap().position.paused = true;
    assert!(text(&paused, 80, 24).contains(" ‖ 0:23/1:05 10x paused"));
    paused.shared.theme.ascii = true;
    assert!(text(&paused, 80, 24).contains(" = 0:23/1:05 10x paused") && text(&paused, 80, 24).is_ascii());
    assert!(text(&replayed(), 40, 10).contains("REPLAY"), "also where there is no room for more");
}

#[test]
fn the_players_keys_come_before_those_of_every_pane() {
    for pane in Pane::ALL {
        let mut state = replayed();
        state.focus = pane;
        let steps = state.shared.spec.workload.steps;
        let keys = [
            (KeyCode::Char(' '), PlayerOrder::Pause),
            (KeyCode::Char('<'), PlayerOrder::Seek(-5)),
            (KeyCode::Char('>'), PlayerOrder::Seek(5)),
            (KeyCode::Char('{'), PlayerOrder::ToStart),
            (KeyCode::Char('}'), PlayerOrder::ToEnd),
            (KeyCode::Char('+'), PlayerOrder::Faster),
            (KeyCode::Char('-'), PlayerOrder::Slower),
        ];
        for (code, order) in keys {
            assert_eq!(press(&mut state, code), [Effect::Player(order)], "{pane:?}");
        }
        assert_eq!(state.shared.spec.workload.steps, steps);
    }
    let mut state = replayed();
    let screen = text(&state, 120, 40);
    assert!(screen.contains("Space pause") && !screen.contains("r run") && !screen.contains("x stop"), "{screen}");
    // A field or a window has its own keys, as ever.
    type_text(&mut state, "?");
    assert_eq!(press(&mut state, KeyCode::Char('<')), []);
}

#[test]
fn nothing_starts_or_stops_and_quitting_asks_nothing() {
    let mut state = replayed();
    for key in ["r", "x", "c", "e", "E"] {
        assert_eq!(type_text(&mut state, key), []);
        assert!(state.windows.is_empty());
        assert!(state.shared.notice.take().unwrap().text.contains("this is a recording"));
    }
    // What a step changes can be read; one's own program is not there.
    type_text(&mut state, "d");
    assert_eq!(type_text(&mut state, "m"), []);
    assert!(state.shared.notice.take().unwrap().text.contains("your own trainer is not part of it"));
    press(&mut state, KeyCode::Esc);
    type_text(&mut state, "?");
    assert!(!text(&state, 80, 24).contains("press r to run"), "{}", text(&state, 80, 24));
    press(&mut state, KeyCode::Esc);
    type_text(&mut state, "q");
    assert!(state.done, "the run that is played is not running");
}

#[test]
fn going_back_forgets_what_had_not_happened_then() {
    let mut state = replayed();
    let mut updates = samples::updates(2, 3, 0);
    updates.push(RunUpdate::Status(samples::status(RunState::Finished, "finished")));
    let step = |rewound, updates, at| Message::Replay(position(at), Box::new(Played { rewound, updates }));
    update(&mut state, step(true, updates, 65.0));
    assert_eq!(state.shared.watched.as_ref().unwrap().state(), Some(RunState::Finished));
    let effects = update(&mut state, step(true, samples::updates(2, 0, 10), 10.0));
    let watched = state.shared.watched.as_ref().unwrap();
    assert_eq!((watched.state(), watched.phases().epochs().len()), (Some(RunState::Running), 1));
    // The log is asked for as it was then.
    let until = effects.iter().find_map(|effect| match effect {
        Effect::Log(_, LogOrder::Read(request)) => request.until_ms,
        _ => None,
    });
    assert_eq!(until, Some(1_700_000_010_000));
}

#[test]
fn recorded_telemetry_is_what_the_devices_show() {
    let mut state = replayed();
    let sample = RunUpdate::Telemetry(samples::gpu_sample());
    let played = Played { rewound: false, updates: vec![sample] };
    update(&mut state, Message::Replay(position(24.0), Box::new(played)));
    assert_eq!(state.devices.hosts().next(), Some(&samples::gpu_sample()));
}

#[test]
fn a_replay_looks_as_it_did() {
    insta::assert_snapshot!("replay_80x24", text(&replayed(), 80, 24));
    let header = Rect::new(0, 0, 120, 2);
    insta::assert_snapshot!("replay_header_120x40", cut_out(&replayed(), header, 120, 40));
}
