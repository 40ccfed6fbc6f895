//! Ranks in different states (eval mode, skipped updates, the end of the data), and mistakes that a single report shows.

use super::*;

#[test]
fn what_one_rank_alone_does_is_judged_against_the_others() {
    let eval = told("trains in eval mode", &["4"]);
    assert_eq!(objections(&with(right(), 9, &[0], &eval), true), [(Topic::State, Outcome::Wrong, 70)]);
    assert_eq!(objections(&with(right(), 9, &[0, 1], &eval), true), [], "all of them do");
    let skipping = updates(|rank, update| {
        update.backwards = update.update + 1 + usize::from(rank == 1 && update.update > 4);
        if update.update > 4 {
            update.weights = format!("w{} of {rank}", update.update);
        }
    });
    let found = judged(&skipping, true).into_iter().find(Finding::is_objection).unwrap();
    assert_eq!((found.topic, found.place), (Topic::Weights, Some(at(30))));
    assert!(found.seen.contains("9 on rank 0, 10 on rank 1"), "{}", found.seen);
    let alike = updates(|_, update| update.backwards = 2 * update.update + 2);
    assert_eq!(objections(&alike, true), []);
}

#[test]
fn the_loader_whose_data_ended_first_is_named_where_the_others_wait() {
    let of = |batches: usize| {
        let is_last = |rank: usize, report: &InspectorReport| match report {
            InspectorReport::Ended(_) => true,
            // Rank 1 is still in its second pass.
            InspectorReport::Pass(pass) => rank == 1 && pass.trains && pass.pass == 1,
            _ => false,
        };
        let mut all = without(is_last);
        let InspectorReport::Stalled(more) = stalled(30, "synchronize", 32) else { return Vec::new() };
        all.push(line(0, stalled(60, "hvd.allreduce", 32)));
        all.push(line(1, InspectorReport::Stalled(StalledReport { batches, ..more })));
        judged(&all, true).into_iter().filter(|finding| finding.topic == Topic::Hang).collect::<Vec<_>>()
    };
    let found = of(17);
    let told = "rank 0 has come to the end of its 16 batches (the loader at train.py:15), and rank 1 has more";
    assert!(found[0].seen.contains(told), "{}", found[0].seen);
    assert!(found[0].remedy.contains("model.join()"), "{}", found[0].remedy);
    assert!(!of(16)[0].seen.contains("has more"), "it has taken no more");
}

#[test]
fn a_rank_that_has_left_its_own_loop_first_is_named() {
    let of = |within: &str, left: &[&str], updates: usize| {
        let mut all = without(|_, report| matches!(report, InspectorReport::Ended(_) | InspectorReport::Pass(_)));
        all.extend([line(0, told("left its loop", left)), line(0, stalled(60, "hvd.allreduce", 32))]);
        all.push(line(1, stalled(30, within, updates)));
        judged(&all, true).into_iter().find(|finding| finding.topic == Topic::Hang).unwrap()
    };
    let found = of("synchronize", &["32"], 32);
    assert!(found.seen.contains("rank 0 has left its loop after 32 updates, and rank 1 has more batches"), "{}", found.seen);
    assert_eq!(found.place, Some(at(70)));
    for found in [of("hvd.allreduce", &["32"], 32), of("synchronize", &["16"], 32), of("synchronize", &["32"], 33)] {
        assert!(!found.seen.contains("has left"), "{}", found.seen);
    }
}

#[test]
fn what_the_program_tells_of_itself_is_judged_with_its_line() {
    use Outcome::{Look, Wrong};
    let apart = || updates(|rank, update| update.gradients = format!("g{} of {rank}", update.update));
    let each = |all: Vec<EventLine>, by: &str, settings: &[&str]| with(all, 4, &[0, 1], &told(by, settings));
    let own_files = {
        let all = passes(|rank, pass| pass.content = format!("of {rank}"));
        let read = |rank: usize| {
            InspectorReport::State(StateReport {
                action: StateAction::Read,
                by: "torch.load".into(),
                path: format!("/work/part-{rank}.pt"),
                place: at(8),
                digest: String::new(),
                updates: 0,
                meetings: (0, 0),
            })
        };
        [with(all.clone(), 2, &[0], &read(0)), (0..2).fold(all, |all, rank| with(all, 2, &[rank], &read(rank)))]
    };
    let [one_reader, all_readers] = own_files;
    let mistakes = [
        (each(apart(), "group of a part", &["1"]), (Topic::Gradients, Wrong, 70)),
        (each(right(), "hits of all printed", &["0.94", "train.py:9"]), (Topic::Metrics, Wrong, 70)),
        (each(right(), "kept before the average", &["val_acc"]), (Topic::Metrics, Wrong, 70)),
        (each(right(), "state left behind", &[]), (Topic::State, Wrong, 70)),
        (each(right(), "nothing loaded", &[]), (Topic::Checkpoint, Wrong, 70)),
        (each(right(), "total printed", &["val_loss", "train.py:9"]), (Topic::Metrics, Look, 70)),
        (each(right(), "counted by all", &["200", "400"]), (Topic::Metrics, Look, 70)),
        (each(right(), "stream split twice", &[]), (Topic::Data, Wrong, 70)),
        (each(right(), "optimizer anew", &["Adam", "2", ""]), (Topic::Checkpoint, Look, 70)),
        (each(right(), "schedule anew", &["StepLR"]), (Topic::Checkpoint, Look, 70)),
        (each(right(), "detached", &["2", "8"]), (Topic::Gradients, Look, 70)),
        (each(right(), "bound to cores", &["0"]), (Topic::Ranks, Look, 70)),
        (with(right(), 4, &[1], &told("rows apart", &["0 to 9", "10 to 19"])), (Topic::Data, Wrong, 70)),
        (updates(|_, update| update.summed_by_hand = true), (Topic::Gradients, Look, 30)),
        (all_readers, (Topic::Data, Wrong, 15)),
    ];
    for (lines, expected) in mistakes {
        assert_eq!(objections(&lines, true), [expected]);
    }
    assert_eq!(objections(&one_reader, true), [], "a settings file that one rank reads");
}

#[test]
fn shares_of_other_sizes_and_samples_that_are_left_out_are_told() {
    let validations = |change: fn(usize, &mut PassReport)| {
        changed(|rank, report| {
            if let InspectorReport::Pass(pass) = report
                && !pass.trains
            {
                change(rank, pass);
            }
        })
    };
    let mean = told("mean printed: 1", &["acc", "train.py:9", "1"]);
    let unequal = validations(|rank, pass| pass.samples -= 100 * rank);
    assert_eq!(objections(&with(right(), 4, &[0], &mean), true), [], "the shares are equal");
    assert_eq!(objections(&with(unequal, 4, &[0], &mean), true), [(Topic::Metrics, Outcome::Look, 70)]);
    let drops = |lost: fn(&mut PassReport)| {
        objections(
            &changed(|_, report| {
                if let InspectorReport::Pass(pass) = report
                    && !pass.trains
                {
                    pass.drops_last = true;
                    lost(pass);
                }
            }),
            true,
        )
    };
    assert_eq!(drops(|_| ()), [], "nothing is left over");
    assert_eq!(drops(|pass| pass.samples = 448), [(Topic::Metrics, Outcome::Look, 16)]);
    let padded = || validations(|_, pass| pass.dataset = Some(1023));
    assert_eq!(objections(&padded(), true), [(Topic::Metrics, Outcome::Look, 16)]);
    assert_eq!(objections(&with(padded(), 4, &[0], &told("padding left out", &[])), true), []);
}

#[test]
fn what_a_layer_keeps_and_what_one_rank_logs_are_compared() {
    let field = |of: &str| {
        let InspectorReport::Wrapped(report) = told("field of a layer", &["Net.shift"]) else { unreachable!("it is a report") };
        InspectorReport::Wrapped(WrappedReport { after: of.into(), ..report })
    };
    let with_fields = |other: &str| objections(&with(with(right(), 4, &[0], &field("a")), 4, &[1], &field(other)), true);
    assert_eq!(with_fields("b"), [(Topic::Weights, Outcome::Look, 70)]);
    assert_eq!(with_fields("a"), []);
    // An optimizer that adds up is right where the loss was divided before.
    let sum = || {
        let mut all = right();
        for line in &mut all {
            if let Event::Inspected(report) = &mut line.event
                && let InspectorReport::Wrapped(report) = report.as_mut()
            {
                report.settings = vec!["op=Sum".into()];
            }
        }
        all
    };
    assert_eq!(objections(&sum(), true), [(Topic::Gradients, Outcome::Look, 10)]);
    for meant in ["loss divided", "gathered to differentiate"] {
        assert_eq!(objections(&with(sum(), 4, &[0], &told(meant, &[])), true), []);
    }
}

#[test]
fn ranks_that_never_came_are_missed_where_the_launch_was_of_one() {
    let alone = |launched: usize| {
        let mut all = without(|rank, report| rank == 1 || matches!(report, InspectorReport::Group(_)));
        for line in &mut all {
            if let Event::Inspected(report) = &mut line.event
                && let InspectorReport::Looking(looking) = report.as_mut()
            {
                looking.launched = launched;
            }
        }
        objections(&all, true).into_iter().filter(|(topic, ..)| *topic == Topic::Ranks).collect::<Vec<_>>()
    };
    assert_eq!(alone(1), [(Topic::Ranks, Outcome::Look, 0)]);
    assert_eq!(alone(2), [], "the reports of the other one may have been lost");
}
