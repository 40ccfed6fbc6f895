//! All about one run: what belongs to more than one launch.

use super::table::with;
use crate::domain::event::{CheckpointAction, CheckpointReport, Event, EventLine};
use crate::runs::{Attempt, RunId, RunUpdate};
use crate::tui::message::Message;
use crate::tui::testing::samples;
use crate::tui::tests::{text, type_text};

#[test]
fn each_launch_says_why_there_is_another_one() {
    let mut run = samples::finished(1, 2, 1000.0);
    let record = run.record.as_mut().unwrap();
    let first = record.attempts[0].clone();
    let because = Some("rank 1 was ended by signal 9 (reset 1 of 10)".to_owned());
    record.attempts.push(Attempt { because, np: Some(1), started_s: first.started_s + 65.0, ..first.clone() });
    record.attempts.push(Attempt { epochs: 9, started_s: first.started_s + 700.0, ..first });
    let mut state = with(vec![run]);
    let commit = |images| CheckpointReport {
        action: CheckpointAction::Committed,
        path: format!("logs/commit-0-{images}.safetensors"),
        epoch: 0,
        images,
        bytes: None,
        digest: None,
        note: None,
        stopped_seconds: Some(0.0006),
    };
    let told = [64, 128].map(|images| EventLine { time_s: samples::START, process: 0, event: Event::Checkpoint(commit(images)) });
    samples::say(&mut state, Message::Updates(RunId(1), told.map(RunUpdate::Event).to_vec()));
    type_text(&mut state, "i");
    let shown = text(&state, 120, 60);
    for expected in [
        "36.0 s, without what was lost and done again",
        "Command",
        "Launch 2",
        "1:05 after the first, with 1 rank",
        "rank 1 was ended by signal 9 (reset 1 of 10)",
        "Continued to 9 epochs",
        "2, for which rank 0 stopped 1.20 ms in all",
    ] {
        assert!(shown.contains(expected), "no `{expected}` in\n{shown}");
    }
}
