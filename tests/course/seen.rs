//! What the lessons say one will see, one by one, on real runs of two ranks with generated garments.
//!
//! Never measures time: what a lesson says of seconds and images/s depends on the machine, and is in BENCHMARKS.md.

use std::collections::BTreeSet;
use std::fs;

use hvd_lab_terminal::course::{Attempt, Catalog, Contrast, Evidence, Process, side_by_side};
use hvd_lab_terminal::domain::event::{CheckpointAction, DigestMoment};
use hvd_lab_terminal::domain::phase::Phase;
use hvd_lab_terminal::domain::schedule::{LearningRateSchedule, steps_per_epoch, validation_steps};
use hvd_lab_terminal::domain::step::Step;
use hvd_lab_terminal::runs::RunId;

use super::real::{SMALL, train, with_trainer};
use crate::support::lab::Lab;
use crate::support::trainer::turn;

const IMAGES: usize = 400;
const VALIDATION: usize = 100;
const BATCH: usize = 32;

/// Runs of steps 1 to n have the number n + 1; then a short warmup, then one rank alone.
const SHORT_WARMUP: u32 = 12;
const ALONE: u32 = 13;

/// All runs of all lessons: neighbouring lessons share one.
fn make(lab: &Lab) {
    for steps in ["none".to_owned(), "1".into()].into_iter().chain((2..=10).map(|last| format!("1-{last}"))) {
        train(lab, &["--steps", &steps]);
    }
    train(lab, &["--steps", "1-9", "--warmup-epochs", "2"]);
    let output = lab.run(&[["run", "--np", "1"].as_slice(), &SMALL[3..]].concat());
    assert!(output.status.success());
}

#[test]
fn what_the_lessons_say_one_will_see_is_seen() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    make(&lab);
    let lessons: [fn(&Lab); 10] =
        [lesson_1, lesson_2, lesson_3, lesson_4, lesson_5, lesson_6, lesson_8, lesson_9, lesson_10, lesson_11];
    lessons.iter().for_each(|lesson| lesson(&lab));
    // At last: it continues two runs, one of which is also lesson 8's.
    lesson_7(&lab);
}

fn evidence(lab: &Lab, id: u32) -> Evidence {
    Evidence::of(&lab.folder(id), &lab.store().record(RunId(id)).unwrap()).unwrap()
}

/// Both runs of a step's lesson.
fn pair(lab: &Lab, step: u32) -> [Evidence; 2] {
    [evidence(lab, step), evidence(lab, step + 1)]
}

fn first(evidence: &Evidence) -> &Attempt {
    &evidence.history.attempts[0]
}

fn each<T>(evidence: &Evidence, ask: impl Fn(&Process) -> T) -> Vec<T> {
    first(evidence).processes.values().map(ask).collect()
}

fn digests(evidence: &Evidence, moment: DigestMoment) -> Vec<Vec<String>> {
    each(evidence, |process| process.digests_of(moment).into_iter().map(str::to_owned).collect())
}

fn are_equal(evidence: &Evidence, moment: DigestMoment) -> bool {
    let of = digests(evidence, moment);
    assert!(of.len() == 2 && of.iter().all(|digests| !digests.is_empty()), "{moment:?}: {of:?}");
    of[0] == of[1]
}

fn log(lab: &Lab, id: u32, process: usize) -> Vec<String> {
    fs::read_to_string(lab.folder(id).rank_log(process)).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Lines of all processes that begin so.
fn lines(lab: &Lab, id: u32, start: &str) -> Vec<String> {
    let all = (0..2).flat_map(|process| log(lab, id, process));
    all.filter(|line| line.starts_with(start)).collect()
}

/// What is said of the two runs of a lesson.
fn said(lab: &Lab, step: u32) -> Contrast {
    side_by_side(&lab.store(), Step::from_number(step as usize).unwrap(), [RunId(step), RunId(step + 1)]).unwrap().contrast
}

fn assert_said(lab: &Lab, step: u32, words: &[&str]) {
    let found = said(lab, step);
    let text = found.explained.join("\n");
    for word in words {
        assert!(text.contains(word), "step {step}: no `{word}` in:\n{text}\n{:?}", found.facts);
    }
}

fn lesson_1(lab: &Lab) {
    let [before, after] = pair(lab, 1);
    let who = |evidence: &Evidence| {
        each(evidence, |process| {
            let place = process.topology.as_ref().unwrap();
            (place.topology.rank.0, place.topology.size.0, place.communicator.clone())
        })
    };
    assert_eq!(who(&before), [(0, 1, "local".to_owned()), (0, 1, "local".into())]);
    assert_eq!(who(&after), [(0, 2, "mpi".to_owned()), (1, 2, "mpi".into())]);
    let cores = |evidence: &Evidence| each(evidence, |process| process.topology.as_ref().unwrap().cores.clone());
    assert_eq!(cores(&before)[0], cores(&before)[1]);
    if cores(&before)[0].len() >= 2 {
        let (one, other): (BTreeSet<usize>, BTreeSet<usize>) =
            (cores(&after)[0].iter().copied().collect(), cores(&after)[1].iter().copied().collect());
        assert!(one.is_disjoint(&other), "{one:?} {other:?}");
    }
    assert_eq!([1, 2].map(|id| lines(lab, id, "Epoch 1/2").len()), [2, 2]);
    assert_eq!(digests(&before, DigestMoment::EpochParameters), digests(&after, DigestMoment::EpochParameters));
    assert_said(lab, 1, &["each of the 2 processes thought it was rank 0 of 1", "ranks 0 to 1 of 2", "2 models for one job"]);
}

fn lesson_2(lab: &Lab) {
    let [before, after] = pair(lab, 2);
    assert_eq!([2, 3].map(|id| lines(lab, id, "Epoch ").len()), [4, 2]);
    let accuracies = lines(lab, 2, "Test accuracy");
    assert!(accuracies.len() == 2 && accuracies[0] != accuracies[1], "{accuracies:?}");
    assert_eq!(lines(lab, 3, "Test accuracy").len(), 1);
    assert!(log(lab, 3, 1).iter().all(|line| !line.starts_with("Epoch") && !line.contains("loss")), "{:?}", log(lab, 3, 1));
    assert_eq!([&before, &after].map(|run| each(run, |process| process.epochs.len())), [[2, 2], [2, 2]]);
    assert_eq!(digests(&before, DigestMoment::EpochParameters), digests(&after, DigestMoment::EpochParameters));
    assert!(!are_equal(&after, DigestMoment::EpochParameters));
    assert_said(lab, 2, &["2 copies of the log against 1", "4 lines `Epoch`", "rank 0 prints, and there are 2"]);
}

fn lesson_3(lab: &Lab) {
    let [before, after] = pair(lab, 3);
    assert!(!are_equal(&before, DigestMoment::FirstGradients) && are_equal(&after, DigestMoment::FirstGradients));
    assert!(!are_equal(&before, DigestMoment::EpochParameters) && !are_equal(&after, DigestMoment::EpochParameters));
    let waited =
        |run: &Evidence| each(run, |process| process.epochs.iter().map(|e| e.phases[Phase::AllreduceExposed]).sum::<f64>());
    // Without the step there is nobody to wait for: what is measured is the clock itself.
    assert!(waited(&before).iter().all(|seconds| *seconds < 0.01), "{:?}", waited(&before));
    assert!(waited(&after).iter().sum::<f64>() > 0.0);
    let whole = steps_per_epoch(IMAGES, BATCH, 1);
    for run in [&before, &after] {
        assert_eq!(each(run, |process| process.steps.len()), [2 * whole, 2 * whole]);
    }
    assert_eq!(steps_per_epoch(12_000, 8, 1), 1_500, "as the lesson says of the preset");
    assert_said(lab, 3, &["2 ranks applied 2 different gradients", "the mean", "weights are still different"]);
}

fn lesson_4(lab: &Lab) {
    let [before, after] = pair(lab, 4);
    let table = [
        (DigestMoment::InitialParameters, [false, false]),
        (DigestMoment::StartParameters, [false, true]),
        (DigestMoment::FirstGradients, [true, true]),
        (DigestMoment::EpochParameters, [false, true]),
    ];
    for (moment, wanted) in table {
        assert_eq!([&before, &after].map(|run| are_equal(run, moment)), wanted, "{moment:?}");
    }
    let drawn = [&before, &after].map(|run| digests(run, DigestMoment::InitialParameters)[0].clone());
    assert_eq!(drawn[0], drawn[1]);
    assert_eq!(digests(&after, DigestMoment::StartParameters)[1], drawn[1], "rank 0's");
    let validation = each(&after, |process| process.epochs[1].validation);
    assert_ne!(validation[0], validation[1]);
    assert_said(lab, 4, &["apart at the start", "equal bit by bit", "rank 0 drew"]);
}

fn lesson_5(lab: &Lab) {
    let [before, after] = pair(lab, 5);
    let (whole, half) = (steps_per_epoch(IMAGES, BATCH, 1), steps_per_epoch(IMAGES, BATCH, 2));
    assert!(lines(lab, 5, &format!("{whole}/{whole} - ")).len() == 2 && lines(lab, 6, &format!("{half}/{half} - ")).len() == 2);
    let planned = |run: &Evidence| each(run, |p| p.config.as_ref().map(|c| (c.steps_per_epoch, c.validation_steps)).unwrap());
    let validation = [None, Some(2)].map(|size| validation_steps(VALIDATION, BATCH, size));
    assert_eq!(planned(&before), [(whole, validation[0]); 2]);
    assert_eq!(planned(&after), [(half, validation[1]); 2]);
    assert_eq!(each(&before, |process| process.epochs[0].images), [IMAGES, IMAGES]);
    assert_eq!(each(&after, |process| process.epochs[0].images), [half * BATCH, half * BATCH]);
    assert!(are_equal(&after, DigestMoment::EpochParameters));
    let preset = [steps_per_epoch(12_000, 8, 2), validation_steps(1_000, 8, None), validation_steps(1_000, 8, Some(2))];
    assert_eq!(preset, [750, 125, 187], "as the lesson says of the preset");
    assert_said(lab, 5, &["800 images per epoch against 384, of 400 that there are: half the work", "6 an epoch instead of 13"]);
}

fn lesson_6(lab: &Lab) {
    let [before, after] = pair(lab, 6);
    for run in [&before, &after] {
        let own = each(run, |process| process.epochs[1].validation);
        assert_ne!(own[0], own[1]);
    }
    assert!(each(&before, |process| process.epochs[1].averaged.is_none()).into_iter().all(|none| none));
    let own = each(&after, |process| process.epochs[1].validation);
    let mean = (own[0].accuracy + own[1].accuracy) / 2.0;
    let averaged = each(&after, |process| process.epochs[1].averaged.unwrap());
    assert!(averaged[0] == averaged[1] && (averaged[0].accuracy - mean).abs() < 1e-9, "{averaged:?}");
    let printed = |id| lines(lab, id, "6/6 - ")[1].clone();
    assert!(printed(6).contains(&format!("val_accuracy: {:.4}", each(&before, |p| p.epochs[1].validation)[0].accuracy)));
    assert!(printed(7).contains(&format!("val_accuracy: {:.4}", averaged[0].accuracy)), "{}", printed(7));
    let tests = |run: &Evidence| each(run, |process| process.test.unwrap());
    assert!(tests(&before)[0].accuracy != tests(&before)[1].accuracy && tests(&before)[0].images == 10_000);
    assert_eq!(tests(&after)[0], tests(&after)[1]);
    assert_eq!(digests(&before, DigestMoment::EpochParameters), digests(&after, DigestMoment::EpochParameters));
    assert_said(
        lab,
        6,
        &[
            "Before, each rank decides on its own result",
            "the mean over the ranks",
            "changes what is measured, and not the training",
        ],
    );
}

fn lesson_7(lab: &Lab) {
    let files = |run: &Evidence, action| {
        let of = |process: &Process| process.checkpoints.iter().filter(|file| file.action == action).count();
        run.history.attempts.iter().flat_map(|attempt| attempt.processes.values()).map(of).sum::<usize>()
    };
    let [before, after] = pair(lab, 7);
    assert_eq!([&before, &after].map(|run| files(run, CheckpointAction::Written)), [4, 2]);
    assert_eq!(digests(&before, DigestMoment::EpochParameters), digests(&after, DigestMoment::EpochParameters));
    assert!(!lines(lab, 7, "Checkpoint read back").is_empty() && lines(lab, 8, "Checkpoint read back").is_empty());
    for (id, boards) in [(7, 2), (8, 1)] {
        let names: Vec<String> = fs::read_dir(lab.folder(id).log_dir())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(["checkpoint-1.safetensors", "checkpoint-2.safetensors"].iter().all(|name| names.iter().any(|n| n == name)));
        assert_eq!(names.iter().filter(|name| name.starts_with("events.out.tfevents")).count(), boards, "{names:?}");
    }
    assert_said(lab, 7, &["ranks 0 and 1 each wrote every file: 4 writes for 2 files", "After, rank 0 alone wrote 2"]);
    for (id, readers) in [(7, 2), (8, 1)] {
        let output = lab.run(&["run", "--continue", &id.to_string(), "--epochs", "3"]);
        assert!(output.status.success());
        let continued = evidence(lab, id);
        assert_eq!(files(&continued, CheckpointAction::Loaded), readers);
        let resumed =
            continued.history.attempts[1].processes.values().map(|process| process.config.as_ref().unwrap().resume_epoch);
        assert_eq!(resumed.collect::<Vec<_>>(), [2, 2]);
    }
}

/// Rates of all steps of all ranks.
fn rates(evidence: &Evidence) -> Vec<Vec<f64>> {
    each(evidence, |process| process.steps.iter().map(|step| step.lr).collect())
}

fn losses(evidence: &Evidence) -> Vec<f64> {
    first(evidence).processes[&0].steps.iter().map(|step| step.loss).collect()
}

fn ends(evidence: &Evidence) -> Vec<f64> {
    (0..2).map(|epoch| first(evidence).processes[&0].steps.iter().rfind(|step| step.epoch == epoch).unwrap().lr).collect()
}

fn close(found: &[f64], wanted: &[f64]) {
    assert!(found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?} {wanted:?}");
}

fn lesson_8(lab: &Lab) {
    let [before, after] = pair(lab, 8);
    for (run, lr) in [(&before, 0.002), (&after, 0.004)] {
        assert!(rates(run).iter().all(|rates| rates.len() == 12 && rates.iter().all(|rate| *rate == lr)), "{:?}", rates(run));
    }
    assert!(losses(&before)[0] == losses(&after)[0] && losses(&before)[1] != losses(&after)[1]);
    assert!(are_equal(&after, DigestMoment::EpochParameters));
    assert_ne!(digests(&before, DigestMoment::EpochParameters), digests(&after, DigestMoment::EpochParameters));
    assert_said(lab, 8, &["0.002 in every batch against 0.004: 2 times, once for each of the 2 ranks", "After the first update"]);
}

fn lesson_9(lab: &Lab) {
    let [before, after] = pair(lab, 9);
    assert!(rates(&before).iter().flatten().all(|rate| *rate == 0.004));
    close(&ends(&after), &[0.004, 0.004]);
    let here = LearningRateSchedule { initial_lr: 0.004, size: 2, warmup_epochs: 1.0, steps_per_epoch: 6 };
    close(&rates(&after)[0][..2], &[here.lr(0, 0), here.lr(0, 1)]);
    // What the lesson says of the preset on eight ranks.
    let preset = LearningRateSchedule { initial_lr: 0.016, size: 8, warmup_epochs: 1.0, steps_per_epoch: 187 };
    let said = [(0, 0), (0, 1), (0, 186)].map(|(epoch, batch)| format!("{:.7}", preset.lr(epoch, batch)));
    assert_eq!(said, ["0.0020749", "0.0021497", "0.0160000"]);
    let short = evidence(lab, SHORT_WARMUP);
    close(&ends(&short), &[0.003, 0.004]);
    assert_eq!(lines(lab, SHORT_WARMUP, "Epoch 2: ").len(), 1);
    assert!(lines(lab, SHORT_WARMUP, "Epoch 2: finished gradual learning rate warmup to 0.004.").len() == 1);
    assert_said(lab, 9, &["full rate 0.004 from the first batch on", "0.004 after 2 epochs, the full rate"]);
}

fn lesson_10(lab: &Lab) {
    let [before, after] = pair(lab, 10);
    let optimizer = |run: &Evidence| each(run, |process| process.config.as_ref().unwrap().optimizer.clone());
    assert_eq!([optimizer(&before), optimizer(&after)], [["sgd", "sgd"], ["novograd", "novograd"]]);
    assert_eq!(rates(&before), rates(&after));
    assert_eq!(losses(&before)[0], losses(&after)[0]);
    assert_eq!(digests(&before, DigestMoment::FirstGradients), digests(&after, DigestMoment::FirstGradients));
    assert_ne!(losses(&before)[1], losses(&after)[1]);
    assert_said(lab, 10, &["same first gradients; sgd and novograd", "After that one update"]);
}

fn lesson_11(lab: &Lab) {
    let (alone, together) = (evidence(lab, ALONE), evidence(lab, 11));
    let places = each(&together, |process| process.topology.as_ref().unwrap().topology.rank.0);
    assert_eq!(places, [0, 1]);
    assert!(are_equal(&together, DigestMoment::EpochParameters));
    assert_eq!(each(&alone, |process| process.epochs[0].images), [IMAGES]);
    assert_eq!(each(&together, |process| process.epochs[0].images), [192, 192]);
    assert!(rates(&alone)[0].iter().all(|rate| *rate == 0.002), "a ramp needs ranks");
    assert!(rates(&together)[0].is_sorted() && rates(&together)[0][0] > 0.002);
    let written = each(&together, |process| process.checkpoints.len());
    assert_eq!(written, [2, 0]);
    assert_eq!(["Epoch 1/2", "Epoch 2/2", "Epoch 1: finished"].map(|start| lines(lab, 11, start).len()), [1, 1, 1]);
    assert_eq!(lines(lab, 11, "Epoch ").len(), 3, "nothing twice");
}

/// By the throughput of BENCHMARKS.md, with half of it to spare for a slower machine.
#[test]
fn no_run_of_a_lesson_needs_more_than_a_minute_on_two_cores() {
    const IMAGES_PER_SEC_OF_A_CORE: usize = 1_100;
    let preset = hvd_lab_terminal::launch::default_preset(false).spec;
    let images = preset.workload.train_images.unwrap();
    for run in Catalog::embedded().unwrap().lessons().filter_map(|lesson| lesson.run) {
        for steps in [run.before, run.after] {
            let shared = if steps.is_effective(Step::FewerSteps) { run.np } else { 1 };
            let cores = run.np.min(2);
            let seconds = run.epochs * (run.np * images / shared) / (cores * IMAGES_PER_SEC_OF_A_CORE);
            assert!(seconds <= 60, "{run:?}: {seconds} s");
        }
    }
}
