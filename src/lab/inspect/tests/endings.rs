//! Ranks that an error ends: what is said of a standstill before it.

use super::*;

fn failed(place: usize, within: &str) -> InspectorReport {
    let failure = Some(FailureReport { place: at(place), within: within.into() });
    InspectorReport::Ended(EndedReport { updates: 20, failure, ..EndedReport::default() })
}

fn stalled(place: usize, within: &str) -> InspectorReport {
    InspectorReport::Stalled(StalledReport { place: at(place), within: within.into(), calls: 1, updates: 32, seconds: 12.0 })
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
    assert_eq!(found([vec![stalled(60, "barrier"), failed(60, "barrier")], vec![clean()]]), hang(60));
    // Two different collectives, neither of which was waited for long.
    assert_eq!(found([vec![failed(60, "barrier")], vec![failed(61, "all_reduce")]]), hang(60));
    // When a rank leaves early, its connections close, and the other one fails at once.
    assert_eq!(found([vec![clean()], vec![failed(30, "backward")]]), hang(30));
    // Rank 0 only waits for the rank that failed, so the line of that error is named.
    assert_eq!(found([vec![stalled(60, "barrier")], vec![failed(7, "")]]), hang(7));
}

#[test]
fn an_error_alone_is_no_standstill() {
    let found = |last| objections(&ending(last), true);
    assert_eq!(found([vec![failed(60, "all_reduce")], vec![failed(60, "all_reduce")]]), []);
    assert_eq!(found([vec![failed(7, "")], vec![failed(7, "")]]), []);
    assert_eq!(found([vec![failed(7, "")], vec![clean()]]), []);
    // It went on after it had waited.
    let more = InspectorReport::Update(InspectedUpdate { update: 64, ..InspectedUpdate::default() });
    assert_eq!(found([vec![stalled(60, "barrier"), more, clean()], vec![clean()]]), []);
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
    all.push(line(0, stalled(60, "barrier")));
    all.push(line(1, stalled(30, "backward")));
    let found = objections(&all, false);
    assert!(
        found.contains(&(Topic::Data, Outcome::Wrong, 15)) && found.contains(&(Topic::Hang, Outcome::Wrong, 60)),
        "{found:?}"
    );
}
