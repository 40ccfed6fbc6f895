//! One mistake each in the reports of a right program: topic, verdict and line.

use super::*;

#[test]
fn each_mistake_is_named_with_its_line() {
    use Outcome::{Look, Wrong};
    use Topic::{Checkpoint, Data, Gradients, Hang, Metrics, Prints, Randomness, Ranks, Rate, State, Weights};
    let own = |text: &mut String, rank: usize| *text = format!("{text} of {rank}");
    let apart = |rank: usize, update: &mut InspectedUpdate| own(&mut update.gradients, rank);
    let loaded = |action, updates| {
        InspectorReport::State(StateReport {
            action,
            by: String::new(),
            path: String::new(),
            place: at(20),
            digest: "d".into(),
            updates,
            meetings: (0, 0),
        })
    };
    let written = |by: &str, place: usize| {
        InspectorReport::State(StateReport {
            action: StateAction::Written,
            by: by.into(),
            path: "/work/best.pt".into(),
            place: at(place),
            digest: String::new(),
            updates: 16,
            meetings: (0, 0),
        })
    };
    let printed = |names_rank| {
        InspectorReport::Printed(PrintedReport {
            place: at(46),
            times: 3,
            text: "t".into(),
            names_rank,
            has_figures: true,
            has_results: true,
            updates: 16,
        })
    };
    let decided = |value: &str| {
        InspectorReport::Decision(DecisionReport {
            by: "ReduceLROnPlateau".into(),
            place: at(47),
            value: value.into(),
            number: 0,
            updates: 16,
        })
    };
    let workers = |numpy: &[&str], draws_numpy| {
        let numpy = numpy.iter().map(|state| (*state).to_owned()).collect();
        InspectorReport::Workers(WorkersReport {
            loader: 0,
            made: at(15),
            numpy,
            python: Vec::new(),
            torch: Vec::new(),
            draws_numpy,
            draws_python: false,
            draws_torch: false,
            is_own: false,
        })
    };
    let unwrapped = |also: &dyn Fn(usize, &mut InspectedUpdate)| {
        let mut all = updates(|rank, update| {
            update.forwards = 0;
            apart(rank, update);
            also(rank, update);
        });
        all.retain(|line| !matches!(&line.event, Event::Inspected(report) if is_wrapped(report)));
        all
    };
    let standing = {
        let mut all = without(|_, report| matches!(report, InspectorReport::Ended(_)));
        all.push(line(0, stalled(60, "barrier", 20)));
        all.push(line(1, stalled(61, "", 20)));
        all
    };
    let mistakes: Vec<(&str, Vec<EventLine>, Objection)> = vec![
        (
            "no group",
            {
                let mut all = unwrapped(&|_, _| ());
                all.retain(
                    |line| !matches!(&line.event, Event::Inspected(report) if matches!(**report, InspectorReport::Group(_))),
                );
                all
            },
            (Ranks, Wrong, 12),
        ),
        (
            "the same rank twice",
            changed(|_, report| {
                if let InspectorReport::Group(group) = report {
                    group.rank = 0
                }
            }),
            (Ranks, Wrong, 5),
        ),
        (
            "too many threads",
            changed(|_, report| {
                if let InspectorReport::Group(group) = report {
                    group.threads = 2
                }
            }),
            (Ranks, Look, 5),
        ),
        ("one GPU", updates(|_, update| update.device = "cuda:0".into()), (Ranks, Wrong, 5)),
        ("all print", with(right(), 12, &[0, 1], &printed(false)), (Prints, Look, 46)),
        ("no wrapper", unwrapped(&|_, _| ()), (Gradients, Wrong, 12)),
        (
            "past the wrapper",
            updates(|rank, update| {
                apart(rank, update);
                update.forwards = 0;
                update.past_wrapper = 1;
                update.past_wrapper_place = at(28);
            }),
            (Gradients, Wrong, 28),
        ),
        (
            "no_sync for ever",
            updates(|rank, update| {
                apart(rank, update);
                update.without_sync = 1;
                update.without_sync_place = at(27);
            }),
            (Gradients, Wrong, 27),
        ),
        (
            "layers added later",
            updates(|rank, update| {
                apart(rank, update);
                update.unwrapped = 2;
            }),
            (Gradients, Wrong, 10),
        ),
        (
            "another copy's parameters",
            updates(|rank, update| {
                apart(rank, update);
                update.unwrapped = 6;
            }),
            (Gradients, Wrong, 12),
        ),
        (
            "unused parameters",
            updates(|rank, update| {
                apart(rank, update);
                update.without_gradient = rank;
            }),
            (Gradients, Wrong, 10),
        ),
        (
            "summed",
            updates(|_, update| {
                update.averaged_by_hand = 6;
                update.summed_by_hand = true;
            }),
            (Gradients, Look, 30),
        ),
        (
            "another start",
            unwrapped(&|rank, update| {
                own(&mut update.weights, rank);
                update.averaged_by_hand = 6;
            }),
            (Weights, Wrong, 12),
        ),
        (
            "weights of one rank",
            with(updates(|rank, update| own(&mut update.weights, rank)), 3, &[1], &loaded(StateAction::LoadedModel, 0)),
            (Weights, Wrong, 20),
        ),
        (
            "momentum of one rank",
            with(updates(|rank, update| own(&mut update.state, rank)), 3, &[0], &loaded(StateAction::LoadedOptimizer, 0)),
            (State, Wrong, 20),
        ),
        (
            "no sampler",
            passes(|_, pass| {
                pass.replicas = None;
                pass.sampler = "RandomSampler".into();
                pass.samples = 1024;
                pass.picked = (0..128).collect();
            }),
            (Data, Wrong, 15),
        ),
        (
            "the same batches",
            passes(|_, pass| {
                pass.first = vec!["a".into(), "b".into()];
                pass.picked = (0..64).collect();
            }),
            (Data, Wrong, 15),
        ),
        ("the same stream", passes(|_, pass| (pass.first, pass.picked) = (vec!["a".into()], Vec::new())), (Data, Wrong, 15)),
        (
            "set_epoch, and left early",
            passes(|_, pass| {
                (pass.is_whole, pass.batches, pass.samples) = (false, 5, 160);
                (pass.epoch, pass.order) = (Some(0), "o".into());
            }),
            (Data, Wrong, 15),
        ),
        ("never shuffled", passes(|_, pass| (pass.shuffles, pass.order) = (false, "o".into())), (Data, Look, 15)),
        (
            "drawn by weight from all samples",
            passes(|_, pass| {
                (pass.sampler, pass.replicas, pass.samples) = ("WeightedRandomSampler".into(), None, 1024);
                pass.picked.clear();
            }),
            (Data, Look, 15),
        ),
        (
            "gradients that are not seen",
            {
                let mut all = unwrapped(&|rank, update| {
                    update.gradients.clear();
                    if update.update > 0 {
                        own(&mut update.weights, rank);
                    }
                });
                all.retain(|line| !matches!(&line.event, Event::Inspected(report) if matches!(**report, InspectorReport::Collective(_) | InspectorReport::Pass(_))));
                all
            },
            (Gradients, Wrong, 12),
        ),
        (
            "a rank that never comes",
            {
                let mut all = right();
                all.retain(|line| line.process == 0);
                all.truncate(2);
                all.push(line(0, stalled(5, "init_process_group", 20)));
                all
            },
            (Hang, Wrong, 5),
        ),
        (
            "set_epoch",
            passes(|_, pass| {
                pass.epoch = Some(0);
                pass.order = "o".into();
            }),
            (Data, Wrong, 15),
        ),
        ("another seed", passes(|rank, pass| pass.seed = Some(rank as i64)), (Data, Wrong, 15)),
        ("too few replicas", passes(|_, pass| pass.replicas = Some(1)), (Data, Wrong, 15)),
        ("one share for all", passes(|_, pass| pass.replica = Some(0)), (Data, Wrong, 15)),
        ("overlapping shares", passes(|_, pass| pass.picked = (0..64).collect()), (Data, Wrong, 15)),
        (
            "another split on each rank",
            passes(|rank, pass| {
                pass.picked = (0..64).map(|number| number + 32 * rank as u32).collect();
                pass.split_made = at(9);
            }),
            (Data, Wrong, 9),
        ),
        (
            "a part of each rank, which is shared out once more",
            passes(|rank, pass| (pass.subset, pass.split_made) = (format!("part {rank}"), at(9))),
            (Data, Wrong, 9),
        ),
        (
            "batches that are larger on one rank, in as many steps",
            passes(|rank, pass| pass.batch_size = Some(16 + rank)),
            (Data, Look, 15),
        ),
        (
            "steps behind passes that average nothing",
            updates(|rank, update| {
                apart(rank, update);
                (update.without_sync, update.without_sync_place) = (usize::from(update.update % 2 == 0), at(28));
            }),
            (Gradients, Wrong, 28),
        ),
        (
            "a sampler of its own that shuffles alike",
            passes(|_, pass| {
                (pass.sampler, pass.replicas, pass.replica) = ("Mine".into(), None, None);
                (pass.epoch, pass.order, pass.shuffles) = (None, "o".into(), true);
            }),
            (Data, Wrong, 15),
        ),
        (
            "workers that each go through all samples",
            passes(|_, pass| {
                (pass.sampler, pass.replicas, pass.dataset) = (String::new(), None, None);
                (pass.workers, pass.repeated) = (2, 256);
            }),
            (Data, Wrong, 15),
        ),
        (
            "loaders of different lengths, and the rank with more stands",
            {
                let mut all = updates(|rank, update| (update.batches, update.loader_made) = (16 + rank, at(15)));
                all.retain(|line| {
                    let is_of_the_rest = |report: &InspectorReport| {
                        matches!(
                            report,
                            InspectorReport::Pass(_) | InspectorReport::Collective(_) | InspectorReport::Ended { .. }
                        )
                    };
                    line.process == 0 || !matches!(&line.event, Event::Inspected(report) if is_of_the_rest(report))
                });
                all.push(line(1, stalled(30, "backward", 20)));
                all
            },
            (Data, Wrong, 15),
        ),
        ("uneven", passes(|rank, pass| pass.batches = 16 + rank), (Data, Wrong, 15)),
        ("equal workers", with(right(), 12, &[0, 1], &workers(&["a", "a"], true)), (Randomness, Wrong, 15)),
        ("equal ranks", with(right(), 12, &[0, 1], &workers(&["a", "b"], true)), (Randomness, Look, 15)),
        ("a share as the whole", without(|_, report| matches!(report, InspectorReport::Collective(_))), (Metrics, Wrong, 40)),
        ("another rate", updates(|rank, update| update.rates = vec![0.1 + rank as f64]), (Rate, Wrong, 12)),
        (
            "another rate after a while",
            updates(|rank, update| update.rates = vec![0.1 + (rank * (update.update / 16)) as f64]),
            (Rate, Wrong, 12),
        ),
        (
            "changed behind the wrapper",
            updates(|rank, update| update.weights = format!("w{} of {rank}", update.update)),
            (Weights, Wrong, 10),
        ),
        ("decided alone", with(with(right(), 12, &[0], &decided("a")), 12, &[1], &decided("b")), (Metrics, Wrong, 47)),
        (
            "two writers",
            changed(|_, _| ())
                .into_iter()
                .chain([line(
                    1,
                    InspectorReport::State(StateReport {
                        action: StateAction::Written,
                        by: "torch.save".into(),
                        path: "/work/model.pt".into(),
                        place: at(50),
                        digest: String::new(),
                        updates: 16,
                        meetings: (0, 0),
                    }),
                )])
                .collect(),
            (Checkpoint, Wrong, 50),
        ),
        (
            "two that open a file",
            right()
                .into_iter()
                .chain(
                    (0..2).flat_map(|rank| [("open", 48), ("torch.save", 49)].map(|(by, place)| line(rank, written(by, place)))),
                )
                .collect(),
            (Checkpoint, Wrong, 49),
        ),
        ("other epochs", passes(|rank, pass| pass.epoch = Some(pass.epoch.unwrap() + 3 * rank as i64)), (Checkpoint, Wrong, 25)),
        ("a barrier of one", standing, (Hang, Wrong, 60)),
        ("clipped early", with(right(), 4, &[0, 1], &told("clipped too early", &[])), (Gradients, Wrong, 70)),
        (
            "rank 0 evaluates in the wrapper",
            with(right(), 4, &[0], &told("buffers sent without gradients", &[])),
            (Hang, Wrong, 70),
        ),
        (
            "the same epoch again",
            with(
                passes(|_, pass| (pass.epoch, pass.order) = (Some(0), "o".into())),
                4,
                &[0, 1],
                &told("set_epoch again", &["0"]),
            ),
            (Data, Wrong, 70),
        ),
        (
            "a broadcast of nothing",
            with(unwrapped(&|rank, update| own(&mut update.weights, rank)), 2, &[0, 1], &told("broadcast of nothing", &[])),
            (Weights, Wrong, 70),
        ),
    ];
    for (name, lines, expected) in mistakes {
        let found = objections(&lines, true);
        assert!(found.contains(&expected), "{name}: {found:?} has no {expected:?}");
        assert!(found.len() < 3, "{name}: one mistake is not many: {found:?}");
        for finding in judged(&lines, true).iter().filter(|finding| finding.is_objection()) {
            assert!(!finding.cost.is_empty() && !finding.remedy.is_empty() && !finding.seen.is_empty(), "{name}: {finding:?}");
        }
    }
}
