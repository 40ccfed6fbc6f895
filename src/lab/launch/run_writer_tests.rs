//! Lines are put where they belong.

use std::collections::BTreeSet;

use super::*;
use crate::domain::event::wire;

const LOG_BYTES: u64 = 200;

fn writer() -> (tempfile::TempDir, RunWriter) {
    let folder = tempfile::tempdir().unwrap();
    let writer = RunWriter::open(RunFolder::new(folder.path()), 2, "5ec2e7".into(), LOG_BYTES, Observations::default()).unwrap();
    (folder, writer)
}

fn event(process: usize, json: &str) -> Line {
    rank(process, &format!("@hvd 5ec2e7 {json}"))
}

/// As one comes on the socket.
fn told(process: usize, connection: u64, lost: u64, json: &str) -> Line {
    Line::Event { process, connection, lost, json: json.into() }
}

/// What stands in the events of a writer behind its launch.
fn events(folder: &tempfile::TempDir) -> Vec<EventLine> {
    let text = std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap();
    text.lines().skip(1).map(|line| EventLine::parse_line(line).unwrap()).collect()
}

fn rank(process: usize, text: &str) -> Line {
    Line::Rank { process, text: text.into() }
}

#[test]
fn every_line_goes_where_it_belongs() {
    let (folder, mut writer) = writer();
    let stop = r#"{"time_s":1.0,"process":1,"event":"early_stop","epoch":3}"#;
    let newer = r#"{"time_s":1.0,"process":1,"event":"sneezed"}"#;
    assert_eq!(writer.write(event(1, stop)).unwrap(), Some(Event::EarlyStop { epoch: 3 }));
    assert_eq!(writer.write(event(1, newer)).unwrap(), None);
    let launched = r#"{"time_s":1.0,"process":1,"event":"launched","np":9}"#;
    assert_eq!(writer.write(event(1, launched)).unwrap(), None, "not a rank's to say");
    writer.write(rank(0, "Epoch 1/3")).unwrap();
    writer.write(rank(7, "unexpected")).unwrap();
    writer.write(Line::Launcher("words".into())).unwrap();
    writer.flush().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let events = read("events.jsonl");
    let (launched, events) = events.split_once('\n').unwrap();
    assert!(matches!(EventLine::parse_line(launched).unwrap().event, Event::Launched { np: 2 }));
    assert_eq!(events, format!("{stop}\n{newer}\n"));
    assert_eq!((read("rank-0.log").as_str(), read("rank-7.log").as_str()), ("Epoch 1/3\n", "unexpected\n"));
    assert_eq!((read("rank-1.log").as_str(), read("launcher.log").as_str()), ("", "words\n"));
}

const STOP: &str = r#"{"time_s":1.0,"process":1,"event":"early_stop","epoch":3}"#;

#[test]
fn what_a_program_prints_around_an_event_stays_its_own() {
    let (folder, mut writer) = writer();
    // A progress bar without a line end, then the line end in front of an event; a line of its own, and an empty one.
    let [first, second] = [1, 2].map(|number| wire::printed("5ec2e7", number, STOP).trim().to_owned());
    for line in ["...", &first, "", &second, "", "words", "", ""] {
        writer.write(rank(1, line)).unwrap();
    }
    writer.write(rank(1, &format!("....{}", wire::printed("5ec2e7", 3, STOP).trim()))).unwrap();
    writer.flush().unwrap();
    let log = std::fs::read_to_string(folder.path().join("rank-1.log")).unwrap();
    assert_eq!(log, "...\n\nwords\n\n\n....\n");
    assert_eq!(events(&folder).len(), 3, "each event, and nothing is missing");
}

#[test]
fn events_that_are_missing_are_counted_and_told() {
    let (folder, mut writer) = writer();
    writer.write(told(1, 1, 0, STOP)).unwrap();
    writer.write(told(1, 1, 6, STOP)).unwrap();
    writer.write(Line::Lost { process: 1, events: 1 }).unwrap();
    // On another host: a number is left out, and another process wrote into the middle of a line.
    writer.write(rank(0, wire::printed("5ec2e7", 3, &STOP.replace("\"process\":1", "\"process\":0")).trim())).unwrap();
    writer.write(rank(0, "@hvd 5ec2e7 4 {\"time_s\":1.0,\"pro50%")).unwrap();
    writer.flush().unwrap();
    let lost = |process: usize| {
        let of = events(&folder).into_iter().filter(move |line| line.process == process);
        of.filter_map(|line| if let Event::Lost { events } = line.event { Some(events) } else { None }).collect::<Vec<_>>()
    };
    assert_eq!((lost(1), lost(0)), (vec![6, 1], vec![2, 1]));
    let log = std::fs::read_to_string(folder.path().join("launcher.log")).unwrap();
    assert!(log.contains("6 events are missing of what rank 1 told"), "{log}");
    assert_eq!(std::fs::read_to_string(folder.path().join("rank-0.log")).unwrap(), "", "no event reaches a log");
}

#[test]
fn nobody_speaks_in_the_place_of_another() {
    let of = |process: usize| STOP.replace("\"process\":1", &format!("\"process\":{process}"));
    let lines: [&[Line]; 5] = [
        // A second connection, one that prints beside its connection, and one that says it is another, by both ways.
        &[told(1, 1, 0, STOP), told(1, 2, 0, STOP)],
        &[told(1, 1, 0, STOP), event(1, STOP)],
        &[told(1, 1, 0, STOP), told(1, 1, 0, &of(0))],
        &[event(1, STOP), event(1, &of(0))],
        // The first of a process that was not launched.
        &[told(1, 1, 0, STOP), told(7, 2, 0, &of(7))],
    ];
    for lines in lines {
        let (folder, mut writer) = writer();
        // It does not hide behind lines that count for nothing.
        writer.write(rank(1, "@hvd {}")).unwrap();
        let taken: Vec<_> = lines.iter().map(|line| writer.write(line.clone()).unwrap().is_some()).collect();
        writer.flush().unwrap();
        assert_eq!(taken, [true, false], "{lines:?}");
        let said = std::fs::read_to_string(folder.path().join("launcher.log")).unwrap();
        assert_eq!(said.matches("cannot be trusted").count(), 1, "{said}");
        assert!(events(&folder).iter().any(|line| line.event == Event::Lost { events: 1 }), "{lines:?}");
    }
    // A program of the user's own may have helpers that log.
    let (_folder, mut writer) = writer();
    writer.observations.work = Work::Program;
    assert!(
        [told(1, 1, 0, STOP), told(1, 2, 0, STOP), told(9, 3, 0, &of(9))].map(|line| writer.write(line).unwrap().is_some())
            == [true; 3]
    );
}

#[test]
fn a_line_without_the_secret_stays_in_the_log_and_is_said_once() {
    let (folder, mut writer) = writer();
    let imitation = r#"@hvd {"time_s":1.0,"process":0,"event":"early_stop","epoch":3}"#;
    for line in [imitation, imitation, "@hvd 123456 {}"] {
        assert_eq!(writer.write(rank(0, line)).unwrap(), None);
    }
    writer.flush().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("events.jsonl").lines().count(), 1, "the launch alone");
    assert_eq!(read("rank-0.log"), format!("{imitation}\n{imitation}\n@hvd 123456 {{}}\n"));
    assert_eq!(read("launcher.log").matches("look like events").count(), 1);
    assert_eq!(writer.observations.imitating, BTreeSet::from([0]));
}

#[test]
fn a_log_is_bounded_and_says_so() {
    let (folder, mut writer) = writer();
    for line in 0..1000 {
        writer.write(rank(1, &format!("line {line}"))).unwrap();
    }
    writer.write(rank(0, "quiet")).unwrap();
    writer.flush().unwrap();
    let log = std::fs::read_to_string(folder.path().join("rank-1.log")).unwrap();
    assert!(log.len() < 400 && log.starts_with("line 0\n"), "{log}");
    assert!(log.ends_with("What it prints from here on is not kept\n"), "{log}");
    assert_eq!(writer.observations.flooding, Some(1));
    assert!(writer.observations.printed > 8_000, "what is not kept is counted all the same");
    assert_eq!(writer.observations.tails[&1].back().map(String::as_str), Some("line 999"));
}

#[test]
fn last_lines_end_where_mpi_announces_its_abort() {
    let (_folder, mut writer) = writer();
    for line in 0..20 {
        writer.write(rank(0, &format!("line {line}"))).unwrap();
    }
    for line in ["----------", "MPI_ABORT was invoked on rank 0", "NOTE: ...", "----------"] {
        writer.write(rank(0, line)).unwrap();
    }
    let tail: Vec<_> = writer.observations.tails[&0].iter().map(String::as_str).collect();
    assert_eq!((tail.len(), tail[0], tail[8]), (9, "line 11", "line 19"));
}
