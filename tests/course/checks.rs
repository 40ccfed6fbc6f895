//! Every check passes on a run that did it right, and fails on one that did not, naming the rank and the cause.
//!
//! Never starts a run: the evidence is made and then doctored.

use hvd_lab_terminal::course::{Evidence, Outcome, Process, Verdict, check, check_all};
use hvd_lab_terminal::domain::event::{CheckpointAction, DigestMoment, Instead, ScheduleReport};
use hvd_lab_terminal::domain::schedule::{LearningRateSchedule, decay};
use hvd_lab_terminal::domain::step::Step;
use hvd_lab_terminal::domain::topology::Topology;

use super::good::{self, NP, STEPS, attempt, checkpoint, evidence, schedule};

fn process(evidence: &mut Evidence, index: usize) -> &mut Process {
    evidence.history.attempts[0].processes.get_mut(&index).unwrap()
}

fn every(evidence: &mut Evidence, change: impl Fn(&mut Process)) {
    evidence.history.attempts[0].processes.values_mut().for_each(change);
}

fn set_digest(process: &mut Process, moment: DigestMoment, value: &str) {
    process.digests.iter_mut().filter(|(at, ..)| *at == moment).for_each(|(.., digest)| *digest = value.into());
}

/// The rates of all ranks as another rule gives them, for epochs from `from` on.
fn rates(evidence: &mut Evidence, from: usize, rule: impl Fn(usize, usize) -> f64) {
    every(evidence, |process| {
        process.steps.iter_mut().for_each(|step| {
            step.epoch += from;
            step.lr = rule(step.epoch, step.batch);
        });
    });
}

/// The rates of a ramp over so many epochs.
fn over(evidence: &mut Evidence, warmup_epochs: f64) {
    rates(evidence, 0, |epoch, batch| LearningRateSchedule { warmup_epochs, ..schedule() }.lr(epoch, batch));
}

/// What the library tells of the program's own schedule of the rate.
fn schedules(evidence: &mut Evidence, rate: impl Fn(usize) -> f64) {
    let rates: Vec<f64> = (0..40).map(rate).collect();
    let report = ScheduleReport { name: "lr_schedule".into(), place: "fashion_mnist.py:51".into(), rates };
    every(evidence, |process| process.observed.schedule = Some(report.clone()));
}

/// Rank 1 goes by another value than a flag has.
fn instead(evidence: &mut Evidence, flag: &str, asked: &str, used: &str) {
    let other = Instead { flag: flag.into(), asked: asked.into(), used: used.into() };
    process(evidence, 1).observed.instead.push(other);
}

/// What all ranks applied in the first step, made of their own gradients in that place and what they should have applied.
fn applied(evidence: &mut Evidence, rule: impl Fn([f32; NP], f32) -> f32) {
    let own = [0, 1, 2].map(|index| process(evidence, index).first_sample(DigestMoment::OwnGradients).unwrap().to_vec());
    every(evidence, |process| {
        let samples = process.samples.iter_mut().filter(|(at, ..)| *at == DigestMoment::FirstGradients);
        samples.for_each(|(.., sample)| {
            let places = sample.iter_mut().enumerate();
            places.for_each(|(place, g)| *g = rule([own[0][place], own[1][place], own[2][place]], *g));
        });
    });
}

fn validates(evidence: &mut Evidence, index: usize, batches: usize) {
    process(evidence, index).config.as_mut().unwrap().validation_steps = batches;
}

fn writes(evidence: &mut Evidence, index: usize) {
    process(evidence, index).checkpoints.push(checkpoint(1));
}

#[test]
fn a_good_run_passes_every_check() {
    for verdict in check_all(&evidence()) {
        assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
        assert!(!verdict.evidence.is_empty());
    }
}

/// Number of the step, what was done wrong, and what the sentence must contain.
type Case = (usize, fn(&mut Evidence), &'static [&'static str]);

const WRONG: &[Case] = &[
    (1, |e| every(e, |p| p.topology.as_mut().unwrap().topology = Topology::ALONE), &["processes 0, 1 and 2", "rank 0 of 1"]),
    (1, |e| process(e, 2).topology.as_mut().unwrap().topology.rank.0 = 1, &["processes 1 and 2", "rank 1"]),
    (1, |e| process(e, 2).topology.as_mut().unwrap().topology.size.0 = 4, &["process 2", "rank 2 of 4", "3 processes"]),
    (1, |e| process(e, 2).topology.as_mut().unwrap().topology.local_rank.0 = 0, &["ranks 0 and 2", "local rank 0"]),
    (1, |e| process(e, 2).topology.as_mut().unwrap().cores = vec![0, 1], &["ranks 0 and 2", "core 1", "local rank"]),
    (1, |e| every(e, |p| p.topology.as_mut().unwrap().device = "cuda:0".into()), &["ranks 0, 1 and 2 share cuda:0"]),
    (2, |e| e.take_line(2, "Epoch 1/2"), &["rank 2 printed epoch 1 too", "verbose on rank 0 only"]),
    (2, |e| (0..NP).for_each(|rank| e.take_line(rank, "Epoch 1/2")), &["ranks 1 and 2 printed epoch 1 too"]),
    (2, |e| _ = e.printed.as_mut().unwrap().remove(&2), &["nobody printed epoch 2"]),
    (2, |e| _ = e.printed.as_mut().unwrap().insert(2, [1].into()), &["rank 1 printed epoch 2, and rank 0 did not"]),
    (3, |e| set_digest(process(e, 1), DigestMoment::FirstGradients, "dddddddddddddddd"), &["rank 1", "dddddddd", "average"]),
    (3, |e| applied(e, |_, mean| mean * NP as f32), &["the sum of their gradients", "divide by 3"]),
    (3, |e| applied(e, |_, mean| mean * 0.5), &["0.500 times the mean"]),
    (3, |e| applied(e, |own, _| own[0]), &["applied rank 0's own gradients", "average"]),
    (3, |e| applied(e, |own, _| own[2]), &["applied rank 2's own gradients"]),
    (3, |e| applied(e, |own, _| (own[0] + own[1]) / 2.0), &["not the mean of their own"]),
    (
        4,
        |e| set_digest(process(e, 2), DigestMoment::StartParameters, "22aaaaaaaaaaaaaa"),
        &["rank 2 started", "22aaaaaa", "broadcast"],
    ),
    (4, |e| every(e, |p| set_digest(p, DigestMoment::StartParameters, "11aaaaaaaaaaaaaa")), &["those of rank 1, not of rank 0"]),
    (
        3,
        |e| set_digest(process(e, 1), DigestMoment::EpochParameters, "e"),
        &["rank 1 held other weights", "end of epoch 1", "the gradients of every step"],
    ),
    (
        5,
        |e| {
            every(e, |p| {
                p.epochs.iter_mut().for_each(|report| (report.batches, report.images) = (13, 400));
                p.config.as_mut().unwrap().steps_per_epoch = 13;
            });
        },
        &["rank 0 trained 13 batches", "whole epoch", "13 / 3 rounded down is 4"],
    ),
    (5, |e| process(e, 1).epochs[1].batches = 5, &["rank 1 trained 5 batches in epoch 2, rounded up"]),
    (5, |e| process(e, 1).steps.truncate(STEPS + 1), &["rank 1 reports 4 batches in epoch 2, and trained 1"]),
    (5, |e| every(e, |p| p.epochs[0].images = 400), &["1200 images", "of 400"]),
    (
        5,
        |e| {
            let steps = process(e, 0).steps.clone();
            process(e, 2).steps = steps;
        },
        &["ranks 0 and 2 had the same loss"],
    ),
    (5, |e| validates(e, 1, 11), &["rank 1 validates on 11 batches", "3 * 32 / 3", "is 32"]),
    (5, |e| (0..NP).for_each(|rank| validates(e, rank, 10)), &["rank 0 validates on 10 batches", "a third"]),
    (
        6,
        |e| every(e, |p| p.epochs.iter_mut().for_each(|report| report.averaged = None)),
        &["ranks 0, 1 and 2", "0.5000, 0.6000, 0.7000"],
    ),
    (6, |e| process(e, 2).epochs[1].averaged = None, &["rank 2 judged epoch 2 by its own", "0.7000"]),
    (6, |e| process(e, 1).epochs[0].averaged.as_mut().unwrap().accuracy = 0.5, &["rank 1", "0.5000", "0.6000"]),
    (6, |e| every(e, |p| p.epochs[0].averaged.as_mut().unwrap().loss *= 3.0), &["loss of 3.3000", "but the sum"]),
    (6, |e| every(e, |p| p.epochs[0].averaged.as_mut().unwrap().loss = 1.2), &["rank 2's own, on every rank"]),
    (6, |e| every(e, |p| p.epochs[0].averaged = Some(p.epochs[0].validation)), &["rank 0", "its own: average every metric"]),
    (7, |e| writes(e, 2), &["rank 2 wrote checkpoint-1.safetensors too", "rank 0 only"]),
    (7, |e| process(e, 1).config.as_mut().unwrap().resume_epoch = 1, &["rank 1 went on from epoch 1", "rank 0 from epoch 0"]),
    (7, |e| process(e, 0).checkpoints.clear(), &["nobody wrote a checkpoint"]),
    (
        7,
        |e| {
            writes(e, 1);
            process(e, 1).checkpoints[0].action = CheckpointAction::Loaded;
        },
        &["rank 1 looked for a checkpoint by itself"],
    ),
    (8, |e| rates(e, 0, |_, _| 0.01), &["never scaled", "epoch 1, batch 1", "0.01", "by 3"]),
    (8, |e| rates(e, 0, |epoch, batch| schedule().lr(epoch, batch) / 3.0), &["never scaled: it climbs to 0.01"]),
    (8, |e| rates(e, 0, |epoch, batch| schedule().lr(epoch, batch) * 3.0), &["2 times, not once"]),
    (8, |e| rates(e, 0, |epoch, batch| schedule().lr(epoch, batch) / 9.0), &["divided by the number of ranks"]),
    (8, |e| rates(e, 0, |epoch, batch| schedule().lr(epoch, batch) / 3f64.sqrt()), &["the square root"]),
    (
        8,
        |e| rates(e, 0, |epoch, batch| schedule().lr(epoch, batch) * 1.000_002),
        &["epoch 1, batch 1", "the formula gives 0.011"],
    ),
    (8, |e| process(e, 2).steps[6].lr = 0.01, &["rank 2 trained epoch 2, batch 3 at 0.01"]),
    (8, |e| schedules(e, |_| 0.03), &["fashion_mnist.py:51: lr_schedule gives 0.03 in epoch 16, and 0.003 is right"]),
    (8, |e| schedules(e, |epoch| 0.03 * decay(epoch + 1)), &["gives 0.003 in epoch 15, and 0.03 is right"]),
    (8, |e| schedules(e, |epoch| 0.03 * decay(epoch.min(34))), &["gives 0.0003 in epoch 36, and 0.00003 is right"]),
    (8, |e| schedules(e, |epoch| 0.01 * decay(epoch)), &["lr_schedule gives 0.01 in epoch 1, and the scaled rate is 0.03"]),
    (
        8,
        |e| {
            e.spec.workload.base_lr = 0.012;
            rates(e, 0, |epoch, batch| schedule().lr(epoch, batch));
        },
        &["the full rate is 0.03, as if --base-lr were 0.01: your program ignores --base-lr"],
    ),
    (
        9,
        |e| {
            rates(e, 0, |epoch, batch| schedule().lr(epoch, batch) / 3.0);
            schedules(e, |epoch| 0.03 * decay(epoch));
        },
        &["the ramp climbs to 0.01, and after it the rate is 0.03", "initial_lr=lr"],
    ),
    (9, |e| over(e, 5.0 / 3.0), &["the ramp takes 1.66667 epochs, not 5: it was divided by the number of ranks"]),
    (9, |e| over(e, 15.0), &["the ramp takes 15 epochs, not 5: it was multiplied"]),
    (9, |e| over(e, 12.0), &["the ramp takes 12 epochs, not 5: your program ignores --warmup-epochs"]),
    (
        9,
        |e| {
            e.spec.workload.epochs = 2;
            over(e, 2.0);
        },
        &["the ramp takes 2 epochs, not 5: it was cut to the epochs of this run"],
    ),
    (3, |e| instead(e, "--wd", "0.00001", "0.000005"), &["rank 1 goes by 0.000005", "your program ignores --wd. Use args.wd"]),
    (5, |e| instead(e, "--batch-size", "32", "96"), &["where --batch-size says 32: it was multiplied by 3", "args.batch_size"]),
    (5, |e| instead(e, "--epochs", "2", "3"), &["your program ignores --epochs"]),
    (5, |e| instead(e, "--epochs", "8", "2"), &["it was divided by 3, the number of ranks"]),
    (5, |e| process(e, 2).config.as_mut().unwrap().steps_per_epoch = 6, &["rank 2 trains 6 batches an epoch, and rank 0 4"]),
    (5, |e| every(e, |p| p.config.as_mut().unwrap().epochs = 3), &["rank 0 ended after 2 epochs, and 3 were asked for"]),
    (6, |e| instead(e, "--patience", "3", "2"), &["where --patience says 3", "args.patience"]),
    (7, |e| instead(e, "--log-dir", "logs", "logs/x"), &["rank 1 goes by logs/x where --log-dir says logs", "args.log_dir"]),
    (9, |e| rates(e, 0, |_, _| 0.03), &["no ramp", "epoch 1, batch 1", "0.03", "over 5 epochs"]),
    (
        9,
        |e| rates(e, 0, |epoch, batch| LearningRateSchedule { warmup_epochs: 4.0, ..schedule() }.lr(epoch, batch)),
        &["4 epochs, not 5"],
    ),
    (
        9,
        |e| rates(e, 0, |epoch, batch| LearningRateSchedule { warmup_epochs: 6.0, ..schedule() }.lr(epoch, batch)),
        &["6 epochs, not 5"],
    ),
    (
        9,
        |e| rates(e, 0, |epoch, batch| 0.01 * ((epoch as f64 + batch as f64 / STEPS as f64) * 2.0 / 5.0 + 1.0)),
        &["one batch late"],
    ),
    (
        9,
        |e| rates(e, 0, |epoch, batch| LearningRateSchedule { steps_per_epoch: 13, ..schedule() }.lr(epoch, batch)),
        &["whole epoch"],
    ),
    (9, |e| rates(e, 0, |epoch, _| schedule().lr(epoch, STEPS - 1)), &["once an epoch"]),
    (
        9,
        |e| {
            rates(e, 0, |epoch, batch| LearningRateSchedule { steps_per_epoch: 13, ..schedule() }.lr(epoch, batch));
            every(e, |p| p.config.as_mut().unwrap().steps_per_epoch = 13);
        },
        &["whole epoch"],
    ),
    (
        9,
        |e| rates(e, 4, |epoch, batch| schedule().lr(epoch, batch) * if epoch < 5 { 1.0 } else { 0.01 }),
        &["after the ramp the rate fell to 0.0003"],
    ),
    (9, |e| rates(e, 0, |epoch, batch| schedule().lr(epoch, batch) + if epoch == 1 { 1e-7 } else { 0.0 }), &["epoch 2, batch 1"]),
    (10, |e| process(e, 1).config.as_mut().unwrap().optimizer = "sgd".into(), &["rank 1 trains with sgd"]),
];

#[test]
fn every_check_fails_on_what_it_is_for() {
    for (index, (number, doctor, said)) in WRONG.iter().enumerate() {
        let mut doctored = evidence();
        doctor(&mut doctored);
        let verdict = check(&doctored, Step::from_number(*number).unwrap());
        assert_eq!(verdict.outcome, Outcome::Failed, "case {index}: {verdict:?}");
        for words in *said {
            assert!(verdict.evidence.contains(words), "case {index}: no `{words}` in: {}", verdict.evidence);
        }
    }
    for step in Step::ALL {
        assert!(WRONG.iter().any(|(number, ..)| *number == step.number()), "no case fails {step}");
    }
}

#[test]
fn what_the_rate_climbs_to_is_step_9_and_what_comes_after_it_is_step_8() {
    let outcomes = |doctor: fn(&mut Evidence)| {
        let mut doctored = evidence();
        doctor(&mut doctored);
        [Step::ScaleLearningRate, Step::Warmup].map(|step| check(&doctored, step).outcome)
    };
    let scheduled = |e: &mut Evidence| schedules(e, |epoch| 0.03 * decay(epoch));
    let (passed, failed) = (Outcome::Passed, Outcome::Failed);
    assert_eq!(outcomes(scheduled), [passed, passed]);
    let of_one_rank = |e: &mut Evidence| {
        rates(e, 0, |epoch, batch| schedule().lr(epoch, batch) / 3.0);
        schedules(e, |epoch| 0.03 * decay(epoch));
    };
    assert_eq!(outcomes(of_one_rank), [passed, failed]);
    assert_eq!(outcomes(|e| over(e, 2.5)), [passed, failed]);
    assert_eq!(outcomes(|e| schedules(e, |_| 0.03)), [failed, passed]);
    assert_eq!(outcomes(|e| schedules(e, |epoch| 0.01 * decay(epoch))), [failed, passed]);
    let both = |e: &mut Evidence| {
        rates(e, 0, |epoch, batch| schedule().lr(epoch, batch) / 3.0);
        schedules(e, |epoch| 0.01 * decay(epoch));
    };
    assert_eq!(outcomes(both), [failed, passed], "nobody has scaled it yet");
    // Of a program that tells no schedule the rates behind the ramp speak.
    let falls = |e: &mut Evidence| rates(e, 4, |epoch, batch| if epoch < 5 { schedule().lr(epoch, batch) } else { 0.015 });
    assert_eq!(outcomes(falls), [failed, passed]);
    let mut doctored = evidence();
    falls(&mut doctored);
    let said = check(&doctored, Step::ScaleLearningRate).evidence;
    assert!(said.contains("epoch 6, batch 1 trained at 0.015, and the formula gives 0.03"), "{said}");
}

#[test]
fn what_cannot_be_told_is_said_so() {
    let cases: &[Case] = &[
        (1, |e| _ = e.history.attempts[0].processes.remove(&2), &["process 2", "where it runs"]),
        (1, |e| process(e, 1).has_finished = false, &["so far so good", "rank 1 has not finished"]),
        (2, |e| e.printed = None, &["no logs"]),
        (3, |e| every(e, |p| p.steps.iter_mut().for_each(|step| step.loss = 2.0)), &["same loss"]),
        (3, |e| process(e, 2).digests.clear(), &["rank 2", "first gradients"]),
        (4, |e| every(e, |p| set_digest(p, DigestMoment::InitialParameters, "00aaaaaaaaaaaaaa")), &["drew the same"]),
        (
            4,
            |e| {
                set_digest(process(e, 1), DigestMoment::FirstGradients, "d");
                set_digest(process(e, 1), DigestMoment::EpochParameters, "e");
            },
            &["step 3", "rank 1"],
        ),
        (5, |e| process(e, 1).epochs.clear(), &["rank 1", "epoch"]),
        (7, |e| e.spec.workload.checkpointing = false, &["--checkpointing"]),
        (9, |e| e.spec.workload.warmup_epochs = 0.0, &["0 warmup epochs"]),
        (9, |e| rates(e, 5, |epoch, batch| schedule().lr(epoch, batch)), &["after epoch 5"]),
    ];
    for (index, (number, doctor, said)) in cases.iter().enumerate() {
        let mut doctored = evidence();
        doctor(&mut doctored);
        let verdict = check(&doctored, Step::from_number(*number).unwrap());
        assert_eq!(verdict.outcome, Outcome::CannotTell, "case {index}: {verdict:?}");
        for words in *said {
            assert!(verdict.evidence.contains(words), "case {index}: no `{words}` in: {}", verdict.evidence);
        }
    }
    let mut alone = evidence();
    alone.spec = good::spec(1);
    let told: Vec<Verdict> = check_all(&alone).into_iter().filter(|verdict| verdict.outcome != Outcome::CannotTell).collect();
    assert_eq!(told.iter().map(|verdict| verdict.number).collect::<Vec<_>>(), [Step::NovoGrad.number()], "{told:?}");
    let nothing = Evidence::new(good::spec(2));
    assert!(check_all(&nothing).iter().all(|verdict| verdict.outcome == Outcome::CannotTell));
}

#[test]
fn gradients_that_travelled_in_16_bits_are_still_the_mean_and_old_trainers_tell_no_sample() {
    let mut short = evidence();
    applied(&mut short, |_, mean| mean * 1.004);
    assert_eq!(check(&short, Step::DistributedOptimizer).outcome, Outcome::Passed);
    let mut old = evidence();
    every(&mut old, |process| process.samples.clear());
    assert_eq!(check(&old, Step::DistributedOptimizer).outcome, Outcome::Passed);
}

#[test]
fn a_rate_counts_to_six_digits_and_no_further() {
    let mut rounded = evidence();
    rates(&mut rounded, 0, |epoch, batch| format!("{:.6e}", schedule().lr(epoch, batch)).parse().unwrap());
    for step in [Step::ScaleLearningRate, Step::Warmup] {
        assert_eq!(check(&rounded, step).outcome, Outcome::Passed);
    }
}

#[test]
fn ranks_may_share_cores_only_where_there_are_too_few() {
    let shared = |found, cores: [usize; NP]| {
        let mut crowded = evidence();
        for (index, core) in cores.into_iter().enumerate() {
            let place = process(&mut crowded, index).topology.as_mut().unwrap();
            (place.cores, place.devices_found) = (vec![core], Some(found));
        }
        check(&crowded, Step::InitAndPin).outcome
    };
    assert_eq!(shared(2, [0, 1, 0]), Outcome::Passed);
    assert_eq!(shared(2, [0, 0, 0]), Outcome::Failed, "one of two cores is idle");
    assert_eq!(shared(3, [0, 1, 0]), Outcome::Failed);
    assert_eq!(shared(1, [0, 0, 0]), Outcome::Passed);
}

#[test]
fn a_continued_run_is_judged_attempt_by_attempt() {
    // Killed in its first epoch, then begun anew, then continued.
    let mut continued = Evidence::new(good::spec(NP));
    attempt(0, 2).iter().take(20).for_each(|line| continued.take(line));
    assert!(check_all(&continued).iter().all(|verdict| verdict.outcome == Outcome::CannotTell));
    attempt(0, 2).iter().chain(&attempt(2, 3)).for_each(|line| continued.take(line));
    (1..=3).for_each(|epoch| continued.take_line(0, &format!("Epoch {epoch}/3")));
    assert_eq!(continued.history.attempts.len(), 3);
    for verdict in check_all(&continued) {
        assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
    }
    let resumed = check(&continued, Step::CheckpointOnRoot).evidence;
    assert!(resumed.contains("went on after epoch 2"), "{resumed}");
    continued.history.attempts[1].processes.get_mut(&1).unwrap().config.as_mut().unwrap().optimizer = "sgd".into();
    assert_eq!(check(&continued, Step::NovoGrad).outcome, Outcome::Failed, "one bad attempt is enough");
}
