//! Mistakes that show in what ranks report once, such as the line of a call, or in that they report different things.

use super::*;

/// Adds one such report to each of the two ranks.
fn each(all: Vec<EventLine>, by: &str, tell: impl Fn(usize, &mut WrappedReport)) -> Vec<EventLine> {
    (0..2).fold(all, |all, rank| {
        let InspectorReport::Wrapped(mut report) = told(by, &[]) else { return all };
        tell(rank, &mut report);
        with(all, 4, &[rank], &InspectorReport::Wrapped(report))
    })
}

/// A log that is opened to append to it, or a curve.
fn written(by: &str, path: &str) -> InspectorReport {
    let action = StateAction::Written;
    InspectorReport::State(StateReport {
        action,
        by: by.into(),
        path: path.into(),
        place: at(71),
        digest: String::new(),
        updates: 4,
        meetings: (0, 0),
    })
}

#[test]
fn what_a_rank_tells_is_judged_with_its_line() {
    use Outcome::{Look, Wrong};
    let digest = |rank: usize, report: &mut WrappedReport| report.after = format!("of {rank}");
    let words = |rank: usize, report: &mut WrappedReport| report.settings = vec![format!("value of {rank}")];
    let apart = || updates(|rank, update| update.gradients = format!("g{} of {rank}", update.update));
    let beside = |rank: usize, report: &mut WrappedReport| {
        report.settings = vec!["Centre".into()];
        digest(rank, report);
    };
    let unequal = || updates(|rank, update| update.weights = format!("w{} of {rank}", update.update));
    let unmet = || without(|_, report| matches!(report, InspectorReport::Collective(_)));
    let cleared = |_: usize, report: &mut WrappedReport| report.settings = vec!["3".into(), "4".into()];
    let mistakes = [
        (each(right(), "cleared unused", cleared), (Topic::Gradients, Look, 70)),
        (each(apart(), "backward by hand", |_, _| ()), (Topic::Gradients, Wrong, 70)),
        (each(apart(), "order of averages", words), (Topic::Gradients, Wrong, 70)),
        (each(unequal(), "order of weights by broadcast", words), (Topic::Weights, Wrong, 70)),
        (each(right(), "order of weights by all_reduce", words), (Topic::Weights, Wrong, 70)),
        (each(right(), "copy of the model", digest), (Topic::Weights, Look, 70)),
        (each(right(), "module beside the model", beside), (Topic::Weights, Look, 70)),
        (with(right(), 4, &[0, 1], &told("clipped before the average", &[])), (Topic::Gradients, Look, 70)),
        (with(right(), 4, &[0, 1], &told("averaged twice", &[])), (Topic::Gradients, Look, 70)),
        (with(right(), 4, &[0, 1], &told("batches added up", &["4"])), (Topic::Gradients, Look, 70)),
        (with(right(), 4, &[0, 1], &told("changed too early", &[])), (Topic::Gradients, Wrong, 70)),
        (with(right(), 4, &[0, 1], &written("append", "/work/log.txt")), (Topic::Checkpoint, Look, 71)),
        (with(right(), 4, &[0, 1], &written("TensorBoard", "/work/runs/loss")), (Topic::Checkpoint, Look, 71)),
        (each(right(), "buffers behind the broadcast", digest), (Topic::State, Wrong, 70)),
        (each(right(), "logged alone: val_loss", words), (Topic::Metrics, Look, 70)),
        (each(unmet(), "logged alone: val_loss", words), (Topic::Metrics, Wrong, 70)),
        (with(right(), 4, &[0, 1], &told("thrown away", &["hvd.allreduce"])), (Topic::Metrics, Wrong, 70)),
        (with(right(), 4, &[0, 1], &told("progress bar", &[])), (Topic::Prints, Look, 70)),
        (with(right(), 4, &[0, 1], &told("sum printed", &["1.62", "train.py:9"])), (Topic::Metrics, Wrong, 70)),
    ];
    for (lines, expected) in mistakes {
        assert_eq!(objections(&lines, true), [expected]);
    }
    assert_eq!(objections(&each(right(), "order of weights by broadcast", words), true), [], "zeros came instead of zeros");
    for by in ["order of weights by all_reduce", "copy of the model", "buffers behind the broadcast", "logged alone: val_loss"] {
        assert_eq!(objections(&each(right(), by, |_, report| report.after = "equal".into()), true), [], "{by}");
    }
    assert_eq!(objections(&with(right(), 4, &[1], &written("append", "/work/log.txt")), true), [], "one rank writes the log");
    let curves = |rank: usize| written("TensorBoard", &format!("/work/runs/loss of {rank}"));
    let curves = (0..2).fold(right(), |all, rank| with(all, 4, &[rank], &curves(rank)));
    assert_eq!(objections(&curves, true), [], "each rank has a curve of its own");
    assert_eq!(objections(&with(right(), 4, &[1], &told("progress bar", &[])), true), [], "one bar is enough");
    let mut halves = with(right(), 4, &[0, 1], &told("averaged twice", &[]));
    for line in &mut halves {
        if let Event::Inspected(report) = &mut line.event
            && let InspectorReport::Pass(pass) = report.as_mut()
        {
            pass.batch_size = Some(2);
        }
    }
    assert_eq!(objections(&halves, true), [], "a sum over two samples is divided by two");
    let by_lightning = each(apart(), "backward by hand", |_, _| ());
    let by_lightning = objections(&each(by_lightning, "manual_backward", |_, _| ()), true);
    assert_eq!(by_lightning, [(Topic::Gradients, Wrong, 30)], "the program has done what Lightning asks for");
}

#[test]
fn steps_that_change_weights_behind_a_broadcast_are_named_rather_than_the_loading_before_it() {
    let sent = |action, place: usize| {
        let digest = "sent".into();
        InspectorReport::State(StateReport {
            action,
            by: String::new(),
            path: String::new(),
            place: at(place),
            digest,
            updates: 0,
            meetings: (0, 0),
        })
    };
    let apart = || {
        let mut all = updates(|rank, update| update.weights = format!("{} of {rank}", update.update));
        all.retain(|line| !matches!(&line.event, Event::Inspected(report) if is_wrapped(report)));
        all
    };
    let found = |reports: [(StateAction, usize, &[usize]); 3], is_decayed: bool| {
        let decayed = if is_decayed { with(apart(), 2, &[1], &told("weights decayed", &[])) } else { apart() };
        let all = reports.iter().rev().fold(decayed, |all, (action, place, of)| with(all, 2, of, &sent(*action, *place)));
        judged(&all, true)
            .into_iter()
            .find(|finding| finding.topic == Topic::Weights)
            .map(|finding| (finding.seen, finding.place))
    };
    let (both, root): (&[usize], &[usize]) = (&[0, 1], &[0]);
    let resumed = [
        (StateAction::LoadedModel, 20, root),
        (StateAction::BroadcastModel, 21, both),
        (StateAction::BroadcastOptimizer, 22, both),
    ];
    let (seen, place) = found(resumed, true).unwrap();
    assert!(seen.contains("broadcast_optimizer_state at line 70"), "{seen}");
    assert_eq!(place, Some(at(21)));
    let (seen, place) = found(resumed, false).unwrap();
    assert!(seen.contains("broadcast at line 21, and something changed them since"), "{seen}");
    assert_eq!(place, Some(at(21)));
    let loaded_later = [
        (StateAction::BroadcastModel, 21, both),
        (StateAction::BroadcastOptimizer, 22, both),
        (StateAction::LoadedModel, 23, root),
    ];
    let (seen, place) = found(loaded_later, false).unwrap();
    assert!(seen.contains("rank 0 loaded weights"), "{seen}");
    assert_eq!(place, Some(at(23)));
}

#[test]
fn data_sets_that_differ_and_epochs_that_go_round_a_share_are_named() {
    let overlapping = passes(|rank, pass| {
        pass.content = format!("of {rank}");
        pass.rows = (0..64).map(|row| row + 32 * rank as u32).collect();
    });
    assert_eq!(objections(&overlapping, true), [(Topic::Data, Outcome::Wrong, 15)]);
    let apart = passes(|rank, pass| {
        pass.content = format!("of {rank}");
        pass.rows = (0..64).map(|row| row + 64 * rank as u32).collect();
    });
    assert_eq!(objections(&apart, true), []);
    let around = |samples: usize| {
        passes(move |_, pass| {
            pass.sampler = "steps".into();
            pass.samples = samples;
        })
    };
    assert_eq!(objections(&around(1024), true), [(Topic::Data, Outcome::Look, 25)]);
    assert_eq!(objections(&around(512), true), []);
}

#[test]
fn a_rank_of_which_nothing_comes_while_another_one_waits_for_long_is_named() {
    let waiting = |seconds: f64| {
        let mut all = without(|_, report| matches!(report, InspectorReport::Ended(_)));
        let within = "hvd.allreduce".to_owned();
        all.push(line(
            0,
            InspectorReport::Stalled(StalledReport { place: at(60), within, calls: 1, updates: 32, seconds, batches: 0 }),
        ));
        objections(&all, false)
    };
    assert_eq!(waiting(20.0), []);
    assert_eq!(waiting(80.0), [(Topic::Hang, Outcome::Look, 60)]);
}

#[test]
fn steps_of_an_epoch_are_compared_with_a_run_on_one_rank() {
    let of = |np: usize, batches: usize| {
        let mut inspection = Inspection::new(np);
        let all = passes(|_, pass| {
            *pass = PassReport { batches, samples: 0, dataset: None, replicas: None, first: Vec::new(), ..pass.clone() };
        });
        for mut line in all.into_iter().filter(|line| line.process < np) {
            if let Event::Inspected(report) = &mut line.event {
                match &mut **report {
                    InspectorReport::Looking(looking) => looking.launched = np,
                    InspectorReport::Group(group) => group.size = np,
                    _ => {}
                }
            }
            inspection.take(&line);
        }
        inspection
    };
    let outcome = |own: usize| of(2, own).steps_against(&of(1, 16)).map(|finding| (finding.topic, finding.outcome));
    assert_eq!(outcome(16), Some((Topic::Data, Outcome::Look)));
    assert_eq!(outcome(8), None);
}

#[test]
fn one_batch_that_is_looked_at_before_training_is_no_validation() {
    let judged_with = |is_whole: bool, batches: usize| {
        let mut all = changed(|_, report| {
            if let InspectorReport::Pass(pass) = report
                && !pass.trains
            {
                (pass.loader, pass.is_whole, pass.batches, pass.content) =
                    (0, is_whole, batches, format!("of {}", pass.first[0]));
            }
        });
        let met = |report: &InspectorReport| matches!(report, InspectorReport::Collective(_));
        all.retain(|line| !matches!(&line.event, Event::Inspected(report) if met(report)));
        objections(&all, true)
    };
    assert_eq!(judged_with(false, 1), []);
    assert_eq!(judged_with(true, 1), []);
    assert_eq!(judged_with(true, 16), [(Topic::Metrics, Outcome::Wrong, 40)]);
}

#[test]
fn an_error_of_a_rank_in_front_of_a_forward_pass_that_sends_is_the_cause() {
    let with_end = |within: &str| {
        let all = changed(|rank, report| {
            if let InspectorReport::Ended(end) = report
                && rank == 0
            {
                end.failure = Some(FailureReport { place: at(60), within: within.into(), ..FailureReport::default() });
            }
        });
        with(all, 4, &[1], &told("buffers sent without gradients", &[]))
    };
    let of_wrapper = (Topic::Hang, Outcome::Wrong, 70);
    assert!(objections(&with_end("all_reduce"), true).contains(&of_wrapper));
    assert!(!objections(&with_end(""), true).contains(&of_wrapper));
}

#[test]
fn results_that_name_their_rank_are_worth_a_look_only() {
    let printed = |place: usize, names_rank: bool, has_results: bool| {
        let (place, text) = (at(place), "t".into());
        InspectorReport::Printed(PrintedReport { place, times: 3, text, names_rank, has_figures: true, has_results, updates: 16 })
    };
    let judged_with = |names_rank: bool| {
        let alone = without(|_, report| matches!(report, InspectorReport::Collective(_)));
        let shares = with(alone, 8, &[0, 1], &printed(46, names_rank, true));
        let all = with(shares, 9, &[0], &printed(47, false, false));
        objections(&all, true).into_iter().find(|(topic, ..)| *topic == Topic::Metrics).map(|(_, outcome, _)| outcome)
    };
    assert_eq!(judged_with(true), Some(Outcome::Look));
    assert_eq!(judged_with(false), Some(Outcome::Wrong));
}

#[test]
fn a_number_of_samples_that_is_summed_is_no_result() {
    let with_calls = |change: &dyn Fn(&mut CollectiveReport)| {
        let all = changed(|_, report| {
            if let InspectorReport::Collective(call) = report {
                change(call);
            }
        });
        objections(&all, true)
    };
    assert_eq!(with_calls(&|call| call.is_count = true), [(Topic::Metrics, Outcome::Look, 40)]);
    assert_eq!(with_calls(&|call| call.is_count = call.call == 0), [], "the other validation of this line was brought together");
    assert_eq!(with_calls(&|call| call.trains = true), [(Topic::Metrics, Outcome::Wrong, 40)], "a loss of the next epoch");
}

#[test]
fn local_steps_need_an_average_of_the_weights_now_and_then() {
    let local = |apart_from: usize, more: Option<&str>| {
        let all = updates(|rank, update| {
            if update.update >= apart_from {
                update.weights = format!("{} of {rank}", update.weights);
            }
        });
        let all = with(all, 4, &[0, 1], &told("LocalSGD", &[]));
        objections(&more.map_or(all.clone(), |by| with(all, 4, &[0, 1], &told(by, &[]))), true)
    };
    assert_eq!(local(2, None), [(Topic::Gradients, Outcome::Wrong, 70)]);
    assert_eq!(local(2, Some("averaged weights")), []);
    assert_eq!(local(2, Some("PostLocalSGDOptimizer")), []);
    assert_eq!(local(16, None), [], "they have just begun");
}

#[test]
fn results_of_a_validation_are_compared_between_ranks() {
    let result = |value: &str, decides| {
        InspectorReport::Result(ResultReport {
            name: "acc".into(),
            place: at(72),
            decides,
            trains: false,
            value: value.into(),
            updates: 16,
        })
    };
    let apart = |decides| with(with(right(), 12, &[0], &result("a", decides)), 12, &[1], &result("b", decides));
    assert_eq!(objections(&apart(false), true), [(Topic::Metrics, Outcome::Look, 72)]);
    assert_eq!(objections(&apart(true), false), [(Topic::Metrics, Outcome::Wrong, 72)]);
    assert_eq!(objections(&with(right(), 12, &[0, 1], &result("a", true)), true), []);
    assert_eq!(objections(&with(right(), 12, &[0], &result("a", true)), true), [], "the other rank does not come there");
    let mut to_one = apart(false);
    for line in &mut to_one {
        if let Event::Inspected(report) = &mut line.event
            && let InspectorReport::Collective(call) = report.as_mut()
        {
            call.name = "reduce".into();
        }
    }
    assert_eq!(objections(&to_one, true), [], "only one rank has the whole");
}

#[test]
fn an_error_that_says_what_is_wrong_is_told_in_place_of_what_it_leaves_unjudged() {
    let failed = |kind: &str| {
        let mut all = without(|_, report| !matches!(report, InspectorReport::Looking(_) | InspectorReport::Group(_)));
        for rank in 0..2 {
            let failure = Some(FailureReport { place: at(73), within: String::new(), kind: kind.into() });
            all.push(line(rank, InspectorReport::Ended(EndedReport { failure, ..EndedReport::default() })));
        }
        all
    };
    assert_eq!(objections(&failed("root ranks"), true), [(Topic::Weights, Outcome::Wrong, 73)]);
    assert_eq!(objections(&failed("backward passes"), true), [(Topic::Gradients, Outcome::Wrong, 73)]);
    assert_eq!(objections(&failed("of a stranger"), true), []);
    let topics: Vec<Topic> = judged(&failed("root ranks"), true).iter().map(|finding| finding.topic).collect();
    assert_eq!(topics.iter().filter(|topic| **topic == Topic::Weights).count(), 1);
}
