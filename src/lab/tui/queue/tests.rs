//! The window of the queue: what it asks for, and what it shows of a machine.

use crossterm::event::KeyCode;

use crate::launch::{DeviceRow, DeviceState, RunOf, SharedMachine, WaitingRow};
use crate::lease::{Devices, Estimate, Rules};
use crate::tui::actions::Effect;
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text, window};

const NOW_S: f64 = 1e9;

fn run(user: &str, run: &str, ends_s: Option<f64>) -> RunOf {
    RunOf { user: user.into(), run: run.into(), pid: 7, since_s: NOW_S - 30.0, ends_s }
}

fn machine() -> SharedMachine {
    let row =
        |index: usize, state| DeviceRow { name: format!("GPU {index} Stand-in GPU"), device: format!("GPU-{index}"), state };
    let waiting = |place, user: &str, count, start_s, is_skipped| WaitingRow {
        run: run(user, "run 3", None),
        count,
        estimate: Estimate { place, of: 2, start_s, is_skipped },
    };
    SharedMachine {
        rules: Rules { gpus_per_user: Some(2), time_limit: Some(1800.0), ..Rules::default() },
        devices: Devices::Gpus,
        rows: vec![
            row(0, DeviceState::Leased(run("ana", "run 12", Some(NOW_S + 500.0)))),
            row(1, DeviceState::Free),
            row(2, DeviceState::Busy("pid 4242 of tom".into())),
        ],
        waiting: vec![waiting(1, "ana", 2, Some(NOW_S + 500.0), true), waiting(2, "eva", 2, None, false)],
        now_s: NOW_S,
    }
}

#[test]
fn the_queue_is_read_while_it_is_open_and_shows_who_has_what() {
    let mut state = samples::running();
    update(&mut state, Message::Resize(80, 24));
    assert_eq!(type_text(&mut state, "Q"), [Effect::ReadQueue]);
    assert!(text(&state, 80, 24).contains("looking"));
    update(&mut state, Message::Queue(Some(Box::new(machine()))));
    insta::assert_snapshot!("queue_80x24", window(&state, 80, 24));
    assert!(update(&mut state, Message::Tick(5.0)).contains(&Effect::ReadQueue));
    press(&mut state, KeyCode::Esc);
    assert!(!update(&mut state, Message::Tick(6.0)).contains(&Effect::ReadQueue));
    // An answer that comes late opens nothing.
    update(&mut state, Message::Queue(Some(Box::new(machine()))));
    assert!(!text(&state, 80, 24).contains("first served"));
}

#[test]
fn a_machine_that_is_not_shared_says_so() {
    let mut state = samples::running();
    update(&mut state, Message::Resize(80, 24));
    type_text(&mut state, "Q");
    update(&mut state, Message::Queue(None));
    assert!(text(&state, 80, 24).contains("This machine is not shared"), "{}", text(&state, 80, 24));
}
