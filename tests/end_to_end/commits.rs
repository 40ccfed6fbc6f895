//! Elastic runs that lose a rank within an epoch go on from the last commit, and train what a run trains that was stopped there.
//!
//! Never waits for time: the kill comes with the file system's own word of a commit.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};

use hvd_lab_terminal::domain::checkpoint::Progress;
use hvd_lab_terminal::domain::event::{CheckpointAction, CheckpointReport, ConfigReport, Event, EventLine, MARKER, Metrics};
use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::RunId;
use nix::sys::signal::Signal;
use notify::event::{ModifyKind, RenameMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::killed::losses;
use super::{events, log_files};
use crate::support::lab::{Lab, finish, stderr, stdout};
use crate::support::trainer::{turn, with_trainer};
use crate::support::wait::{LIMIT, wait_for};

const FLAGS: [&str; 14] = [
    "--data",
    "auto",
    "--train-images",
    "960",
    "--validation-images",
    "100",
    "--batch-size",
    "16",
    "--model",
    "wrn-10-1",
    "--epochs",
    "2",
    "--target-accuracy",
    "1",
];

/// Each commit of a run as it appears, also kept in a folder where nobody removes it.
fn commits(lab: &Lab, id: u32, kept: PathBuf) -> (RecommendedWatcher, Receiver<Progress>) {
    let (tell, seen) = channel();
    let take = move |event: notify::Result<notify::Event>| {
        let Ok(notify::Event { kind: EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both)), paths, .. }) = event
        else {
            return;
        };
        for path in paths {
            let place =
                path.file_name().and_then(|name| Progress::from_file_name(name.to_str()?)).filter(|place| place.images > 0);
            if let Some(place) = place
                && std::fs::hard_link(&path, kept.join(place.file_name())).is_ok()
            {
                // Nobody may be waiting any more.
                let _ = tell.send(place);
            }
        }
    };
    wait_for("the log folder", || lab.folder(id).log_dir().is_dir().then_some(()));
    let mut watcher = notify::recommended_watcher(take).unwrap();
    watcher.watch(&lab.folder(id).log_dir(), RecursiveMode::NonRecursive).unwrap();
    (watcher, seen)
}

/// The first commit of the second epoch.
fn second_epoch(seen: &Receiver<Progress>) -> Progress {
    loop {
        let place = seen.recv_timeout(LIMIT).expect("a commit");
        if place.epoch == 1 {
            return place;
        }
    }
}

fn configs(lab: &Lab, id: u32) -> Vec<ConfigReport> {
    let root = events(lab, id).into_iter().filter(|line| line.process == 0);
    root.filter_map(|line| if let Event::Config(config) = line.event { Some(config) } else { None }).collect()
}

fn loaded(lab: &Lab, id: u32) -> Vec<CheckpointReport> {
    let is_it = |report: &CheckpointReport| report.action == CheckpointAction::Loaded;
    let all = events(lab, id).into_iter();
    all.filter_map(|line| if let Event::Checkpoint(report) = line.event { Some(report).filter(is_it) } else { None }).collect()
}

/// Validation after the last epoch, and the test.
fn results(lines: &[EventLine]) -> (Metrics, Metrics) {
    let (mut validated, mut tested) = (Metrics::default(), Metrics::default());
    for line in lines.iter().filter(|line| line.process == 0) {
        match &line.event {
            Event::Epoch(report) => validated = report.validated().unwrap(),
            Event::Test { loss, accuracy, .. } => tested = Metrics { loss: *loss, accuracy: *accuracy },
            _ => {}
        }
    }
    (validated, tested)
}

fn train(lab: &Lab, more: &[&str]) -> std::process::Output {
    lab.run(&[&["run"], &flags(more)[..]].concat())
}

fn flags<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&FLAGS[..], more].concat()
}

#[test]
fn with_as_many_ranks_it_trains_from_the_last_commit_as_if_nothing_had_happened() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    assert_eq!(train(&lab, &["--np", "2"]).status.code(), Some(0));
    let going = lab.spawn(&[&["run"], &flags(&["--np", "2", "--min-np", "2", "--commit-every", "5"])[..]].concat());
    wait_for("the run", || lab.store().record(RunId(2)).ok());
    let (_watcher, seen) = commits(&lab, 2, lab.home().to_owned());
    second_epoch(&seen);
    process::signal(lab.pids(2)[1], Signal::SIGKILL);
    let output = finish(going);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let config = configs(&lab, 2).pop().unwrap();
    assert_eq!((config.resume_epoch, config.resume_step % 5), (1, 0), "{config:?}");
    assert!(config.resume_step > 0, "{config:?}");
    // The steps just before the kill may be missing: they were on their way to the file. Those that were done twice are the same.
    let (found, expected) = (losses(&lab, 2), losses(&lab, 1));
    assert!(found.iter().all(|(step, loss)| expected.get(step) == Some(loss)), "{found:?}\n{expected:?}");
    let resumed = |all: &BTreeMap<(usize, usize, usize), u64>| {
        all.keys().filter(|(_, epoch, batch)| (*epoch, *batch) >= (1, config.resume_step)).count()
    };
    assert_eq!(resumed(&found), resumed(&expected));
    assert_eq!(results(&events(&lab, 2)), results(&events(&lab, 1)));
    assert!(log_files(&lab, 2).iter().all(|name| !name.starts_with("commit-")), "{:?}", log_files(&lab, 2));
    // The part of the epoch that was trained before the commit counts as time.
    let summary = lab.store().summary(RunId(2)).unwrap();
    assert_eq!((summary.status.state, summary.last_epoch), (RunState::Finished, 2));
    lab.assert_nothing_left(2);
}

#[test]
fn with_fewer_ranks_it_trains_what_a_run_trains_that_was_stopped_at_the_commit() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let three = ["--np", "3", "--force", "--commit-every", "5"];
    let going = lab.spawn(&[&["run", "--min-np", "1"], &flags(&three)[..]].concat());
    wait_for("the run", || lab.store().record(RunId(1)).ok());
    let (_watcher, seen) = commits(&lab, 1, lab.home().to_owned());
    second_epoch(&seen);
    process::signal(lab.pids(1)[2], Signal::SIGKILL);
    let output = finish(going);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(lab.store().record(RunId(1)).unwrap().np_of_attempts().collect::<Vec<_>>(), [3, 2]);
    let [from] = &loaded(&lab, 1)[..] else { panic!("{:?}", loaded(&lab, 1)) };
    let place = Progress { epoch: from.epoch, images: from.images };
    assert!(place.images > 0, "{from:?}");
    let [before, after] = &configs(&lab, 1)[..] else { panic!("{:?}", configs(&lab, 1)) };
    assert!(after.steps_per_epoch > before.steps_per_epoch);
    assert_eq!(after.resume_step, place.images / (16 * 2), "the rest of the epoch is shared anew");

    // Another training, of two ranks from the first, begins with that very commit.
    let line = stdout(&lab.run(&[&["run", "--dry-run"], &flags(&["--np", "2", "--commit-every", "5"])[..]].concat()));
    let logs = lab.folder(2).log_dir();
    std::fs::create_dir_all(&logs).unwrap();
    std::fs::copy(lab.home().join(place.file_name()), logs.join(place.file_name())).unwrap();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &line]).current_dir(lab.home()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = finish(command.spawn().unwrap());
    assert!(output.status.success(), "{line}\n{}", stderr(&output));
    let other: Vec<EventLine> = stdout(&output)
        .lines()
        .filter_map(|line| line.split_once(MARKER))
        .filter_map(|(_, json)| EventLine::parse_line(json))
        .collect();
    let steps = |lines: &[EventLine]| -> BTreeMap<(usize, usize, usize), u64> {
        let step = |line: &EventLine| match line.event {
            Event::Step { epoch, batch, loss, .. } if (epoch, batch) >= (1, after.resume_step) => {
                Some(((line.process, epoch, batch), loss.to_bits()))
            }
            _ => None,
        };
        lines.iter().filter_map(step).collect()
    };
    let since = events(&lab, 1).into_iter().skip_while(|line| line.event != Event::Launched { np: 2 }).collect::<Vec<_>>();
    assert_eq!(steps(&since).len(), 2 * (after.steps_per_epoch - after.resume_step));
    assert_eq!(steps(&since), steps(&other));
    assert_eq!(results(&since), results(&other));
    lab.assert_nothing_left(1);
}

#[test]
fn a_commit_that_is_damaged_is_refused_and_one_before_it_is_taken() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let going = lab.spawn(&[&["run"], &flags(&["--np", "2", "--commit-every", "5"])[..]].concat());
    wait_for("the run", || lab.store().record(RunId(1)).ok());
    let (_watcher, seen) = commits(&lab, 1, lab.home().to_owned());
    // No epoch has ended: there are commits only.
    seen.recv_timeout(LIMIT).unwrap();
    seen.recv_timeout(LIMIT).unwrap();
    process::signal(lab.pids(1)[0], Signal::SIGKILL);
    assert_eq!(finish(going).status.code(), Some(1));
    lab.wait_until_over(1);
    let mut left: Vec<Progress> = log_files(&lab, 1).iter().filter_map(|name| Progress::from_file_name(name)).collect();
    left.sort_unstable();
    let (newest, before) = (left.pop().unwrap(), left.pop().unwrap());
    let path = lab.folder(1).log_dir().join(newest.file_name());
    let length = path.metadata().unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length / 2).unwrap();
    let output = lab.run(&["run", "--continue", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let [from] = &loaded(&lab, 1)[..] else { panic!("{:?}", loaded(&lab, 1)) };
    assert_eq!((from.epoch, from.images), (before.epoch, before.images));
    let refused = events(&lab, 1).into_iter().any(|line| {
        matches!(line.event, Event::Checkpoint(report) if report.action == CheckpointAction::Refused && report.images == newest.images)
    });
    assert!(refused, "it is named");
}

#[test]
fn commits_that_cannot_be_are_refused_in_a_line() {
    let Some(lab) = with_trainer() else { return };
    for (more, words) in [
        (&["--commit-every", "0"][..], "give 1 or more steps"),
        (&["--commit-every", "5", "--no-checkpointing"], "switch checkpoints on"),
        (&["--commit-every", "5", "--steps", "1-6"], "need step 7"),
        (&["--commit-every", "some"], "whole number"),
    ] {
        let output = train(&lab, more);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {said}");
        assert!(said.contains(words) && said.lines().count() == 1, "{more:?}: {said}");
    }
}
