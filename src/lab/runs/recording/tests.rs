//! Recordings: there and back, broken ones, and the player by a clock of its own. Never a screen.

use crate::domain::run::RunStatus;
use crate::runs::{RunFolder, RunRecord, RunRequest};
use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::domain::device::DeviceKind;
use crate::domain::event::{Event, EventLine};
use crate::domain::job::TrainingJob;
use crate::domain::run::RunState;
use crate::runs::{Arrival, Attempt, LogSource, RunId, RunUpdate};

const START: f64 = 1_700_000_000.0;

/// A run of ten seconds: a step a second on rank 0, a line of each rank at the fifth.
fn run_folder() -> (tempfile::TempDir, RunFolder) {
    let home = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(home.path());
    let path = home.path().display();
    let attempt = Attempt {
        argv: vec!["/opt/mpi/bin/mpirun".into(), "-np".into(), "2".into(), format!("--log-dir={path}/logs")],
        env: Vec::new(),
        started_s: START,
        epochs: 1,
        ..Attempt::default()
    };
    let record = RunRecord {
        id: RunId(7),
        created_s: START,
        host: "secret-host".into(),
        attempts: vec![attempt],
        ..RunRecord::new(RunRequest::new(TrainingJob::sample(), "cpu"), "Fashion-MNIST", Vec::new())
    };
    folder.write_record(&record).unwrap();
    let status = RunStatus { ended_s: Some(START + 10.0), ..RunStatus::new(RunState::Finished, "finished", START) };
    folder.write_status(&status).unwrap();
    let event = |second: usize| {
        let event = Event::Step { epoch: 0, batch: second, lr: 0.1, loss: 2.0 };
        EventLine { time_s: START + second as f64, process: 0, event }.to_line() + "\n"
    };
    fs::write(folder.events_file(), (1..=9).map(event).collect::<String>()).unwrap();
    fs::write(folder.rank_log(0), format!("root on secret-host in {path}/logs\nsecond\n")).unwrap();
    fs::write(folder.rank_log(1), "rank one\n").unwrap();
    let time_ms = (START * 1e3) as u64 + 5_000;
    let length = |process| fs::metadata(folder.rank_log(process)).unwrap().len();
    let arrivals = [
        Arrival { time_ms, source: LogSource::Process(0), end: length(0) - 7 },
        Arrival { time_ms, source: LogSource::Process(1), end: length(1) },
        Arrival { time_ms: time_ms + 10, source: LogSource::Process(0), end: length(0) },
    ];
    fs::write(folder.arrivals_file(), arrivals.map(|arrival| format!("{arrival}\n")).concat()).unwrap();
    (home, folder)
}

fn packed(hide: bool) -> (tempfile::TempDir, std::path::PathBuf) {
    let (_home, folder) = run_folder();
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("run.hvdrun");
    fs::write(&file, pack(&folder, hide, &mut |_, _| {}).unwrap()).unwrap();
    (out, file)
}

fn steps(played: &Played) -> Vec<usize> {
    let batch = |update: &RunUpdate| match update {
        RunUpdate::Event(EventLine { event: Event::Step { batch, .. }, .. }) => Some(*batch),
        _ => None,
    };
    played.updates.iter().filter_map(batch).collect()
}

fn states(played: &Played) -> Vec<RunState> {
    let state = |update: &RunUpdate| match update {
        RunUpdate::Status(status) => Some(status.state),
        _ => None,
    };
    played.updates.iter().filter_map(state).collect()
}

#[test]
fn a_large_run_is_packed_in_seconds_and_says_how_far_it_is() {
    let (_home, folder) = run_folder();
    // 16 MiB in which nothing comes again, as in a binary log.
    let mut number = 1_u64;
    let noise = std::iter::repeat_with(|| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 33) as u8
    });
    fs::write(folder.rank_log(0), noise.take(16 << 20).collect::<Vec<u8>>()).unwrap();
    let (mut told, began) = (Vec::new(), std::time::Instant::now());
    let bytes = pack(&folder, false, &mut |done, total| told.push((done, total))).unwrap();
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    let (first, last) = (told[0], *told.last().unwrap());
    assert!(first.0 == 0 && first.1 > 16 << 20 && told.len() > 16, "{} looks, the first {first:?}", told.len());
    assert_eq!(last.0, last.1);
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("run.hvdrun");
    fs::write(&file, bytes).unwrap();
    let again = Recording::open(&file).unwrap();
    assert_eq!(fs::metadata(again.folder.rank_log(0)).unwrap().len(), 16 << 20);
}

#[test]
fn a_recording_holds_what_the_run_left() {
    let (home, folder) = run_folder();
    let (_out, file) = packed(false);
    let recording = Recording::open(&file).unwrap();
    assert_eq!(recording.record.id, RunId(7));
    for name in ["events.jsonl", "rank-1.log"] {
        let bytes = |folder: &RunFolder| fs::read(folder.path().join(name)).unwrap();
        assert_eq!(bytes(&recording.folder), bytes(&folder), "{name}");
    }
    let unpacked = recording.folder.path().to_owned();
    drop(recording);
    assert!(!unpacked.exists(), "what was unpacked goes with the recording");
    drop(home);
}

#[test]
fn an_anonymous_recording_names_no_host_and_no_folder_and_keeps_the_order_of_lines() {
    let (_out, file) = packed(true);
    let recording = Recording::open(&file).unwrap();
    for entry in fs::read_dir(recording.folder.path()).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("secret-host") && !text.contains("/tmp/") && !text.contains("/opt/"), "{text}");
    }
    assert_eq!(fs::read_to_string(recording.folder.rank_log(0)).unwrap(), "root on node in logs\nsecond\n");
    let mut reader = crate::runs::LogReader::new(recording.folder.clone());
    let place = crate::runs::Place::End;
    reader.ask(crate::runs::LogRequest { number: 1, query: Default::default(), place, jump: None, rows: 9, until_ms: None });
    while reader.work() {}
    let lines: Vec<String> = reader.answer().unwrap().lines.into_iter().map(|line| line.text).collect();
    assert_eq!(lines, ["root on node in logs", "rank one", "second"]);
}

#[test]
fn broken_files_say_what_is_wrong_with_them() {
    let (out, file) = packed(false);
    let whole = fs::read(&file).unwrap();
    let gzipped = |text: &str| {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(text.as_bytes()).unwrap();
        gz.finish().unwrap()
    };
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x55;
    let outside = r#"{"what":"hvd-lab recording","format":1,"parts":[{"name":"../evil","bytes":1}]}"#;
    let cases: [(&str, Vec<u8>, &str); 8] = [
        ("empty", Vec::new(), "is not a recording"),
        ("text", b"hello\nworld\n".to_vec(), "is not a recording"),
        ("another", gzipped("{\"what\":\"something else\",\"format\":1}\n"), "is not a recording"),
        ("gzip", gzipped("just text"), "is not a recording"),
        ("newer", gzipped("{\"what\":\"hvd-lab recording\",\"format\":2,\"new\":[]}\n"), "newer hvd-lab (format 2"),
        ("cut", whole[..whole.len() * 2 / 3].to_vec(), "ends in the middle"),
        ("flipped", flipped, "is damaged"),
        ("outside", gzipped(&format!("{outside}\nx")), "`../evil` is not a part of a run"),
    ];
    for (name, bytes, expected) in cases {
        let path = out.path().join(name);
        fs::write(&path, bytes).unwrap();
        let error = Recording::open(&path).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(name), "{name}: {error}");
    }
    // What is packed is read ahead, so that the error may come before the first line does.
    for at in (middle..whole.len() * 3 / 4).step_by(11) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x55;
        let path = out.path().join("flipped");
        fs::write(&path, flipped).unwrap();
        let error = Recording::open(&path).unwrap_err().to_string();
        assert!(error.contains("is damaged") || error.contains("ends in the middle"), "{at}: {error}");
    }
    let missing = Recording::open(&out.path().join("missing")).unwrap_err().to_string();
    assert!(missing.contains("missing: No such file"), "{missing}");
}

/// A recording with these parts, whatever is in them.
fn made_by_a_stranger(parts: &[(&str, &[u8])], behind: usize) -> Vec<u8> {
    let list: Vec<_> = parts.iter().map(|(name, bytes)| serde_json::json!({ "name": name, "bytes": bytes.len() })).collect();
    let header = serde_json::json!({ "what": "hvd-lab recording", "format": 1, "parts": list });
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    writeln!(gz, "{header}").unwrap();
    parts.iter().for_each(|(_, bytes)| gz.write_all(bytes).unwrap());
    gz.write_all(&vec![0; behind]).unwrap();
    gz.finish().unwrap()
}

#[test]
fn a_recording_of_a_stranger_takes_neither_memory_nor_disk() {
    let (_home, folder) = run_folder();
    let read = |path: std::path::PathBuf| fs::read(path).unwrap();
    let (record, status, events) = (read(folder.record_file()), read(folder.status_file()), read(folder.events_file()));
    let ranks = String::from_utf8(record.clone()).unwrap().replacen("\"np\": 2", "\"np\": 1000000000", 1);
    let (run, over, events) = (("run.json", &record[..]), ("status.json", &status[..]), ("events.jsonl", &events[..]));
    let announced = r#"{"what":"hvd-lab recording","format":1,"parts":[{"name":"rank-0.log","bytes":4294967296}]}"#;
    let sum = r#"{"what":"hvd-lab recording","format":1,"parts":[{"name":"rank-0.log","bytes":18446744073709551615},
        {"name":"rank-1.log","bytes":18446744073709551615}]}"#;
    let gzipped = |text: &str| {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        writeln!(gz, "{}", text.replace('\n', "")).unwrap();
        gz.finish().unwrap()
    };
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("a.hvdrun");
    let cases: [(Vec<u8>, &str); 8] = [
        (
            made_by_a_stranger(&[("run.json", ranks.as_bytes()), over, events], 0),
            "is damaged: run.json: np 1000000000 is beyond 4096",
        ),
        (made_by_a_stranger(&[run, over, events], 100 << 20), "it goes on behind its last part"),
        (made_by_a_stranger(&[run, over, run], 0), "it has two parts `run.json`"),
        (made_by_a_stranger(&[run, over, ("rank-01.log", b"x")], 0), "`rank-01.log` is not a part"),
        (made_by_a_stranger(&[run, over, ("rank-4096.log", b"x")], 0), "`rank-4096.log` is not a part"),
        (made_by_a_stranger(&[run, over, ("/etc/rank-0.log", b"x")], 0), "`/etc/rank-0.log` is not a part"),
        (gzipped(announced), "is too large: a recording holds at most 512 MiB, this one announces 4.0 GiB"),
        (gzipped(sum), "is too large"),
    ];
    for (bytes, expected) in cases {
        fs::write(&path, bytes).unwrap();
        let error = Recording::open(&path).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("a.hvdrun"), "{expected}: {error}");
    }
    fs::write(&path, made_by_a_stranger(&[run, over, events], 0)).unwrap();
    assert_eq!(Recording::open(&path).unwrap().record.id, RunId(7), "without all that it is played");
}

#[test]
fn a_run_that_left_too_much_is_not_recorded() {
    let (_home, folder) = run_folder();
    fs::File::create(folder.rank_log(0)).unwrap().set_len(600 << 20).unwrap();
    let error = pack(&folder, false, &mut |_, _| {}).unwrap_err().to_string();
    assert!(error.contains("is too large") && error.contains("this one would have 600 MiB"), "{error}");
}

#[test]
fn a_run_that_goes_on_is_not_recorded() {
    let (_home, folder) = run_folder();
    folder.write_status(&RunStatus::new(RunState::Running, "training", START)).unwrap();
    let error = pack(&folder, false, &mut |_, _| {}).unwrap_err().to_string();
    assert!(error.contains("run 7 is still running"), "{error}");
}

#[test]
fn the_clock_decides_what_has_happened() {
    let (_home, folder) = run_folder();
    let mut player = Player::open(Recording::of_folder(folder).unwrap(), 2.0).unwrap();
    assert_eq!(player.position().duration_s, 10.0);
    let first = player.step(100.0);
    assert_eq!((steps(&first), states(&first)), (vec![], vec![RunState::Running]));
    assert_eq!(steps(&player.step(101.6)), [1, 2, 3], "3.2 seconds at double speed");
    assert_eq!(player.summary().status.state, RunState::Running);
    player.order(PlayerOrder::Pause);
    assert!(player.is_still() && steps(&player.step(500.0)).is_empty());
    player.order(PlayerOrder::Pause);
    assert_eq!(steps(&player.step(500.5)), [4]);
    player.order(PlayerOrder::Slower);
    assert_eq!(player.position().speed, 1.0);
    let last = player.step(600.0);
    assert_eq!((steps(&last), states(&last)), (vec![5, 6, 7, 8, 9], vec![RunState::Finished]));
    assert!(matches!(last.updates.last(), Some(RunUpdate::Status(_))), "the end comes last");
    assert!(player.is_still() && player.step(700.0) == Played::default());
}

#[test]
fn seeking_back_tells_everything_from_the_start() {
    let (_home, folder) = run_folder();
    let mut player = Player::open(Recording::of_folder(folder).unwrap(), 1.0).unwrap();
    player.step(0.0);
    player.order(PlayerOrder::ToEnd);
    assert_eq!(states(&player.step(0.0)), [RunState::Finished]);
    player.order(PlayerOrder::Seek(-5));
    let played = player.step(0.0);
    assert_eq!((played.rewound, steps(&played), states(&played)), (true, vec![1, 2, 3, 4, 5], vec![RunState::Running]));
    player.order(PlayerOrder::Seek(2));
    let played = player.step(0.0);
    assert_eq!((played.rewound, steps(&played)), (false, vec![6, 7]));
    player.order(PlayerOrder::Again);
    let played = player.step(0.0);
    assert_eq!((played.rewound, steps(&played).len()), (true, 7));
    player.order(PlayerOrder::ToEnd);
    player.step(0.0);
    player.order(PlayerOrder::Pause);
    let played = player.step(0.0);
    assert_eq!((played.rewound, player.position().played_s), (true, 0.0), "from the start again");
}

#[test]
fn a_run_that_left_nothing_is_not_played() {
    let (_home, folder) = run_folder();
    fs::remove_file(folder.events_file()).unwrap();
    folder.write_status(&RunStatus::new(RunState::Failed, "failed", START)).unwrap();
    let error = Player::open(Recording::of_folder(folder).unwrap(), 1.0).err().unwrap().to_string();
    assert!(error.contains("no events to play"), "{error}");
}

#[test]
fn the_shipped_recordings_are_small_real_and_name_nobody() {
    let [on_cpu, on_gpu] = [DeviceKind::Cpu, DeviceKind::Gpu].map(|kind| Recording::shipped(kind).unwrap());
    assert_eq!(on_cpu.iter().chain(&on_gpu).map(|recording| recording.record.np()).collect::<Vec<_>>(), [1, 2, 1]);
    for ((kind, name, bytes), recording) in recorded::SHIPPED.iter().zip(on_cpu.into_iter().chain(on_gpu)) {
        assert!(bytes.len() < 200_000, "{name} has {} bytes", bytes.len());
        assert_eq!(recording.status.state, RunState::Finished);
        assert_eq!(recording.record.data_label, "Fashion-MNIST");
        let argv = &recording.record.attempts[0].argv;
        assert_eq!(recording.record.host, "node");
        assert!(argv.iter().all(|word| !word.contains('/')), "{argv:?}");
        let mut player = Player::open(recording, 1.0).unwrap();
        assert_eq!(player.hardware, if *kind == DeviceKind::Gpu { "1 x NVIDIA H200" } else { "2 CPU cores" });
        player.order(PlayerOrder::ToEnd);
        let played = player.step(0.0);
        assert!(played.updates.iter().any(|update| matches!(update, RunUpdate::Telemetry(_))));
        assert!(player.summary().figures.images_per_sec.is_some());
    }
}

#[test]
fn an_anonymous_recording_hides_where_an_own_program_worked() {
    let record = r#"{"workload":"command","argv":["python3","train.py"],"directory":"/home/ada"}"#;
    let mut parts = vec![
        ("run.json".to_owned(), record.as_bytes().to_vec()),
        ("rank-0.log".to_owned(), b"saved to /home/ada/model.pt".to_vec()),
    ];
    super::anonymous::hide(&mut parts);
    let text: String = parts.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes)).collect();
    assert!(!text.contains("ada") && text.contains("model.pt"), "{text}");
}
