//! The judges, on reports as two ranks of a right program send them, and with one mistake in them.

use super::*;
use crate::domain::event::*;

fn at(line: usize) -> Place {
    Place { file: "/work/train.py".into(), line }
}

fn line(process: usize, report: InspectorReport) -> EventLine {
    EventLine { time_s: 1.0, process, event: Event::Inspected(report) }
}

/// Two ranks of a right program with DistributedDataParallel: two epochs, each with a validation and a checkpoint.
fn right() -> Vec<EventLine> {
    (0..2).flat_map(rank).collect()
}

fn rank(rank: usize) -> Vec<EventLine> {
    let mut all = vec![
        InspectorReport::Looking(LookingReport {
            framework: "torch".into(),
            versions: vec!["torch 2.11.0".into()],
            python: "3.11.7".into(),
            pid: 100,
            launched: 2,
            program: "train.py".into(),
        }),
        InspectorReport::Group(GroupReport {
            by: "torch.distributed".into(),
            backend: "gloo".into(),
            rank,
            size: 2,
            local_rank: rank,
            local_size: 2,
            host: "here".into(),
            device: "cpu".into(),
            threads: 1,
            cores: 2,
            place: at(5),
        }),
        InspectorReport::Wrapped(WrappedReport {
            by: "DistributedDataParallel".into(),
            place: at(10),
            before: format!("own {rank}"),
            after: "w0".into(),
            tensors: 6,
            shares_buffers: true,
            settings: Vec::new(),
        }),
    ];
    for epoch in 0..2usize {
        for update in 16 * epoch..16 * epoch + 16 {
            if update < 3 || update.is_power_of_two() {
                all.push(InspectorReport::Update(InspectedUpdate {
                    update,
                    optimizer: "SGD".into(),
                    place: at(30),
                    made: at(12),
                    rates: vec![0.1],
                    weights: format!("w{update}"),
                    gradients: format!("g{update}"),
                    buffers: format!("b{update}"),
                    state: format!("s{update}"),
                    tensors: 6,
                    forwards: 1,
                    device: "cpu".into(),
                    samples: 32,
                    ..InspectedUpdate::default()
                }));
            }
        }
        let pass = |loader: usize, made: usize, loop_line: usize, trains: bool, order: String| PassReport {
            loader,
            pass: epoch,
            made: at(made),
            place: at(loop_line),
            trains,
            updates: 16 * (epoch + 1),
            is_whole: true,
            sampler: "DistributedSampler".into(),
            replicas: Some(2),
            replica: Some(rank),
            seed: Some(0),
            epoch: Some(epoch as i64),
            shuffles: trains,
            dataset: Some(1024),
            batch_size: Some(32),
            batches: 16,
            samples: 512,
            first: (0..4).map(|batch| format!("{order} {batch}")).collect(),
            order,
            picked: (0..64).map(|index| 2 * index + rank as u32).collect(),
            every: 8,
            content: "all".into(),
            ..PassReport::default()
        };
        all.push(InspectorReport::Pass(pass(0, 15, 25, true, format!("order {epoch} of {rank}"))));
        all.push(InspectorReport::Pass(pass(1, 16, 40, false, format!("test of {rank}"))));
        all.push(InspectorReport::Collective(CollectiveReport {
            name: "all_reduce".into(),
            place: at(44),
            numbers: Some(2),
            call: epoch,
            updates: 16 * (epoch + 1),
        }));
        if rank == 0 {
            all.push(InspectorReport::State(StateReport {
                action: StateAction::Written,
                by: "torch.save".into(),
                path: "/work/model.pt".into(),
                place: at(50),
                digest: String::new(),
                updates: 16 * (epoch + 1),
            }));
        }
    }
    all.push(InspectorReport::Ended { updates: 32, inspector_seconds: 0.01 });
    all.into_iter().map(|report| line(rank, report)).collect()
}

fn judged(lines: &[EventLine], is_over: bool) -> Vec<Finding> {
    let mut inspection = Inspection::new(2);
    lines.iter().for_each(|line| inspection.take(line));
    inspection.findings(is_over)
}

fn objections(lines: &[EventLine], is_over: bool) -> Vec<(Topic, Outcome, usize)> {
    let all = judged(lines, is_over).into_iter().filter(Finding::is_objection);
    all.map(|finding| (finding.topic, finding.outcome, finding.place.map_or(0, |place| place.line))).collect()
}

/// Changes the reports of the ranks.
fn changed(change: impl Fn(usize, &mut InspectorReport)) -> Vec<EventLine> {
    let mut all = right();
    for line in &mut all {
        if let Event::Inspected(report) = &mut line.event {
            change(line.process, report);
        }
    }
    all
}

fn updates(change: impl Fn(usize, &mut InspectedUpdate)) -> Vec<EventLine> {
    changed(|rank, report| {
        if let InspectorReport::Update(update) = report {
            change(rank, update)
        }
    })
}

fn passes(change: impl Fn(usize, &mut PassReport)) -> Vec<EventLine> {
    changed(|rank, report| {
        if let InspectorReport::Pass(pass) = report
            && pass.trains
        {
            change(rank, pass)
        }
    })
}

fn without(test: impl Fn(usize, &InspectorReport) -> bool) -> Vec<EventLine> {
    let mut all = right();
    all.retain(|line| !matches!(&line.event, Event::Inspected(report) if test(line.process, report)));
    all
}

fn with(mut all: Vec<EventLine>, at: usize, of: &[usize], report: &InspectorReport) -> Vec<EventLine> {
    for rank in of {
        let start = all.iter().position(|line| line.process == *rank).unwrap();
        all.insert(start + at, line(*rank, report.clone()));
    }
    all
}

fn is_wrapped(report: &InspectorReport) -> bool {
    matches!(report, InspectorReport::Wrapped(_))
}

#[test]
fn a_right_program_is_not_blamed_at_any_moment_and_in_any_order() {
    let all = right();
    assert_eq!(objections(&all, true), []);
    let ok = judged(&all, true).into_iter().filter(|finding| finding.outcome == Outcome::Ok).count();
    assert_eq!(ok, 9, "{:?}", judged(&all, true));
    for length in 0..all.len() {
        assert_eq!(objections(&all[..length], false), [], "after {length} reports");
    }
    // One rank after the other, and both by turns.
    let half = all.len() / 2;
    let mut turns: Vec<EventLine> = Vec::new();
    for index in 0..=half {
        turns.extend(
            [all.get(index).filter(|line| line.process == 0), all.get(half + index).filter(|line| line.process == 1)]
                .into_iter()
                .flatten()
                .cloned(),
        );
    }
    for length in 0..turns.len() {
        assert_eq!(objections(&turns[..length], false), [], "after {length} reports by turns");
    }
}

#[test]
fn each_mistake_is_named_with_its_line() {
    use Outcome::{Look, Wrong};
    use Topic::{Checkpoint, Data, Gradients, Hang, Metrics, Prints, Randomness, Ranks, State, Weights};
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
        })
    };
    let printed = |names_rank| {
        InspectorReport::Printed(PrintedReport {
            place: at(46),
            times: 3,
            text: "t".into(),
            names_rank,
            has_figures: true,
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
    let stalled = |place: usize, within: &str| {
        InspectorReport::Stalled(StalledReport { place: at(place), within: within.into(), calls: 1, updates: 20, seconds: 12.0 })
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
        let mut all = without(|_, report| matches!(report, InspectorReport::Ended { .. }));
        all.push(line(0, stalled(60, "barrier")));
        all.push(line(1, stalled(61, "")));
        all
    };
    let mistakes: Vec<(&str, Vec<EventLine>, (Topic, Outcome, usize))> = vec![
        ("no group", without(|_, report| matches!(report, InspectorReport::Group(_))), (Ranks, Wrong, 12)),
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
            }),
            (Data, Wrong, 15),
        ),
        ("the same batches", passes(|_, pass| pass.first = vec!["a".into()]), (Data, Wrong, 15)),
        (
            "set_epoch",
            passes(|_, pass| {
                pass.epoch = Some(0);
                pass.order = "o".into();
            }),
            (Data, Wrong, 25),
        ),
        ("another seed", passes(|rank, pass| pass.seed = Some(rank as i64)), (Data, Wrong, 15)),
        ("too few replicas", passes(|_, pass| pass.replicas = Some(1)), (Data, Wrong, 15)),
        ("one share for all", passes(|_, pass| pass.replica = Some(0)), (Data, Wrong, 15)),
        ("overlapping shares", passes(|_, pass| pass.picked = (0..64).collect()), (Data, Wrong, 15)),
        ("uneven", passes(|rank, pass| pass.batches = 16 + rank), (Data, Wrong, 15)),
        ("equal workers", with(right(), 12, &[0, 1], &workers(&["a", "a"], true)), (Randomness, Wrong, 15)),
        ("equal ranks", with(right(), 12, &[0, 1], &workers(&["a", "b"], true)), (Randomness, Look, 15)),
        ("a share as the whole", without(|_, report| matches!(report, InspectorReport::Collective(_))), (Metrics, Wrong, 40)),
        ("another rate", updates(|rank, update| update.rates = vec![0.1 + rank as f64]), (Metrics, Wrong, 12)),
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
                    }),
                )])
                .collect(),
            (Checkpoint, Wrong, 50),
        ),
        ("other epochs", passes(|rank, pass| pass.epoch = Some(pass.epoch.unwrap() + 3 * rank as i64)), (Checkpoint, Wrong, 25)),
        ("a barrier of one", standing, (Hang, Wrong, 60)),
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

#[test]
fn what_others_do_on_purpose_is_not_blamed() {
    let right: Vec<(&str, Vec<EventLine>)> = vec![
        (
            "shares made by hand",
            passes(|rank, pass| {
                pass.replicas = None;
                pass.sampler = "RandomSampler".into();
                pass.samples = 1024;
                pass.content = format!("share {rank}");
            }),
        ),
        (
            "left early",
            passes(|_, pass| {
                pass.is_whole = false;
                pass.epoch = Some(0);
                pass.order = "o".into();
                pass.first = Vec::new();
            }),
        ),
        (
            "padded",
            passes(|_, pass| {
                pass.dataset = Some(1023);
            }),
        ),
        (
            "accumulated",
            updates(|_, update| {
                update.forwards = 4;
                update.without_sync = 3;
            }),
        ),
        (
            "averaged by hand",
            updates(|_, update| {
                update.averaged_by_hand = 6;
                update.forwards = 0;
            }),
        ),
        (
            "lines that name their rank",
            with(
                right(),
                12,
                &[0, 1],
                &InspectorReport::Printed(PrintedReport {
                    place: at(46),
                    times: 3,
                    text: "t".into(),
                    names_rank: true,
                    has_figures: true,
                    updates: 16,
                }),
            ),
        ),
        ("one rank validates", {
            let mut all = without(|rank, report| {
                rank == 1 && matches!(report, InspectorReport::Pass(pass) if !pass.trains)
                    || matches!(report, InspectorReport::Collective(_))
            });
            for line in &mut all {
                if let Event::Inspected(InspectorReport::Pass(pass)) = &mut line.event
                    && !pass.trains
                {
                    (pass.replicas, pass.samples, pass.sampler) = (None, 1024, "SequentialSampler".into());
                }
            }
            all
        }),
        ("all validate all", {
            let mut all = without(|_, report| matches!(report, InspectorReport::Collective(_)));
            for line in &mut all {
                if let Event::Inspected(InspectorReport::Pass(pass)) = &mut line.event
                    && !pass.trains
                {
                    (pass.replicas, pass.samples, pass.sampler) = (None, 1024, "SequentialSampler".into());
                }
            }
            all
        }),
    ];
    for (name, lines) in right {
        assert_eq!(objections(&lines, true), [], "{name}");
    }
}

#[test]
fn what_cannot_be_judged_is_said() {
    let sharded = changed(|rank, report| match report {
        InspectorReport::Wrapped(wrapped) => wrapped.by = "FSDP".into(),
        InspectorReport::Update(update) => (update.weights, update.gradients) = (format!("w{rank}"), format!("g{rank}")),
        _ => {}
    });
    assert_eq!(objections(&sharded, true), []);
    let why: Vec<String> = judged(&sharded, true)
        .into_iter()
        .filter(|finding| finding.outcome == Outcome::NotJudged)
        .map(|finding| finding.seen)
        .collect();
    assert!(why.iter().any(|why| why.contains("FSDP")), "{why:?}");
    let blind = with(right(), 4, &[1], &InspectorReport::Blind { why: "OSError: full".into() });
    assert!(judged(&blind, true).iter().all(|finding| finding.outcome == Outcome::NotJudged && finding.seen.contains("OSError")));
    let alone: Vec<EventLine> =
        rank(0).into_iter().filter(|line| !matches!(line.event, Event::Inspected(InspectorReport::Group(_)))).collect();
    let mut inspection = Inspection::new(1);
    alone.iter().for_each(|line| {
        inspection.take(&EventLine {
            event: match &line.event {
                Event::Inspected(InspectorReport::Looking(report)) => {
                    Event::Inspected(InspectorReport::Looking(LookingReport { launched: 1, ..report.clone() }))
                }
                event => event.clone(),
            },
            ..line.clone()
        })
    });
    assert!(inspection.findings(true).iter().all(|finding| !finding.is_objection()), "{:?}", inspection.findings(true));
}
