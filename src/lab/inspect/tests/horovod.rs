//! Programs on Horovod: what their reports show, and the words of their remedies.

use super::*;

/// The reports of a program that trains with Keras, or else with PyTorch, on Horovod. Nothing has wrapped its optimizer.
fn on_horovod(mut all: Vec<EventLine>, is_keras: bool) -> Vec<EventLine> {
    all.retain(|line| !matches!(&line.event, Event::Inspected(report) if is_wrapped(report)));
    for line in &mut all {
        let Event::Inspected(report) = &mut line.event else { continue };
        match report.as_mut() {
            InspectorReport::Looking(looking) if is_keras => looking.framework = "keras".into(),
            InspectorReport::Group(group) => group.by = "horovod".into(),
            _ => {}
        }
    }
    all
}

fn finding(lines: &[EventLine], is_over: bool, topic: Topic) -> Option<Finding> {
    judged(lines, is_over).into_iter().find(|finding| finding.topic == topic)
}

/// Gradients of each rank alone from the first update on, and so other weights from the second.
fn drifting() -> Vec<EventLine> {
    updates(|rank, update| {
        update.gradients = format!("g{} of {rank}", update.update);
        update.unwrapped = update.tensors;
        if update.update > 0 {
            update.weights = format!("w{} of {rank}", update.update);
        }
    })
}

#[test]
fn gradients_of_a_plain_tape_need_a_distributed_one_where_they_are_applied() {
    let plain = on_horovod(drifting(), true);
    let found = finding(&plain, true, Topic::Gradients).unwrap();
    assert_eq!(found.place, Some(at(12)), "nothing is known of a call: the optimizer can be wrapped");
    let found =
        |all: Vec<EventLine>| finding(&with(all, 2, &[0, 1], &told("gradients of one rank", &[])), true, Topic::Gradients);
    let alone = found(plain.clone()).unwrap();
    assert_eq!((alone.outcome, alone.place), (Outcome::Wrong, Some(at(70))));
    assert!(alone.remedy.contains("tape = hvd.DistributedGradientTape(tape)"), "{}", alone.remedy);
    let wrapped = with(plain, 2, &[0, 1], &told("horovod.DistributedOptimizer", &[]));
    let wrapped = found(wrapped).unwrap();
    assert_eq!((wrapped.outcome, wrapped.place), (Outcome::Wrong, Some(at(70))));
    assert!(wrapped.seen.contains("of one rank"), "{}", wrapped.seen);
}

#[test]
fn weights_that_drift_from_an_equal_start_are_no_mistake_of_the_broadcast() {
    let weights = |all: Vec<EventLine>| finding(&on_horovod(all, true), true, Topic::Weights).map(|finding| finding.outcome);
    assert_eq!(weights(drifting()), Some(Outcome::NotJudged));
    let behind_the_first_batch = updates(|rank, update| {
        if update.update == 0 {
            update.weights = format!("of {rank}");
        }
    });
    assert_eq!(weights(behind_the_first_batch), Some(Outcome::Ok));
    let never = updates(|rank, update| update.weights = format!("w{} of {rank}", update.update));
    assert_eq!(weights(never), Some(Outcome::Wrong));
}

#[test]
fn what_the_wrapper_does_not_know_is_said_of_horovod() {
    let unfrozen = updates(|rank, update| {
        update.gradients = format!("g{} of {rank}", update.update);
        update.unwrapped = 2;
    });
    let unfrozen = with(on_horovod(unfrozen, false), 2, &[0, 1], &told("horovod.DistributedOptimizer", &[]));
    let found = finding(&unfrozen, true, Topic::Gradients).unwrap();
    assert_eq!(found.place, Some(at(70)));
    assert!(found.remedy.contains("requires_grad = True"), "{}", found.remedy);
}

#[test]
fn different_numbers_of_batches_have_a_remedy_of_the_same_library() {
    let uneven = || {
        let mut all = passes(|rank, pass| pass.batches += 2 * rank);
        all.push(line(1, stalled(60, "hvd.allreduce", 32)));
        all
    };
    for (is_keras, word) in [(true, "dataset.repeat().take(n)"), (false, "hvd.join()")] {
        let found = finding(&on_horovod(uneven(), is_keras), true, Topic::Data).unwrap();
        assert!(found.remedy.contains(word) && !found.remedy.contains("model.join()"), "{}", found.remedy);
    }
}

#[test]
fn ranks_that_are_slow_to_start_do_not_stand_at_the_end_of_a_pass() {
    let mut all = passes(|rank, pass| pass.batches += 2 * rank);
    all.retain(|line| !matches!(&line.event, Event::Inspected(report) if matches!(**report, InspectorReport::Ended(_))));
    let slow = with(on_horovod(all, true), 2, &[0, 1], &stalled(20, "", 32));
    let slow = with(slow, 2, &[0, 1], &told("horovod.DistributedGradientTape", &[]));
    let is_blamed = |lines: &[EventLine]| finding(lines, false, Topic::Data).is_some_and(|found| found.is_objection());
    assert!(!is_blamed(&slow), "they may still join");
    let stands: Vec<EventLine> = slow.into_iter().chain([line(1, stalled(60, "hvd.allreduce", 32))]).collect();
    assert!(is_blamed(&stands));
}

/// Both ranks stand in the same line, in these calls.
fn standing(calls: [&str; 2]) -> Vec<EventLine> {
    let mut all = on_horovod(without(|_, report| matches!(report, InspectorReport::Ended(_))), true);
    all.extend((0..2).map(|rank| line(rank, stalled(70, calls[rank], 32))));
    all
}

#[test]
fn ranks_that_wait_for_tensors_of_different_names_never_meet() {
    let alike = ["hvd.allreduce of 'loss'"; 2];
    let found = finding(&standing(alike), false, Topic::Hang).unwrap();
    assert_eq!(found.outcome, Outcome::Look, "it may be the network");
    let found = finding(&standing(["hvd.allreduce of 'backward'", "hvd.allreduce of 'loss'"]), false, Topic::Hang).unwrap();
    assert_eq!((found.outcome, found.place), (Outcome::Wrong, Some(at(70))));
    assert!(found.seen.contains("'backward'") && found.seen.contains("for different tensors"), "{}", found.seen);
    let sent = |names: [&[&str]; 2]| {
        let all = standing(["hvd.broadcast_variables"; 2]);
        let all = (0..2).fold(all, |all, rank| with(all, 2, &[rank], &told("names to broadcast", names[rank])));
        finding(&all, false, Topic::Hang).unwrap()
    };
    assert_eq!(sent([&["a", "b"], &["a", "b"]]).outcome, Outcome::Look);
    let found = sent([&["a", "b"], &["a", "SGD/b"]]);
    assert_eq!(found.outcome, Outcome::Wrong);
    assert!(found.seen.contains("b on rank 0, SGD/b on rank 1"), "{}", found.seen);
    assert!(sent([&["a"], &["a", "b"]]).seen.contains("1 tensor on rank 0, b on rank 1"));
}

#[test]
fn equal_random_numbers_of_keras_have_a_remedy_without_workers() {
    let drawn = InspectorReport::Workers(WorkersReport {
        loader: 0,
        made: at(15),
        numpy: vec!["equal".into()],
        python: Vec::new(),
        torch: Vec::new(),
        draws_numpy: true,
        draws_python: false,
        draws_torch: false,
        is_own: false,
    });
    let drawn = with(on_horovod(right(), true), 2, &[0, 1], &drawn);
    let found = finding(&drawn, true, Topic::Randomness).unwrap();
    assert!(found.remedy.contains("seed + hvd.rank()") && !found.remedy.contains("worker_init_fn"), "{}", found.remedy);
    let of_generator = with(drawn, 2, &[0, 1], &told("seed of an image generator", &["42"]));
    let found = finding(&of_generator, true, Topic::Randomness).unwrap();
    assert!(found.remedy.contains("seed=42 + hvd.rank()"), "{}", found.remedy);
}

#[test]
fn who_waits_in_the_next_epoch_has_no_more_batches_but_averages_no_metrics() {
    let is_end = |report: &InspectorReport| matches!(report, InspectorReport::Ended(_));
    let found = |all: Vec<EventLine>| {
        let mut all = on_horovod(all, true);
        all.push(line(0, stalled(60, "hvd.metric_average", 32)));
        all.push(line(1, stalled(30, "a graph with Horovod's calls", 32)));
        finding(&all, true, Topic::Hang).unwrap()
    };
    assert!(found(without(|_, report| is_end(report))).seen.contains("rank 1 has more batches"));
    let is_first = |report: &InspectorReport| matches!(report, InspectorReport::Pass(pass) if pass.trains && pass.pass == 0);
    let ahead = found(without(|rank, report| is_end(report) || rank == 0 && is_first(report)));
    assert!(!ahead.seen.contains("more batches"), "{}", ahead.seen);
    assert_eq!(ahead.place, Some(at(60)));
}
