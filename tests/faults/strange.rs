//! Homes with what does not belong there: numbers at their end, pipes and devices in place of files, records of other machines.
//!
//! A process that a record names is not the run's for that: a bystander of the test stands in for it, and has to survive.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hvd_lab_terminal::process;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};

use super::campaign::{Dice, try_all};
use super::home::Home;
use super::outcome::Snapshot;
use super::program::run;

/// A process that has nothing to do with any run.
struct Bystander(Child);

impl Bystander {
    fn start() -> Bystander {
        Bystander(Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap())
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes a home strange; run 4 is the one that it is about. `u32` is the pid of the bystander.
type Change = fn(&Home, u32);

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, serde_json::to_vec_pretty(&value).unwrap()).unwrap();
}

fn status(home: &Home, change: impl FnOnce(&mut Value)) {
    edit(&home.path().join("runs/0004/status.json"), change);
}

fn goes_on(home: &Home, pid: u32, ticks: u64) {
    status(home, |status| {
        status["state"] = "running".into();
        status["supervisor_pid"] = pid.into();
        status["supervisor_start_ticks"] = ticks.into();
        status["ended_s"] = Value::Null;
    });
}

fn instead(home: &Home, name: &str) -> std::path::PathBuf {
    let path = home.path().join("runs/0004").join(name);
    fs::remove_file(&path).unwrap();
    path
}

fn pipe(home: &Home, name: &str) {
    mkfifo(&instead(home, name), Mode::S_IRWXU).unwrap();
}

/// Not a link to a device of the machine, which a fault of the lab must not reach.
fn linked_pipe(home: &Home, name: &str) {
    let elsewhere = home.path().join("pipe");
    mkfifo(&elsewhere, Mode::S_IRWXU).unwrap();
    symlink(elsewhere, instead(home, name)).unwrap();
}

fn ticks(pid: u32) -> u64 {
    process::look_up(pid).unwrap().start_ticks
}

const CHANGES: [(&str, Change); 23] = [
    ("the last number there is", |home, _| fs::create_dir(home.path().join("runs/4294967295")).unwrap()),
    ("the last number in the trash", |home, _| fs::create_dir_all(home.path().join("trash/4294967295-1700000000123")).unwrap()),
    ("the last number, remembered", |home, _| {
        fs::create_dir_all(home.path().join("trash")).unwrap();
        fs::write(home.path().join("trash/highest-number"), "4294967295").unwrap();
    }),
    ("a number of the trash that is none", |home, _| {
        fs::create_dir_all(home.path().join("trash/0004-99999999999999999999999")).unwrap();
        fs::write(home.path().join("trash/highest-number"), "-1e99").unwrap();
    }),
    ("run 0, run 00004, run ../x", |home, _| {
        ["0", "00004", "-1", "..x", "4 ", "٤"]
            .iter()
            .for_each(|name| fs::create_dir(home.path().join("runs").join(name)).unwrap());
    }),
    ("a file in place of a run", |home, _| fs::write(home.path().join("runs/0005"), "no folder").unwrap()),
    ("a run that is a link to itself", |home, _| symlink("0005", home.path().join("runs/0005")).unwrap()),
    ("a run that is a link to another", |home, _| symlink("0004", home.path().join("runs/0005")).unwrap()),
    ("many empty runs", |home, _| (5..600).for_each(|id| fs::create_dir(home.path().join(format!("runs/{id:04}"))).unwrap())),
    ("a pipe for a record", |home, _| pipe(home, "run.json")),
    ("a pipe for a status", |home, _| pipe(home, "status.json")),
    ("a pipe for events", |home, _| pipe(home, "events.jsonl")),
    ("a pipe for a log", |home, _| pipe(home, "rank-0.log")),
    ("a link to a pipe for a record", |home, _| linked_pipe(home, "run.json")),
    ("a link to a pipe for events", |home, _| linked_pipe(home, "events.jsonl")),
    ("another's process as supervisor", |home, pid| goes_on(home, pid, ticks(pid))),
    ("a process of another start as supervisor", |home, pid| goes_on(home, pid, ticks(pid) + 7)),
    ("a run of another host", |home, pid| {
        edit(&home.path().join("runs/0004/run.json"), |record| record["host"] = "elsewhere".into());
        goes_on(home, pid, ticks(pid));
    }),
    ("a run of another host before it began", |home, _| {
        edit(&home.path().join("runs/0004/run.json"), |record| record["host"] = "elsewhere".into());
        goes_on(home, 0, 0);
    }),
    ("a start in the future", |home, _| {
        goes_on(home, 0, 0);
        status(home, |status| status["started_s"] = json!(4e9));
    }),
    ("a start beyond all calendars", |home, _| {
        goes_on(home, 0, 0);
        status(home, |status| status["started_s"] = json!(1e300));
        edit(&home.path().join("runs/0004/run.json"), |record| record["created_s"] = json!(-1e300));
    }),
    ("progress from beyond all calendars", |home, _| {
        edit(&home.path().join("progress.json"), |progress| {
            progress["done"]["4"] = json!({ "run": 4, "time_s": 1e300, "evidence": "x" });
        });
    }),
    ("a name that fills the terminal", |home, _| {
        edit(&home.path().join("runs/0004/run.json"), |record| record["name"] = "x".repeat(200_000).into());
    }),
];

const VERBS: [&[&str]; 12] = [
    &["runs"],
    &["runs", "--json"],
    &["compare"],
    &["report"],
    &["check", "4"],
    &["progress"],
    &["record", "4", "--out", "x.hvdrun"],
    &["stop", "4"],
    &["run", "--np", "1", "--data", "generated"],
    &["run", "--continue", "4", "--epochs", "5"],
    &["runs", "delete", "4"],
    &["runs", "restore"],
];

fn case(number: usize, _: &mut Dice) -> (String, Result<(), String>) {
    let (what, change) = CHANGES[number % CHANGES.len()];
    let home = Home::copied();
    let mut bystander = Bystander::start();
    change(&home, bystander.0.id());
    let before = Snapshot::of(&home.path());
    let mut failures = Vec::new();
    for verb in VERBS {
        if let Err(why) = run(&mut home.lab(verb)).judge() {
            failures.push(format!("`hvd-lab {}`: {why}", verb.join(" ")));
        }
        if !bystander.lives() {
            failures.push(format!("`hvd-lab {}` ended a process of someone else", verb.join(" ")));
            break;
        }
    }
    failures.extend(before.lost(&Snapshot::of(&home.path())).err());
    let left = home.left_running();
    if !left.is_empty() {
        failures.push(format!("left running: {left:?}"));
    }
    (what.to_owned(), if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) })
}

#[test]
fn what_does_not_belong_into_a_home_does_no_harm() {
    try_all("strange-homes", CHANGES.len(), case);
}
