//! Right programs as different people write them: nobody is blamed, at any moment and in any order of arrival.

use super::*;

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
                if let Event::Inspected(report) = &mut line.event
                    && let InspectorReport::Pass(pass) = &mut **report
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
                if let Event::Inspected(report) = &mut line.event
                    && let InspectorReport::Pass(pass) = &mut **report
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
