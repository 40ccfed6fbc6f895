//! Runs that are hit while they train: continued to their end, they come to the same losses, bit for bit.
//!
//! The real trainer on two ranks, a small model, few images. While it goes on, another thread reads the small files of the run
//! all the time: they are whole at every moment.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Output};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use hvd_lab_terminal::domain::event::{CheckpointAction, DigestMoment, Event, EventLine};
use hvd_lab_terminal::domain::history::{Attempt, History, Keep};
use hvd_lab_terminal::domain::phase::Phase;
use hvd_lab_terminal::runs::RunFolder;

use super::campaign::{Dice, try_all};
use super::home::images;
use super::outcome::Snapshot;
use super::victims::{BLOWS, Strike};
use crate::support::lab::{Lab, finish, stderr};
use crate::support::trainer::{turn, with_trainer};
use crate::support::wait::wait_for;

/// Cases of the short campaign.
const CASES: usize = BLOWS.len();
/// Continuations until a run has to be done.
const PATIENCE: usize = 4;

const RUN: [&str; 18] = [
    "run",
    "--np",
    "2",
    "--force",
    "--steps",
    "1-10",
    "--model",
    "wrn-10-1",
    "--train-images",
    "256",
    "--validation-images",
    "64",
    "--batch-size",
    "32",
    "--target-accuracy",
    "1",
    "--epochs",
    "4",
];
pub const CONTINUE: [&str; 5] = ["run", "--continue", "1", "--epochs", "4"];

/// The run of all cases: on few images, also for the test at its end.
pub fn run_arguments() -> Vec<&'static str> {
    static FOLDER: OnceLock<String> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults-images");
        let _ = std::fs::remove_dir_all(&folder);
        images(&folder, 400, 64);
        folder.display().to_string()
    });
    [RUN.as_slice(), &["--data-dir", folder]].concat()
}

/// An epoch, the bits of every number that training made in it, and the digest of the parameters at its end.
type Epoch = (usize, Vec<u64>, Option<String>);

/// What one rank came to, epoch by epoch, and in the test at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    epochs: Vec<Epoch>,
    test: Option<u64>,
}

/// The parameters' digest at the end of an epoch, in the attempt that the run holds. A rank that was killed before it could tell
/// has left its weights in the checkpoint: their digest is told by who loads it. Of epochs before that one it is lost.
fn digest(history: &History, process: usize, epoch: usize) -> Option<String> {
    let own = |attempt: &Attempt| Some(attempt.processes.get(&process)?.digest(DigestMoment::EpochParameters, epoch)?.to_owned());
    let loaded = |attempt: &Attempt| {
        let mut reports = attempt.processes.values().flat_map(|process| &process.checkpoints);
        reports.find(|report| report.action == CheckpointAction::Loaded && report.epoch == epoch)?.digest.clone()
    };
    let attempts = || history.attempts.iter().rev();
    attempts().find_map(own).or_else(|| attempts().find_map(loaded))
}

pub fn trained(folder: &RunFolder) -> Vec<Trained> {
    let mut history = History::new(Keep::Everything);
    folder.events().for_each(|line| history.take(&line));
    let of = |process: usize| {
        let epochs = history.epochs(process).map(|report| {
            let metrics = [Some(report.train), Some(report.validation), report.averaged];
            let numbers = metrics.into_iter().flatten().flat_map(|metrics| [metrics.loss, metrics.accuracy]).chain([report.lr]);
            let counts = [report.batches as u64, report.images as u64];
            (report.epoch, numbers.map(f64::to_bits).chain(counts).collect(), digest(&history, process, report.epoch))
        });
        let test = history.process(process).and_then(|process| process.test).map(|test| test.loss.to_bits());
        Trained { epochs: epochs.collect(), test }
    };
    (0..2).map(of).collect()
}

/// The epochs that only checkpoints may have told of.
fn restored(folder: &RunFolder, process: usize) -> BTreeSet<usize> {
    let of = |line: EventLine| match line.event {
        Event::Restored { epochs } => epochs,
        _ => Vec::new(),
    };
    folder.events().flat_map(of).filter(|of| of.process == process).map(|of| of.report.epoch).collect()
}

/// A run that nothing happens to: what it came to, and how many events it wrote.
pub fn unbroken() -> &'static (Vec<Trained>, usize) {
    static UNBROKEN: OnceLock<(Vec<Trained>, usize)> = OnceLock::new();
    UNBROKEN.get_or_init(|| {
        let lab = with_trainer().unwrap();
        let output = lab.run(&run_arguments());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let trained = trained(&lab.folder(1));
        assert_eq!(trained[0].epochs.iter().map(|(epoch, ..)| *epoch).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert!(trained[0].test.is_some() && trained[0].epochs.iter().all(|(.., digest)| digest.is_some()));
        (trained, lab.folder(1).events().count())
    })
}

/// Reads the small files of a run all the time, from when they are there.
pub struct Reader {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Result<usize, String>>,
}

impl Reader {
    pub fn start(folder: RunFolder) -> Reader {
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        let thread = std::thread::spawn(move || {
            let (mut has_record, mut has_status, mut reads) = (false, false, 0);
            while !seen.load(Ordering::Relaxed) {
                has_record |= folder.record_file().exists();
                has_status |= folder.status_file().exists();
                let record = if has_record { folder.read_record().map(drop) } else { Ok(()) };
                let status = if has_status { folder.read_status().map(drop) } else { Ok(()) };
                record.and(status).map_err(|error| format!("not whole at every moment: {error}"))?;
                reads += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(reads)
        });
        Reader { ended, thread }
    }

    pub fn end(self) -> Result<(), String> {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().unwrap().map(drop)
    }
}

/// What `hvd-lab runs` tells of run 1.
#[derive(Debug)]
pub struct Told {
    pub state: String,
    last_epoch: Option<u64>,
    training_seconds: Option<f64>,
}

impl Told {
    fn of(output: &Output) -> Option<Told> {
        let runs: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        let run = runs.as_array()?.iter().find(|run| run["id"] == 1)?;
        Some(Told {
            state: run["status"]["state"].as_str()?.to_owned(),
            last_epoch: run["last_epoch"].as_u64(),
            training_seconds: run["training_seconds"].as_f64(),
        })
    }

    pub fn is_finished(&self) -> bool {
        self.state == "finished"
    }

    /// Ask the lab until the run is over.
    pub fn when_over(lab: &dyn Fn(&[&str]) -> Output) -> Told {
        let over = |told: &Told| ["finished", "failed", "stopped"].contains(&told.state.as_str());
        wait_for("the end of the run", || {
            let told = Told::of(&lab(&["runs", "--json"])).filter(over);
            if told.is_none() {
                std::thread::sleep(Duration::from_millis(100));
            }
            told
        })
    }
}

/// What the lab tells of a run that is over.
pub fn told(lab: &Lab) -> Told {
    Told::when_over(&|args| lab.run(args))
}

/// The run as it has to be once it is done.
pub fn compare(folder: &RunFolder, told: &Told) -> Result<(), String> {
    let (now, (before, _)) = (trained(folder), unbroken());
    for (process, (now, before)) in now.iter().zip(before).enumerate() {
        let epochs = |trained: &Trained| trained.epochs.iter().map(|(epoch, ..)| *epoch).collect::<Vec<_>>();
        if epochs(now) != epochs(before) {
            return Err(format!("process {process} has records of epochs {:?}", epochs(now)));
        }
        let restored = restored(folder, process);
        let differs = |((epoch, numbers, now), (_, expected, before)): &(&Epoch, &Epoch)| {
            numbers != expected || now != before && !(now.is_none() && restored.contains(epoch))
        };
        if let Some((now, _)) = now.epochs.iter().zip(&before.epochs).find(differs) {
            let before = before.epochs.iter().find(|(epoch, ..)| *epoch == now.0);
            return Err(format!("process {process} has another record of an epoch: {now:?} instead of {before:?}"));
        }
        if now.test != before.test {
            return Err(format!("process {process} tests otherwise"));
        }
    }
    right_time(folder, told)
}

/// Every epoch takes the time that its own phases took, and the run that of its epochs: none lost, none twice.
fn right_time(folder: &RunFolder, told: &Told) -> Result<(), String> {
    let mut history = History::new(Keep::Everything);
    folder.events().for_each(|line| history.take(&line));
    let mut before = 0.0;
    for report in history.epochs(0) {
        let own: f64 = [Phase::Training, Phase::Validation].into_iter().map(|phase| report.phases[phase]).sum();
        let took = report.cumulative_seconds - before;
        // Checkpoints and reports take some time too, and a pause may fall between two phases.
        if took < own - 0.01 || took > own + report.phases[Phase::Checkpoint] + 2.0 {
            return Err(format!("epoch {} counts for {took:.3} s, and its phases took {own:.3} s", report.epoch));
        }
        before = report.cumulative_seconds;
    }
    match (told.training_seconds, told.last_epoch) {
        (Some(seconds), Some(4)) if told.is_finished() && (seconds - before).abs() < 1e-6 => Ok(()),
        _ => Err(format!("the lab says {told:?}, and the epochs took {before} s")),
    }
}

/// Continue the run until it is done.
fn go_on(dice: &mut Dice, lab: &Lab) -> Result<Told, String> {
    for round in 0..PATIENCE {
        let told = Told::when_over(&|args| lab.run(args));
        lab.assert_nothing_left(1);
        if told.is_finished() {
            return Ok(told);
        }
        let strike = (round == 0 && dice.below(3) == 0).then(|| Strike::draw(dice, unbroken().1));
        let mut child = lab.spawn(&CONTINUE);
        if let Some(strike) = strike {
            hit(dice, lab, &strike, &mut child);
        }
        let output = finish(child);
        let code = output.status.code();
        if strike.is_none() && code != Some(0) {
            return Err(format!("it was {}, and going on: exit code {code:?}, {}", told.state, stderr(&output).trim()));
        }
    }
    Err(format!("it is still not done: {:?}", lab.status(1)))
}

fn hit(dice: &mut Dice, lab: &Lab, strike: &Strike, follower: &mut Child) {
    let folder = lab.folder(1);
    strike.moment.wait(&folder, follower);
    strike.strike(dice, &folder, follower);
    // Someone looks at it just now.
    if dice.below(2) == 0 {
        lab.run(&["runs"]);
    }
}

fn case(number: usize, dice: &mut Dice) -> (String, Result<(), String>) {
    let _turn = turn();
    let temporary = tempfile::tempdir().unwrap();
    let lab = with_trainer().unwrap().env("TMPDIR", temporary.path().to_str().unwrap());
    let strike = Strike::with(dice, BLOWS[number % BLOWS.len()], unbroken().1);
    let reader = Reader::start(lab.folder(1));
    let mut child = lab.spawn(&run_arguments());
    hit(dice, &lab, &strike, &mut child);
    finish(child);
    let result = match lab.folder(1).record_file().exists() {
        true => go_on(dice, &lab).and_then(|told| compare(&lab.folder(1), &told)),
        // It was hit before there was a run.
        false => Ok(()),
    };
    let whole = reader.end();
    let left: Vec<_> = std::fs::read_dir(temporary.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    let snapshot = Snapshot::of(lab.home());
    let tidy = match (snapshot.temporary().as_slice(), left.as_slice()) {
        ([], []) => Ok(()),
        (files, left) => Err(format!("temporary files are left: {files:?} {left:?}")),
    };
    let result = result.and(whole).and(tidy).map_err(|why| format!("{:?}: {why}", strike.moment));
    (strike.name(), result)
}

#[test]
fn a_run_that_is_hit_goes_on_to_the_same_end() {
    if with_trainer().is_some() {
        try_all("kills", CASES, case);
    }
}
