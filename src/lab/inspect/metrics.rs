//! What is told of a validation is of all ranks, and what is decided by it is decided alike.

use std::collections::{BTreeMap, BTreeSet};

use super::batches::are_parts;
use super::data::one_share;
use super::finding::{Finding, Outcome};
use super::inspection::{Inspection, MOST, differ, known, ranks as names};
use super::totals::{TOPIC, counted_by_all, is_peek, left_out, padded, sum_told, unequal_mean};
use crate::domain::event::{
    CollectiveReport, DecisionReport, InspectedUpdate, InspectorReport, PassReport, Place, PrintedReport, ResultReport,
};

/// Collectives by which results come together.
const MEET: [&str; 3] = ["reduce", "gather", "metric"];

pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
    let decided = seen.first_of(&[decided_alone, decided_by_share]);
    let told = seen.first_of(&[
        share_of_others,
        share_told,
        kept_early,
        sum_told,
        unequal_mean,
        own_result,
        counted_by_all,
        padded,
        left_out,
    ]);
    let found: Vec<Finding> = decided.into_iter().chain(seen.finding("thrown away").or(told)).collect();
    let validates = || seen.reports::<PassReport>().any(|pass| !pass.trains && !is_peek(seen, pass));
    if found.is_empty() && seen.is_over && validates() {
        return TOPIC.ok("every validation was of all samples, or its results were brought together");
    }
    found
}

/// A validation in which several ranks went through the same share, and none through another one.
fn share_of_others(seen: &Inspection) -> Option<Finding> {
    let (said, place, remedy) = seen.passes(false).values().find_map(|reports| one_share(seen, reports))?;
    let said = format!("in a validation {said}");
    Some(TOPIC.wrong(said, place, "the samples of another share are never looked at, and those of this one count twice", remedy))
}

/// The best of values that are averaged only behind the choice.
fn kept_early(seen: &Inspection) -> Option<Finding> {
    let of_training = !seen.told("kept before the average")?.settings.first()?.starts_with("val");
    seen.finding("kept before the average").filter(|_| of_training || has_shares(seen))
}

/// A schedule or a stop that goes by a value which differs between ranks.
pub(super) fn decided_alone(seen: &Inspection) -> Option<Finding> {
    let mut decisions: BTreeMap<(&str, &Place, usize), BTreeMap<usize, &str>> = BTreeMap::new();
    for (rank, report) in seen.of_all::<DecisionReport>() {
        decisions.entry((&report.by, &report.place, report.number)).or_default().insert(rank, &report.value);
    }
    let ((by, place, number), values) = decisions.iter().find(|(_, values)| values.len() > 1 && differ(values.values()))?;
    let said = format!("{by} was given a different value on {} at call {}", names(values.keys()), number + 1);
    let remedy = if seen.is_lightning() { "log the value with self.log(..., sync_dist=True)" } else { average_first(seen) };
    let cost = match *by {
        "ModelCheckpoint" => "each rank keeps another model as its best",
        _ => "the ranks take different turns: rates that differ, or one that ends before the others",
    };
    Some(TOPIC.wrong(said, known(place), cost, remedy))
}

/// A decision by a result that differs between the ranks, because each validates with other samples.
fn decided_by_share(seen: &Inspection) -> Option<Finding> {
    let (result, who) = own(seen, true)?;
    Some(TOPIC.wrong(
        format!("{} is compared here with a different value on {}", result.name, names(&who)),
        known(&result.place),
        "on each rank another share of the samples decides what is best, or when to stop",
        average_first(seen),
    ))
}

/// A result of one share that is printed beside others, which were brought together.
fn own_result(seen: &Inspection) -> Option<Finding> {
    let (result, who) = own(seen, false)?;
    let said = format!("{} is printed here, and is another value on {}: it was not brought together", result.name, names(&who));
    Some(Finding { seen: said, outcome: Outcome::Look, ..told_as_whole(seen, &result.place, &who) })
}

/// A result of shares in which the ranks differ, and the ranks. A program that brings results to one rank alone
/// leaves the others with values that mean nothing.
fn own(seen: &Inspection, decides: bool) -> Option<(&ResultReport, BTreeSet<usize>)> {
    let is_to_one = |name: &str| matches!(name, "reduce" | "gather" | "gather_object");
    let has_shares = has_shares(seen);
    if seen.split().is_some() || seen.reports::<CollectiveReport>().any(|call| is_to_one(&call.name)) {
        return None;
    }
    let mut all: BTreeMap<(usize, &Place, &str), BTreeMap<usize, &ResultReport>> = BTreeMap::new();
    let is_such = |report: &ResultReport| report.decides == decides && (report.trains || has_shares);
    for (rank, report) in seen.of_all::<ResultReport>().filter(|(_, report)| is_such(report)) {
        all.entry((report.updates, &report.place, &report.name)).or_default().insert(rank, report);
    }
    all.retain(|_, ranks| ranks.len() == seen.size() && differ(ranks.values().map(|report| &report.value)));
    // What was best before follows from what is compared with it.
    let is_new = |name: &str| !name.contains("best");
    let key = all.keys().find(|(.., name)| is_new(name)).or_else(|| all.keys().next()).copied()?;
    let apart = all.remove(&key)?;
    Some((*apart.values().next()?, apart.into_keys().collect()))
}

/// What to write in front of a decision.
pub(super) fn average_first(seen: &Inspection) -> &'static str {
    seen.in_words(
        "put hvd.callbacks.MetricAverageCallback() in front of the callback that decides; in a loop of your own average the value by hvd.allreduce",
        "average the value first: hvd.allreduce(value)",
        "average the value first: dist.all_reduce(value, op=dist.ReduceOp.AVG)",
    )
}

/// Whether a pass is a validation of one rank's share.
fn validates_share(seen: &Inspection) -> impl Fn(&PassReport) -> bool {
    let passes = seen.passes(false);
    // By loader: the digests of the data sets, where each rank has its own.
    let mut contents: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for ((loader, _), ranks) in &passes {
        let own: BTreeSet<&str> =
            ranks.values().map(|pass| pass.content.as_str()).filter(|content| !content.is_empty()).collect();
        if own.len() == ranks.len() {
            contents.entry(*loader).or_default().extend(own);
        }
    }
    move |pass| {
        let has_own = || contents.get(&pass.loader).is_some_and(|contents| contents.len() > 1);
        // The same samples on all ranks are a part that was set aside for validation.
        let is_part_of_own = || passes.get(&(pass.loader, pass.pass)).is_some_and(|all| are_parts(all.values().copied()));
        // Without a loader, samples are known by their values.
        let has_numbers = !pass.sampler.is_empty() || pass.content == "rows";
        let may_be_part = has_numbers && pass.replicas.is_none() && !pass.drops_last;
        let is_share = pass.is_whole && (pass.replicas.is_some_and(|replicas| replicas > 1) || may_be_part && is_part_of_own());
        // An evaluation before the first update is not a result, and a program without updates does not train.
        !pass.trains && pass.updates > 0 && !is_peek(seen, pass) && (is_share || has_own())
    }
}

/// Whether the ranks have validated with a share each.
fn has_shares(seen: &Inspection) -> bool {
    let is_share = validates_share(seen);
    seen.passes(false).values().flat_map(BTreeMap::values).any(|pass| is_share(pass))
}

/// A validation of a share whose results never meet those of the others.
fn share_told(seen: &Inspection) -> Option<Finding> {
    if seen.is_blind() || seen.split().is_some() || seen.has("results in files") {
        return None;
    }
    let mut alone: BTreeMap<Place, BTreeSet<usize>> = BTreeMap::new();
    // The Trainer of Hugging Face brings its training loss together by itself, in the line that trains: one number.
    let first = seen.reports::<InspectedUpdate>().next().filter(|_| seen.uses(&["transformers"]));
    let of_loop = first.and_then(|update| known(&update.place));
    let is_share = validates_share(seen);
    let (mut has_shares, mut met) = (false, BTreeSet::new());
    for (rank, reports) in seen.ranks.iter() {
        for (at, report) in reports[..known_until(reports)].iter().enumerate() {
            let InspectorReport::Pass(pass) = report else { continue };
            if !is_share(pass) {
                continue;
            }
            has_shares = true;
            let within = (pass.met > 0).then_some(true);
            match within.or_else(|| meets(&reports[at + 1..], of_loop.as_ref())) {
                Some(true) => _ = met.insert(pass.place.clone()),
                Some(false) => _ = alone.entry(pass.place.clone()).or_default().insert(*rank),
                // The run was stopped here, or has not got any further yet.
                None => {}
            }
        }
    }
    alone.retain(|place, _| !met.contains(place));
    if let Some((place, who, result)) = logged_alone(seen).filter(|_| has_shares) {
        let said = format!("{} log {result} of one share of the samples each", names(&who));
        let found = Finding { seen: said, ..told_as_whole(seen, &place, &who) };
        // Others of its results were brought together.
        return Some(if met.is_empty() { found } else { Finding { outcome: Outcome::Look, ..found } });
    }
    alone.into_iter().next().map(|(place, who)| told_as_whole(seen, &place, &who))
}

/// In Lightning each result is brought together for itself, or is not: the line that logs one of which each rank has its own.
fn logged_alone(seen: &Inspection) -> Option<(Place, BTreeSet<usize>, &str)> {
    let kind = "logged alone: ";
    let ranks = seen.told_apart(kind, |report| &report.by)?;
    let first = *ranks.values().next()?;
    Some((first.place.clone(), ranks.into_keys().collect(), first.by.strip_prefix(kind)?))
}

fn told_as_whole(seen: &Inspection, place: &Place, who: &BTreeSet<usize>) -> Finding {
    let by_torch = if seen.is_lightning() {
        "log it with self.log(..., sync_dist=True)"
    } else if seen.is_fabric() {
        "add the counts of all ranks up with fabric.all_reduce(counts, reduce_op=\"sum\") before you divide or print"
    } else if seen.is_accelerate() {
        "bring the results of all ranks together with accelerator.gather_for_metrics before you divide or print"
    } else {
        "add the counts of all ranks up with dist.all_reduce before you divide or print"
    };
    let remedy = seen.in_words(
        "append hvd.callbacks.MetricAverageCallback() to the callbacks, in front of those that print or decide; in a loop of your own hvd.allreduce(value)",
        "average it: hvd.allreduce(value, name=\"accuracy\")",
        by_torch,
    );
    // Who has all of it right by chance has as many hits as samples.
    let are_counted = seen.reports::<CollectiveReport>().any(|call| call.is_count);
    let but = if are_counted { ": only how many samples there were was summed" } else { "" };
    TOPIC.objection(
        if are_counted { Outcome::Look } else { told(seen) },
        format!(
            "{} went through a share of the samples without training, and the results were never brought together{but}",
            names(who)
        ),
        known(place),
        "what is printed or decided is of one rank's share, and told as the whole",
        remedy,
    )
}

/// Reports behind which no collective is kept any more: of a very long run nothing follows from their absence.
fn known_until(reports: &[InspectorReport]) -> usize {
    let is_collective = |report: &InspectorReport| matches!(report, InspectorReport::Collective(_));
    let are_all_kept = reports.iter().filter(|report| is_collective(report)).count() < MOST;
    if are_all_kept { reports.len() } else { reports.iter().rposition(is_collective).unwrap_or(0) }
}

/// Results that name their rank say themselves that they are of one share.
fn told(seen: &Inspection) -> Outcome {
    let mut lines = seen.reports::<PrintedReport>().filter(|line| line.has_results).peekable();
    let decides = seen.reports::<DecisionReport>().next().is_some();
    if !decides && lines.peek().is_some() && lines.all(|line| line.names_rank) { Outcome::Look } else { Outcome::Wrong }
}

/// Whether a collective brings results together before training goes on, beside those of a loop that trains; `None` where neither has come
/// yet.
fn meets(later: &[InspectorReport], of_loop: Option<&Place>) -> Option<bool> {
    later.iter().find_map(|report| match report {
        InspectorReport::Collective(call) if call.is_count || call.trains => None,
        InspectorReport::Collective(call) if Some(&call.place) == of_loop && call.numbers == Some(1) => None,
        InspectorReport::Collective(call) if MEET.iter().any(|part| call.name.contains(part)) => Some(true),
        InspectorReport::Update(_) | InspectorReport::Ended(_) => Some(false),
        InspectorReport::Pass(pass) if pass.trains => Some(false),
        _ => None,
    })
}
