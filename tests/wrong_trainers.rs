//! Wrong trainers are rejected by the right check with a sentence that names the cause, and the ten solutions pass: real
//! programs on two ranks, started and judged by the lab. None hangs it.
//!
//! Never doctored evidence: that is in tests/course/checks.rs.

#![allow(clippy::unwrap_used)]

#[path = "wrong/corpus.rs"]
mod corpus;
// Shared with tests/launch.rs, which uses the other half of it.
#[allow(dead_code)]
#[path = "launch/lab.rs"]
mod lab;
#[path = "support/trainer.rs"]
mod trainer;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use corpus::{VARIABLE, Wrong, build, corpus};
use hvd_lab::course::{Evidence, Outcome, Verdict, check_all};
use hvd_lab::dataset::{self, Location, SplitKind};
use hvd_lab::domain::run::RunState;
use hvd_lab::domain::step::Step;
use hvd_lab::runs::RunId;
use lab::{Lab, finish, stderr};

/// A program that hangs is found and explained within this time.
const FOUND: Duration = Duration::from_secs(20);
/// 7 batches of 32, which two ranks do not share evenly.
const TRAIN_IMAGES: usize = 200;
const TEST_IMAGES: usize = 64;

/// Never stops early.
const RUN: &str =
    "run --np 2 --force --epochs 2 --batch-size 32 --model wrn-10-1 --checkpointing --base-lr 0.01 --target-accuracy 1";

/// Some generated garments in the files that the trainer reads: drawing all 70,000 for each program would take longer than
/// training on these.
fn draw(folder: &Path) {
    for (which, name, count) in [(SplitKind::Train, "train", TRAIN_IMAGES), (SplitKind::Test, "t10k", TEST_IMAGES)] {
        let split = dataset::load(&Location::Generated, which, Some(count)).unwrap();
        let header = |magic: u32, sizes: &[u32]| -> Vec<u8> {
            [magic].iter().chain(sizes).flat_map(|number| number.to_be_bytes()).collect()
        };
        let mut images = header(2051, &[count as u32, 28, 28]);
        (0..count).for_each(|index| images.extend(split.image(index)));
        let labels = [header(2049, &[count as u32]), split.labels.clone()].concat();
        fs::write(folder.join(format!("{name}-images-idx3-ubyte")), images).unwrap();
        fs::write(folder.join(format!("{name}-labels-idx1-ubyte")), labels).unwrap();
    }
}

/// The lab with the program of all trainers.
struct Class {
    lab: Lab,
    images: tempfile::TempDir,
    /// Number of the last run.
    runs: u32,
}

/// One run, judged.
struct Judged {
    name: String,
    state: RunState,
    message: String,
    verdicts: Vec<Verdict>,
    took: Duration,
}

impl Class {
    fn lab(&self, trainer: &str, args: &[&str]) -> Output {
        let mut command = self.lab.command(args);
        finish(command.env(VARIABLE, trainer).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Train on two ranks. One that is to be judged when it goes on does so from the checkpoint of the last solution.
    fn judge(&mut self, trainer: &str, after: usize, warmup_epochs: usize, continued: bool) -> Judged {
        self.runs += 1;
        let (began, id) = (Instant::now(), self.runs.to_string());
        let (steps, warmup_epochs) = (format!("1-{after}"), warmup_epochs.to_string());
        let images = self.images.path().to_str().unwrap().to_owned();
        let mut args: Vec<&str> = RUN.split_whitespace().collect();
        args.extend(["--steps", &steps, "--warmup-epochs", &warmup_epochs, "--data-dir", &images]);
        args.extend(["--", "--stall-warning-secs", "1", "--stall-shutdown-secs", "3"]);
        let first = if continued { "solution_10" } else { trainer };
        let mut output = self.lab(first, &args);
        if continued {
            output = self.lab(trainer, &["run", "--continue", &id, "--epochs", "4"]);
        }
        let (store, run) = (self.lab.store(), RunId(self.runs));
        let record = store.record(run).unwrap_or_else(|error| panic!("{trainer}: {error}: {}", stderr(&output)));
        let mut evidence = Evidence::of(&store.folder(run), &record).unwrap();
        if continued {
            // What the solution did before is right.
            let before = evidence.attempts.len() - 1;
            evidence.attempts.drain(..before);
        }
        let status = store.status(run).unwrap();
        self.lab.assert_nothing_left(self.runs);
        let (message, verdicts) = (status.message, check_all(&evidence));
        Judged { name: trainer.to_owned(), state: status.state, message, verdicts, took: began.elapsed() }
    }
}

/// What is wrong with how the lab judged a wrong trainer.
fn complaints(wrong: &Wrong, judged: &Judged) -> Vec<String> {
    let own = wrong.step().map(|step| &judged.verdicts[step.number() - 1]);
    let mut complaints = Vec::new();
    let said = match (own, wrong.runs) {
        (Some(verdict), true) => {
            let wanted = if wrong.cannot_tell { Outcome::CannotTell } else { Outcome::Failed };
            if verdict.outcome != wanted {
                complaints.push(format!("step {} {}", verdict.step.number(), verdict.outcome.name()));
            }
            &verdict.evidence
        }
        _ => {
            if judged.state != RunState::Failed {
                complaints.push(format!("the run {}", judged.state.name()));
            }
            if let Some(verdict) = own.filter(|verdict| verdict.outcome == Outcome::Passed) {
                complaints.push(format!("step {} passed: {}", verdict.step.number(), verdict.evidence));
            }
            &judged.message
        }
    };
    let missing = wrong.says.iter().filter(|words| !said.contains(*words));
    complaints.extend(missing.map(|words| format!("no `{words}` in: {said}")));
    let may_fail: BTreeSet<usize> = wrong.step.into_iter().chain(wrong.also.iter().copied()).collect();
    let blamed = judged.verdicts[..wrong.after].iter().filter(|verdict| verdict.outcome == Outcome::Failed);
    let blamed = blamed.filter(|verdict| !may_fail.contains(&verdict.step.number()));
    complaints.extend(blamed.map(|verdict| format!("step {} is blamed: {}", verdict.step.number(), verdict.evidence)));
    if !wrong.runs && judged.took > FOUND {
        complaints.push(format!("it took {:?} to find out", judged.took));
    }
    complaints.iter().map(|complaint| format!("{}: {complaint}", judged.name)).collect()
}

#[test]
fn every_case_changes_a_solution_in_one_place_and_is_a_case_of_its_own() {
    let corpus = corpus();
    assert!(corpus.len() >= 30, "{} wrong trainers", corpus.len());
    let names: BTreeSet<&str> = corpus.iter().map(|wrong| wrong.name.as_str()).collect();
    let programs: BTreeSet<String> = corpus.iter().map(|wrong| wrong.program().unwrap()).collect();
    assert_eq!((names.len(), programs.len()), (corpus.len(), corpus.len()), "two cases are the same");
    for step in Step::ALL {
        assert!(corpus.iter().any(|wrong| wrong.step() == Some(step)), "no trainer is wrong in {step}");
    }
    assert!(corpus.iter().all(|wrong| !wrong.says.is_empty() && wrong.step.is_none_or(|step| step <= wrong.after)));
}

#[test]
fn the_right_check_rejects_each_wrong_trainer_and_the_solutions_pass() {
    let (_turn, Some(lab)) = (trainer::turn(), trainer::with_trainer()) else { return };
    let only = std::env::var("HVD_LAB_WRONG_ONLY").unwrap_or_default();
    let corpus = corpus();
    let program = build(&corpus);
    let images = tempfile::tempdir().unwrap();
    draw(images.path());
    let mut class = Class { lab: lab.env("HVD_TRAIN", program.to_str().unwrap()), images, runs: 0 };
    let mut complained = Vec::new();
    for after in (1..=Step::ALL.len()).filter(|_| only.is_empty()) {
        let judged = class.judge(&format!("solution_{after:02}"), after, 3, false);
        let not_passed = judged.verdicts[..after].iter().filter(|verdict| verdict.outcome != Outcome::Passed);
        complained.extend(not_passed.map(|verdict| format!("{}: {} {verdict:?}", judged.name, judged.message)));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for wrong in corpus.iter().filter(|wrong| wrong.cores <= cores && wrong.name.contains(&only)) {
        let judged = class.judge(&wrong.name, wrong.after, wrong.warmup_epochs, wrong.continued);
        let said = wrong.step().filter(|_| wrong.runs).map(|step| &judged.verdicts[step.number() - 1].evidence);
        eprintln!("{} in {:.1} s: {}", wrong.name, judged.took.as_secs_f64(), said.unwrap_or(&judged.message));
        complained.extend(complaints(wrong, &judged));
    }
    assert!(complained.is_empty(), "\n{}\n", complained.join("\n"));
}
