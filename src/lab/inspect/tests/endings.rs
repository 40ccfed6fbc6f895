//! Ranks that an error ends: what is said of a standstill before it.

use std::collections::HashSet;
use std::mem::discriminant;

use super::*;

fn failed(place: usize, within: &str) -> InspectorReport {
    let failure = Some(FailureReport { place: at(place), within: within.into(), ..FailureReport::default() });
    InspectorReport::Ended(EndedReport { updates: 20, failure, ..EndedReport::default() })
}

/// Two ranks of a right program, each with its own last reports.
fn ending(last: [Vec<InspectorReport>; 2]) -> Vec<EventLine> {
    let mut all = without(|_, report| matches!(report, InspectorReport::Ended(_)));
    for (rank, reports) in last.into_iter().enumerate() {
        all.extend(reports.into_iter().map(|report| line(rank, report)));
    }
    all
}

fn clean() -> InspectorReport {
    InspectorReport::Ended(EndedReport { updates: 32, ..EndedReport::default() })
}

#[test]
fn a_standstill_that_ended_in_an_error_is_still_one() {
    let found = |last| objections(&ending(last), true);
    let hang = |line| vec![(Topic::Hang, Outcome::Wrong, line)];
    // The limit of a collective is over: the other rank has gone past it.
    assert_eq!(found([vec![stalled(60, "barrier", 32), failed(60, "barrier")], vec![clean()]]), hang(60));
    // Two different collectives, neither of which was waited for long.
    assert_eq!(found([vec![failed(60, "barrier")], vec![failed(61, "all_reduce")]]), hang(60));
    // When a rank leaves early, its connections close, and the other one fails at once.
    assert_eq!(found([vec![clean()], vec![failed(30, "backward")]]), hang(30));
    // Rank 0 only waits for the rank that failed, so the line of that error is named.
    assert_eq!(found([vec![stalled(60, "barrier", 32)], vec![failed(7, "")]]), hang(7));
}

#[test]
fn a_rank_that_was_gone_without_a_word_is_named() {
    let lost = |kind: &str| {
        let failure = Some(FailureReport { place: at(30), within: "backward".into(), kind: kind.into() });
        InspectorReport::Ended(EndedReport { updates: 20, failure, ..EndedReport::default() })
    };
    let found = |kind: &str, last| objections(&ending([vec![lost(kind)], last]), true);
    assert_eq!(found("peer gone", Vec::new()), [(Topic::Hang, Outcome::Wrong, 30)]);
    assert_eq!(found("", Vec::new()), [], "the launcher may have ended it behind the first error");
    assert_eq!(found("peer gone", vec![failed(7, "")]), [(Topic::Hang, Outcome::Wrong, 7)], "its own error is told");
    // Its library ended it in a collective to which the other rank had not come.
    let call = CollectiveReport { name: "all_reduce".into(), place: at(61), updates: 20, ..CollectiveReport::default() };
    let call = InspectorReport::Collective(call);
    assert_eq!(found("peer gone", vec![call.clone()]), [(Topic::Hang, Outcome::Wrong, 61)]);
    let both = objections(&ending([vec![call.clone(), lost("peer gone")], vec![call]]), true);
    assert_eq!(both, [(Topic::Hang, Outcome::Wrong, 30)], "both had come there");
}

#[test]
fn ranks_that_all_stand_in_lines_of_their_own_are_told() {
    let stood = |seconds: f64, line: usize| {
        let InspectorReport::Stalled(report) = stalled(line, "", 20) else { unreachable!() };
        InspectorReport::Stalled(StalledReport { seconds, ..report })
    };
    let found = |last| objections(&ending(last), false);
    let of_line = |line: usize| vec![stood(40.0, line), stood(80.0, line)];
    assert_eq!(found([of_line(51), of_line(52)]), [(Topic::Hang, Outcome::Look, 51)]);
    assert_eq!(found([of_line(51), vec![stood(40.0, 52), stood(80.0, 53)]]), [], "rank 1 gets on");
    assert_eq!(found([vec![stood(10.0, 51), stood(20.0, 51)], of_line(52)]), [], "not for long");
}

#[test]
fn a_rank_that_alone_left_its_pass_is_named_though_no_rank_told_its_end() {
    let left = |of: &[usize], updates: &str| {
        let cut_off = without(|_, report| matches!(report, InspectorReport::Ended(_)));
        objections(&with(cut_off, 4, of, &told("left a pass", &[updates])), true)
    };
    assert_eq!(left(&[1], "5"), [(Topic::Hang, Outcome::Wrong, 70)]);
    assert_eq!(left(&[0, 1], "5"), [], "all ranks have left theirs");
    assert_eq!(left(&[1], "1000"), [], "the other one has come no further");
}

#[test]
fn an_error_alone_is_no_standstill() {
    let found = |last| objections(&ending(last), true);
    assert_eq!(found([vec![failed(60, "all_reduce")], vec![failed(60, "all_reduce")]]), []);
    assert_eq!(found([vec![failed(7, "")], vec![failed(7, "")]]), []);
    assert_eq!(found([vec![failed(7, "")], vec![clean()]]), []);
    // It went on after it had waited.
    let more = InspectorReport::Update(InspectedUpdate { update: 64, ..InspectedUpdate::default() });
    assert_eq!(found([vec![stalled(60, "barrier", 32), more, clean()], vec![clean()]]), []);
}

#[test]
fn the_rank_whose_data_ended_first_is_named_though_the_other_never_came_to_its_end() {
    let mut all = passes(|rank, pass| {
        if rank == 1 {
            (pass.batches, pass.is_whole) = (17, false);
        }
    });
    all.retain(|line| !matches!(&line.event, Event::Inspected(report) if matches!(**report, InspectorReport::Ended(_))));
    assert_eq!(objections(&all, false), [], "it may have been left on purpose");
    all.push(line(0, stalled(60, "barrier", 32)));
    all.push(line(1, stalled(30, "backward", 32)));
    let found = objections(&all, false);
    assert!(
        found.contains(&(Topic::Data, Outcome::Wrong, 15)) && found.contains(&(Topic::Hang, Outcome::Wrong, 60)),
        "{found:?}"
    );
}

#[test]
fn the_line_at_which_a_rank_alone_left_its_pass_is_named_rather_than_that_of_those_who_wait() {
    let left = |by: &str, of: &[usize], last: [Vec<InspectorReport>; 2]| {
        objections(&with(ending(last), 4, of, &told(by, &["20"])), true)
    };
    let apart = || [vec![failed(60, "barrier")], vec![failed(61, "all_reduce")]];
    let hang = |line| vec![(Topic::Hang, Outcome::Wrong, line)];
    assert_eq!(left("left a pass", &[1], apart()), hang(70));
    assert_eq!(left("skipped a batch", &[0], apart()), hang(70));
    assert_eq!(left("left a pass", &[0, 1], apart()), hang(60), "all ranks have left theirs");
    assert_eq!(left("left a pass", &[0], [vec![clean()], vec![clean()]]), [], "nobody waits");
    assert_eq!(
        left("left a pass", &[1], [vec![stalled(60, "barrier", 32)], vec![failed(7, "")]]),
        hang(7),
        "an error left the loop"
    );
}

#[test]
fn tensors_of_different_sizes_in_one_call_are_named() {
    let call = |numbers| {
        InspectorReport::Collective(CollectiveReport {
            name: "all_reduce".into(),
            place: at(33),
            numbers: Some(numbers),
            is_count: false,
            trains: false,
            call: 9,
            updates: 32,
        })
    };
    let found = |sizes: [usize; 2], end: InspectorReport| {
        objections(&ending([vec![call(sizes[0]), end.clone()], vec![call(sizes[1]), end]]), true)
    };
    let error = || failed(33, "all_reduce");
    assert_eq!(found([54, 4], error()), [(Topic::Hang, Outcome::Wrong, 33)]);
    assert_eq!(found([54, 54], error()), []);
    assert_eq!(found([54, 4], clean()), [], "groups of some of the ranks may bring what they like");
}

#[test]
fn whatever_reports_never_came_the_rest_is_judged() {
    let all = right();
    let kind = |line: &EventLine| if let Event::Inspected(report) = &line.event { Some(discriminant(&**report)) } else { None };
    let kinds: HashSet<_> = all.iter().map(kind).collect();
    for (one, other) in kinds.iter().flat_map(|one| kinds.iter().map(move |other| (one, other))) {
        for ranks in [0..1, 1..2, 0..2] {
            let is_lost = |line: &EventLine| ranks.contains(&line.process) && [*one, *other].contains(&kind(line));
            let left: Vec<EventLine> = all.iter().filter(|line| !is_lost(line)).cloned().collect();
            judged(&left, true);
            judged(&left, false);
        }
    }
    for received in 0..all.len() {
        judged(&all[..received], true);
        judged(&all[all.len() - received..], true);
    }
}
