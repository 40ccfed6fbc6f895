//! Right programs as different people write them: nobody is blamed, at any moment and in any order of arrival.

use super::*;

#[test]
fn a_right_program_is_not_blamed_at_any_moment_and_in_any_order() {
    let all = right();
    assert_eq!(objections(&all, true), []);
    let ok = judged(&all, true).into_iter().filter(|finding| finding.outcome == Outcome::Ok).count();
    assert_eq!(ok, 9, "{:?}", judged(&all, true));
    blames_nobody("right", &all);
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// The reports of each rank in their order, and those of different ranks in another one.
fn merged(lines: &[EventLine], numbers: &mut Numbers) -> Vec<EventLine> {
    let mut own: Vec<std::collections::VecDeque<&EventLine>> =
        (0..2).map(|rank| lines.iter().filter(|line| line.process == rank).collect()).collect();
    let mut all = Vec::new();
    while own.iter().any(|own| !own.is_empty()) {
        // Now and then one rank is far ahead.
        let (rank, many) = (numbers.below(2), 1 + numbers.below(12));
        all.extend((0..many).map_while(|_| own[rank].pop_front()).cloned());
    }
    all
}

fn blames_nobody(name: &str, lines: &[EventLine]) {
    let expected = judged(lines, true);
    assert_eq!(objections(lines, true), [], "{name}: {expected:?}");
    let mut numbers = Numbers(1);
    for _ in 0..6 {
        let all = merged(lines, &mut numbers);
        assert_eq!(judged(&all, true), expected, "{name}: the order of arrival says nothing");
        for length in 0..all.len() {
            assert_eq!(objections(&all[..length], false), [], "{name}: after {length} reports");
            // A run that is stopped is no wrong program.
            assert_eq!(objections(&all[..length], true), [], "{name}: stopped after {length} reports");
        }
    }
}

/// Right programs in which the inspector sees less, or something that looks like a mistake.
fn more() -> Vec<(&'static str, Vec<EventLine>)> {
    let validations = |change: &dyn Fn(usize, &mut PassReport)| {
        let mut all = changed(|rank, report| {
            if let InspectorReport::Pass(pass) = report
                && !pass.trains
            {
                change(rank, pass)
            }
        });
        all.retain(|line| !matches!(&line.event, Event::Inspected(report) if matches!(**report, InspectorReport::Collective(_))));
        all
    };
    let workers = |states: &[&str]| {
        InspectorReport::Workers(WorkersReport {
            loader: 0,
            made: at(15),
            numpy: states.iter().map(|state| (*state).to_owned()).collect(),
            python: Vec::new(),
            torch: Vec::new(),
            draws_numpy: true,
            draws_python: false,
            draws_torch: false,
            is_own: false,
        })
    };
    let unequal = passes(|rank, pass| (pass.is_whole, pass.batches) = (true, 16 + rank));
    vec![
        ("DDP's join", {
            let mut all = unequal.clone();
            for line in all.iter_mut().filter(|line| line.process == 1) {
                if let Event::Inspected(report) = &mut line.event
                    && let InspectorReport::Ended(end) = &mut **report
                {
                    end.updates = 34;
                }
            }
            all
        }),
        ("a data set of one repeated sample", passes(|_, pass| pass.first = vec!["a".into(); 4])),
        (
            "a subset for validation on all ranks",
            validations(&|_, pass| {
                (pass.replicas, pass.samples, pass.sampler) = (None, 204, "SubsetRandomSampler".into());
                pass.picked = (0..32).collect();
            }),
        ),
        ("results that meet batch by batch", validations(&|_, pass| pass.met = 16)),
        ("averaged by something unknown", {
            let mut all = right();
            all.retain(|line| !matches!(&line.event, Event::Inspected(report) if matches!(**report, InspectorReport::Wrapped(_) | InspectorReport::Group(_) | InspectorReport::Collective(_))));
            all.retain(|line| !matches!(&line.event, Event::Inspected(report) if matches!(&**report, InspectorReport::Pass(pass) if !pass.trains)));
            all
        }),
        (
            "workers of which one has loaded nothing",
            with(with(right(), 12, &[0], &workers(&["a", ""])), 12, &[1], &workers(&["b", ""])),
        ),
        (
            "another optimizer first",
            updates(|rank, update| {
                if rank == 1 {
                    (update.optimizer, update.tensors) = ("Adam".into(), 4);
                    (update.weights, update.gradients) = ("other".into(), "other".into());
                }
            }),
        ),
        (
            "a shard of an optimizer on each rank",
            with(
                updates(|rank, update| update.state = format!("{} of {rank}", update.state)),
                3,
                &[0, 1],
                &told("ZeroRedundancyOptimizer", &[]),
            ),
        ),
        (
            "a share of what is remembered on each rank, whose updates are exchanged",
            updates(|rank, update| update.state = format!("{} of {rank}", update.state)),
        ),
        (
            "windows of a series in their order",
            passes(|_, pass| (pass.shuffles, pass.epoch, pass.order) = (false, Some(0), "o".into())),
        ),
        (
            "a part of the data set on each rank",
            passes(|_, pass| {
                (pass.replicas, pass.sampler) = (None, "RandomSampler".into());
                pass.dataset = Some(512);
            }),
        ),
        ("an optimizer more on one rank, and first", {
            let mut all = with(
                right(),
                3,
                &[0],
                &InspectorReport::Update(InspectedUpdate {
                    optimizer: "SGD".into(),
                    tensors: 6,
                    made: at(70),
                    weights: "other".into(),
                    device: "cpu".into(),
                    ..InspectedUpdate::default()
                }),
            );
            let mut of_root = all.iter_mut().filter(|line| line.process == 0);
            while let Some(Event::Inspected(report)) = of_root.next().map(|line| &mut line.event) {
                if let InspectorReport::Update(update) = &mut **report
                    && update.made == at(12)
                {
                    update.index = 1;
                }
            }
            all
        }),
        (
            "threads that are set behind the start",
            changed(|_, report| match report {
                InspectorReport::Group(group) => group.threads = 64,
                InspectorReport::Update(update) => update.threads = 1,
                _ => {}
            }),
        ),
        (
            "slow data on one rank",
            with(with(right(), 7, &[0], &stalled(30, "backward", 8)), 7, &[1], &stalled(25, "_get_data", 8)),
        ),
    ]
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
                let batches = 5 + pass.pass;
                (pass.is_whole, pass.batches, pass.samples) = (false, batches, 32 * batches);
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
                    has_results: true,
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
                if let Event::Inspected(report) = &mut line.event
                    && let InspectorReport::Pass(pass) = &mut **report
                    && !pass.trains
                {
                    (pass.replicas, pass.samples, pass.sampler) = (None, 1024, "SequentialSampler".into());
                    pass.picked = (0..128).collect();
                }
            }
            all
        }),
        (
            "the Trainer brings a batch of results together in the line that trains",
            changed(|_, report| match report {
                InspectorReport::Looking(looking) => looking.versions.push("transformers 4.57.0".into()),
                InspectorReport::Collective(call) => (call.place, call.numbers) = (at(30), Some(32)),
                _ => {}
            }),
        ),
        (
            "all shuffle alike before they take their shares",
            passes(|_, pass| (pass.sampler, pass.seed) = ("shuffle before shard".into(), Some(7))),
        ),
        ("all validate all", {
            let mut all = without(|_, report| matches!(report, InspectorReport::Collective(_)));
            for line in &mut all {
                if let Event::Inspected(report) = &mut line.event
                    && let InspectorReport::Pass(pass) = &mut **report
                    && !pass.trains
                {
                    (pass.replicas, pass.samples, pass.sampler) = (None, 1024, "SequentialSampler".into());
                    pass.picked = (0..128).collect();
                }
            }
            all
        }),
    ];
    for (name, lines) in right.into_iter().chain(more()) {
        blames_nobody(name, &lines);
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
        without(|_, report| matches!(report, InspectorReport::Group(_))).into_iter().filter(|line| line.process == 0).collect();
    let mut inspection = Inspection::new(1);
    for mut line in alone {
        if let Event::Inspected(report) = &mut line.event
            && let InspectorReport::Looking(looking) = &mut **report
        {
            looking.launched = 1;
        }
        inspection.take(&line);
    }
    assert!(inspection.findings(true).iter().all(|finding| !finding.is_objection()), "{:?}", inspection.findings(true));
}
