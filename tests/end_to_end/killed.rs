//! Runs that are killed around a checkpoint: they go on bit for bit, and their record has every epoch once.
//!
//! Never waits for time: the kill comes with the file system's own word of what happens to the checkpoint.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

use hvd_lab_terminal::domain::event::{DigestMoment, Event, EventLine};
use hvd_lab_terminal::domain::history::{History, Keep};
use hvd_lab_terminal::domain::run::{RunState, RunStatus};
use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::RunId;
use nix::sys::signal::Signal;
use notify::event::{CreateKind, ModifyKind, RenameMode};
use notify::{EventKind, RecursiveMode, Watcher};

use super::{SMALL, events, log_files, run};
use crate::support::lab::{Lab, stderr};
use crate::support::trainer::{turn, with_trainer};
use crate::support::wait::{LIMIT, wait_for};

const EPOCHS: usize = 4;
const FLAGS: [&str; 6] = ["--np", "2", "--data", "auto", "--epochs", "4"];

/// Loss of each step, as bits, by process, epoch and batch: of a step that was done twice the later one.
pub fn losses(lab: &Lab, id: u32) -> BTreeMap<(usize, usize, usize), u64> {
    let step = |line: EventLine| match line.event {
        Event::Step { epoch, batch, loss, .. } => Some(((line.process, epoch, batch), loss.to_bits())),
        _ => None,
    };
    events(lab, id).into_iter().filter_map(step).collect()
}

/// The run has trained as one that never stopped, and all that compares and judges runs sees every epoch once.
///
/// Of the steps the last ones before the kill may be missing: they were on their way to the file.
pub fn assert_unbroken(lab: &Lab, id: u32, unbroken: u32) {
    let mut history = History::new(Keep::Everything);
    events(lab, id).iter().for_each(|line| history.take(line));
    let (found, expected) = (losses(lab, id), losses(lab, unbroken));
    for process in 0..2 {
        let resumed = history.process(process).unwrap().config.as_ref().unwrap().resume_epoch;
        let of = |all: &BTreeMap<(usize, usize, usize), u64>, epochs: std::ops::Range<usize>| {
            let all = all.range((process, epochs.start, 0)..(process, epochs.end, 0));
            all.map(|(step, loss)| (*step, *loss)).collect::<Vec<_>>()
        };
        assert_eq!(of(&found, resumed..EPOCHS), of(&expected, resumed..EPOCHS), "process {process}");
        assert!(of(&expected, 0..resumed).starts_with(&of(&found, 0..resumed)), "process {process}: {found:?}");
    }
    for process in 0..2 {
        let epochs: Vec<usize> = history.epochs(process).map(|report| report.epoch).collect();
        assert_eq!(epochs, (1..=EPOCHS).collect::<Vec<_>>(), "process {process}");
        let seconds: Vec<f64> = history.epochs(process).map(|report| report.cumulative_seconds).collect();
        assert!(seconds.is_sorted() && seconds[0] > 0.0, "the time goes on: {seconds:?}");
        let mut other = History::new(Keep::Everything);
        events(lab, unbroken).iter().for_each(|line| other.take(line));
        let test = |history: &History| history.process(process).and_then(|process| process.test);
        assert!(test(&history).is_some() && test(&history) == test(&other), "the same weights at the end");
    }
    let summary = lab.store().summary(RunId(id)).unwrap();
    assert_eq!((summary.status.state, summary.last_epoch), (RunState::Finished, EPOCHS), "{:?}", summary.status);
    let left: Vec<String> = log_files(lab, id).into_iter().filter(|name| name.contains("tmp")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// To the epochs that it was to train from the first.
fn go_on(lab: &Lab, id: u32) {
    let output = lab.run(&["run", "--continue", &id.to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// The state that a kill between the checkpoint of an epoch and the report of it leaves: made by hand, it is always the same.
#[test]
fn an_epoch_whose_report_was_lost_with_the_ranks_comes_from_its_checkpoint() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    for id in 1..=4 {
        let output = run(&lab, &FLAGS);
        assert_eq!(output.status.code(), Some(0), "run {id}: {}", stderr(&output));
    }
    // Of the last one only the test at the end is missing.
    for (id, trained) in [(2, 2), (3, EPOCHS), (4, EPOCHS + 1)] {
        let folder = lab.folder(id);
        for epoch in trained + 1..=EPOCHS {
            std::fs::remove_file(folder.log_dir().join(format!("checkpoint-{epoch}.safetensors"))).unwrap();
        }
        // Of an older trainer, which was killed while it wrote.
        let left = folder.log_dir().join(format!(".checkpoint-{}.77-123.tmp", trained + 1));
        std::fs::File::create(left).unwrap().set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
        let until = |line: &EventLine| match &line.event {
            Event::Step { epoch, .. } => *epoch < trained,
            Event::Epoch(report) => report.epoch < trained,
            Event::Digest { moment: DigestMoment::EpochParameters, epoch, .. } => *epoch < trained,
            Event::Checkpoint(report) => report.epoch < trained,
            Event::Test { .. } | Event::Finished { .. } => false,
            _ => true,
        };
        let kept: String = events(&lab, id).iter().filter(|line| until(line)).map(|line| line.to_line() + "\n").collect();
        std::fs::write(folder.events_file(), kept).unwrap();
        folder.write_status(&RunStatus { ended_s: Some(1.0), ..RunStatus::new(RunState::Failed, "killed", 1.0) }).unwrap();
        lab.store().forget_summary(RunId(id));
        assert_eq!(lab.store().summary(RunId(id)).unwrap().last_epoch, trained - 1, "the record lacks what the checkpoint has");
        go_on(&lab, id);
        assert_unbroken(&lab, id, 1);
    }
    // All is done now, and without a checkpoint nothing can go on: training anew would lose what the record has.
    let refused = |flags: &[&str], expected: &str| {
        let output = lab.run(&[&["run", "--continue", "4"], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    };
    refused(&["--epochs", "4"], "has trained 4 epochs already");
    for epoch in 1..=EPOCHS {
        std::fs::remove_file(lab.folder(4).log_dir().join(format!("checkpoint-{epoch}.safetensors"))).unwrap();
    }
    refused(&[], "none of its checkpoints is left in ");
    assert_unbroken(&lab, 4, 1);
}

/// Kills everything of run `id` when the file system says that this happened to a file of its log folder.
fn kill_when(lab: &Lab, id: u32, happened: impl Fn(&notify::Event) -> bool + Send + 'static) {
    let going = start(lab);
    wait_for("the log folder", || (lab.store().ids().len() == id as usize && lab.folder(id).log_dir().is_dir()).then_some(()));
    let (sender, seen) = channel();
    let tell = move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|event| happened(&event)) {
            // Only the first is waited for.
            let _ = sender.send(());
        }
    };
    let mut watcher = notify::recommended_watcher(tell).unwrap();
    watcher.watch(&lab.folder(id).log_dir(), RecursiveMode::NonRecursive).unwrap();
    seen.recv_timeout(LIMIT).unwrap();
    lab.pids(id).into_iter().for_each(|pid| process::signal(pid, Signal::SIGKILL));
    process::signal(lab.status(id).supervisor_pid, Signal::SIGKILL);
    crate::support::lab::finish(going);
    lab.wait_until_over(id);
    lab.assert_nothing_left(id);
}

fn start(lab: &Lab) -> Child {
    lab.command(&[["run"].as_slice(), &SMALL, &FLAGS].concat()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_run_that_is_killed_while_it_writes_a_checkpoint_goes_on_bit_for_bit() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    assert_eq!(run(&lab, &FLAGS).status.code(), Some(0));
    let is = |event: &notify::Event, wanted: fn(&str) -> bool| {
        let name = |path: &std::path::PathBuf| Path::file_name(path).is_some_and(|name| wanted(&name.to_string_lossy()));
        event.paths.iter().any(name)
    };
    let temporary: fn(&str) -> bool = |name| name.starts_with(".checkpoint-2.");
    let whole: fn(&str) -> bool = |name| name == "checkpoint-2.safetensors";
    // In the middle of the write, before the rename, and right after it.
    kill_when(&lab, 2, move |event| event.kind == EventKind::Create(CreateKind::File) && is(event, temporary));
    kill_when(&lab, 3, move |event| matches!(event.kind, EventKind::Modify(ModifyKind::Data(_))) && is(event, temporary));
    kill_when(&lab, 4, move |event| {
        matches!(event.kind, EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both))) && is(event, whole)
    });
    for id in 2..=4 {
        go_on(&lab, id);
        assert_unbroken(&lab, id, 1);
    }
}
