//! Every rank comes to every collective: who waits, where, and for whom.

use std::collections::BTreeMap;

use super::apart::{ALIKE, departures, from_end_of_data, from_log, gone, left_alone, stand_by_themselves};
use super::finding::{Cause, Finding, Outcome, Topic};
use super::inspection::{Inspection, differ, known, line, of_kind, ranks as names};
use crate::domain::event::{CollectiveReport, EndedReport, FailureReport, InspectorReport, Place, StalledReport, WrappedReport};
use crate::domain::units;

const TOPIC: Topic = Topic::Hang;

const SAME_ORDER: &str = "make these calls in the same order on all ranks, with the same names: the order of a set of strings is another one in each \
                          process, sorted(names) is not";

/// Seconds after which a rank that does something else is missing.
const PATIENCE: f64 = 60.0;

/// Parts of the names of functions in which a rank waits for others.
const WAITS: [&str; 15] = [
    "DistributedDataParallel",
    "reduce",
    "gather",
    "broadcast",
    "barrier",
    "scatter",
    "all_to_all",
    "backward",
    "sync",
    "across_processes",
    "init_process",
    "rendezvous",
    "store",
    "hvd.",
    "Horovod",
];

/// Of those, where it may compute as well.
const COMPUTES: [&str; 2] = ["backward", "graph"];

/// Where a rank is that does not wait.
enum Elsewhere<'a> {
    At(&'a StalledReport),
    /// It ended without an error, after this number of updates.
    Ended(usize),
    /// An error of this rank ended it at this line.
    Failed(&'a Place),
    Busy,
}

pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
    // Each explanation is added behind the finding, and the last one gives the line and the remedy.
    let with = |finding: Finding, (why, place, remedy): Cause| Finding {
        seen: format!("{}; {why}", finding.seen),
        place: place.or(finding.place),
        remedy,
        ..finding
    };
    let causes = || [from_departure(seen), from_end_of_data(seen), from_log(seen)].into_iter().flatten();
    let explained = |finding: Finding| if finding.is_objection() { causes().fold(finding, with) } else { finding };
    standstill(seen).into_iter().map(explained).collect()
}

/// The line at which a rank alone skipped a batch or left its pass, if that is why the others wait.
fn from_departure(seen: &Inspection) -> Option<Cause> {
    let has_failed = |end: &EndedReport| end.failure.as_ref().is_some_and(|failure| failure.within.is_empty());
    if !seen.is_complete() || seen.reports::<EndedReport>().any(has_failed) {
        return None;
    }
    let all: Vec<(usize, Vec<&WrappedReport>)> =
        seen.ranks.keys().map(|rank| (*rank, departures(seen, *rank).collect())).collect();
    let fewest = all.iter().map(|(_, own)| own.len()).min().unwrap_or(0);
    let most = all.iter().max_by_key(|(_, own)| own.len()).filter(|(_, own)| own.len() > fewest);
    let (rank, report) = most.and_then(|(rank, own)| Some((rank, own.last()?)))?;
    let said = format!("before that rank {rank} {} at {}, and not all ranks did", report.by, line(&report.place));
    Some((said, known(&report.place), ALIKE.to_owned()))
}

fn standstill(seen: &Inspection) -> Vec<Finding> {
    if let Some(found) = evaluates_alone(seen).or_else(|| different_sizes(seen)) {
        return vec![found];
    }
    let mut waiting: BTreeMap<usize, StalledReport> = BTreeMap::new();
    let mut others: BTreeMap<usize, Elsewhere<'_>> = BTreeMap::new();
    for (rank, reports) in seen.ranks.iter() {
        match waits_at(seen, reports) {
            Ok(report) => _ = waiting.insert(*rank, report),
            Err(elsewhere) => _ = others.insert(*rank, elsewhere),
        }
    }
    let Some((first, report)) = waiting.iter().next() else {
        return if seen.is_over && !seen.has_stood() && seen.have_all_ended() {
            TOPIC.ok("no rank has stood still for long")
        } else {
            stand_by_themselves(seen, PATIENCE).or_else(|| left_alone(seen)).into_iter().collect()
        };
    };
    let apart = waiting.iter().find(|(_, other)| (&other.place, &other.within) != (&report.place, &report.within));
    // A callback stops some ranks, and not all of them.
    let stopped = seen.tellers("told to stop");
    if let Some((rank, told)) = stopped.first_key_value().filter(|_| stopped.len() < seen.size()) {
        let (who, at) = (waits(&names(waiting.keys()), report), line(&told.place));
        let said = format!("{who}; rank {rank} was told to stop at {at}, and not all ranks were");
        return vec![TOPIC.wrong(said, known(&told.place), "the ranks wait for ever, or until a limit", ALIKE)];
    }
    let somebody_works = others.values().any(|other| matches!(other, Elsewhere::Busy));
    if let Some((other, there)) = apart.filter(|_| !somebody_works || seen.is_over) {
        let said = format!("{}, and {}", waits(&format!("rank {first}"), report), waits(&format!("rank {other}"), there));
        if let Some((rank, peer, call)) = made_by_one(seen, (*first, report), (*other, there)) {
            let said =
                format!("{said}; before that rank {rank} made a {} at {}, and rank {peer} did not", call.name, line(&call.place));
            return vec![Finding { place: known(&call.place), ..objection(Outcome::Wrong, said, report) }];
        }
        if report.place == there.place && call_of(report) == call_of(there) {
            if report.calls != there.calls && !seen.is_over {
                // One may have come there later, while the other has gone on since.
                return Vec::new();
            }
            let said = format!("{said}: they wait for different tensors");
            return vec![Finding { remedy: SAME_ORDER.to_owned(), ..objection(Outcome::Wrong, said, report) }];
        }
        return vec![objection(Outcome::Wrong, said, report)];
    }
    let missing = others.iter().find(|(_, other)| !matches!(other, Elsewhere::Busy)).or_else(|| others.iter().next());
    if let Some(found) = missing.is_none().then(|| names_apart(seen, report)).flatten() {
        return vec![found];
    }
    let who = names(waiting.keys());
    match missing {
        // It waits for its own data, or works in a library.
        Some((_, Elsewhere::At(at))) if !at.within.is_empty() && at.seconds < PATIENCE => Vec::new(),
        Some((rank, Elsewhere::At(at))) => {
            let said = format!("{}; rank {rank} has not come: it is at {}", waits(&who, report), line(&at.place));
            // It may be at work for all: a validation on one rank alone, or a file that it writes.
            let how = if seen.is_over || report.seconds > PATIENCE { Outcome::Wrong } else { Outcome::Look };
            vec![objection(how, said, report)]
        }
        Some((rank, Elsewhere::Ended(updates))) => {
            vec![objection(Outcome::Wrong, format!("{}; rank {rank} has ended after {updates} updates", waits(&who, report)), report)]
        }
        Some((rank, Elsewhere::Failed(place))) => {
            let said = format!("{}; an error has ended rank {rank} at {}", waits(&who, report), line(place));
            let remedy = "mend that error: its text is in the log of the rank";
            vec![TOPIC.wrong(said, known(place), "the other ranks cannot go on", remedy)]
        }
        Some((rank, Elsewhere::Busy)) if seen.is_over && report.seconds == 0.0 => {
            let call = alone_in(seen, *rank, *first, report);
            let made = |rank: usize| seen.of_rank::<CollectiveReport>(rank).any(|call| call.place == report.place);
            let not_there = || {
                let said = format!("{}, and rank {rank} has not come there", waits(&format!("rank {first}"), report));
                (made(*first) && !made(*rank)).then(|| objection(Outcome::Wrong, said, report))
            };
            let by_call = call.map(|call| mismatch(*rank, call, *first, report));
            // Who came to the wrong call may be ended by its library in there, and is gone without a word as well.
            let was_in_it = call.is_some_and(|call| seen.ranks[rank].last().and_then(of_kind) == Some(call));
            let gone = || gone(seen, *rank, *first);
            let found = if was_in_it { by_call.or_else(gone) } else { gone().or(by_call) };
            found.or_else(not_there).into_iter().collect()
        }
        // A rank that computes all this time would have reported where it is.
        Some((rank, Elsewhere::Busy)) if report.seconds > PATIENCE => {
            let said = format!(
                "{}; nothing has come from rank {rank} for as long: it stands in a call that lets no other thread run, or works alone",
                waits(&who, report)
            );
            vec![objection(Outcome::Look, said, report)]
        }
        Some((_, Elsewhere::Busy)) => Vec::new(),
        // Behind the start all ranks have met once; a rank may take long to get there.
        None if !seen.is_complete() && (may_compute(report) || !(seen.is_over || report.seconds > PATIENCE)) => Vec::new(),
        None if !seen.is_complete() => {
            let absent: Vec<usize> = (0..seen.size()).filter(|rank| !seen.ranks.contains_key(rank)).collect();
            vec![objection(Outcome::Wrong, format!("{}; nothing has come from {}", waits(&who, report), names(&absent)), report)]
        }
        // One error has ended all of them.
        None if report.seconds == 0.0 => Vec::new(),
        // It may be a long computation.
        None if may_compute(report) && report.seconds < PATIENCE => Vec::new(),
        None => vec![TOPIC.objection(
            // The run is over, and none of them went on.
            if seen.is_over { Outcome::Wrong } else { Outcome::Look },
            format!("all ranks have waited for {:.0} s in {}", report.seconds, report.within),
            known(&report.place),
            "the training stands still",
            if seen.is_horovod() {
                "look for a call that gives its tensor another name on each rank, or comes in another order there: Horovod waits until all ranks have named the same tensor; then for a network that is slow or blocked"
            } else {
                "look for a network that is slow or blocked, and for an earlier collective that not all ranks made"
            },
        )],
    }
}

/// Ranks that wait in one broadcast of variables, whose names are not the same on all of them.
fn names_apart(seen: &Inspection, report: &StalledReport) -> Option<Finding> {
    let is_it = |told: &&WrappedReport| told.by == "names to broadcast" && told.place == report.place;
    let last = |rank: &usize| Some((*rank, seen.of_rank::<WrappedReport>(*rank).filter(is_it).last()?));
    let told: Vec<(usize, &WrappedReport)> = seen.ranks.keys().map(last).collect::<Option<_>>()?;
    let (first, one) = *told.first().filter(|_| told.len() == seen.size() && report.seconds > 0.0)?;
    let (rank, other) = *told.iter().find(|(_, other)| other.settings != one.settings)?;
    let lacks =
        |of: &WrappedReport, there: &WrappedReport| of.settings.iter().find(|name| !there.settings.contains(name)).cloned();
    let named = |rank: usize, of: &WrappedReport, name: Option<String>| match name {
        Some(name) => format!("{name} on rank {rank}"),
        None => format!("{} on rank {rank}", units::counted(of.settings.len(), "tensor")),
    };
    let (own, its) = (named(first, one, lacks(one, other)), named(rank, other, lacks(other, one)));
    let said =
        format!("all ranks have waited for {:.0} s in {}, for different tensors: {own}, {its}", report.seconds, report.within);
    let remedy = "build the same model and optimizer on all ranks before the broadcast, for Horovod matches tensors by their names: load a whole \
                  model on all ranks, or only its weights on the root";
    Some(Finding { remedy: remedy.to_owned(), ..objection(Outcome::Wrong, said, report) })
}

/// A wrapped model with buffers that only some ranks call without gradients: its forward pass sends them, and meets another collective of
/// the other ranks.
fn evaluates_alone(seen: &Inspection) -> Option<Finding> {
    let senders = seen.tellers("buffers sent without gradients");
    // One that has failed elsewhere would have come there as well.
    let has_failed = |rank: &usize| {
        let failure = |end: &EndedReport| end.failure.as_ref().is_some_and(|failure| failure.within.is_empty());
        !senders.contains_key(rank) && seen.of_rank::<EndedReport>(*rank).any(failure)
    };
    let is_apart = seen.is_over && seen.is_complete() && senders.len() < seen.size() && !seen.ranks.keys().any(has_failed);
    seen.finding_of(&senders).filter(|_| is_apart)
}

/// A collective to which the ranks brought tensors of different sizes, and which was the last call of all of them.
fn different_sizes(seen: &Inspection) -> Option<Finding> {
    let goes_on = |report: &&InspectorReport| matches!(report, InspectorReport::Collective(_) | InspectorReport::Update(_));
    let last = |reports: &Vec<InspectorReport>| of_kind::<CollectiveReport>(reports.iter().rev().find(goes_on)?).cloned();
    let calls: Vec<CollectiveReport> = seen.ranks.values().filter_map(last).collect();
    // Horovod's own gathers tensors of different lengths.
    let is_alike = |name: &str| name.contains("reduce") || name.starts_with("all_gather");
    let is_reduction = |call: &CollectiveReport| is_alike(&call.name) && call.numbers.is_some();
    let is_cut_off = seen.has_stood() || seen.is_over && !seen.have_all_ended();
    if calls.len() < seen.size() || !is_cut_off || !calls.iter().all(is_reduction) {
        return None;
    }
    let is_one_call = !differ(calls.iter().map(|call| (&call.place, call.call)));
    let sizes: Vec<String> = calls.iter().filter_map(|call| call.numbers).map(|numbers| numbers.to_string()).collect();
    (is_one_call && differ(&sizes)).then(|| {
        let (call, sizes) = (&calls[0], sizes[..sizes.len().min(8)].join(", "));
        TOPIC.wrong(
            format!("the ranks brought tensors of different sizes to one {}: {sizes} numbers", call.name),
            known(&call.place),
            "the call fails, or mixes tensors that do not belong together",
            "bring tensors of one size, as a sum and a count instead of the values; and make these calls in the same order on all ranks: that of a set of strings is another one in each process, of sorted(names) it is not",
        )
    })
}

/// A collective that only one of two ranks has made before both came to where they wait: with the rank, and the one that has not made it.
fn made_by_one<'a>(
    seen: &'a Inspection,
    one: (usize, &StalledReport),
    other: (usize, &StalledReport),
) -> Option<(usize, usize, &'a CollectiveReport)> {
    [(one, other), (other, one)].into_iter().find_map(|((rank, waits), (peer, _))| {
        let has_made = |call: &CollectiveReport| seen.of_rank::<CollectiveReport>(peer).any(|made| made.place == call.place);
        let call = seen
            .of_rank::<CollectiveReport>(rank)
            .find(|call| known(&call.place).is_some() && call.place != waits.place && !has_made(call))?;
        Some((rank, peer, call))
    })
}

/// A collective of a rank that was stopped before it could tell its end, to which the rank that failed in another one had not come.
fn alone_in<'a>(seen: &'a Inspection, rank: usize, failed: usize, report: &StalledReport) -> Option<&'a CollectiveReport> {
    // A rank that skips the updates of an epoch makes the same call once more. One that leaves a loop in the middle of an update is
    // an update behind.
    let count = |of: usize, call: &CollectiveReport| {
        seen.of_rank::<CollectiveReport>(of).filter(|other| other.place == call.place && other.updates == call.updates).count()
    };
    let is_shared = |call: &CollectiveReport| count(failed, call) >= count(rank, call);
    seen.of_rank::<CollectiveReport>(rank)
        .find(|call| call.updates + 1 >= report.updates && call.place != report.place && !is_shared(call))
}

fn mismatch(rank: usize, call: &CollectiveReport, failed: usize, report: &StalledReport) -> Finding {
    let (name, at) = (&call.name, line(&call.place));
    let said = format!("rank {rank} was in {name} at {at}, and {}", waits(&format!("rank {failed}"), report));
    Finding { place: known(&call.place), ..objection(Outcome::Wrong, said, report) }
}

/// Where a rank waits for others, or waited when it ended; or else where it is.
fn waits_at<'a>(seen: &Inspection, reports: &'a [InspectorReport]) -> Result<StalledReport, Elsewhere<'a>> {
    let (report, otherwise) = match reports.last() {
        Some(InspectorReport::Stalled(report)) if !is_left_behind(seen, report) => (report.clone(), Elsewhere::At(report)),
        Some(InspectorReport::Ended(EndedReport { failure: Some(failure), updates, .. })) => {
            (before_failure(reports, failure, *updates), Elsewhere::Failed(&failure.place))
        }
        Some(InspectorReport::Ended(report)) => return Err(Elsewhere::Ended(report.updates)),
        _ => return Err(Elsewhere::Busy),
    };
    let waits = is_waiting(&report) && !is_left_behind(seen, &report);
    if waits { Ok(report) } else { Err(otherwise) }
}

/// Where a rank stood when an error ended it: a collective gives up after its own limit, which is minutes by default.
fn before_failure(reports: &[InspectorReport], failure: &FailureReport, updates: usize) -> StalledReport {
    let moves = |report: &&InspectorReport| {
        matches!(report, InspectorReport::Update(_) | InspectorReport::Collective(_) | InspectorReport::Stalled(_))
    };
    match reports.iter().rev().find(moves) {
        // A rank that was slow to start, and then failed in a collective, did not stand at its start.
        Some(InspectorReport::Stalled(report)) if !report.within.is_empty() || failure.within.is_empty() => report.clone(),
        _ => StalledReport {
            place: failure.place.clone(),
            within: failure.within.clone(),
            calls: 0,
            updates,
            seconds: 0.0,
            batches: 0,
        },
    }
}

fn waits(who: &str, report: &StalledReport) -> String {
    let (within, line) = (&report.within, line(&report.place));
    if report.seconds == 0.0 {
        format!("an error has ended {who} in {within} at {line}")
    } else {
        let have = if who.starts_with("ranks") { "have" } else { "has" };
        format!("{who} {have} waited for {:.0} s in {within} at {line}", report.seconds)
    }
}

/// The call that the rank is in, without the name of its tensor.
fn call_of(report: &StalledReport) -> &str {
    report.within.split(" of '").next().unwrap_or_default()
}

/// Whether the rank waits for others, rather than for its own data, a file or another program.
fn is_waiting(report: &StalledReport) -> bool {
    WAITS.iter().any(|part| call_of(report).contains(part))
}

/// Whether the rank may work there, rather than wait.
fn may_compute(report: &StalledReport) -> bool {
    COMPUTES.iter().any(|part| call_of(report).contains(part))
}

/// Whether another rank has got on since, which it cannot while this one waits for it.
fn is_left_behind(seen: &Inspection, report: &StalledReport) -> bool {
    let of_update = |report: &InspectorReport| match report {
        InspectorReport::Update(update) => Some(update.update),
        InspectorReport::Phases(phases) => Some(phases.updates),
        InspectorReport::Stalled(report) => Some(report.updates),
        _ => None,
    };
    let most = seen.ranks.values().flatten().filter_map(of_update).max();
    seen.wrappers().next().is_some() && most.is_some_and(|most| most > report.updates + 1)
}

fn objection(outcome: Outcome, said: String, report: &StalledReport) -> Finding {
    let remedy = "make every collective on all ranks, in the same order: look for one inside of `if rank == 0`, for a loop that is shorter on one \
                  rank, and for a rank that left early";
    let cost = if report.seconds == 0.0 { "the training cannot go on" } else { "the ranks wait for ever, or until a limit" };
    TOPIC.objection(outcome, said, known(&report.place), cost, remedy)
}
