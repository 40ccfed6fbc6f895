//! What can be compared, and each reason why not.

use super::*;
use crate::domain::benchmark::BenchmarkSpec;
use crate::domain::run::RunState;
use crate::domain::speedup::Figures;
use crate::domain::training::TrainingSpec;
use crate::runs::tests::{record, status};
use crate::runs::{Attempt, RunId, Tally};

fn run(id: u32, np: usize) -> RunSummary {
    let figures = Figures { np, images_per_sec: Some(1000.0 * np as f64), seconds_to_target: Some(60.0 / np as f64) };
    RunSummary {
        id: RunId(id),
        record: Some(RunRecord { id: RunId(id), ..record(np) }),
        status: status(RunState::Finished),
        elsewhere: None,
        tally: Tally { figures, ..Tally::default() },
    }
}

fn with(np: usize, change: impl FnOnce(&mut TrainingSpec)) -> RunSummary {
    let mut run = run(2, np);
    change(run.record.as_mut().unwrap().request.spec.workload.training_mut().unwrap());
    run
}

fn flagged(words: &str) -> RunSummary {
    with(2, |training| training.trainer_flags = words.split(' ').map(String::from).collect())
}

#[test]
fn every_difference_in_the_work_is_a_reason() {
    let mut data = run(2, 2);
    data.record.as_mut().unwrap().data_label = "other".into();
    let cases = [
        (with(2, |training| training.model = "wrn-16-4".parse().unwrap()), "other model than the baseline"),
        (data, "other data than the baseline"),
        (with(2, |training| training.train_images = Some(77)), "other number of images than the baseline"),
        (with(2, |training| training.batch_size = 77), "other batch per rank than the baseline"),
        (flagged("--backward-passes-per-step 2"), "other trainer flags than the baseline"),
        (flagged("--optimizer=sgd --compression=fp16"), "other trainer flags than the baseline"),
        (RunSummary { record: None, ..run(2, 2) }, "its record cannot be read"),
    ];
    for (other, reason) in cases {
        assert_eq!(gained(&other, &run(1, 1)), Err(reason));
    }
    let gain = gained(&run(2, 2), &run(1, 1)).unwrap();
    assert_eq!((gain.speedup, gain.scaling_efficiency, gain.speedup_to_target), (Some(2.0), Some(1.0), Some(2.0)));
    assert!(gained(&flagged("--precision bf16 --no-overlap --fusion-threshold-mb=0"), &run(1, 1)).is_ok());
}

#[test]
fn a_run_whose_number_of_ranks_changed_is_no_measure_of_any() {
    let resized = |id, sizes: [usize; 2]| {
        let mut run = run(id, sizes[1]);
        let record = run.record.as_mut().unwrap();
        let attempt = record.attempts.pop().unwrap_or_default();
        record.attempts = sizes.map(|np| Attempt { np: Some(np), ..attempt.clone() }).to_vec();
        run
    };
    assert_eq!(gained(&resized(2, [3, 2]), &run(1, 1)), Err("its number of ranks changed while it trained"));
    assert_eq!(gained(&run(2, 2), &resized(1, [2, 1])), Err("the baseline's number of ranks changed while it trained"));
    assert!(work(&resized(1, [2, 1])).is_err(), "it is chosen as no baseline");
    assert!(gained(&resized(2, [2, 2]), &run(1, 1)).is_ok(), "started again with as many it is as before");
}

#[test]
fn benchmarks_are_compared_with_benchmarks_of_the_same_work() {
    let benchmark = |id, np, change: fn(&mut BenchmarkSpec)| {
        let mut run = run(id, np);
        let mut spec = BenchmarkSpec::sample();
        change(&mut spec);
        run.record.as_mut().unwrap().request.spec.workload = Workload::Benchmark(spec);
        run
    };
    let one = benchmark(1, 1, |_| {});
    let gain = gained(&benchmark(2, 2, |_| {}), &one).unwrap();
    assert_eq!((gain.speedup, gain.scaling_efficiency), (Some(2.0), Some(1.0)));
    assert!(gained(&benchmark(2, 2, |spec| spec.iterations = 9), &one).is_ok(), "longer is no other work");
    assert!(gained(&benchmark(2, 2, |spec| spec.style = Style::Json), &one).is_ok(), "timed alike, printed otherwise");
    for (other, reason) in [
        (benchmark(2, 2, |spec| spec.batch_size = 7), "other batch per rank than the baseline"),
        (benchmark(2, 2, |spec| spec.model = "wrn-16-1".parse().unwrap()), "other model than the baseline"),
        (benchmark(2, 2, |spec| spec.optimizer = UpdateRule::Momentum), "other trainer flags than the baseline"),
        (
            benchmark(2, 2, |spec| spec.style = Style::TfCnn),
            "other style than the baseline, which times and averages in another way",
        ),
        (benchmark(2, 2, |spec| spec.warmup_batches = 0), "other number of warm-up batches than the baseline"),
        (benchmark(2, 2, |spec| spec.batches_per_iteration = 9), "other number of batches timed together than the baseline"),
        (run(2, 2), "a training, and the baseline is a benchmark"),
    ] {
        assert_eq!(gained(&other, &one), Err(reason));
    }
    assert_eq!(gained(&benchmark(2, 2, |_| {}), &run(1, 1)), Err("a benchmark, and the baseline is a training"));
    assert_eq!(work(&one).unwrap().to_string(), "benchmark of wrn-10-1 on images of 1x28x28, batch 64 a rank");
    let faster = |change: fn(&mut BenchmarkSpec)| {
        let mut run = benchmark(2, 2, change);
        run.tally.figures.images_per_sec = Some(2200.0);
        no_efficiency(&run, &one, &gained(&run, &one).unwrap()).unwrap()
    };
    assert!(faster(|spec| spec.precision = "bf16".parse().unwrap()).contains("not computed as the baseline"));
    assert!(faster(|_| {}).contains("the baseline was too slow"));
}

#[test]
fn ranks_that_train_apart_are_no_faster() {
    for (steps, lacks) in [
        ("1,2,4-10", "do not share gradients (step 3 is off)"),
        ("1-4,6-10", "do not share the images of an epoch (step 5 is off)"),
        ("1,2,4,6-10", "share neither images nor gradients (steps 3 and 5 are off)"),
        ("2-10", "do not know of each other (step 1 is off)"),
        ("none", "do not know of each other (step 1 is off)"),
    ] {
        let apart = |np| with(np, |training| training.steps = steps.parse().unwrap());
        let reason = gained(&apart(2), &run(1, 1)).unwrap_err();
        assert_eq!((reason, work(&apart(2)).is_err()), (&*format!("its ranks {lacks}"), true), "{steps}");
        let reason = gained(&run(3, 2), &apart(2)).unwrap_err();
        assert_eq!(reason, format!("the baseline's ranks {lacks}"), "{steps}");
        assert!(gained(&apart(1), &run(1, 1)).is_ok(), "one rank has nobody to share with");
    }
    let without_warmup = with(2, |training| training.steps = "1-8,10".parse().unwrap());
    assert!(gained(&without_warmup, &run(3, 2)).is_ok(), "other steps change no work");
}

#[test]
fn a_baseline_has_no_more_ranks_than_what_is_compared_with_it() {
    assert_eq!(gained(&run(2, 1), &run(1, 2)), Err("the baseline has more ranks"));
    assert_eq!(gained(&run(1, 2), &run(1, 2)).unwrap().speedup, Some(1.0), "itself");
    let unreadable = RunSummary { record: None, ..run(1, 1) };
    assert_eq!(gained(&run(2, 2), &unreadable), Err("the baseline's record cannot be read"));
}

#[test]
fn an_efficiency_over_100_percent_has_a_reason_in_its_place() {
    let faster = |mut run: RunSummary| {
        run.tally.figures.images_per_sec = Some(2200.0);
        run
    };
    let reason = |run: &RunSummary, baseline: &RunSummary| {
        let gained = gained(run, baseline).unwrap();
        assert_eq!((gained.speedup, gained.scaling_efficiency), (Some(2.2), None));
        no_efficiency(run, baseline, &gained).unwrap()
    };
    assert!(reason(&faster(run(2, 2)), &run(1, 1)).contains("the baseline was too slow"));
    assert!(reason(&faster(flagged("--precision bf16")), &run(1, 1)).contains("not computed as the baseline"));
    let mut busy = run(1, 1);
    busy.record.as_mut().unwrap().attempts = vec![crate::runs::Attempt { others_cpu: Some(0.6), ..Default::default() }];
    assert!(reason(&faster(run(2, 2)), &busy).contains("other programs slowed the baseline down"));
    assert_eq!(no_efficiency(&run(2, 2), &run(1, 1), &gained(&run(2, 2), &run(1, 1)).unwrap()), None);
}

#[test]
fn sooner_at_another_target_is_no_gain() {
    let gain = gained(&with(2, |training| training.target_accuracy = 0.5), &run(1, 1)).unwrap();
    assert_eq!((gain.speedup, gain.speedup_to_target), (Some(2.0), None));
}

#[test]
fn own_programs_are_compared_by_their_words() {
    let own = |id, np, line: &str| {
        let mut run = run(id, np);
        run.record.as_mut().unwrap().request.spec.workload = Workload::Command(crate::domain::command::CommandSpec::sample(line));
        run
    };
    let one = own(1, 1, "python train.py --batch 32");
    assert_eq!(gained(&own(2, 2, "python train.py --batch 32"), &one).unwrap().speedup, Some(2.0));
    assert_eq!(gained(&own(2, 2, "python train.py --batch 64"), &one), Err("another command than the baseline"));
    assert_eq!(gained(&run(2, 2), &one), Err("the lab's program, and the baseline is an own one"));
    assert_eq!(gained(&one, &run(2, 1)), Err("an own program, and the baseline is the lab's"));
    // How many ranks it starts itself is no other work.
    let launched = own(1, 1, "torchrun --nproc_per_node=1 t.py");
    assert!(gained(&own(2, 2, "torchrun --nproc_per_node=2 t.py"), &launched).is_ok());
}
