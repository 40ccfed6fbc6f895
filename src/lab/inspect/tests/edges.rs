//! Mistakes outside of the training loop over a loader: shares without a loader, padded validations, late loads, memory and slow ranks.

use super::*;

#[test]
fn a_validation_in_which_all_ranks_take_one_share_is_named() {
    let all = changed(|_, report| {
        if let InspectorReport::Pass(pass) = report
            && !pass.trains
        {
            pass.replica = Some(0);
        }
    });
    assert_eq!(objections(&all, true), [(Topic::Metrics, Outcome::Wrong, 16)]);
}

#[test]
fn a_share_that_is_validated_without_a_loader_is_no_whole() {
    let validated = |rank: u32, met: usize, is_equal: bool| {
        InspectorReport::Pass(PassReport {
            loader: 9,
            place: at(40),
            updates: 16,
            is_whole: true,
            batches: 1,
            samples: 20,
            picked: (0..20).map(|number| number + if is_equal { 0 } else { 100 * rank }).collect(),
            every: 1,
            content: "rows".into(),
            met,
            ..PassReport::default()
        })
    };
    let found = |met, is_equal| {
        let mut all = without(|_, report| {
            matches!(report, InspectorReport::Collective(_)) || matches!(report, InspectorReport::Pass(pass) if !pass.trains)
        });
        for rank in 0..2 {
            let end = all.iter().rposition(|line| line.process == rank).unwrap();
            all.insert(end, line(rank, validated(rank as u32, met, is_equal)));
        }
        objections(&all, true)
    };
    assert_eq!(found(0, false), [(Topic::Metrics, Outcome::Wrong, 40)]);
    assert_eq!((found(1, false), found(0, true)), (Vec::new(), Vec::new()), "results that met, or all of the samples");
}

#[test]
fn a_padded_validation_counts_samples_twice_unless_they_are_gathered_and_cut() {
    let with_samples = |samples, name: &str| {
        let all = changed(|_, report| match report {
            InspectorReport::Pass(pass) if !pass.trains => (pass.samples, pass.sampler_made) = (samples, at(16)),
            InspectorReport::Collective(call) => call.name = name.into(),
            _ => {}
        });
        objections(&all, true)
    };
    assert_eq!(with_samples(512, "all_reduce"), []);
    let mut padded = changed(|_, report| {
        if let InspectorReport::Pass(pass) = report
            && !pass.trains
        {
            (pass.dataset, pass.sampler_made) = (Some(1023), at(16));
        }
    });
    assert_eq!(objections(&padded, true), [(Topic::Metrics, Outcome::Look, 16)]);
    for line in &mut padded {
        if let Event::Inspected(report) = &mut line.event
            && let InspectorReport::Collective(call) = &mut **report
        {
            call.name = "all_gather".into();
        }
    }
    assert_eq!(objections(&padded, true), []);
}

#[test]
fn weights_that_one_rank_loads_at_the_end_are_not_those_of_the_others() {
    let load = InspectorReport::State(StateReport {
        action: StateAction::LoadedModel,
        by: String::new(),
        path: String::new(),
        place: at(60),
        digest: "d".into(),
        updates: 32,
        meetings: (0, 0),
    });
    let found = |of: &[usize]| {
        let mut all = right();
        for rank in of {
            let last = all.iter().rposition(|line| {
                line.process == *rank
                    && matches!(&line.event, Event::Inspected(report) if matches!(**report, InspectorReport::Update(_)))
            });
            all.insert(last.unwrap() + 1, line(*rank, load.clone()));
        }
        objections(&all, true)
    };
    assert_eq!(found(&[0]), [(Topic::Weights, Outcome::Wrong, 60)]);
    assert_eq!(found(&[0, 1]), []);
}

#[test]
fn batches_of_other_sizes_and_data_sets_of_each_rank_that_overlap_are_seen() {
    let sizes = passes(|rank, pass| pass.batch_size = Some(16 + 16 * rank));
    assert_eq!(objections(&sizes, true), [(Topic::Data, Outcome::Look, 15)]);
    let own = |common: u32| {
        passes(move |rank, pass| {
            (pass.content, pass.sampler, pass.replicas) = (format!("of {rank}"), "RandomSampler".into(), None);
            (pass.dataset, pass.every) = (Some(500 + rank), 8 + rank);
            pass.rows = (0..64).map(|number| number + (64 - common) * rank as u32).collect();
        })
    };
    assert_eq!(objections(&own(32), true), [(Topic::Data, Outcome::Wrong, 15)]);
    assert_eq!(objections(&own(0), true), []);
}

#[test]
fn the_line_of_a_slow_rank_and_of_kept_losses_is_named() {
    let phases = |rank: usize, [data, forward, others]: [f64; 3]| {
        let times = InspectedPhases { updates: 8, data, forward, others, all: 4.0, busiest: at(70 + rank), ..Default::default() };
        line(rank, InspectorReport::Phases(times))
    };
    let found = |times: [[f64; 3]; 2]| {
        let mut all = right();
        for (rank, times) in times.into_iter().enumerate() {
            all.extend([phases(rank, times), phases(rank, times)]);
        }
        objections(&all, true)
    };
    // Rank 0 waits for it where the buffers are sent.
    assert_eq!(found([[0.1, 3.0, 0.1], [0.1, 0.2, 2.9]]), [(Topic::Speed, Outcome::Look, 71)]);
    assert_eq!(found([[0.1, 2.0, 0.1], [0.1, 0.5, 0.1]]), [(Topic::Speed, Outcome::Look, 70)]);
    assert_eq!(found([[0.1, 2.0, 0.1], [0.1, 2.1, 0.1]]), []);
    let kept = InspectorReport::Wrapped(WrappedReport {
        by: "kept graphs".into(),
        place: at(33),
        before: String::new(),
        after: String::new(),
        tensors: 0,
        shares_buffers: false,
        settings: Vec::new(),
    });
    assert_eq!(objections(&with(right(), 3, &[1], &kept), true), [(Topic::Speed, Outcome::Look, 33)]);
}

#[test]
fn an_optimizer_whose_parameters_have_no_gradient_is_of_another_model() {
    let none = updates(|_, update| {
        update.gradients.clear();
        update.without_gradient = update.tensors;
    });
    assert_eq!(objections(&none, true), [(Topic::Gradients, Outcome::Wrong, 12)]);
}

#[test]
fn an_error_in_another_collective_than_that_of_a_rank_that_was_stopped_is_a_mismatch() {
    let alone = |also: &[usize]| {
        let mut all = without(|_, report| matches!(report, InspectorReport::Ended(_)));
        let call = CollectiveReport {
            name: "all_reduce".into(),
            place: at(65),
            numbers: Some(3),
            is_count: false,
            trains: false,
            call: 9,
            updates: 32,
        };
        all.extend(also.iter().map(|rank| line(*rank, InspectorReport::Collective(call.clone()))));
        let failure = Some(FailureReport { place: at(28), within: "backward".into(), ..FailureReport::default() });
        all.push(line(1, InspectorReport::Ended(EndedReport { updates: 32, failure, ..EndedReport::default() })));
        objections(&all, true)
    };
    assert_eq!(alone(&[0]), [(Topic::Hang, Outcome::Wrong, 65)]);
    assert_eq!(alone(&[0, 1]), [], "both were there");
    let call = CollectiveReport {
        name: "all_gather".into(),
        place: at(73),
        numbers: None,
        is_count: false,
        trains: false,
        call: 9,
        updates: 32,
    };
    let failure = Some(FailureReport { place: at(73), within: "all_gather".into(), ..FailureReport::default() });
    let mut all = without(|_, report| matches!(report, InspectorReport::Ended(_)));
    all.push(line(1, InspectorReport::Collective(call)));
    all.push(line(1, InspectorReport::Ended(EndedReport { updates: 32, failure, ..EndedReport::default() })));
    assert_eq!(objections(&all, true), [(Topic::Hang, Outcome::Wrong, 73)], "where the failed one was, the other one never is");
}

#[test]
fn updates_by_hand_are_judged_by_the_weights_that_they_leave() {
    let by_hand = |numbers: usize, is_apart: bool| {
        let mut all = updates(|rank, update| {
            update.optimizer = "by hand".into();
            update.gradients.clear();
            update.made = Place::default();
            if is_apart && update.update > 0 {
                update.weights = format!("{} of {rank}", update.weights);
            }
        });
        all.retain(|line| !matches!(&line.event, Event::Inspected(report) if is_wrapped(report)));
        for line in &mut all {
            if let Event::Inspected(report) = &mut line.event
                && let InspectorReport::Collective(call) = report.as_mut()
            {
                call.numbers = Some(numbers);
            }
        }
        objections(&all, true)
    };
    assert_eq!(by_hand(2, true), [(Topic::Gradients, Outcome::Wrong, 30)]);
    assert_eq!(by_hand(2, false), []);
    assert_eq!(by_hand(1000, true), [], "so many numbers may be the gradients, or the weights now and then");
}

#[test]
fn a_sample_has_one_label_on_all_ranks() {
    let labelled = |label: fn(usize, u32) -> u32| {
        let all = passes(|rank, pass| {
            pass.picked = (0..64).map(|index| 2 * index + ((rank + pass.pass) % 2) as u32).collect();
            pass.labels = pass.picked.iter().map(|sample| label(rank, *sample)).collect();
        });
        objections(&all, true)
    };
    assert_eq!(labelled(|_, sample| 1 + sample % 5), []);
    // The order of the classes is another one: 1 is 2 on rank 1, and so on.
    assert_eq!(labelled(|rank, sample| 1 + (sample + rank as u32) % 5), [(Topic::Data, Outcome::Wrong, 15)]);
    assert_eq!(labelled(|rank, sample| 1 + sample * (7 + rank as u32) % 61 % 5), [], "drawn by chance");
    assert_eq!(labelled(|rank, sample| if rank == 0 { 1 + sample % 5 } else { 0 }), [], "not known on one rank");
}

#[test]
fn rates_that_drift_apart_have_a_cause_or_show_at_the_end() {
    let apart = || {
        updates(|rank, update| {
            update.rates = vec![0.1 / (1.0 + (rank * update.update) as f64)];
            update.weights = format!("w{} {}", update.update, if update.update > 1 { rank } else { 0 });
        })
    };
    let stepped = |ranks: &[usize]| objections(&with(apart(), 4, ranks, &told("schedule stepped", &[])), true);
    assert_eq!(stepped(&[0]), [(Topic::Rate, Outcome::Wrong, 70)], "the line that steps it on one rank");
    assert_eq!(stepped(&[0, 1]), [(Topic::Rate, Outcome::Wrong, 12)]);
    let ended = |rate: fn(usize) -> f64| {
        let all = changed(|rank, report| {
            if let InspectorReport::Ended(end) = report {
                end.last_rate = rate(rank);
            }
        });
        objections(&all, true)
    };
    assert_eq!(ended(|rank| 0.1 + rank as f64), [(Topic::Rate, Outcome::Wrong, 12)], "between two looks");
    assert_eq!((ended(|_| 0.1), ended(|rank| rank as f64)), (Vec::new(), Vec::new()), "equal, or not known on one rank");
}

#[test]
fn a_file_is_read_behind_the_call_at_which_the_ranks_meet() {
    let read_at = |meetings| {
        let file = |action, line, meetings| {
            InspectorReport::State(StateReport {
                action,
                by: "torch".into(),
                path: "/work/best.pt".into(),
                place: at(line),
                digest: String::new(),
                updates: 32,
                meetings,
            })
        };
        let written = with(right(), 8, &[0], &file(StateAction::Written, 71, (32, 5)));
        objections(&with(written, 8, &[1], &file(StateAction::Read, 72, meetings)), true)
    };
    assert_eq!(read_at((32, 5)), [(Topic::Checkpoint, Outcome::Look, 72)]);
    assert_eq!((read_at((32, 6)), read_at((31, 5))), (Vec::new(), Vec::new()), "behind a barrier, or before the training");
}

#[test]
fn a_rank_that_has_trained_alone_before_still_loads_in_front_of_the_first_update_of_all() {
    let found = |after: StateAction| {
        let mut all = updates(|rank, update| update.weights = format!("w{} of {rank}", update.update));
        all.retain(|line| !matches!(&line.event, Event::Inspected(report) if is_wrapped(report)));
        let report = |action, line| {
            let (path, by, digest) = (String::new(), String::new(), "d".into());
            InspectorReport::State(StateReport { action, by, path, place: at(line), digest, updates: 60, meetings: (0, 0) })
        };
        let alone = InspectorReport::Update(InspectedUpdate {
            optimizer: "Adam".into(),
            made: at(8),
            index: 1,
            ..InspectedUpdate::default()
        });
        let broadcast = report(StateAction::BroadcastModel, 20);
        let loaded = report(after, 21);
        for report in [&loaded, &broadcast, &alone] {
            all = with(all, 2, &[0], report);
        }
        let InspectorReport::State(sent) = broadcast else { unreachable!() };
        all = with(all, 2, &[1], &InspectorReport::State(StateReport { updates: 0, ..sent }));
        judged(&all, true).into_iter().find(|finding| finding.topic == Topic::Weights).unwrap()
    };
    let loaded = found(StateAction::LoadedModel);
    assert!(loaded.seen.contains("rank 0 loaded weights, and the others did not"), "{}", loaded.seen);
    let changed = found(StateAction::LoadedOptimizer);
    assert!(changed.seen.contains("they were broadcast at line 20, and something changed them since"), "{}", changed.seen);
}
