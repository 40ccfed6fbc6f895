//! Reading what runs wrote: an event log line by line, and a store of a thousand runs.
//!
//! Never trains: one run of the stand-in trainer is copied as often as needed.

use std::fs;
use std::time::Instant;

use hvd_lab_terminal::domain::event::{Event, EventLine};
use hvd_lab_terminal::runs::{Follower, RunId, RunUpdate};

use super::figures::Round;
use crate::support::pty::{Home, Options};

const RUNS: u32 = 1_000;
const LINES: usize = 50_000;

pub fn measure() -> Round {
    let home = Home::new();
    let mut lab = Options::default().start(&home);
    lab.wait_for("press r to run");
    lab.press("r");
    lab.wait_for("✓ finished");
    lab.press("q");
    lab.exit();
    let store = home.store();
    let first = store.folder(RunId(1));
    for id in 2..=RUNS {
        let folder = store.folder(RunId(id));
        fs::create_dir_all(folder.path()).unwrap();
        for file in [first.record_file(), first.status_file(), first.events_file(), first.rank_log(0)] {
            let text = fs::read_to_string(&file).unwrap();
            fs::write(folder.path().join(file.file_name().unwrap()), text).unwrap();
        }
    }
    let timed_list = || {
        let began = Instant::now();
        assert_eq!(store.list().len(), RUNS as usize);
        began.elapsed().as_secs_f64()
    };
    let (cold, warm) = (timed_list(), timed_list());

    let step = |batch| EventLine { time_s: 1.7e9, process: 0, event: Event::Step { epoch: 0, batch, lr: 0.01, loss: 0.5 } };
    let lines: String = (0..LINES).map(|batch| format!("{}\n", serde_json::to_string(&step(batch)).unwrap())).collect();
    fs::write(first.events_file(), lines).unwrap();
    let (began, mut read) = (Instant::now(), 0);
    let mut follower = Follower::new(first);
    while read < LINES {
        let updates = follower.poll();
        let events = updates.iter().filter(|update| matches!(update, RunUpdate::Event(_))).count();
        assert!(events > 0, "{read} of {LINES} lines were read");
        read += events;
    }
    Round::from([
        ("store: first_list_s".into(), cold),
        ("store: list_s".into(), warm),
        ("store: events_s".into(), began.elapsed().as_secs_f64()),
    ])
}
