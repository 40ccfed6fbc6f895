//! Runs as folders: written here, read back by the store, the accountant and the follower.
//!
//! Never starts a process.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::*;
use crate::domain::event::{EpochReport, Event, EventLine, Metrics};
use crate::domain::job::TrainingJob;
use crate::domain::phase::{Phase, PhaseSeconds};
use crate::domain::run::{RunState, RunStatus};
use crate::host;

/// Of a run whose supervisor was killed, where the run is not over.
pub(super) fn status(state: RunState) -> RunStatus {
    RunStatus { supervisor_pid: u32::MAX / 2, supervisor_start_ticks: 1, ..RunStatus::new(state, "a word", 1.0) }
}

/// A process as the supervisor of a folder is one, or a rank; ended when dropped.
pub(super) struct Started(Child);

impl Started {
    pub fn by_mark(folder: &Path) -> Started {
        Started::new(Command::new("sh").args(["-c", "echo; read line"]).env(crate::process::RUN_DIR_VARIABLE, folder))
    }

    pub fn new(command: &mut Command) -> Started {
        Started::try_new(command).unwrap()
    }

    /// `None` where it ends without having written a line.
    pub fn try_new(command: &mut Command) -> Option<Started> {
        let mut started = Started(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        // Just started, it has no environment to be read yet.
        started.0.stdout.as_mut().unwrap().read_exact(&mut [0]).ok()?;
        Some(started)
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// Of a run that it supervises here.
    pub fn status(&self) -> RunStatus {
        let supervisor_start_ticks = crate::process::look_up(self.pid()).unwrap().start_ticks;
        let supervisor_place = Some(host::place());
        RunStatus { supervisor_pid: self.pid(), supervisor_start_ticks, supervisor_place, ..status(RunState::Running) }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sample(np: usize) -> TrainingJob {
    TrainingJob::sample().with(|job| (job.resources.np, job.workload.target_accuracy) = (np, 0.75))
}

pub(super) fn record(np: usize) -> RunRecord {
    RunRecord { created_s: 1.0, ..RunRecord::new(RunRequest::new(sample(np), "cpu"), "Fashion-MNIST", Vec::new()) }
}

pub(super) fn store() -> (TempDir, RunStore) {
    let home = tempfile::tempdir().unwrap();
    let store = RunStore::open(home.path()).unwrap();
    (home, store)
}

/// Append to a file that is made if it is missing.
fn append(path: &Path, text: &str) {
    OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

pub(super) fn append_line(path: &Path, line: &str) {
    append(path, &format!("{line}\n"));
}

fn line(process: usize, event: Event) -> EventLine {
    EventLine { time_s: 0.0, process, event }
}

/// An epoch of 100 images in `training` seconds.
pub(super) fn epoch(process: usize, epoch: usize, training: f64, cumulative_seconds: f64, accuracy: f64) -> EventLine {
    let validation = Metrics { loss: 1.0, accuracy };
    let report = EpochReport {
        epoch,
        train: Metrics::default(),
        validation,
        averaged: None,
        lr: 0.1,
        batches: 1,
        images: 100,
        images_per_sec: 7.0,
        cumulative_seconds,
        phases: PhaseSeconds::from([(Phase::Training, training)]),
    };
    line(process, Event::Epoch(report))
}

fn config(process: usize, resume_epoch: usize) -> EventLine {
    let text = format!(
        r#"{{"time_s":0,"process":{process},"event":"config","steps":"1-10","seed":1,"epochs":3,"resume_epoch":{resume_epoch},
        "local_batch_size":1,"global_batch_size":1,"steps_per_epoch":1,"validation_steps":1,"train_images":1,"optimizer":"",
        "model":"","parameters":1,"gradient_tensors":1,"data":"","base_lr":1,"warmup_epochs":1,"target_accuracy":1}}"#
    );
    EventLine::parse_line(&text.replace('\n', "")).unwrap()
}

fn tally(np: usize, events: &[EventLine]) -> Tally {
    let mut accountant = Accountant::new(np, 0.75);
    events.iter().for_each(|event| accountant.take(event));
    accountant.tally()
}

#[test]
fn throughput_is_that_of_all_processes() {
    let in_step = [epoch(0, 1, 2.0, 3.0, 0.5), epoch(1, 1, 2.0, 3.0, 0.5)];
    assert_eq!(tally(2, &in_step).figures.images_per_sec, Some(100.0));
    let apart = [epoch(0, 1, 1.0, 1.0, 0.5), epoch(1, 1, 4.0, 4.0, 0.5)];
    assert_eq!(tally(2, &apart).figures.images_per_sec, Some(125.0));
}

#[test]
fn exposed_communication_is_that_of_all_processes() {
    let waited = |process, seconds| {
        let mut line = epoch(process, 1, 10.0, 10.0, 0.5);
        if let Event::Epoch(report) = &mut line.event {
            report.phases[Phase::AllreduceExposed] = seconds;
        }
        line
    };
    // The slower of two ranks waits for nobody; the faster one waits for it.
    assert_eq!(tally(2, &[waited(0, 0.0), waited(1, 1.0)]).exposed_communication, Some(0.05));
    assert_eq!(tally(2, &[config(0, 0)]).exposed_communication, None);
}

#[test]
fn an_epoch_that_only_some_have_ended_does_not_count_yet() {
    let events = [epoch(0, 1, 1.0, 1.0, 0.5), epoch(1, 1, 1.0, 1.0, 0.5), epoch(0, 2, 0.1, 2.0, 0.5)];
    let tally = tally(2, &events);
    assert_eq!((tally.figures.images_per_sec, tally.last_epoch), (Some(200.0), 2));
}

#[test]
fn nothing_is_made_up_for_a_run_without_an_epoch() {
    let tally = tally(2, &[config(0, 0)]);
    assert_eq!(tally.figures, crate::domain::speedup::Figures { np: 2, ..Default::default() });
    assert_eq!((tally.last_epoch, tally.train, tally.training_seconds), (0, None, None));
}

#[test]
fn the_target_is_reached_in_the_first_epoch_that_has_it() {
    let events = [epoch(0, 1, 1.0, 10.0, 0.74), epoch(0, 2, 1.0, 20.0, 0.75), epoch(0, 3, 1.0, 30.0, 0.8)];
    assert_eq!(tally(1, &events).figures.seconds_to_target, Some(20.0));
    assert_eq!(tally(1, &events[..1]).figures.seconds_to_target, None);
}

#[test]
fn a_continued_run_adds_its_times_up() {
    let first = [config(0, 0), epoch(0, 1, 1.0, 10.0, 0.1), epoch(0, 2, 1.0, 20.0, 0.2)];
    let second = [config(0, 2), epoch(0, 3, 1.0, 10.0, 0.8)];
    let tally = tally(1, &[first.as_slice(), &second].concat());
    assert_eq!((tally.last_epoch, tally.training_seconds), (3, Some(30.0)));
    assert_eq!((tally.figures.seconds_to_target, tally.phases[Phase::Training]), (Some(30.0), 3.0));
}

#[test]
fn epochs_behind_the_checkpoint_were_lost() {
    let first = [config(0, 0), epoch(0, 1, 1.0, 10.0, 0.1), epoch(0, 2, 1.0, 20.0, 0.9)];
    let second = [config(0, 1), epoch(0, 2, 1.0, 5.0, 0.2)];
    let tally = tally(1, &[first.as_slice(), &second].concat());
    assert_eq!((tally.last_epoch, tally.training_seconds), (2, Some(15.0)));
    assert_eq!(tally.figures.seconds_to_target, None);
}

#[test]
fn runs_are_numbered_and_found_again() {
    let (_home, store) = store();
    for number in 1..=3 {
        assert_eq!(store.create(record(1), &status(RunState::Running)).unwrap().id, RunId(number));
    }
    assert!(store.folder(RunId(2)).path().ends_with("0002"));
    assert_eq!(store.list().iter().map(|run| run.id.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(matches!(store.summary(RunId(4)), Err(StoreError::NoRun { id: RunId(4) })));
}

#[test]
fn damaged_folders_become_rows_that_say_so() {
    let (_home, store) = store();
    for _ in 0..4 {
        store.create(record(1), &status(RunState::Finished)).unwrap();
    }
    fs::write(store.folder(RunId(1)).record_file(), "{ no json").unwrap();
    fs::remove_file(store.folder(RunId(2)).status_file()).unwrap();
    fs::write(store.folder(RunId(3)).events_file(), b"\xff\xfe not\n{}\n\n").unwrap();
    fs::create_dir(store.folder(RunId(9)).path()).unwrap();
    let rows = store.list();
    let said: Vec<_> = rows.iter().map(|row| (row.id.0, row.record.is_some(), row.status.message.as_str())).collect();
    assert!(matches!(said[0], (1, false, message) if message.contains("run.json is damaged")), "{said:?}");
    assert!(matches!(said[1], (2, true, message) if message.contains("status.json")), "{said:?}");
    assert_eq!(said[2], (3, true, "a word"));
    assert!(matches!(said[4], (9, false, message) if message.contains("the folder of run 9 is gone")), "{said:?}");
}

#[test]
fn the_summary_of_a_run_that_is_over_is_kept_until_it_goes_on() {
    let (_home, store) = store();
    let id = store.create(record(1), &status(RunState::Finished)).unwrap().id;
    let folder = store.folder(id);
    append_line(&folder.events_file(), &epoch(0, 1, 1.0, 10.0, 0.5).to_line());
    assert_eq!(store.summary(id).unwrap().last_epoch, 1);
    assert!(folder.summary_file().exists());
    store.set_name(id, " serial ").unwrap();
    assert_eq!(store.summary(id).unwrap().record.unwrap().request.name.as_deref(), Some("serial"));
    // A colour leaves nothing of itself, and a name that fits no table is refused.
    store.set_name(id, "\x1b[31mred\x1b[0m\x1b]0;title\x07 one").unwrap();
    assert_eq!(store.record(id).unwrap().request.name.as_deref(), Some("red one"));
    let refused = store.set_name(id, &"x".repeat(101)).unwrap_err().to_string();
    assert_eq!(refused, "the name has 101 characters, and 100 are the most that fit into a table: shorten it");
    store.set_name(id, " serial ").unwrap();
    // Damaged, it is made again.
    fs::write(folder.summary_file(), "{").unwrap();
    assert_eq!(store.summary(id).unwrap().last_epoch, 1);
    // Older than the status, it does not count.
    append_line(&folder.events_file(), &epoch(0, 2, 1.0, 20.0, 0.5).to_line());
    let supervisor = Started::by_mark(folder.path());
    folder.write_status(&supervisor.status()).unwrap();
    let row = store.summary(id).unwrap();
    assert_eq!((row.status.state, row.last_epoch), (RunState::Running, 2));
}

#[test]
fn half_a_line_waits_for_its_end() {
    let (_home, store) = store();
    let id = store.create(record(2), &status(RunState::Running)).unwrap().id;
    let folder = store.folder(id);
    let mut follower = Follower::new(folder.clone());
    assert!(matches!(follower.poll().as_slice(), [RunUpdate::Status(_)]));
    let event = epoch(0, 1, 1.0, 1.0, 0.5);
    let text = event.to_line();
    let (begin, end) = text.split_at(20);
    append(&folder.events_file(), begin);
    assert_eq!(follower.poll(), []);
    append(&folder.events_file(), &format!("{end}\n{{\"unknown\":1}}\n"));
    append(&folder.rank_log(0), "Epoch 1/3\n\nhalf");
    append(&folder.rank_log(1), "one\n");
    append(&folder.launcher_log(), "mpirun says\n");
    let log = |process, text: &str| RunUpdate::Log { process, text: text.into() };
    let launcher = RunUpdate::Launcher { text: "mpirun says".into() };
    assert_eq!(follower.poll(), [RunUpdate::Event(event), launcher, log(0, "Epoch 1/3"), log(0, ""), log(1, "one")]);
    append(&folder.rank_log(0), " a line\n");
    assert_eq!(follower.poll(), [log(0, "half a line")]);
    assert_eq!(follower.poll(), []);
}

#[test]
fn the_end_is_told_after_everything_that_came_before() {
    let (_home, store) = store();
    let id = store.create(record(1), &status(RunState::Running)).unwrap().id;
    let folder = store.folder(id);
    // More than is read in one poll.
    fs::write(folder.rank_log(0), "a line of a long log\n".repeat(150_000)).unwrap();
    folder.write_status(&status(RunState::Finished)).unwrap();
    let mut follower = Follower::new(folder);
    let (mut lines, mut polls) = (0, 0);
    let end = loop {
        polls += 1;
        let updates = follower.poll();
        lines += updates.iter().filter(|update| matches!(update, RunUpdate::Log { .. })).count();
        if let Some(RunUpdate::Status(status)) = updates.last() {
            break status.state;
        }
        assert!(polls < 100);
    };
    assert_eq!((end, lines), (RunState::Finished, 150_000));
    assert!(polls > 1);
}

#[test]
fn following_from_here_leaves_the_past_out() {
    let (_home, store) = store();
    let id = store.create(record(1), &status(RunState::Finished)).unwrap().id;
    let folder = store.folder(id);
    append_line(&folder.rank_log(0), "past");
    let mut follower = Follower::from_here(folder.clone());
    folder.write_status(&status(RunState::Running)).unwrap();
    append_line(&folder.rank_log(0), "present");
    let updates = follower.poll();
    assert!(
        matches!(updates.as_slice(), [RunUpdate::Status(_), RunUpdate::Log { text, .. }] if text == "present"),
        "{updates:?}"
    );
}

/// Prints how long a store of 1,000 runs takes to list: `cargo test --release --lib a_thousand -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn a_thousand_runs() {
    let (_home, store) = store();
    for _ in 0..1000 {
        let id = store.create(record(2), &status(RunState::Finished)).unwrap().id;
        for number in 1..=100 {
            append_line(&store.folder(id).events_file(), &epoch(0, number, 1.0, 1.0, 0.5).to_line());
        }
    }
    for look in ["first", "second"] {
        let begin = std::time::Instant::now();
        assert_eq!(store.list().len(), 1000);
        println!("{look} list of 1,000 runs: {:?}", begin.elapsed());
    }
}
