//! The menu of faults: what it asks for, in which rank, and what it says of those that were made.

use crossterm::event::KeyCode;

use crate::domain::fault::{FaultKind, FaultRecord, FaultRequest};
use crate::runs::RunId;
use crate::tui::actions::Effect;
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text, window};

#[test]
fn a_fault_is_chosen_with_its_rank_and_asked_for() {
    let mut state = samples::running();
    update(&mut state, Message::Resize(80, 24));
    type_text(&mut state, "F");
    insta::assert_snapshot!("faults_80x24", window(&state, 80, 24));
    let run = state.shared.watched.as_ref().unwrap().id;
    let request = |kind, process| [Effect::MakeFault(run, FaultRequest { kind, process, seconds: 10.0 })];
    let last = state.shared.summary(run).unwrap().record.as_ref().unwrap().np() - 1;
    assert_eq!(press(&mut state, KeyCode::Enter), request(FaultKind::Kill, last), "the last rank, if nobody chooses");
    press(&mut state, KeyCode::Down);
    for _ in 0..20 {
        press(&mut state, KeyCode::Left);
    }
    assert_eq!(press(&mut state, KeyCode::Enter), request(FaultKind::Freeze, 0));
    for _ in 0..20 {
        press(&mut state, KeyCode::Right);
    }
    assert_eq!(press(&mut state, KeyCode::Enter), request(FaultKind::Freeze, last));
    press(&mut state, KeyCode::Home);
    let down = FaultKind::ALL.iter().position(|kind| *kind == FaultKind::SlowNetwork).unwrap();
    (0..down).for_each(|_| _ = press(&mut state, KeyCode::Down));
    assert!(text(&state, 80, 24).contains("lets at most 2 Mbit/s through"), "{}", text(&state, 80, 24));
    assert_eq!(press(&mut state, KeyCode::Enter), request(FaultKind::SlowNetwork, last));
    press(&mut state, KeyCode::End);
    assert_eq!(press(&mut state, KeyCode::Enter), request(FaultKind::OwnEarlyStop, last));
    press(&mut state, KeyCode::Up);
    assert_eq!(press(&mut state, KeyCode::Enter), request(FaultKind::RootCollective, 0), "nobody else is the root");
    assert!(text(&state, 80, 24).contains("calls an allreduce that the others do not call"), "{}", text(&state, 80, 24));
    assert_eq!(update(&mut state, Message::Tick(5.0)), [Effect::ListRuns], "who was named comes from the list");
    press(&mut state, KeyCode::Esc);
    assert_ne!(update(&mut state, Message::Tick(6.0)), [Effect::ListRuns]);
}

#[test]
fn what_was_made_is_told_with_who_found_it() {
    let mut state = samples::running();
    update(&mut state, Message::Resize(80, 24));
    type_text(&mut state, "F");
    let run = state.shared.watched.as_ref().unwrap().id;
    let mut summary = state.shared.summary(run).unwrap().clone();
    let attempt = summary.record.as_mut().unwrap().attempts.last_mut().unwrap();
    press(&mut state, KeyCode::End);
    let fault = |kind, found: Option<&str>| FaultRecord {
        request: FaultRequest { kind, process: 1, seconds: 10.0 },
        began_s: 1e9,
        found_after_s: found.map(|_| 0.42),
        found_by: found.map(String::from),
    };
    attempt.faults = vec![fault(FaultKind::Freeze, Some("rank 1 is stopped by a signal")), fault(FaultKind::Slow, None)];
    update(&mut state, Message::Runs(vec![summary]));
    let shown = text(&state, 80, 24);
    assert!(shown.contains("freeze in rank 1: found after 0.4") && shown.contains("rank 1 is stopped by a signal"), "{shown}");
    assert!(shown.contains("slow in rank 1: nobody has named this rank yet"), "{shown}");
}

#[test]
fn without_a_run_that_is_going_there_is_nothing_to_break() {
    let mut state = samples::failed();
    update(&mut state, Message::Resize(80, 24));
    assert_eq!(type_text(&mut state, "F"), []);
    assert!(text(&state, 80, 24).contains("a fault is made in a run that is going"), "{}", text(&state, 80, 24));
    // It ended while the menu was open.
    let mut state = samples::running();
    update(&mut state, Message::Resize(80, 24));
    type_text(&mut state, "F");
    let run = state.shared.watched.as_ref().unwrap().id;
    update(&mut state, Message::Runs(vec![samples::finished(run.0, 2, 100.0)]));
    let effects = press(&mut state, KeyCode::Enter);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::MakeFault(..))), "{effects:?}");
    assert!(text(&state, 80, 24).contains(&format!("run {} is over", RunId(run.0))), "{}", text(&state, 80, 24));
}

/// Every fault, one after the other: what is said to happen is about this rank alone.
#[test]
fn a_run_on_one_rank_hears_nothing_of_other_ranks() {
    let mut state = samples::never_used();
    let going = samples::summary(1, 1, samples::status(crate::domain::run::RunState::Running, "training"), None);
    samples::say(&mut state, Message::Runs(vec![going]));
    type_text(&mut state, "F");
    for kind in FaultKind::ALL {
        let shown = window(&state, 100, 40);
        for words in ["others", "All ranks", "another rank"] {
            assert!(!shown.contains(words), "{kind}: {shown}");
        }
        assert!(shown.contains("Rank 0") || shown.contains("rank 0") || shown.contains("two ranks or more"), "{kind}: {shown}");
        press(&mut state, KeyCode::Down);
    }
}
