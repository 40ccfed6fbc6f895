//! What the library saw decides, whatever the program reports: evidence of a good run with sightings, and then doctored.
//!
//! Never starts a run: real programs are in tests/wrong.

use hvd_lab_terminal::course::{Evidence, Outcome, Process, check, check_all};
use hvd_lab_terminal::domain::event::{DigestMoment, UpdateReport};
use hvd_lab_terminal::domain::history::Update;
use hvd_lab_terminal::domain::step::Step;

use super::good::{NP, evidence};

/// A good run of a library that tells what it sees.
fn watched() -> Evidence {
    let mut evidence = evidence();
    for (index, process) in &mut evidence.history.attempts[0].processes {
        process.topology.as_mut().unwrap().is_watched = true;
        let sample = |moment| process.first_sample(moment).unwrap().to_vec();
        let (own, applied) = (sample(DigestMoment::OwnGradients), sample(DigestMoment::FirstGradients));
        let update = |number: usize| UpdateReport {
            update: number,
            optimizer: "novograd".into(),
            lr: process.steps[number].lr,
            own: own.clone(),
            applied: applied.clone(),
            before: vec![1.0 - 0.1 * number as f32],
            after: vec![1.0 - 0.1 * (number + 1) as f32],
            // As of older libraries.
            norms: Vec::new(),
        };
        let updates = (0..4).map(|number| Update { report: update(number), steps_before: number }).collect();
        let accuracies = process.epochs.iter().map(|report| (report.averaged.unwrap().accuracy, false)).collect();
        (process.observed.updates, process.observed.decisions) = (updates, accuracies);
        process.observed.wrapped = 1;
        process.observed.counted = vec![(4, 4), (8, 8)];
        process.observed.picks = vec![(0, vec![*index as u32, 7])];
        process.observed.saved = if *index == 0 { vec![1, 2] } else { Vec::new() };
    }
    evidence
}

/// Number of the step, what was done wrong on each process, and what the sentence must contain.
type Case = (usize, fn(usize, &mut Process), &'static [&'static str]);

const WRONG: &[Case] = &[
    (3, |_, p| p.observed.updates.clear(), &["rank 0 reports 8 training steps", "no optimizer of the library"]),
    (3, |index, p| p.observed.wrapped += usize::from(index == 1), &["rank 1 wrapped its optimizer 2 times"]),
    (3, |_, p| apply(p, 0, 2.0), &["2.000 times the mean", "the first update"]),
    (3, |_, p| apply(p, 0, NP as f32), &["the sum of their gradients in the first update"]),
    (3, |_, p| apply(p, 2, 0.5), &["0.500 times the mean of their gradients in update 3"]),
    (3, |index, p| apply(p, 1, index as f32), &["rank 1 applied other gradients in update 2 than rank 0"]),
    (3, |index, p| p.observed.updates[1].report.before[0] += index as f32, &["rank 1 changed between update 1 and update 2"]),
    (3, sgd_by_another_rule, &["the weights of rank 0 after the first update are not"]),
    (
        3,
        |_, p| p.observed.counted = vec![(2, 4), (4, 8)],
        &["rank 0 reports 4 training steps and updated its weights 2 times", "after every batch"],
    ),
    (3, |index, p| p.observed.counted[1].0 += usize::from(index == 1), &["rank 1 reports 8 training steps", "9 times"]),
    (5, |_, p| p.observed.picks = vec![(0, vec![3, 4])], &["ranks 0 and 1 took the same images"]),
    (6, |_, p| p.observed.decisions[1].0 = p.epochs[1].validation.accuracy, &["rank 0 decided after epoch 2", "0.5000"]),
    (6, |index, p| p.early_stop = (index == 2).then_some(2), &["rank 2 stopped early after epoch 2, and rank 0 went on"]),
    (
        7,
        |index, p| p.observed.saved = if index < 2 { vec![1] } else { vec![] },
        &["rank 1 wrote a checkpoint and did not report"],
    ),
    (7, |_, p| p.observed.saved.clear(), &["rank 0 reports 2 checkpoints, and the library wrote none"]),
    (
        6,
        |_, p| p.epochs[0].averaged.as_mut().unwrap().accuracy = 0.600_001,
        &["accuracy of 0.600001", "the mean over the ranks, 0.600000"],
    ),
    (6, |_, p| p.test = None, &["rank 0 ended without a test on the test images"]),
    (7, |index, p| p.observed.has_board = index != 1, &["rank 2 wrote a file for TensorBoard too", "on rank 0 only"]),
    (8, |_, p| p.observed.has_no_schedule = true, &["the rate of rank 0 would never fall", "LearningRateScheduler"]),
    (8, |_, p| rates(p, 3.0), &["2 times, not once", "reports a rate of 0.011", "used 0.033"]),
    (8, |index, p| rates(p, if index == 2 { 2.0 } else { 1.0 }), &["rank 2 trained epoch 1, batch 1 at 0.022"]),
    (8, |_, p| rates(p, 4.0 / 3.0), &["as if there were 4 ranks"]),
    (9, |_, p| p.observed.updates.iter_mut().for_each(|update| update.report.lr = 0.03), &["no ramp", "reports a rate of 0.011"]),
    (10, |_, p| p.observed.updates.iter_mut().for_each(|update| update.report.optimizer = "sgd".into()), &["and sgd updates"]),
    (10, |_, p| p.observed.updates[1].report.optimizer = "lamb".into(), &["rank 0 reports NovoGrad, and lamb updates"]),
    (10, |_, p| by_rule(p, |g, _, _| g), &["the optimizer of rank 0 calls itself NovoGrad", "in update 1", "as SGD moves them"]),
    (10, |_, p| by_rule(p, |g, norms, m| 0.05 * g / norms[0] + 0.95 * m), &["update 1", "0.050 times as far"]),
    (10, |_, p| by_rule(p, |g, _, m| 0.95 * m + g.signum()), &["update 1", "10.000 times as far"]),
    // Right at first, and then with another momentum, or with the length of each gradient alone.
    (10, |_, p| by_rule(p, |g, norms, m| 0.9 * m + g / moment(norms).sqrt()), &["in update 2, "]),
    (10, |_, p| by_rule(p, |g, norms, m| 0.95 * m + g / norms[norms.len() - 1]), &["in update 2, "]),
];

/// The second moment of NovoGrad, of the lengths of all gradients so far.
fn moment(norms: &[f64]) -> f64 {
    norms.iter().skip(1).fold(norms[0].powi(2), |v, norm| 0.98 * v + 0.02 * norm.powi(2))
}

/// Updates by a rule that gives the direction of a weight: from its gradient, the lengths so far, and the direction before.
fn by_rule(process: &mut Process, rule: impl Fn(f64, &[f64], f64) -> f64) {
    let (mut weights, mut directions, mut norms) = ([1.0_f32, -0.5], [0.0; 2], Vec::new());
    for (number, Update { report, .. }) in process.observed.updates.iter_mut().enumerate() {
        let norm = 3.0 + number as f32;
        norms.push(f64::from(norm));
        (report.norms, report.before) = (vec![norm; 2], weights.to_vec());
        for (place, weight) in weights.iter_mut().enumerate() {
            directions[place] = rule(f64::from(report.applied[place]), &norms, directions[place]);
            *weight = (f64::from(*weight) - report.lr * directions[place]) as f32;
        }
        report.after = weights.to_vec();
    }
}

fn apply(process: &mut Process, update: usize, times: f32) {
    process.observed.updates[update].report.applied.iter_mut().for_each(|g| *g *= times);
}

fn rates(process: &mut Process, times: f64) {
    process.observed.updates.iter_mut().for_each(|update| update.report.lr *= times);
}

fn sgd_by_another_rule(_: usize, process: &mut Process) {
    let first = &mut process.observed.updates[0].report;
    first.optimizer = "sgd".into();
    (first.before, first.after) = (vec![1.0, 1.0], vec![1.0, 0.9]);
    process.observed.updates[1].report.before = vec![1.0, 0.9];
}

#[test]
fn a_good_run_that_was_seen_passes_every_check() {
    for verdict in check_all(&watched()) {
        assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
    }
}

#[test]
fn novograd_by_its_rule_passes_and_groups_of_batches_are_one_update() {
    let mut right = watched();
    let processes = right.history.attempts[0].processes.values_mut();
    processes.for_each(|process| by_rule(process, |g, norms, m| 0.95 * m + g / moment(norms).sqrt()));
    assert_eq!(check(&right, Step::NovoGrad).outcome, Outcome::Passed, "{:?}", check(&right, Step::NovoGrad));
    for flags in [["--backward-passes-per-step", "3"].as_slice(), &["--backward-passes-per-step=3"]] {
        let mut grouped = watched();
        grouped.spec.workload.trainer_flags = flags.iter().map(|flag| flag.to_string()).collect();
        assert_eq!(check(&grouped, Step::DistributedOptimizer).outcome, Outcome::Failed);
        // 4 batches of an epoch are one update of three and one of the rest.
        grouped.history.attempts[0].processes.values_mut().for_each(|process| process.observed.counted = vec![(2, 4), (4, 8)]);
        assert_eq!(check(&grouped, Step::DistributedOptimizer).outcome, Outcome::Passed);
    }
}

#[test]
fn a_target_that_is_reached_ends_the_training() {
    let judged = |target: f64, patience: usize| {
        let mut evidence = watched();
        (evidence.spec.workload.target_accuracy, evidence.spec.workload.patience) = (target, patience);
        check(&evidence, Step::AverageMetrics)
    };
    let went_on = judged(0.599_999, 1);
    assert_eq!(went_on.outcome, Outcome::Failed);
    let said =
        "after epoch 1 the mean accuracy of 0.600000 was above the target of 0.599999, and rank 0 trained epoch 2 all the same";
    assert!(went_on.evidence.contains(said), "{}", went_on.evidence);
    // Twice in a row is with the last epoch, and the target itself is not above it.
    assert_eq!([judged(0.5, 2), judged(0.6, 1)].map(|verdict| verdict.outcome), [Outcome::Passed; 2]);
}

#[test]
fn what_was_done_decides_and_not_what_is_reported() {
    for (index, (number, doctor, said)) in WRONG.iter().enumerate() {
        let mut doctored = watched();
        doctored.history.attempts[0].processes.iter_mut().for_each(|(index, process)| doctor(*index, process));
        let verdict = check(&doctored, Step::from_number(*number).unwrap());
        assert_eq!(verdict.outcome, Outcome::Failed, "case {index}: {verdict:?}");
        for words in *said {
            assert!(verdict.evidence.contains(words), "case {index}: no `{words}` in: {}", verdict.evidence);
        }
    }
}
