//! `hvd-measure collectives` as it is run: its table, its events, what it refuses, and that MPI does the algorithm that it is told.
//!
//! Without mpirun its tests are skipped by name; `HVD_LAB_REQUIRE=mpi` turns the skip into a failure.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use hvd_lab::comm::library_version;
use hvd_lab::domain::collective::{Algorithm, Method, Shape};
use hvd_lab::domain::event::{Event, EventLine, MARKER};

use crate::support::mpi::{self, mpirun, run_limited, text};

const PROGRAM: &str = env!("CARGO_BIN_EXE_hvd-measure");

fn run(mpirun: &Path, size: usize, flags: &str) -> Output {
    let mut command = mpi::command(mpirun, size);
    command.args([PROGRAM, "collectives"]).args(flags.split_whitespace());
    run_limited(command, Duration::from_secs(60))
}

fn alone(flags: &str) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("collectives").args(flags.split_whitespace());
    run_limited(command, Duration::from_secs(60))
}

/// What all processes said, in their order. A line of an event that is none fails.
fn events(output: &Output) -> Vec<EventLine> {
    let text = text(output);
    let lines = text.lines().filter_map(|line| line.strip_prefix(MARKER));
    lines.map(|line| EventLine::read(line).unwrap().unwrap_or_else(|| panic!("no event: {line}"))).collect()
}

#[test]
fn every_method_has_a_row_at_every_size_as_in_nccl_tests() {
    let Some(mpirun) = mpirun() else { return };
    let output = run(&mpirun, 3, "--algorithm all --servers 2 --ranks-per-host 2 -b 8 -e 32K -f 64 -n 4 -w 1");
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    let has_words = |line: &str, words: &str| line.split_whitespace().eq(words.split_whitespace());
    let columns = "# algorithm size count type redop root time algbw busbw #wrong";
    assert!(text.lines().any(|line| has_words(line, columns)), "{text}");
    let rows: Vec<Vec<&str>> =
        text.lines().filter(|line| line.starts_with("  ")).map(|line| line.split_whitespace().collect()).collect();
    let is_open_mpi = library_version().contains("Open MPI");
    let works = |method: &Method| match method {
        Method::Own(_) | Method::Mpi => true,
        Method::MpiForced(_) => is_open_mpi,
        // Where each rank has a GPU.
        Method::Nccl => !text.contains("# nccl is left out: "),
    };
    let due: Vec<(String, &str)> = ["8", "512", "32768"]
        .iter()
        .flat_map(|size| Method::ALL.iter().filter(|method| works(method)).map(move |method| (method.to_string(), *size)))
        .collect();
    assert_eq!(rows.iter().map(|row| (row[0].to_owned(), row[1])).collect::<Vec<_>>(), due);
    for row in &rows {
        let number = |place: usize| row[place].parse::<f64>().unwrap();
        assert_eq!((number(2), &row[3..6], row[9]), (number(1) / 4.0, &["float", "sum", "-1"][..], "0"), "{row:?}");
        // Bytes a second are bytes by time, and on the bus 2(p - 1)/p times as many; printed with three digits.
        let algbw = number(1) / number(6) / 1e3;
        assert!((number(7) - algbw).abs() < 1e-3 + 0.01 * algbw, "{row:?}");
        assert!((number(8) - algbw * 4.0 / 3.0).abs() < 2e-3 + 0.01 * algbw, "{row:?}");
    }
    assert!(text.contains("# Out of bounds values : 0 OK"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("# Avg bus bandwidth    : ")).count(), 1, "{text}");
}

#[test]
fn events_tell_the_rows_the_link_and_every_message() {
    let Some(mpirun) = mpirun() else { return };
    let flags =
        "--algorithm ring,parameter-server,mpi --servers 1 --ranks-per-host 1 -b 1K -e 16K -f 4 -n 5 -w 0 --check 0 --events";
    let output = run(&mpirun, 4, &format!("{flags} --log-bytes 40"));
    assert!(output.status.success(), "{}", text(&output));
    let events = events(&output);
    let of = |process: usize| events.iter().filter(move |line| line.process == process).map(|line| &line.event);
    for process in 0..4 {
        assert!(matches!(of(process).next(), Some(Event::Topology(report)) if report.topology.rank.0 == process));
        assert!(matches!(of(process).next_back(), Some(Event::Finished { epochs: 0, .. })), "{process}");
    }
    let rows: Vec<_> = of(0).filter_map(|event| if let Event::Allreduce(row) = event { Some(row) } else { None }).collect();
    let sizes: Vec<_> = rows.iter().map(|row| (row.method.as_str(), row.bytes, row.iterations, row.wrong)).collect();
    let due = [1024, 4096, 16384].map(|bytes| ["ring", "parameter-server", "mpi"].map(|method| (method, bytes, 5, None)));
    assert_eq!(sizes, due.concat());
    for row in rows {
        assert!(0.0 < row.min_s && row.min_s <= row.median_s && row.median_s <= row.max_s && row.mean_s <= row.max_s, "{row:?}");
    }
    // Each size of the table has it measured up to there, just before.
    let links: Vec<_> = of(0).filter_map(|event| if let Event::Link(link) = event { Some(link) } else { None }).collect();
    assert_eq!(links.iter().map(|link| link.rows.len()).collect::<Vec<_>>(), [5, 7, 9]);
    let link = links[2];
    // From short messages up to a whole buffer, each twice the one before: what ranks send each other are parts of a buffer.
    assert_eq!(link.rows.iter().map(|row| row.bytes).collect::<Vec<_>>(), (6..15).map(|power| 1 << power).collect::<Vec<_>>());
    assert!(link.rows.iter().all(|row| row.one_way_s > 0.0 && row.exchange_s > 0.0 && row.sum_s > 0.0), "{link:?}");

    for algorithm in [Algorithm::Ring, Algorithm::ParameterServer] {
        let schedule = algorithm.schedule(4, 10, Shape { servers: 1, ranks_per_host: 1 });
        let mut due = BTreeMap::new();
        for (round, message) in schedule.messages() {
            *due.entry((round, message.from, message.to, message.range.start, message.range.end)).or_insert(0) += 1;
        }
        for (process, line) in events.iter().map(|line| (line.process, &line.event)) {
            let Event::Messages(report) = line else { continue };
            for message in report.messages.iter().filter(|_| report.method == algorithm.name()) {
                assert_eq!((message.to, report.elements), (process, 10), "a receiver tells");
                assert!(0.0 <= message.began_s && message.began_s <= message.ended_s && message.ended_s < 30.0, "{message:?}");
                *due.entry((message.round, message.from, message.to, message.start, message.end)).or_insert(0) -= 1;
            }
        }
        assert!(due.values().all(|left| *left == 0), "{algorithm:?}: {due:?}");
    }
    let longest = text(&output).lines().map(str::len).max();
    assert!(longest < Some(8192), "{longest:?} bytes in a line, which pipes may tear");
}

#[test]
fn one_process_alone_is_measured_too() {
    if mpirun().is_none() {
        return;
    }
    let output = alone("--algorithm ring,mpi -b 1K -e 1K -n 2 -w 0 --events --log-bytes 1K");
    assert!(output.status.success(), "{}", text(&output));
    let events = events(&output);
    assert_eq!(events.iter().filter(|line| matches!(line.event, Event::Allreduce(_))).count(), 2);
    assert!(!events.iter().any(|line| matches!(line.event, Event::Link(_))), "there is no way to anybody");
}

#[test]
fn what_cannot_be_measured_is_refused_in_one_line() {
    if mpirun().is_none() {
        return;
    }
    let cases = [
        ("--algorithm rings", "`rings` is not an algorithm: choose from ring, "),
        ("--algorithm nccl", "nccl cannot be measured: it needs a GPU for each rank ("),
        ("-b 1X", "expected a size such as 8, 1K or 16M"),
        ("-b -8", "expected a size such as 8, 1K or 16M"),
        ("-b 2", "the smallest size is 2 B"),
        ("-b 8 -e 4", "below the smallest"),
        ("-b 8 -e 8K -f 1", "a factor of 1"),
        ("-n 0", "0 iterations"),
        ("-n -1", "-1"),
        ("--servers 2", "2 servers are more than the 1 rank"),
        ("--check 2", "2"),
        ("--ranks-per-host 0", "0 ranks per host"),
        ("--ranks-per-host 9", "9 ranks per host are more than the 1 rank"),
        ("--log-bytes 64G", "a log of 64 GiB is too much"),
        ("-b 1024G -e 1024G", "lower --max-bytes"),
        ("--bogus", "--bogus"),
    ];
    for (flags, word) in cases {
        let output = alone(flags);
        let (text, error) = (text(&output), String::from_utf8_lossy(&output.stderr).into_owned());
        assert_eq!(output.status.code(), Some(2), "{flags}: {text}");
        assert!(error.starts_with("hvd-measure collectives: ") && error.contains(word), "{flags}: {text}");
        assert_eq!((error.lines().count(), output.stdout.len()), (1, 0), "{flags}: {text}");
    }
}

/// It is an allreduce, and no memory can do it: what arrives takes the place of what is still to be sent.
#[test]
fn a_schedule_that_cannot_be_executed_is_refused_in_one_line() {
    if mpirun().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("swap");
    let swap = |second: &str| {
        let first = r#"[[0,1,0,4,"reduce"],[1,0,0,4,"reduce"]]"#;
        format!("2 4\n[{first},[[0,1,0,4,\"copy\"],[1,0,{second},\"copy\"]]]")
    };
    for (text, word) in [
        (swap("0,4"), "round 2: rank 1 sends numbers 0 to 3 to rank 0 and gets a copy of them from rank 0 in the same round"),
        (swap("3,4"), "round 2: rank 1 sends number 3 to rank 0 and gets a copy of it from rank 0 in the same round"),
        ("99999999999 4\n[]".to_owned(), "its first line is not `RANKS NUMBERS`"),
    ] {
        std::fs::write(&file, text).unwrap();
        let output = alone(&format!("--schedule {}", file.display()));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(word) && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn all_ranks_refuse_together_and_one_says_why() {
    let Some(mpirun) = mpirun() else { return };
    for (flags, word) in [("--servers 4", "4 servers are more than the 3 ranks"), ("--algorithm x", "`x` is not an algorithm")] {
        let output = run(&mpirun, 3, flags);
        let text = text(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert_eq!(
            text.lines().filter(|line| line.starts_with("hvd-measure collectives: ") && line.contains(word)).count(),
            1,
            "{text}"
        );
    }
}

// ------------------------------------------------------------------------------------- what MPI does when it is told

/// Bytes that each rank sent to each other one for the library's own collectives, as MPI counts them.
fn sent_by_library(mpirun: &Path, size: usize, method: &str) -> BTreeMap<(usize, usize), usize> {
    let folder = tempfile::tempdir().unwrap();
    let plain = mpi::command(mpirun, size);
    // The monitor stands in front of ob1, which must not be named then.
    let words: Vec<OsString> = plain.get_args().map(|word| word.to_owned()).collect();
    let pml = words.windows(3).position(|words| words == ["--mca", "pml", "ob1"]).unwrap();
    let mut command = Command::new(mpirun);
    command.args(&words[..pml]).args(&words[pml + 3..]);
    let file = folder.path().join("counted").display().to_string();
    for setting in ["pml_monitoring_enable 2", "pml_monitoring_enable_output 3", &format!("pml_monitoring_filename {file}")] {
        command.arg("--mca").args(setting.split(' '));
    }
    let flags = format!("--algorithm {method} -b 400K -e 400K -n 1 -w 0 --check 0");
    command.args([PROGRAM, "collectives"]).args(flags.split(' '));
    let output = run_limited(command, Duration::from_secs(60));
    assert!(output.status.success(), "{}", text(&output));
    let mut sent = BTreeMap::new();
    for rank in 0..size {
        let text = std::fs::read_to_string(format!("{file}.{rank}.prof")).unwrap();
        for line in text.lines().filter(|line| line.starts_with('I')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |place: usize| words[place].parse::<usize>().unwrap();
            *sent.entry((number(1), number(2))).or_insert(0) += number(3);
        }
    }
    sent
}

#[test]
fn mpi_does_the_algorithm_that_it_is_told() {
    let Some(mpirun) = mpirun() else { return };
    if !library_version().contains("Open MPI") {
        return eprintln!("skipped: this MPI library cannot be told its algorithm");
    }
    let bytes = 400 << 10;
    let pairs = |partners: fn(usize) -> Vec<usize>, times: f64| -> BTreeMap<(usize, usize), usize> {
        let of = |rank: usize| partners(rank).into_iter().map(move |other| ((rank, other), (times * bytes as f64) as usize));
        (0..4).flat_map(of).collect()
    };
    let cases = [
        ("mpi-linear", pairs(|rank| if rank == 0 { vec![1, 2, 3] } else { vec![0] }, 1.0)),
        ("mpi-recursive-doubling", pairs(|rank| vec![rank ^ 1, rank ^ 2], 1.0)),
        ("mpi-ring", pairs(|rank| vec![(rank + 1) % 4], 1.5)),
    ];
    for (method, due) in cases {
        let sent = sent_by_library(&mpirun, 4, method);
        // Barriers and agreements among the ranks are short.
        let near = |bytes: usize, due: usize| bytes.abs_diff(due) < 20_000;
        for pair in (0..16).map(|pair| (pair / 4, pair % 4)) {
            let (bytes, due) = (sent.get(&pair).copied().unwrap_or(0), due.get(&pair).copied().unwrap_or(0));
            assert!(near(bytes, due), "{method}: {pair:?} {bytes} instead of {due}: {sent:?}");
        }
    }
}
