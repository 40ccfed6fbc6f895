//! Files that a stranger may have made: hundreds of damaged ones, drawn from a seed, and each reader of the lab.
//!
//! Never starts a process. Each must come back soon, and with an answer or an error: never by a panic.

use std::fs;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use hvd_lab_terminal::course::{Class, Evidence, ProgressFile, SeriesFile, Share, check_all};
use hvd_lab_terminal::runs::recording::{Player, PlayerOrder, Recording, pack};
use hvd_lab_terminal::runs::{Follower, LogReader, LogRequest, Place, RunId, RunStore, RunUpdate};
use hvd_lab_terminal::tui::config::Config;

use super::mutations::{Dice, mutated};

/// Of a core's time, which a busy machine does not stretch: far more than any of them takes without optimisation.
const LIMIT: Duration = Duration::from_secs(10);

/// What this thread has computed so far.
fn computed() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

fn data() -> PathBuf {
    Path::new(env!("HVD_LAB_CHECKOUT")).join("tests/data/version_0.1.0")
}

/// Runs a reader, which must come back in time, whatever it says.
fn survive(what: &str, read: impl FnOnce()) {
    let began = computed();
    let done = catch_unwind(AssertUnwindSafe(read));
    assert!(done.is_ok(), "{what}: it panicked");
    let took = computed() - began;
    assert!(took < LIMIT, "{what}: it took {took:?}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::write(to.join(entry.file_name()), fs::read(entry.path()).unwrap()).unwrap();
    }
}

/// All that the lab does with a run that is there.
fn read_run(home: &Path) {
    let store = RunStore::open(home).unwrap();
    let (rows, id) = (store.list(), RunId(1));
    assert_eq!(rows.len(), 1, "it is shown, however damaged");
    let _ = serde_json::to_string(&rows).unwrap();
    for row in &rows {
        let _ = hvd_lab_terminal::domain::units::date(row.record.as_ref().map_or(0.0, |record| record.created_s));
        let _ = (row.device_seconds(), row.status.message.len());
    }
    let _ = store.status(id);
    let folder = store.folder(id);
    if let Ok(record) = store.record(id) {
        assert!(record.np() <= 4096);
        if let Ok(evidence) = Evidence::of(&folder, &record) {
            let _ = check_all(&evidence);
        }
    }
    let _ = followed(Follower::new(folder.clone()));
    let mut logs = LogReader::new(folder.clone());
    logs.ask(LogRequest { number: 1, query: Default::default(), place: Place::End, jump: None, rows: 50, until_ms: None });
    for _ in 0..10_000 {
        if !logs.work() {
            break;
        }
    }
    let _ = logs.answer();
    let _ = pack(&folder, true, &mut |_, _| {});
    if let Ok(recording) = Recording::of_folder(folder) {
        play(recording);
    }
}

/// All that there is to follow: the end of a run comes last, unless nobody can read how it ended.
fn followed(mut follower: Follower) -> Vec<RunUpdate> {
    let mut updates = Vec::new();
    for _ in 0..64 {
        updates.extend(follower.poll());
        if let Some(RunUpdate::Status(_)) = updates.last() {
            break;
        }
    }
    updates
}

fn play(recording: Recording) {
    if let Ok(mut player) = Player::open(recording, 1.0) {
        player.order(PlayerOrder::ToEnd);
        let _ = (player.step(0.0), player.summary());
        player.order(PlayerOrder::Seek(-5));
        let _ = (player.step(1.0), player.position());
    }
}

#[test]
fn a_run_folder_with_any_damaged_file_is_listed_judged_followed_and_played() {
    let files = [
        "run.json",
        "status.json",
        "summary.json",
        "events.jsonl",
        "telemetry.jsonl",
        "arrivals.txt",
        "rank-0.log",
        "launcher.log",
    ];
    for name in files {
        let cases = if name.ends_with(".log") { 16 } else { 32 };
        for case in 0..cases {
            let mut dice = Dice::new(name, case);
            let home = tempfile::tempdir().unwrap();
            let folder = home.path().join("runs/0001");
            // Trained once, continued, or failed.
            copy(&data().join(format!("runs/{:04}", 1 + dice.below(3))), &folder);
            let good = fs::read(folder.join(name)).unwrap_or_default();
            let good = if good.is_empty() { b"1 2 3\n".to_vec() } else { good };
            let (said, bytes) = mutated(&mut dice, case, &good);
            if name != "summary.json" {
                fs::remove_file(folder.join("summary.json")).unwrap();
            }
            fs::write(folder.join(name), &bytes).unwrap();
            survive(&format!("{name}, case {case}: {said}"), || read_run(home.path()));
            if name == "run.json" {
                assert_eq!(fs::read(folder.join(name)).unwrap(), bytes, "what cannot be read is not lost");
            }
        }
    }
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    for name in ["run.json", "status.json", "summary.json", "events.jsonl", "telemetry.jsonl", "arrivals.txt", "rank-0.log"] {
        for what in ["folder", "pipe", "endless", "link into nothing"] {
            let home = tempfile::tempdir().unwrap();
            let folder = home.path().join("runs/0001");
            copy(&data().join("runs/0001"), &folder);
            let path = folder.join(name);
            fs::remove_file(&path).unwrap();
            match what {
                "folder" => fs::create_dir(&path).unwrap(),
                "pipe" => nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap(),
                // Only what nobody writes: a fault of the lab must not reach a device of the machine.
                "endless" if name == "summary.json" => continue,
                "endless" => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
                _ => std::os::unix::fs::symlink("not/at/all", &path).unwrap(),
            }
            survive(&format!("{name} is a {what}"), || read_run(home.path()));
        }
    }
}

#[test]
fn what_no_run_can_have_is_shown_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("runs/0001");
    let listed = |name: &str, from: &str, to: &str| {
        copy(&data().join("runs/0001"), &folder);
        let text = fs::read_to_string(folder.join(name)).unwrap();
        assert!(text.contains(from), "{name} has no {from}");
        fs::write(folder.join(name), text.replacen(from, to, 1)).unwrap();
        let _ = fs::remove_file(folder.join("summary.json"));
        let row = RunStore::open(home.path()).unwrap().list().remove(0);
        assert!(fs::read_to_string(folder.join(name)).unwrap().contains(to), "it is not lost");
        row
    };
    let row = listed("run.json", "\"np\": 2", "\"np\": 18446744073709551615");
    assert!(
        row.status.message.ends_with("run.json is damaged: np 18446744073709551615 is beyond 4096"),
        "{}",
        row.status.message
    );
    let row = listed("run.json", "\"created_s\": 1", "\"created_s\": 1e300, \"was\": 1");
    assert!(row.status.message.contains("is damaged: created 1e300 is after the year 9999"), "{}", row.status.message);
    let row = listed("status.json", "\"started_s\": 1", "\"started_s\": -1");
    assert!(row.status.message.contains("status.json is damaged: start -1"), "{}", row.status.message);
    assert!(row.damaged.as_deref().is_some_and(|said| said.contains("status.json")));
    let row = listed("events.jsonl", "\"process\":0", "\"process\":4000000000");
    assert_eq!(row.damaged.as_deref(), Some("1 damaged event was skipped: process 4000000000 is beyond 4095"));
    let long = format!("{}\n{{\"time_s\":", "x".repeat(100 << 20));
    let row = listed("events.jsonl", "{\"time_s\":", &long);
    assert_eq!(row.damaged.as_deref(), Some("1 damaged event was skipped: a line has more than 1.0 MiB"));
    assert_eq!(row.last_epoch, 3, "all others count");
}

#[test]
fn the_end_of_a_long_line_is_no_line_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("runs/0001");
    copy(&data().join("runs/0001"), &folder);
    let event = r#"{"time_s":1.0,"process":0,"event":"early_stop","epoch":3}"#;
    let text = format!("{}{event}\n{event}\n", " ".repeat(5 << 19));
    fs::write(folder.join("events.jsonl"), text).unwrap();
    let updates = followed(Follower::new(RunStore::open(home.path()).unwrap().folder(RunId(1))));
    let events = updates.iter().filter(|update| matches!(update, RunUpdate::Event(_))).count();
    assert_eq!(events, 1);
}

#[test]
fn a_damaged_recording_is_refused_or_played_and_leaves_nothing() {
    let whole = fs::read(data().join("recordings/run-1.hvdrun")).unwrap();
    let mut unpacked = Vec::new();
    GzDecoder::new(&whole[..]).read_to_end(&mut unpacked).unwrap();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.hvdrun");
    for case in 0..64 {
        let mut dice = Dice::new("recording", case);
        // The file, or what is in it.
        let (said, bytes) = match case % 2 {
            0 => mutated(&mut dice, case / 2, &whole),
            _ => {
                let (said, bytes) = mutated(&mut dice, case / 2, &unpacked);
                let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
                gz.write_all(&bytes).unwrap();
                (said, gz.finish().unwrap())
            }
        };
        fs::write(&path, bytes).unwrap();
        survive(&format!("a recording, case {case}: {said}"), || {
            if let Ok(recording) = Recording::open(&path) {
                assert!(recording.record.np() <= 4096);
                let folder = recording.folder.path().to_owned();
                play(recording);
                assert!(!folder.exists());
            }
        });
    }
}

#[test]
fn damaged_files_of_the_home_are_read_or_set_aside_and_never_lost() {
    let progress = fs::read(data().join("progress/tried.json")).unwrap();
    let spec = fs::read_to_string(data().join("screen.json")).unwrap();
    let spec: serde_json::Value = serde_json::from_str(&spec).unwrap();
    let turn = serde_json::json!({ "name": "before", "spec": spec["settings"][1], "run": 3 });
    let series = serde_json::json!({ "purpose": { "guided": 4 }, "preset": "cpu", "turns": [turn, turn], "is_cancelled": false });
    let share = serde_json::json!({ "folder": "/dev/null", "learner": "ada" });
    let config = Config::default().to_toml().into_bytes();
    let files: [(&str, Vec<u8>); 4] = [
        ("progress.json", progress),
        ("series.json", serde_json::to_vec(&series).unwrap()),
        ("share.json", serde_json::to_vec(&share).unwrap()),
        ("config.toml", config),
    ];
    for (name, good) in files {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(name), &good).unwrap();
        assert!(name != "series.json" || SeriesFile::of(home.path()).read().unwrap().is_some());
        for case in 0..32 {
            let home = tempfile::tempdir().unwrap();
            let (said, bytes) = mutated(&mut Dice::new(name, case), case, &good);
            fs::write(home.path().join(name), &bytes).unwrap();
            survive(&format!("{name}, case {case}: {said}"), || {
                let _ = Class::read(home.path(), 1.7e9);
                let _ = (SeriesFile::of(home.path()).read(), Share::of(home.path()), Config::read(&home.path().join(name)));
                if let Ok(reading) = ProgressFile::of(home.path()).read() {
                    let _ = (reading.progress.to_markdown(), reading.progress.active_s());
                }
            });
            let kept =
                fs::read_dir(home.path()).unwrap().any(|entry| fs::read(entry.unwrap().path()).is_ok_and(|it| it == bytes));
            assert!(kept, "{name}, case {case}: {said}: it is lost");
        }
    }
}
