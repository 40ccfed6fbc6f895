//! Recordings on a real terminal: the one that comes with the program, and one that is made here.
//!
//! Never a trainer: the recorded run is the stand-in's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use nix::sys::signal::{Signal, kill};

use crate::support::pty::{Home, Options, PATIENCE};

#[test]
fn the_demo_needs_nothing_but_the_program() {
    let home = Home::new();
    // Below a file there is nothing, and nothing can be made.
    let nothing = &[("HVD_LAB_HOME", "/dev/null/x"), ("HVD_LAB_MPIRUN", "/dev/null/x"), ("HVD_TRAIN", "/dev/null/x")];
    let mut lab = Options { arguments: &["demo"], env: nothing, ..Options::default() }.start(&home);
    lab.wait_for("REPLAY");
    lab.wait_for("on 2 CPU cores");
    lab.wait_for("run 2 ▶");
    lab.press(" ");
    lab.wait_for("paused");
    lab.press("}");
    lab.wait_for(" finished");
    lab.wait_for("run 2 ✓");
    // Both recordings are in the table, and what the second rank was worth.
    lab.wait_for("compared with run 1");
    lab.press("r");
    lab.wait_for("this is a recording");
    lab.press("\x1b");
    lab.wait("the notice gone", |seen| !seen.terminal.screen().contents().contains("this is a recording"));
    lab.press("{");
    lab.wait_for("run 2 ▶");
    lab.press("q");
    assert!(lab.exit().success());
    lab.expect_restored();
}

/// Ways out of a recording that is played; of the last, the program itself knows nothing.
const WAYS_OUT: [Option<Signal>; 6] =
    [None, Some(Signal::SIGINT), Some(Signal::SIGTERM), Some(Signal::SIGHUP), Some(Signal::SIGQUIT), Some(Signal::SIGKILL)];

#[test]
fn nothing_that_was_unpacked_is_left_behind() {
    let (home, place) = (Home::new(), tempfile::tempdir().unwrap());
    let env: &'static [_] = vec![("TMPDIR", &*place.path().to_str().unwrap().to_owned().leak())].leak();
    let unpacked = || fs::read_dir(place.path()).unwrap().count();
    let start = || Options { arguments: &["demo"], env, ..Options::default() }.start(&home);
    for way in WAYS_OUT {
        let mut lab = start();
        lab.wait_for("REPLAY");
        assert_eq!(unpacked(), 2, "before {way:?}");
        match way {
            None => lab.press("q"),
            Some(signal) => kill(lab.pid(), signal).unwrap(),
        }
        lab.exit();
        let left = if way == Some(Signal::SIGKILL) { 2 } else { 0 };
        assert_eq!(unpacked(), left, "after {way:?}");
    }
    // The next lab removes what the killed one left, and not what another one plays.
    let mut other = start();
    other.wait_for("REPLAY");
    assert_eq!(unpacked(), 2);
    let mut lab = start();
    lab.wait_for("REPLAY");
    assert_eq!(unpacked(), 4);
    other.press("q");
    other.exit();
    assert_eq!(unpacked(), 2);
    lab.press("\x03");
    lab.exit();
    assert_eq!(unpacked(), 0);
}

#[test]
fn a_signal_while_it_is_unpacked_leaves_nothing_either() {
    let (home, place) = (Home::new(), tempfile::tempdir().unwrap());
    let env: &'static [_] = vec![("TMPDIR", &*place.path().to_str().unwrap().to_owned().leak())].leak();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let mut lab = Options { arguments: &["demo"], env, ..Options::default() }.start(&home);
        let began = Instant::now();
        while fs::read_dir(place.path()).unwrap().count() == 0 {
            assert!(began.elapsed() < PATIENCE, "nothing is unpacked");
            std::thread::yield_now();
        }
        kill(lab.pid(), signal).unwrap();
        lab.exit();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "{signal}");
    }
}

/// Every file below a folder with its content.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => all.extend(content(&path)),
            path => drop(all.insert(path.display().to_string(), fs::read(&path).unwrap())),
        }
    }
    all
}

#[test]
fn a_run_is_recorded_and_played_and_stays_as_it_was() {
    let home = Home::new();
    let lab = |arguments: &[&str]| {
        let mut lab = assert_cmd::Command::new(env!("CARGO_BIN_EXE_hvd-lab"));
        lab.args(arguments).envs(home.variables()).timeout(PATIENCE).assert()
    };
    lab(&["run", "--np", "1", "--data", "generated"]).success();
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("made-here.hvdrun");
    lab(&["record", "1", "--out", file.to_str().unwrap(), "--anonymous"]).success();
    lab(&["record", "1", "--out", file.to_str().unwrap()]).code(2);
    let runs = home.store().folder(hvd_lab_terminal::runs::RunId(1));
    let before = content(runs.path());
    // A run by its number and the same run from the file, which gets a number of its own.
    let file: &'static str = file.to_str().unwrap().to_owned().leak();
    for arguments in [&["replay", "1"][..], &[["replay", file]].concat().leak()[..]] {
        let arguments: &'static [&'static str] = arguments.to_vec().leak();
        let mut lab = Options { columns: 120, rows: 40, arguments, ..Options::default() }.start(&home);
        lab.wait_for("REPLAY");
        lab.press("}");
        lab.wait_for("Epoch 3/3");
        lab.wait_for("✓ finished");
        lab.press("\x03");
        assert!(lab.exit().success(), "Ctrl-C leaves");
        lab.expect_restored();
    }
    assert_eq!(content(runs.path()).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(content(runs.path()), before, "a replay writes nothing");
}

#[test]
fn what_cannot_be_played_is_said_in_one_line() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("holiday.jpg");
    fs::write(&foreign, "not a recording").unwrap();
    let cases = [
        ("7", "there is no run 7"),
        (foreign.to_str().unwrap(), "is not a recording of a run"),
        ("nowhere.hvdrun", "No such file"),
    ];
    for (what, expected) in cases {
        let mut lab = assert_cmd::Command::new(env!("CARGO_BIN_EXE_hvd-lab"));
        let output = lab.args(["replay", what]).envs(home.variables()).timeout(PATIENCE).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected) && said.lines().count() == 1, "{said}");
    }
}
