//! A rank that reports without end, and a rank that says what no program can.

use super::*;

fn printed(times: usize) -> InspectorReport {
    let place = at(times);
    InspectorReport::Printed(PrintedReport {
        place,
        times,
        text: "t".into(),
        names_rank: false,
        has_figures: true,
        has_results: true,
        updates: 1,
    })
}

#[test]
fn a_flood_of_one_kind_leaves_room_for_the_others_and_bounds_what_is_kept() {
    let mut inspection = Inspection::new(2);
    (0..20_000).for_each(|times| inspection.take(&line(0, printed(times))));
    right().iter().for_each(|line| inspection.take(line));
    let kept: usize = inspection.ranks.values().map(Vec::len).sum();
    assert!(kept < 5_000, "{kept}");
    let findings = inspection.findings(true);
    assert!(findings.iter().all(|finding| !finding.is_objection()), "{findings:?}");
    assert!(findings.iter().any(|finding| finding.topic == Topic::Data && finding.outcome == Outcome::Ok), "{findings:?}");
}

#[test]
fn lines_that_all_ranks_print_are_named_a_few_times_only() {
    let mut all = right();
    all.extend((0..2_000).flat_map(|times| (0..2).map(move |rank| line(rank, printed(times)))));
    let prints = judged(&all, false).into_iter().filter(|finding| finding.topic == Topic::Prints).count();
    assert_eq!(prints, 8);
}

#[test]
fn a_rank_that_goes_on_behind_the_bound_does_not_stand_still() {
    let stalled = StalledReport { place: at(60), within: "barrier".into(), calls: 1, updates: 33, seconds: 70.0, batches: 0 };
    let mut all = without(|_, report| matches!(report, InspectorReport::Ended(_)));
    all.extend((0..5_000).map(|times| line(0, printed(times))));
    all.push(line(0, InspectorReport::Stalled(stalled.clone())));
    all.push(line(1, InspectorReport::Stalled(StalledReport { place: at(61), within: String::new(), ..stalled })));
    assert!(objections(&all, false).contains(&(Topic::Hang, Outcome::Wrong, 60)));
    all.push(line(0, printed(5_001)));
    assert!(objections(&all, false).iter().all(|(topic, ..)| *topic != Topic::Hang));
}

#[test]
fn a_new_launch_forgets_the_one_before() {
    let mut inspection = Inspection::new(2);
    right().iter().for_each(|line| inspection.take(line));
    inspection.take(&EventLine { time_s: 2.0, process: 0, event: Event::Launched { np: 2 } });
    assert!(inspection.is_empty() && inspection.findings(true).is_empty());
}

#[test]
fn rates_are_compared_with_a_run_on_one_rank() {
    let of = |lines: &[EventLine], np| {
        let mut inspection = Inspection::new(np);
        lines.iter().for_each(|line| inspection.take(line));
        inspection
    };
    let on_one_rank = |mut all: Vec<EventLine>| {
        all.retain(|line| line.process == 0);
        for line in &mut all {
            if let Event::Inspected(report) = &mut line.event {
                match &mut **report {
                    InspectorReport::Looking(looking) => looking.launched = 1,
                    InspectorReport::Group(group) => group.size = 1,
                    _ => {}
                }
            }
        }
        of(&all, 1)
    };
    let alone = |rate: f64| on_one_rank(updates(|_, update| update.rates = vec![rate]));
    let both = of(&right(), 2);
    assert_eq!(both.first_rate(), Some((0.1, 32)));
    let outcome = |rate| both.rate_against(&alone(rate)).map(|finding| finding.outcome);
    assert_eq!(outcome(0.05), Some(Outcome::Ok), "as many times larger as the batch");
    assert_eq!(outcome(0.1), Some(Outcome::Look), "not scaled");
    assert_eq!(outcome(0.01), Some(Outcome::Look), "scaled too far");
    assert_eq!(both.rate_against(&both), None);
    let half_a_share = updates(|rank, update| update.samples /= rank + 1);
    let against = |rate| of(&half_a_share, 2).rate_against(&alone(rate)).map(|finding| finding.outcome);
    assert_eq!((against(0.1 / 1.5), against(0.05)), (Some(Outcome::Ok), Some(Outcome::Look)), "rank 1 has half a share");
    // A warm-up that begins at 0, and has its peak between two updates that are looked at.
    let warmed_up = of(
        &changed(|_, report| match report {
            InspectorReport::Update(update) => update.rates = vec![update.update as f64 * 0.001],
            InspectorReport::Ended(end) => end.highest_rate = 0.2,
            _ => {}
        }),
        2,
    );
    let scaled = |rate| warmed_up.rate_against(&alone(rate)).map(|finding| finding.outcome);
    assert_eq!((scaled(0.1), scaled(0.05)), (Some(Outcome::Ok), Some(Outcome::Look)), "as the batch, and twice that");
    let climbing = |peak: f64, at: usize, all: usize| {
        changed(move |_, report| match report {
            InspectorReport::Update(update) => update.rates = vec![0.0],
            InspectorReport::Ended(end) => (end.highest_rate, end.highest_at, end.updates) = (peak, at, all),
            _ => {}
        })
    };
    let whole = |at, at_alone| {
        let found = of(&climbing(0.2, at, 180), 2).rate_against(&on_one_rank(climbing(0.1, at_alone, 360)));
        found.map(|finding| finding.outcome)
    };
    assert_eq!(whole(179, 180), Some(Outcome::Look), "the warm-up counts the steps of both ranks");
    assert_eq!((whole(90, 180), whole(179, 359)), (Some(Outcome::Ok), Some(Outcome::Ok)), "as many epochs on both");
    let by_steps = |at, at_alone| {
        let found = of(&climbing(0.2, at, 120), 2).rate_against(&on_one_rank(climbing(0.1, at_alone, 240)));
        found.map(|finding| finding.outcome)
    };
    assert_eq!(by_steps(39, 19), Some(Outcome::Look), "twice as many steps on two ranks");
    assert_eq!((by_steps(19, 19), by_steps(9, 19)), (Some(Outcome::Ok), Some(Outcome::Ok)), "as many steps, as many epochs");
    let mut behind_broadcast = right();
    behind_broadcast.retain(|line| {
        let is_first = |report: &InspectorReport| matches!(report, InspectorReport::Update(update) if update.update == 0);
        !matches!(&line.event, Event::Inspected(report) if is_first(report))
    });
    assert_eq!(of(&behind_broadcast, 2).first_rate(), Some((0.1, 32)), "as Keras tells it");
}

#[test]
fn where_not_all_collectives_are_kept_nothing_follows_from_their_absence() {
    let reports = |count: usize| {
        let met = CollectiveReport {
            name: "all_reduce".into(),
            place: at(44),
            numbers: Some(2),
            is_count: false,
            trains: false,
            call: 0,
            updates: 3,
        };
        let met = InspectorReport::Collective(met);
        let all = without(|_, report| matches!(report, InspectorReport::Collective(_)));
        (0..2)
            .flat_map(|rank| {
                let own = all.iter().filter(move |line| line.process == rank).cloned();
                own.clone().take(3).chain((0..count).map(|_| line(rank, met.clone())).collect::<Vec<_>>()).chain(own.skip(3))
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(objections(&reports(8), true), [(Topic::Metrics, Outcome::Wrong, 40)]);
    assert_eq!(objections(&reports(5000), true), []);
}
