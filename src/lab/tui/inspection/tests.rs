//! The window of the inspector: what it shows of a run, and which line it opens.

use crossterm::event::KeyCode;

use crate::domain::command::CommandSpec;
use crate::domain::event::Place;
use crate::domain::job::{Job, Resources, Workload};
use crate::domain::run::RunState;
use crate::inspect::{Finding, Inspected, Outcome, Topic};
use crate::runs::{RunId, RunSummary};
use crate::tui::actions::{Effect, TerminalOrder};
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text, window};

fn finding(topic: Topic, outcome: Outcome, seen: &str) -> Finding {
    Finding { topic, outcome, seen: seen.into(), place: None, cost: String::new(), remedy: String::new() }
}

/// Every topic once, as a program without a DistributedSampler shows them.
fn found() -> Vec<Finding> {
    let data = Finding {
        place: Some(Place { file: "/work/train.py".into(), line: 31 }),
        cost: "An epoch takes as long as on one rank, and teaches no more.".into(),
        remedy: "Give the DataLoader `sampler=DistributedSampler(dataset)`, and leave shuffle out.".into(),
        ..finding(Topic::Data, Outcome::Wrong, "Rank 1 sees the images of rank 0: the first four batches of both are equal.")
    };
    let rate = Finding {
        place: Some(Place { file: "/usr/lib/x\x1b[2J.py".into(), line: 7 }),
        ..finding(Topic::Rate, Outcome::Look, "The rate is that of one rank.")
    };
    let others = Topic::ALL.into_iter().filter(|topic| ![Topic::Data, Topic::Rate, Topic::Hang].contains(topic));
    let others = others.map(|topic| finding(topic, Outcome::Ok, "As it should be."));
    [data, rate, finding(Topic::Hang, Outcome::NotJudged, "The run is not over.")].into_iter().chain(others).collect()
}

/// Run 2 is an inspected program that is going, with these findings.
fn inspected(findings: Vec<Finding>) -> State {
    let mut state = samples::running();
    let going = samples::summary(2, 2, samples::status(RunState::Running, "training"), None);
    let command = CommandSpec { inspect: true, ..CommandSpec::sample("torchrun --nproc_per_node 2 train.py") };
    let mut record = going.record.clone().unwrap();
    record.request.spec = Job { resources: Resources::ranks(2), workload: Workload::Command(command) };
    update(&mut state, Message::Runs(vec![RunSummary { record: Some(record), ..going }]));
    let watched = state.shared.watched.as_mut().unwrap();
    watched.inspected = Some(Inspected { findings, is_empty: false, directory: "/work".into() });
    state
}

#[test]
fn what_is_wrong_stands_first_and_opens_at_its_line() {
    let mut state = inspected(found());
    update(&mut state, Message::Resize(80, 24));
    let shown = text(&state, 80, 24);
    assert!(shown.lines().nth(1).unwrap().contains("next: J wrong at train.py:31: Rank 1 sees"), "{shown}");
    type_text(&mut state, "J");
    insta::assert_snapshot!("inspection_80x24", window(&state, 80, 24));
    let opened = Effect::Terminal(TerminalOrder::OpenProgram { file: "/work/train.py".into(), line: 31 });
    assert_eq!(press(&mut state, KeyCode::Enter), [opened]);
    press(&mut state, KeyCode::Down);
    assert!(text(&state, 80, 24).contains("The rate is that of one rank") && !text(&state, 80, 24).contains('\x1b'));
    press(&mut state, KeyCode::Down);
    assert_eq!(press(&mut state, KeyCode::Enter), []);
    assert!(text(&state, 80, 24).contains("no line of the program is named here"), "{}", text(&state, 80, 24));
    update(&mut state, Message::Resize(120, 36));
    press(&mut state, KeyCode::End);
    insta::assert_snapshot!("inspection_120x36", window(&state, 120, 36));
    type_text(&mut state, "J");
    assert!(!text(&state, 120, 36).contains("What the inspector found"));
}

#[test]
fn more_findings_than_rows_scroll_with_the_cursor() {
    let many = (0..40).map(|number| finding(Topic::Data, Outcome::Ok, &format!("Finding {number}."))).collect();
    let mut state = inspected(many);
    update(&mut state, Message::Resize(60, 16));
    type_text(&mut state, "J");
    for key in [KeyCode::End, KeyCode::Up] {
        press(&mut state, key);
        let shown = window(&state, 60, 16);
        assert!(shown.contains('▶') && shown.contains("Finding 3"), "{shown}");
    }
}

#[test]
fn a_run_without_the_inspector_says_how_to_start_one() {
    let mut state = samples::running();
    update(&mut state, Message::Resize(120, 36));
    type_text(&mut state, "J");
    assert!(text(&state, 120, 36).contains("run 2 was started without the inspector"), "{}", text(&state, 120, 36));
    let mut state = inspected(Vec::new());
    update(&mut state, Message::Resize(80, 24));
    type_text(&mut state, "J");
    assert!(text(&state, 80, 24).contains("No rank has reported anything that can be judged yet"), "{}", text(&state, 80, 24));
    assert_eq!(state.shared.watched.as_ref().unwrap().id, RunId(2));
}

#[test]
fn without_an_editor_the_lines_around_are_shown() {
    let mut state = inspected(found());
    update(&mut state, Message::Resize(80, 24));
    type_text(&mut state, "J");
    let lines = (1..=60).map(|number| format!("\tline_{number}()\x1b[2J")).collect();
    update(&mut state, Message::Program { file: "/work/train.py".into(), line: 31, lines });
    let shown = text(&state, 80, 24);
    assert!(
        shown.contains("▶   31      line_31()") && shown.contains("   23      line_23()") && !shown.contains("line_22()"),
        "{shown}"
    );
    press(&mut state, KeyCode::Esc);
    assert!(text(&state, 80, 24).contains("What the inspector found"), "the findings are behind it");
}
