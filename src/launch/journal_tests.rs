//! Lines are put where they belong.

use super::*;
use crate::domain::event::marked;

const LOG_BYTES: u64 = 200;

fn journal() -> (tempfile::TempDir, Journal) {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(RunFolder::new(folder.path()), 2, "5ec2e7".into(), LOG_BYTES).unwrap();
    (folder, journal)
}

fn event(process: usize, json: &str) -> Line {
    rank(process, &marked("5ec2e7", json))
}

fn rank(process: usize, text: &str) -> Line {
    Line::Rank { process, text: text.into() }
}

#[test]
fn every_line_goes_where_it_belongs() {
    let (folder, mut journal) = journal();
    let stop = r#"{"time_s":1.0,"process":1,"event":"early_stop","epoch":3}"#;
    let newer = r#"{"time_s":1.0,"process":1,"event":"sneezed"}"#;
    assert_eq!(journal.take(event(1, stop)).unwrap(), Some(Event::EarlyStop { epoch: 3 }));
    assert_eq!(journal.take(event(1, newer)).unwrap(), None);
    let launched = r#"{"time_s":1.0,"process":1,"event":"launched","np":9}"#;
    assert_eq!(journal.take(event(1, launched)).unwrap(), None, "not a rank's to say");
    journal.take(rank(0, "Epoch 1/3")).unwrap();
    journal.take(event(1, "{broken")).unwrap();
    journal.take(rank(7, "unexpected")).unwrap();
    journal.take(Line::Launcher("words".into())).unwrap();
    journal.flush().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let events = read("events.jsonl");
    let (launched, events) = events.split_once('\n').unwrap();
    assert!(matches!(EventLine::parse_line(launched).unwrap().event, Event::Launched { np: 2 }));
    assert_eq!(events, format!("{stop}\n{newer}\n"));
    assert_eq!((read("rank-0.log").as_str(), read("rank-7.log").as_str()), ("Epoch 1/3\n", "unexpected\n"));
    assert_eq!((read("rank-1.log").as_str(), read("launcher.log").as_str()), ("@hvd 5ec2e7 {broken\n", "words\n"));
}

#[test]
fn a_line_without_the_secret_stays_in_the_log_and_is_said_once() {
    let (folder, mut journal) = journal();
    let imitation = r#"@hvd {"time_s":1.0,"process":0,"event":"early_stop","epoch":3}"#;
    for line in [imitation, imitation, "@hvd 123456 {}"] {
        assert_eq!(journal.take(rank(0, line)).unwrap(), None);
    }
    journal.flush().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("events.jsonl").lines().count(), 1, "the launch alone");
    assert_eq!(read("rank-0.log"), format!("{imitation}\n{imitation}\n@hvd 123456 {{}}\n"));
    assert_eq!(read("launcher.log").matches("look like events").count(), 1);
    assert_eq!(journal.evidence.imitating, BTreeSet::from([0]));
}

#[test]
fn a_log_is_bounded_and_says_so() {
    let (folder, mut journal) = journal();
    for line in 0..1000 {
        journal.take(rank(1, &format!("line {line}"))).unwrap();
    }
    journal.take(rank(0, "quiet")).unwrap();
    journal.flush().unwrap();
    let log = std::fs::read_to_string(folder.path().join("rank-1.log")).unwrap();
    assert!(log.len() < 400 && log.starts_with("line 0\n"), "{log}");
    assert!(log.ends_with("What it prints from here on is not kept\n"), "{log}");
    assert_eq!(journal.evidence.flooding, Some(1));
    assert!(journal.evidence.printed > 8_000, "what is not kept is counted all the same");
    assert_eq!(journal.evidence.tails[&1].back().map(String::as_str), Some("line 999"));
}

#[test]
fn last_lines_end_where_mpi_announces_its_abort() {
    let (_folder, mut journal) = journal();
    for line in 0..20 {
        journal.take(rank(0, &format!("line {line}"))).unwrap();
    }
    for line in ["----------", "MPI_ABORT was invoked on rank 0", "NOTE: ...", "----------"] {
        journal.take(rank(0, line)).unwrap();
    }
    let tail: Vec<_> = journal.evidence.tails[&0].iter().map(String::as_str).collect();
    assert_eq!((tail.len(), tail[0], tail[8]), (9, "line 11", "line 19"));
}
