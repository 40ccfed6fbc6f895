//! Damaged files, and every verb that reads them: whatever a file holds, the lab answers in time and loses nothing.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::campaign::{Dice, try_all};
use super::home::{Home, RUNS};
use super::mutation::{Kind, damage};
use super::outcome::Snapshot;
use super::program::{run, run_within};
use super::screen::{KEYS, look};
use crate::support::trainer::with_trainer;

/// Cases of the short campaign.
const CASES: usize = 220;
/// One in so many is looked at on the screen too, which takes longer than a verb.
const ON_SCREEN: usize = 8;

/// A file, what it holds, and who reads it. `N` stands for the number of a run.
struct Target {
    path: &'static str,
    kind: Kind,
    /// How often it is chosen.
    weight: usize,
    verbs: &'static [&'static [&'static str]],
    /// Arguments with which the screen reads it.
    screen: &'static [&'static str],
}

/// Always tried for a file of a run.
const LISTS: [&[&str]; 2] = [&["runs"], &["runs", "--json"]];
const OF_A_RUN: [&[&str]; 16] = [
    &["compare"],
    &["compare", "N", "--json"],
    &["compare", "1", "2", "3", "4", "--out", "compared.svg"],
    &["compare", "--format", "csv"],
    &["report", "--name", "ada"],
    &["report", "--out", "report.html"],
    &["check", "N"],
    &["check", "N", "--json"],
    &["record", "N", "--out", "again.hvdrun"],
    &["runs", "name", "N", "another", "name"],
    &["runs", "note", "N", "noted"],
    &["stop", "N"],
    &["run", "--continue", "N", "--epochs", "9"],
    &["runs", "delete", "N"],
    &["runs", "restore", "N"],
    &["runs", "--filter", "state:finished", "--sort", "time"],
];

const PROGRESS: [&[&str]; 7] = [
    &["progress"],
    &["progress", "--export", "progress.md"],
    &["lessons"],
    &["report"],
    &["check", "1"],
    &["exercise", "diff"],
    &["progress", "--share", "class", "--name", "ada"],
];
const CLASS: [&[&str]; 2] = [&["class", "class"], &["class", "class", "--json"]];
const EXERCISE: [&[&str]; 4] = [
    &["exercise", "diff"],
    &["exercise", "diff", "--step", "4", "--mine"],
    &["exercise", "path"],
    &["exercise", "reset", "--step", "4", "--yes"],
];
const LESSONS: [&[&str]; 4] = [
    &["lessons", "--lessons", "lessons"],
    &["lessons", "show", "4", "--lessons", "lessons"],
    &["lessons", "check", "lessons"],
    &["lessons", "show", "0", "--lessons", "lessons"],
];
const CONFIG: [&[&str]; 2] = [&["config", "show"], &["config", "check"]];
const HOSTS: [&[&str]; 1] = [&["run", "--np", "2", "--hostfile", "hosts", "--data", "generated", "--dry-run"]];
const IMAGES: [&[&str]; 2] = [&["run", "--np", "1", "--data-dir", "images", "--dry-run"], &["data", "import", "images"]];

const fn target(
    path: &'static str,
    kind: Kind,
    weight: usize,
    verbs: &'static [&'static [&'static str]],
    screen: &'static [&'static str],
) -> Target {
    Target { path, kind, weight, verbs, screen }
}

const TARGETS: [Target; 22] = [
    target("runs/000N/run.json", Kind::Json, 8, &OF_A_RUN, &[]),
    target("runs/000N/status.json", Kind::Json, 6, &OF_A_RUN, &[]),
    target("runs/000N/summary.json", Kind::Json, 4, &OF_A_RUN, &[]),
    target("runs/000N/events.jsonl", Kind::JsonLines, 8, &OF_A_RUN, &["replay", "N"]),
    target("runs/000N/telemetry.jsonl", Kind::JsonLines, 3, &OF_A_RUN, &["replay", "N"]),
    target("runs/000N/arrivals.txt", Kind::Text, 3, &OF_A_RUN, &["replay", "N"]),
    target("runs/000N/rank-0.log", Kind::Text, 2, &OF_A_RUN, &["replay", "N"]),
    target("runs/000N/launcher.log", Kind::Text, 2, &OF_A_RUN, &["replay", "N"]),
    target("old.hvdrun", Kind::Binary, 2, &[], &["replay", "old.hvdrun"]),
    target("new.hvdrun", Kind::Binary, 2, &[], &["replay", "new.hvdrun"]),
    target("progress.json", Kind::Json, 4, &PROGRESS, &[]),
    target("share.json", Kind::Json, 2, &PROGRESS, &[]),
    target("class/ada.json", Kind::Json, 2, &CLASS, &[]),
    target("class/bob.json", Kind::Json, 2, &CLASS, &[]),
    target("class/cy/progress.json", Kind::Json, 1, &CLASS, &[]),
    target("screen.json", Kind::Json, 1, &LISTS, &[]),
    target("config.toml", Kind::Text, 3, &CONFIG, &[]),
    target("exercise/fashion_mnist.rs", Kind::Text, 2, &EXERCISE, &[]),
    target("hosts", Kind::Text, 1, &HOSTS, &[]),
    target("lessons/04_broadcast.md", Kind::Text, 3, &LESSONS, &[]),
    target("images/train-images-idx3-ubyte.gz", Kind::Binary, 3, &IMAGES, &[]),
    target("images/t10k-labels-idx1-ubyte", Kind::Binary, 2, &IMAGES, &[]),
];

fn chosen(dice: &mut Dice) -> &'static Target {
    let mut place = dice.below(TARGETS.iter().map(|target| target.weight).sum());
    let found = TARGETS.iter().find(|target| match place.checked_sub(target.weight) {
        Some(rest) => {
            place = rest;
            false
        }
        None => true,
    });
    found.unwrap()
}

/// The verbs of a case: all of a short list, else the lists of runs and a few more.
fn verbs(dice: &mut Dice, target: &Target) -> Vec<&'static [&'static str]> {
    if target.verbs.len() <= 8 {
        return target.verbs.to_vec();
    }
    let more = (0..4).map(|_| *dice.pick(target.verbs));
    LISTS.into_iter().chain(more).collect()
}

/// A record that names a process which is there: the lab may not, and a case must not, take it for one of the run's.
fn names_a_process(path: &Path) -> bool {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let after = text.split("\"supervisor_pid\"").nth(1).unwrap_or_default();
    let number: String = after.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    number.parse::<u32>().is_ok_and(|pid| Path::new(&format!("/proc/{pid}")).exists())
}

fn case(number: usize, dice: &mut Dice) -> (String, Result<(), String>) {
    let target = chosen(dice);
    let home = Home::copied();
    let id = (1 + dice.below(RUNS)).to_string();
    let path = home.path().join(target.path.replace('N', &id));
    let mut way = damage(dice, &path, target.kind);
    if target.path.ends_with("status.json") && path.is_file() && names_a_process(&path) {
        (way, _) = ("emptied", fs::write(&path, "").unwrap());
    }
    let what = format!("{}: {way}", target.path);
    let before = Snapshot::of(&home.path());
    let mut failures = Vec::new();
    for verb in verbs(dice, target) {
        let args: Vec<String> = verb.iter().map(|word| word.replace('N', &id)).collect();
        let ran = run(&mut home.lab(&args));
        if let Err(why) = ran.judge() {
            failures.push(format!("`hvd-lab {}`: {why}", args.join(" ")));
        }
    }
    if target.verbs.is_empty() || number.is_multiple_of(ON_SCREEN) || target.path == "screen.json" {
        let args: Vec<String> = target.screen.iter().map(|word| word.replace('N', &id)).collect();
        if let Err(why) = look(&home.lab(&args), &KEYS).judge() {
            failures.push(format!("the screen, `hvd-lab {}`: {why}", args.join(" ")));
        }
    }
    if target.path.starts_with("images/")
        && let Err(why) = train_on(&home)
    {
        failures.push(format!("hvd-train: {why}"));
    }
    if let Err(why) = before.lost(&Snapshot::of(&home.path())) {
        failures.push(why);
    }
    let left = home.left_running();
    if !left.is_empty() {
        failures.push(format!("left running: {left:?}"));
    }
    (what, if failures.is_empty() { Ok(()) } else { Err(format!("run {id}: {}", failures.join("; "))) })
}

/// The trainer reads the images itself, where it is built.
fn train_on(home: &Home) -> Result<(), String> {
    let Some(_) = with_trainer() else { return Ok(()) };
    let mut command = Command::new(crate::support::lab::program().with_file_name("hvd-train"));
    command.args(["--data-dir", "images", "--model", "wrn-10-1", "--epochs", "1", "--steps", "none", "--batch-size", "20"]);
    command.args(["--train-images", "20", "--validation-images", "20", "--log-dir", "logs"]);
    run_within(command.current_dir(home.path()).envs(home.variables()), Duration::from_secs(20)).judge()
}

#[test]
fn damaged_files_are_answered_in_time_and_nothing_is_lost() {
    try_all("mutations", CASES, case);
}
