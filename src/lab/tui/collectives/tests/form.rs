//! A run of collectives is started from the screen as the verb starts it, and its rows come as they are measured.

use crossterm::event::KeyCode;

use super::samples::{events, execution, opened, rows, summary, told};
use crate::domain::collective::{Algorithm, CollectivesSpec, Method};
use crate::domain::job::{RunSpec, Workload};
use crate::domain::run::RunState;
use crate::runs::{RunId, RunUpdate};
use crate::tui::actions::Effect;
use crate::tui::app::update::update;
use crate::tui::collectives::form::{takes_s, usual};
use crate::tui::collectives::stage::Stage;
use crate::tui::collectives::state::Show;
use crate::tui::message::Message;
use crate::tui::runs::confirm::{Confirm, What};
use crate::tui::shared::Playing;
use crate::tui::shared::run_form::RunRow;
use crate::tui::state::State;
use crate::tui::state::form::Form;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text, window};

fn asked(size: (u16, u16)) -> State {
    let mut state = samples::never_used();
    update(&mut state, Message::Resize(size.0, size.1));
    type_text(&mut state, "C");
    press(&mut state, KeyCode::Enter);
    state
}

fn started(effects: &[Effect]) -> (RunSpec, CollectivesSpec) {
    let [Effect::StartOther(spec)] = effects else { panic!("{effects:?}") };
    let Workload::Collectives(collectives) = &spec.workload else { panic!("{spec:?}") };
    ((**spec).clone(), collectives.clone())
}

#[test]
fn the_form_looks_as_it_did() {
    for (width, height) in [(80, 24), (120, 40), (60, 16)] {
        let state = asked((width, height));
        if width != 120 {
            insta::assert_snapshot!(format!("form_{width}x{height}"), window(&state, width, height));
        }
        let mut ascii = state.clone();
        ascii.shared.theme.ascii = true;
        assert!(text(&ascii, width, height).is_ascii());
    }
}

#[test]
fn one_key_opens_it_and_one_starts_what_it_says() {
    let mut state = asked((80, 24));
    assert!(state.windows.get::<Form>().is_some());
    let (spec, collectives) = started(&press(&mut state, KeyCode::Enter));
    assert_eq!((spec.resources.np, spec.problem(), collectives.methods.len()), (2, None, 7));
    assert_eq!((collectives.min_bytes, collectives.max_bytes, collectives.log_bytes), (1 << 10, 1 << 24, Some(1 << 16)));
    assert!(state.windows.get::<Stage>().is_some() && state.collectives.show == Show::Time, "it waits for its rows");
    assert!(text(&state, 80, 24).contains("The run is starting"));
    // It is there, and the rows come.
    let effects = update(&mut state, Message::Started(RunId(4)));
    assert!(effects.contains(&Effect::Watch(RunId(4))) && effects.contains(&Effect::ReadCollectives(RunId(4))), "{effects:?}");
    assert!(state.windows.get::<Stage>().is_some() && state.collectives.run == Some(RunId(4)));
    let lines = events(&execution(Algorithm::Ring, 2, 64, 0.0), &rows()[..3]);
    update(&mut state, Message::Collectives(RunId(4), Box::new(told(2, &lines))));
    assert!(text(&state, 80, 24).contains("recursive-doubling"), "{}", text(&state, 80, 24));
    let mut going = summary(4, 2);
    going.status = samples::status(RunState::Running, "measuring");
    update(&mut state, Message::Runs(vec![going]));
    let status = |now: RunState, said: &str| vec![RunUpdate::Status(samples::status(now, said))];
    update(&mut state, Message::Updates(RunId(4), status(RunState::Running, "measuring")));
    let effects = update(&mut state, Message::Updates(RunId(4), status(RunState::Finished, "measured 3 rows")));
    assert!(!effects.contains(&Effect::Judge(RunId(4))), "it has no steps to judge: {effects:?}");
    assert!(state.shared.notice.unwrap().text.contains("run 4 finished: measured 3 rows"));
}

#[test]
fn every_setting_steps_both_ways_and_stays_one_that_can_run() {
    let before = usual(4);
    for row in RunRow::all(&before, 8) {
        let mut spec = before.clone();
        for up in [true, false] {
            for _ in 0..70 {
                row.step(&mut spec, up);
                let is_sensible = !matches!(row, RunRow::Of("min-bytes" | "max-bytes") | RunRow::Method(_));
                assert!(!is_sensible || spec.problem().is_none(), "{row:?}: {:?}", spec.problem());
            }
        }
        let mut turned = before.clone();
        row.step(&mut turned, true);
        assert_ne!(row.value(&turned), row.value(&before), "{row:?}");
    }
    // Methods stand in their order, however they were switched on.
    let mut spec = usual(2);
    Method::ALL.iter().for_each(|method| RunRow::Method(*method).step(&mut spec, true));
    RunRow::Method(Method::ALL[0]).step(&mut spec, true);
    assert_eq!(spec.collectives().unwrap().methods[0], "ring");
}

#[test]
fn what_cannot_run_is_said_and_not_started() {
    let mut state = asked((80, 24));
    // Down to the smallest buffer, and up beyond the largest.
    press(&mut state, KeyCode::Down);
    for _ in 0..30 {
        press(&mut state, KeyCode::Right);
    }
    assert!(text(&state, 80, 24).contains("Cannot start: the largest size"), "{}", text(&state, 80, 24));
    assert_eq!(press(&mut state, KeyCode::Enter), []);
    assert!(state.shared.notice.as_ref().unwrap().is_error && state.windows.get::<Form>().is_some());
    // More ranks than cores are allowed, and it says what that means.
    let mut state = asked((80, 24));
    for _ in 0..40 {
        press(&mut state, KeyCode::Right);
    }
    assert!(text(&state, 80, 24).contains("no predictions"), "{}", text(&state, 80, 24));
}

#[test]
fn nothing_starts_beside_a_run_or_in_a_recording() {
    let mut state = samples::running();
    update(&mut state, Message::Resize(80, 24));
    type_text(&mut state, "C");
    press(&mut state, KeyCode::Enter);
    assert_eq!(press(&mut state, KeyCode::Enter), []);
    assert!(state.shared.notice.as_ref().unwrap().text.contains("run 2 is still running"));
    let mut state = opened(4, (80, 24));
    let position = crate::runs::recording::Position { played_s: 1.0, duration_s: 2.0, time_s: 1.7e9, speed: 1.0, paused: false };
    state.shared.replay = Some(Playing { run: RunId(3), hardware: "4 CPU cores".into(), position });
    assert_eq!(press(&mut state, KeyCode::Enter), []);
    assert_eq!(type_text(&mut state, "x"), []);
    assert!(state.windows.get::<Stage>().is_some());
    assert!(!text(&state, 80, 24).contains("Enter measure"), "the footer names no key that does nothing");
    type_text(&mut state, "{.. ");
    assert!(state.collectives.player.is_playing, "a recorded run plays like any other");
}

#[test]
fn the_time_it_takes_is_what_was_measured_or_a_guess() {
    let state = opened(4, (80, 24));
    let measured = &state.collectives.measured;
    let spec = CollectivesSpec {
        methods: vec!["ring".into()],
        min_bytes: 1 << 22,
        max_bytes: 1 << 22,
        iterations: 1000,
        warmup: 0,
        ..CollectivesSpec::usual(4)
    };
    let (seconds, is_measured) = takes_s(&spec, 4, measured);
    // 1000 times 2.645 ms, and the start.
    assert!(is_measured && (seconds - 2.0 - 2.645).abs() < 0.01, "{seconds}");
    let (seconds, is_measured) = takes_s(&spec, 2, measured);
    assert!(!is_measured, "other ranks, other times");
    assert!(seconds.is_finite());
}

#[test]
fn x_stops_a_run_from_the_window_as_from_anywhere() {
    let mut state = opened(4, (80, 24));
    assert!(!text(&state, 80, 24).contains("x stop"), "nothing is running");
    assert_eq!(type_text(&mut state, "x"), []);
    assert!(state.windows.get::<Stage>().is_some() && state.shared.notice.clone().unwrap().text.contains("nothing to stop"));
    let mut going = summary(4, 2);
    going.status = samples::status(RunState::Running, "measuring");
    update(&mut state, Message::Runs(vec![summary(3, 4), going]));
    update(&mut state, Message::Started(RunId(4)));
    for keys in [&[] as &[KeyCode], &[KeyCode::Right], &[KeyCode::Enter]] {
        let mut state = state.clone();
        keys.iter().for_each(|key| _ = press(&mut state, *key));
        assert!(text(&state, 80, 24).contains("x stop"), "{}", text(&state, 80, 24));
        type_text(&mut state, "x");
        assert!(state.windows.get::<Confirm>().is_some_and(|asked| asked.what == What::Stop), "{:?}", state.windows);
        assert_eq!(type_text(&mut state, "y"), [Effect::Stop(RunId(4))]);
    }
}
