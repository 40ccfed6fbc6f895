//! Wrong trainers are rejected by the right check with a sentence that names the cause, and the ten solutions pass: real
//! programs on two ranks, started and judged by the lab. None hangs it.
//!
//! Never doctored evidence: that is in tests/course/checks.rs.

mod corpus;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use corpus::{VARIABLE, Wrong, build, changes, corpus, photos};
use hvd_lab_terminal::course::{Evidence, Outcome, Verdict, check_all, check_changes, check_photos};
use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::domain::step::Step;
use hvd_lab_terminal::exercise::{FOUR_CHANGES, NVCNN, Program};
use hvd_lab_terminal::runs::RunId;

use crate::support::images;
use crate::support::lab::{Lab, finish, stderr};
use crate::support::trainer;
use crate::support::wrong_only::{asked_for, is_asked_for};

/// A program that hangs is found and explained within this time.
const FOUND: Duration = Duration::from_secs(20);
/// 7 batches of 32, which two ranks do not share evenly.
const TRAIN_IMAGES: usize = 200;
const TEST_IMAGES: usize = 64;

/// A hang is told soon.
const STALL_LIMITS: [&str; 5] = ["--", "--stall-warning-secs", "1", "--stall-shutdown-secs", "3"];

/// Never stops early.
const RUN: &str = "run --force --epochs 2 --batch-size 32 --model wrn-10-1 --checkpointing --base-lr 0.01";

/// Of the MNIST program: epochs that two ranks do not share evenly, and enough images for a batch of each.
const RUN_CHANGES: &str = "run --np 2 --force --epochs 5 --batch-size 32 --model mnist-cnn --checkpointing --base-lr 1 --target-accuracy 1 --steps none";

/// Of the training on photos: as the lab judges it.
const RUN_PHOTOS: &str = "nvcnn --np 2 --force -m alexnet --image-size 67 -b 8 --num-batches 12 --threads 1 --no-cuda";

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
    /// What its ranks printed.
    logs: String,
}

/// Under which conditions a trainer is run.
#[derive(Clone, Copy)]
struct Conditions {
    after: usize,
    warmup_epochs: usize,
    np: usize,
    ranks_per_host: Option<usize>,
    /// It goes on from the checkpoint of the last solution.
    continued: bool,
    /// The target accuracy is in reach of some.
    stops: bool,
}

impl Conditions {
    fn of_solution(after: usize) -> Conditions {
        Conditions { after, warmup_epochs: 3, np: 2, ranks_per_host: None, continued: false, stops: false }
    }

    fn of(wrong: &Wrong) -> Conditions {
        let Wrong { after, warmup_epochs, np, ranks_per_host, continued, stops, .. } = *wrong;
        Conditions { after, warmup_epochs, np, ranks_per_host, continued, stops }
    }
}

impl Class {
    /// `None` where something is missing, and it is said what.
    fn with_trainer() -> Option<Class> {
        let lab = trainer::with_trainer()?;
        let program = build(&[corpus(), changes(), photos()].into_iter().flat_map(runnable).collect::<Vec<_>>());
        let images = tempfile::tempdir().unwrap();
        images::draw(images.path(), TRAIN_IMAGES, TEST_IMAGES);
        // They know nothing of the commands of hvd-measure.
        let measure = images.path().join("hvd-measure");
        fs::write(&measure, format!("#!/bin/sh\nshift\nexec '{}' \"$@\"\n", program.display())).unwrap();
        fs::set_permissions(&measure, fs::Permissions::from_mode(0o755)).unwrap();
        let lab = lab.env("HVD_TRAIN", program.to_str().unwrap()).env("HVD_MEASURE", measure.to_str().unwrap());
        Some(Class { lab, images, runs: 0 })
    }

    fn lab(&self, trainer: &str, args: &[&str]) -> Output {
        let mut command = self.lab.command(args);
        finish(command.env(VARIABLE, trainer).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// A target a little above the lowest accuracy of the ranks, as the last solution has them after its first epoch.
    fn target(&mut self, conditions: Conditions) -> f64 {
        let judged = self.run("solution_10", Conditions { stops: false, ..conditions }, 1.0).1;
        let of = |process| judged.history.attempts[0].processes[&process].epoch(1).unwrap().validation.accuracy;
        let own: Vec<f64> = (0..conditions.np).map(of).collect();
        let (low, high) = (own.iter().copied().fold(1.0, f64::min), own.iter().copied().fold(0.0, f64::max));
        assert!(high > low, "all ranks have the accuracy {low}: take other images");
        low + (high - low) / (2 * conditions.np) as f64
    }

    /// Train, and judge.
    fn judge(&mut self, trainer: &str, conditions: Conditions) -> Judged {
        let target = if conditions.stops { self.target(conditions) } else { 1.0 };
        let began = Instant::now();
        let (state, evidence, message) = self.run(trainer, conditions, target);
        let folder = self.lab.store().folder(RunId(self.runs));
        let logs = folder.rank_logs().into_iter().filter_map(|process| fs::read_to_string(folder.rank_log(process)).ok());
        let verdicts = check_all(&evidence);
        Judged { name: trainer.to_owned(), state, message, verdicts, took: began.elapsed(), logs: logs.collect() }
    }

    fn run(&mut self, trainer: &str, conditions: Conditions, target: f64) -> (RunState, Evidence, String) {
        let Conditions { after, warmup_epochs, np, ranks_per_host, continued, .. } = conditions;
        self.runs += 1;
        let id = self.runs.to_string();
        let flags =
            format!("--np {np} --steps 1-{after} --warmup-epochs {warmup_epochs} --target-accuracy {target} --patience 1");
        let hosts = ranks_per_host.map(|ranks| format!("--ranks-per-host {ranks}")).unwrap_or_default();
        let mut args: Vec<&str> = RUN.split_whitespace().chain(flags.split_whitespace()).collect();
        let images = self.images.path().to_str().unwrap().to_owned();
        args.extend(["--data-dir", &images].into_iter().chain(STALL_LIMITS).chain(hosts.split_whitespace()));
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
            let before = evidence.history.attempts.len() - 1;
            evidence.history.attempts.drain(..before);
        }
        let status = store.status(run).unwrap();
        self.lab.assert_nothing_left(self.runs);
        (status.state, evidence, status.message)
    }

    /// Train an MNIST program on two ranks, and judge its changes.
    fn judge_changes(&mut self, program: &str) -> Judged {
        self.runs += 1;
        let (began, run) = (Instant::now(), RunId(self.runs));
        let images = self.images.path().to_str().unwrap().to_owned();
        let mut args: Vec<&str> = RUN_CHANGES.split_whitespace().collect();
        args.extend(["--data-dir", &images].into_iter().chain(STALL_LIMITS));
        let output = self.lab(program, &args);
        let store = self.lab.store();
        let record = store.record(run).unwrap_or_else(|error| panic!("{program}: {error}: {}", stderr(&output)));
        let verdicts = check_changes(&Evidence::of(&store.folder(run), &record).unwrap());
        let status = store.status(run).unwrap();
        self.lab.assert_nothing_left(self.runs);
        let (state, message, logs) = (status.state, status.message, String::new());
        Judged { name: program.to_owned(), state, message, verdicts, took: began.elapsed(), logs }
    }

    /// Train on photos on two ranks, and judge the changes.
    fn judge_photos(&mut self, program: &str) -> Judged {
        self.runs += 1;
        let (began, run) = (Instant::now(), RunId(self.runs));
        let output = self.lab(program, &RUN_PHOTOS.split_whitespace().collect::<Vec<_>>());
        let store = self.lab.store();
        let record = store.record(run).unwrap_or_else(|error| panic!("{program}: {error}: {}", stderr(&output)));
        let verdicts = check_photos(&Evidence::read(&store.folder(run), &record, record.request.spec.nvcnn()).unwrap());
        let status = store.status(run).unwrap();
        self.lab.assert_nothing_left(self.runs);
        let (state, message, logs) = (status.state, status.message, String::new());
        Judged { name: program.to_owned(), state, message, verdicts, took: began.elapsed(), logs }
    }
}

/// What is wrong with how the lab judged a wrong trainer.
fn complaints(wrong: &Wrong, judged: &Judged) -> Vec<String> {
    let own = wrong.step.map(|number| &judged.verdicts[number - 1]);
    let mut complaints = Vec::new();
    let said = match (own, wrong.runs) {
        (Some(verdict), true) => {
            let wanted = match (wrong.right, wrong.cannot_tell) {
                (true, _) => Outcome::Passed,
                (false, true) => Outcome::CannotTell,
                (false, false) => Outcome::Failed,
            };
            if verdict.outcome != wanted {
                complaints.push(format!("{} {}", verdict.number, verdict.outcome.name()));
            }
            &verdict.evidence
        }
        _ => {
            if judged.state != RunState::Failed {
                complaints.push(format!("the run {}", judged.state.name()));
            }
            if let Some(verdict) = own.filter(|verdict| verdict.outcome == Outcome::Passed) {
                complaints.push(format!("{} passed: {}", verdict.number, verdict.evidence));
            }
            &judged.message
        }
    };
    let missing = wrong.says.iter().filter(|words| !said.contains(*words));
    complaints.extend(missing.map(|words| format!("no `{words}` in: {said}")));
    if !judged.logs.contains(&wrong.logs) {
        complaints.push(format!("no `{}` in the logs of its ranks", wrong.logs));
    }
    let missed = judged.verdicts.iter().filter(|verdict| wrong.right && !verdict.has_passed());
    complaints.extend(missed.map(|verdict| format!("{} did not pass: {}", verdict.number, verdict.evidence)));
    let may_fail: BTreeSet<usize> = wrong.step.into_iter().chain(wrong.also.iter().copied()).collect();
    let blamed = judged.verdicts[..wrong.after].iter().filter(|verdict| verdict.outcome == Outcome::Failed);
    let blamed = blamed.filter(|verdict| !may_fail.contains(&verdict.number));
    complaints.extend(blamed.map(|verdict| format!("{} is blamed: {}", verdict.number, verdict.evidence)));
    if !wrong.runs && judged.took > FOUND {
        complaints.push(format!("it took {:?} to find out", judged.took));
    }
    eprintln!("{} in {:.1} s: {said}", judged.name, judged.took.as_secs_f64());
    complaints.iter().map(|complaint| format!("{}: {complaint}", judged.name)).collect()
}

#[test]
fn every_case_changes_a_solution_in_one_place_and_is_a_case_of_its_own() {
    let (trainers, changes, photos) = (corpus(), changes(), photos());
    assert!(trainers.len() >= 30, "{} wrong trainers", trainers.len());
    for number in FOUR_CHANGES.numbers() {
        assert!(changes.iter().any(|wrong| wrong.step == Some(number)), "no program is wrong in change {number}");
    }
    for number in NVCNN.numbers() {
        assert!(photos.iter().any(|wrong| wrong.step == Some(number)), "no training on photos is wrong in change {number}");
    }
    let corpus = [trainers, changes, photos].concat();
    let names: BTreeSet<&str> = corpus.iter().map(|wrong| wrong.name.as_str()).collect();
    let programs: BTreeSet<String> = corpus.iter().map(|wrong| wrong.program().unwrap()).collect();
    assert_eq!((names.len(), programs.len()), (corpus.len(), corpus.len()), "two cases are the same");
    for step in Step::ALL {
        assert!(corpus.iter().any(|wrong| !wrong.is_change && wrong.step() == Some(step)), "no trainer is wrong in {step}");
    }
    assert!(corpus.iter().all(|wrong| !wrong.says.is_empty() && wrong.step.is_none_or(|step| step <= wrong.after)));
}

#[test]
fn the_right_check_rejects_each_wrong_trainer_and_the_solutions_pass() {
    let (_turn, Some(mut class)) = (trainer::turn(), Class::with_trainer()) else { return };
    let mut complained = Vec::new();
    let on_two = (1..=Step::ALL.len()).map(Conditions::of_solution);
    // The same under which wrong programs show.
    let last = Conditions::of_solution(Step::ALL.len());
    let others = [
        Conditions { np: 3, ranks_per_host: Some(2), ..last },
        Conditions { stops: true, ..last },
        Conditions { continued: true, ..last },
    ];
    for conditions in on_two.chain(others) {
        let after = conditions.after;
        let name = format!("solution_{after:02}");
        if is_asked_for(&name) {
            let judged = class.judge(&name, conditions);
            let not_passed = judged.verdicts[..after].iter().filter(|verdict| verdict.outcome != Outcome::Passed);
            complained.extend(not_passed.map(|verdict| format!("{}: {} {verdict:?}", judged.name, judged.message)));
        }
    }
    for wrong in runnable(corpus()) {
        let judged = class.judge(&wrong.name, Conditions::of(&wrong));
        complained.extend(complaints(&wrong, &judged));
    }
    assert!(complained.is_empty(), "\n{}\n", complained.join("\n"));
}

/// Judges the solution after each place of a program, and the wrong programs: what is not as it should be is complained about.
fn check_places(program: &Program, name: &str, judge: fn(&mut Class, &str) -> Judged, wrong: Vec<Wrong>) {
    let (_turn, Some(mut class)) = (trainer::turn(), Class::with_trainer()) else { return };
    let mut complained = Vec::new();
    for after in program.numbers().filter(|after| is_asked_for(&format!("{name}_{after}"))) {
        let judged = judge(&mut class, &format!("{name}_{after}"));
        let not_passed = judged.verdicts[..after].iter().filter(|shown| !shown.has_passed());
        complained.extend(not_passed.map(|shown| format!("{}: {} {shown:?}", judged.name, judged.message)));
        let next = judged.verdicts.get(after).filter(|shown| shown.has_passed());
        complained.extend(next.map(|shown| format!("{}: not done, and passed: {shown:?}", judged.name)));
    }
    for wrong in runnable(wrong) {
        complained.extend(complaints(&wrong, &judge(&mut class, &wrong.name)));
    }
    assert!(complained.is_empty(), "\n{}\n", complained.join("\n"));
}

#[test]
fn each_wrong_change_is_named_with_its_cause_and_the_solutions_pass() {
    check_places(&FOUR_CHANGES, "mnist", Class::judge_changes, changes());
}

#[test]
fn each_wrong_training_on_photos_is_named_with_its_cause_and_the_solutions_pass() {
    check_places(&NVCNN, "nvcnn", Class::judge_photos, photos());
}

/// Those that are asked for and that this machine has the cores for.
fn runnable(wrong: Vec<Wrong>) -> impl Iterator<Item = Wrong> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    asked_for(wrong, |wrong| &wrong.name).into_iter().filter(move |wrong| wrong.cores <= cores)
}
