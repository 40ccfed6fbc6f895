//! Disks that fill up: under a run at any stage, and under every verb that writes a file.
//!
//! What could be read before can be read after, nothing is left half written, and what is said names a file and the reason.

use std::fs;
use std::process::{Output, Stdio};

use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::RunFolder;

use super::campaign::{Dice, try_all};
use super::home::{Home, copy};
use super::kills::{CONTINUE, Reader, Told, compare, run_arguments};
use super::outcome::Snapshot;
use super::program::run;
use super::screen::look;
use crate::support::disk::{PAGE, SmallDisk};
use crate::support::lab::{finish, stderr};
use crate::support::trainer::{turn, with_trainer};

/// Cases of the short campaign.
const VERBS: usize = 3 * WRITERS.len();
const TRAININGS: usize = 5;

/// A verb that writes, what has to be there before, and what it writes.
struct Writer {
    before: &'static [&'static [&'static str]],
    verb: &'static [&'static str],
    /// The file that it is asked for, with what a whole one ends in.
    file: Option<(&'static str, &'static str)>,
}

const fn writes(verb: &'static [&'static str], file: &'static str, ends_in: &'static str) -> Writer {
    Writer { before: &[], verb, file: Some((file, ends_in)) }
}

const fn changes(verb: &'static [&'static str]) -> Writer {
    Writer { before: &[], verb, file: None }
}

const WRITERS: [Writer; 21] = [
    // The screen, which remembers a theme that is chosen with a key.
    changes(&[]),
    writes(&["report", "--out", "a.html"], "a.html", "</html>\n"),
    writes(&["report", "--out", "a.md"], "a.md", "\n"),
    writes(&["report", "--out", "a.json"], "a.json", "}\n"),
    writes(&["compare", "--out", "b.svg"], "b.svg", "</svg>\n"),
    writes(&["compare", "--out", "b.csv"], "b.csv", "\n"),
    writes(&["compare", "--out", "b.json"], "b.json", "}\n"),
    writes(&["record", "1", "--out", "c.hvdrun"], "c.hvdrun", ""),
    writes(&["progress", "--export", "d.md"], "d.md", "\n"),
    writes(&["progress", "--export", "d.json"], "d.json", ""),
    writes(&["config", "write"], "config.toml", "\n"),
    changes(&["progress", "--share", "class", "--name", "dora"]),
    changes(&["progress", "--reset", "all"]),
    changes(&["check", "1"]),
    changes(&["runs", "name", "1", "a name for it"]),
    changes(&["runs", "note", "2", "noted"]),
    changes(&["runs", "delete", "3"]),
    Writer { before: &[&["runs", "delete", "2"]], ..changes(&["runs", "empty-trash", "--yes"]) },
    changes(&["exercise", "start"]),
    changes(&["exercise", "reset", "--step", "4", "--yes"]),
    changes(&["run", "--np", "2", "--data", "generated"]),
];

/// Logs of ranks that say nothing, locks, and the checkpoints of the stand-in that trains nothing.
fn may_be_empty(name: &str) -> bool {
    ["rank-", "lock", "checkpoint-", "arrivals.txt"].iter().any(|part| name.contains(part))
        || name.ends_with(".jsonl")
        || name.ends_with(".log")
}

fn full_disk(number: usize, dice: &mut Dice) -> (String, Result<(), String>) {
    let writer = &WRITERS[number % WRITERS.len()];
    let what = format!("`hvd-lab {}` on a full disk", writer.verb.join(" "));
    let home = Home::empty();
    let disk = SmallDisk::mount(&home.path(), 4 << 20).unwrap();
    copy(&Home::copied().path(), &disk.path());
    // Made anew by these verbs.
    let fresh: &[&str] = match writer.verb {
        ["config", ..] => &["config.toml"],
        [] => &[],
        ["exercise", "start"] => &["exercise/fashion_mnist.rs", "exercise"],
        _ => &["share.json"],
    };
    for path in fresh.iter().map(|name| disk.path().join(name)) {
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    let lab = |args: &[&str]| run(&mut disk.inside(&home.lab(args)));
    writer.before.iter().for_each(|verb| drop(lab(verb)));
    let before = Snapshot::of(&disk.path());
    let free = [0, 1, 2, 4, 10][dice.below(5)];
    let ballast = disk.fill(free * PAGE);
    let ran = match writer.verb {
        [] => look(&disk.inside(&home.lab(writer.verb)), &["T"]),
        verb => lab(verb),
    };
    fs::remove_file(ballast).unwrap();
    let after = Snapshot::of(&disk.path());
    let result = (|| {
        ran.judge()?;
        if !writer.verb.contains(&"empty-trash") {
            before.lost(&after)?;
        }
        if let Some((name, _)) = after.new_in(&before).find(|(name, bytes)| *bytes == 0 && !may_be_empty(name)) {
            return Err(format!("{name} is empty"));
        }
        if let [first, ..] = after.temporary().as_slice() {
            return Err(format!("{first} is left"));
        }
        let said = format!("{}{}", ran.stdout, ran.stderr);
        match (ran.code(), writer.file) {
            (Some(0), Some((name, ends_in))) => {
                let text = fs::read(disk.path().join(name)).map_err(|error| format!("exit code 0 without {name}: {error}"))?;
                if text.is_empty() || !text.ends_with(ends_in.as_bytes()) {
                    return Err(format!("exit code 0, and {name} is not whole"));
                }
            }
            (Some(0), None) => {}
            // A check that did not pass, and could write what it wanted.
            (Some(1), _) if writer.verb.first() == Some(&"check") && !said.contains("rite") => {}
            _ if !said.contains("space") => return Err(format!("it does not say why: {said}")),
            (_, file) if !said.contains('/') && !file.is_some_and(|(name, _)| said.contains(name)) => {
                return Err(format!("it names no file: {said}"));
            }
            _ => {}
        }
        Ok(())
    })();
    (what, result.map_err(|why| format!("{free} pages free: {why}")))
}

fn training(_: usize, dice: &mut Dice) -> (String, Result<(), String>) {
    let _turn = turn();
    let temporary = tempfile::tempdir().unwrap();
    let lab = with_trainer().unwrap().env("TMPDIR", temporary.path().to_str().unwrap());
    // From too little for a run up to more than it takes.
    let bytes = (4 << 10 << dice.below(11)) + dice.below(16) as u64 * PAGE;
    let disk = SmallDisk::mount(lab.home(), bytes).unwrap();
    let folder = RunFolder::new(disk.path().join("runs/0001"));
    let start = |args: &[&str]| -> Output {
        let mut command = disk.inside(&lab.command(args));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        finish(command.spawn().unwrap())
    };
    let reader = Reader::start(folder.clone());
    let output = start(&run_arguments());
    let (code, said) = (output.status.code(), stderr(&output));
    let outcome = match code {
        Some(0) => "it fits",
        _ if !folder.record_file().exists() => "no room for a run",
        _ => "full while it trains",
    };
    let result = (|| {
        match code {
            Some(0) => {}
            Some(1 | 2) if said.contains("space") && said.contains('/') => {}
            // Not even its first word had room, nor its log.
            Some(1) if bytes < 64 << 10 && said.contains("its supervisor did not start") => {}
            _ => return Err(format!("exit code {code:?}: {said}")),
        }
        let left = process::of_run(&lab.home().join("runs/0001"));
        if !left.is_empty() {
            return Err(format!("left running: {left:?}"));
        }
        disk.resize(64 << 20);
        let told = if folder.record_file().exists() { Some(Told::when_over(&start)) } else { None };
        let told = match told {
            Some(told) if told.is_finished() => told,
            other => {
                let again = start(&if other.is_some() { CONTINUE.to_vec() } else { run_arguments() });
                if again.status.code() != Some(0) {
                    return Err(format!("there is room, and it does not go on: {}", stderr(&again)));
                }
                Told::when_over(&start)
            }
        };
        compare(&folder, &told)?;
        match Snapshot::of(&disk.path()).temporary().as_slice() {
            [] => Ok(()),
            files => Err(format!("temporary files are left: {files:?}")),
        }
    })();
    let result = result.and(reader.end()).map_err(|why| format!("{} KiB: {why}", bytes >> 10));
    (format!("training, {outcome}"), result)
}

/// Whether a disk may be mounted here.
fn may_mount() -> bool {
    SmallDisk::mount(tempfile::tempdir().unwrap().path(), PAGE).is_some()
}

#[test]
fn verbs_on_a_full_disk_lose_nothing_and_say_so() {
    if may_mount() {
        try_all("full-disks", VERBS, full_disk);
    }
}

#[test]
fn a_run_that_fills_its_disk_goes_on_when_there_is_room() {
    if with_trainer().is_some() && may_mount() {
        try_all("small-disks", TRAININGS, training);
    }
}
