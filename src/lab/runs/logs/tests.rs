//! Logs on disk, read as the screen reads them. Never a screen.

use std::fs::{self, OpenOptions};
use std::io::Write;

use super::*;
use crate::domain::run::{RunState, RunStatus};
use crate::runs::RunFolder;

/// A run folder whose logs are written as the supervisor writes them.
struct Logs {
    _home: tempfile::TempDir,
    folder: RunFolder,
}

impl Logs {
    fn new() -> Logs {
        let home = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(home.path());
        Logs { _home: home, folder }
    }

    /// A line of a process, with the time of its arrival unless it is 0.
    fn print(&self, process: usize, time_ms: u64, text: &str) {
        let append = |path| OpenOptions::new().create(true).append(true).open(path).unwrap();
        let path = self.folder.rank_log(process);
        append(path.clone()).write_all(format!("{text}\n").as_bytes()).unwrap();
        if time_ms > 0 {
            let end = fs::metadata(&path).unwrap().len();
            let arrival = Arrival { time_ms, source: LogSource::Process(process), end };
            append(self.folder.arrivals_file()).write_all(format!("{arrival}\n").as_bytes()).unwrap();
        }
    }

    fn end(&self) {
        self.folder.write_status(&RunStatus::new(RunState::Finished, "finished", 1.0)).unwrap();
    }

    fn reader(&self) -> LogReader {
        LogReader::new(self.folder.clone())
    }
}

fn request(query: LogQuery) -> LogRequest {
    LogRequest { number: 1, query, place: Place::End, jump: None, rows: 5, until_ms: None }
}

fn ask(reader: &mut LogReader, request: LogRequest) -> LogPage {
    reader.ask(request);
    while reader.work() {}
    reader.answer().unwrap()
}

fn texts(page: &LogPage) -> Vec<&str> {
    page.lines.iter().map(|line| line.text.as_str()).collect()
}

fn filter(text: &str, inverse: bool) -> LogQuery {
    LogQuery { filter: Some(LogFilter { pattern: Pattern::new(text), inverse }), ..LogQuery::default() }
}

#[test]
fn lines_of_all_ranks_come_in_the_order_in_which_they_were_printed() {
    let logs = Logs::new();
    for (process, time_ms, text) in [(1, 1000, "b0"), (0, 1100, "a0"), (0, 1200, "a1"), (1, 1300, "b1")] {
        logs.print(process, time_ms, text);
    }
    let mut reader = logs.reader();
    let page = ask(&mut reader, request(LogQuery::default()));
    assert_eq!(texts(&page), ["b0", "a0", "a1", "b1"]);
    assert_eq!(page.lines[3].time_s, Some(1.3));
    let one = LogQuery { source: Some(LogSource::Process(1)), ..LogQuery::default() };
    assert_eq!(texts(&ask(&mut reader, request(one))), ["b0", "b1"]);
}

#[test]
fn new_lines_are_told_once_and_half_lines_are_not() {
    let logs = Logs::new();
    logs.print(0, 1000, "first");
    let mut reader = logs.reader();
    assert_eq!(texts(&ask(&mut reader, request(LogQuery::default()))), ["first"]);
    assert!(!reader.work() && reader.answer().is_none(), "nothing happened");
    logs.print(0, 1001, "second");
    fs::write(logs.folder.rank_log(0), "first\nsecond\nhal").unwrap();
    while reader.work() {}
    assert_eq!(texts(&reader.answer().unwrap()), ["first", "second"]);
}

#[test]
fn a_run_that_wrote_no_times_is_read_rank_by_rank() {
    let logs = Logs::new();
    for (process, text) in [(0, "a"), (1, "b"), (0, "c")] {
        logs.print(process, 0, text);
    }
    logs.end();
    let mut reader = logs.reader();
    let page = ask(&mut reader, request(LogQuery::default()));
    assert_eq!(texts(&page), ["a", "c", "b"]);
    assert_eq!(page.lines[0].time_s, None);
    assert!(reader.is_over());
}

#[test]
fn what_a_killed_supervisor_did_not_list_is_not_lost() {
    let logs = Logs::new();
    logs.print(0, 1000, "listed");
    logs.print(0, 0, "not listed");
    let mut reader = logs.reader();
    assert_eq!(texts(&ask(&mut reader, request(LogQuery::default()))), ["listed"]);
    logs.end();
    while reader.work() {}
    assert_eq!(texts(&reader.answer().unwrap()), ["listed", "not listed"]);
}

#[test]
fn filters_and_searches_count_and_find_their_lines() {
    let logs = Logs::new();
    for line in 0..2_000_u64 {
        let mark = if line % 700 == 3 { " RARE" } else { "" };
        logs.print((line % 2) as usize, 1_000 + line, &format!("line {line}{mark}"));
    }
    let mut reader = logs.reader();
    let page = ask(&mut reader, request(filter("rare", false)));
    assert_eq!((page.shown, texts(&page)), (3, vec!["line 3 RARE", "line 703 RARE", "line 1403 RARE"]));
    assert_eq!(page.lines[1].number, 703);
    assert_eq!(ask(&mut reader, request(filter("rare", true))).shown, 1_997);

    let search = LogQuery { search: Some(Pattern::new("rare")), ..LogQuery::default() };
    let jump = |reader: &mut LogReader, jump| {
        ask(reader, LogRequest { jump: Some(jump), ..request(search.clone()) }).jumped.map(|found| (found.line, found.nth))
    };
    assert_eq!(jump(&mut reader, Jump::Forward(4)), Some((703, 2)));
    assert_eq!(jump(&mut reader, Jump::Forward(703)), Some((703, 2)));
    assert_eq!(jump(&mut reader, Jump::Forward(1404)), Some((3, 1)), "from the top again");
    assert_eq!(jump(&mut reader, Jump::Back(703)), Some((3, 1)));
    assert_eq!(jump(&mut reader, Jump::Back(3)), Some((1403, 3)), "from the bottom again");
    // The lines around a match stay: a search hides nothing.
    let page = ask(&mut reader, LogRequest { jump: Some(Jump::Forward(4)), ..request(search) });
    assert_eq!((page.shown, page.found), (2_000, 3));
    assert!(texts(&page).contains(&"line 702") && texts(&page).contains(&"line 704"));
}

#[test]
fn a_view_keeps_its_place_when_the_filter_changes() {
    let logs = Logs::new();
    (0..1_000_u64).for_each(|line| logs.print(0, 1_000 + line, &format!("line {line}")));
    let mut reader = logs.reader();
    let page = ask(&mut reader, LogRequest { place: Place::Number(555), ..request(filter("5", false)) });
    let top = page.top.unwrap();
    assert_eq!(page.lines[top - page.first].text, "line 555");
}

#[test]
fn an_earlier_moment_hides_what_came_later() {
    let logs = Logs::new();
    (0..1_000_u64).for_each(|line| logs.print(0, 1_000 + line, &format!("line {line}")));
    let mut reader = logs.reader();
    for (until, shown) in [(None, 1_000), (Some(1_499), 500), (Some(999), 0), (Some(1_600), 601), (Some(1_255), 256)] {
        let page = ask(&mut reader, LogRequest { until_ms: until, ..request(LogQuery::default()) });
        assert_eq!(page.shown, shown, "until {until:?}");
        assert_eq!(page.lines.last().map(|line| line.number + 1).unwrap_or(0), shown);
    }
}

#[test]
fn a_line_of_any_length_ends_where_it_ends() {
    let logs = Logs::new();
    logs.print(0, 1000, &"x".repeat(300_000));
    logs.print(0, 1001, "next");
    let mut reader = logs.reader();
    let page = ask(&mut reader, request(LogQuery::default()));
    assert!(page.lines[0].text.ends_with("x …") && page.lines[0].text.len() < 1_100);
    assert_eq!(page.lines[1].text, "next");
}

#[test]
fn a_saved_view_has_exactly_its_lines_and_replaces_nothing() {
    let logs = Logs::new();
    (0..30_000_u64).for_each(|line| logs.print(0, 1_000 + line, &format!("line {line}")));
    let mut reader = logs.reader();
    ask(&mut reader, request(LogQuery::default()));
    let folders = ["/proc/nowhere".into(), logs.folder.path().to_owned()];
    let (first, lines) = reader.save(&filter("line 29999", false), "saved", &folders).unwrap();
    assert_eq!((lines, fs::read_to_string(&first).unwrap().as_str()), (1, "line 29999\n"));
    let (second, lines) = reader.save(&LogQuery::default(), "saved", &folders).unwrap();
    assert!(second != first && second.ends_with("saved-2.txt"));
    assert_eq!((lines, fs::read_to_string(second).unwrap().lines().count()), (30_000, 30_000));
}
