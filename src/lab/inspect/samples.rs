//! Which samples a rank gets, in which order, and with which labels.

use std::collections::{BTreeMap, BTreeSet};

use super::batches::{Reports, TOPIC, all_differ, have_subsets, made, sampler_made, wrong};
use super::finding::Finding;
use super::inspection::{Inspection, known, line, ranks as names};
use crate::domain::event::{PassReport, StateAction, StateReport};

const NEVER_SEEN: &str = "the other samples of the parts are never seen";

/// Parts of a data set, one for each rank, that a distributed sampler shares out once more.
pub(super) fn shared_twice(seen: &Inspection, reports: &Reports<'_>) -> Option<Finding> {
    let one = reports.values().next()?;
    if reports.values().all(|pass| pass.sampler == "shard of a shard") {
        let said = format!("each rank takes its share twice: one in {} samples of a share is trained on", seen.size());
        return wrong(said, sampler_made(reports), NEVER_SEEN, "leave one of the two calls of shard() out");
    }
    let is_shared = |pass: &PassReport| pass.replicas == Some(seen.size());
    let are_files = || all_differ(reports, |pass| &pass.content) && have_own_files(seen);
    if !reports.values().all(|pass| is_shared(pass)) || !(have_subsets(reports) || are_files()) {
        return None;
    }
    let (samples, parts): (usize, usize) =
        reports.values().fold((0, 0), |sum, pass| (sum.0 + pass.samples, sum.1 + pass.dataset.unwrap_or(0)));
    wrong(
        format!(
            "each rank has a part of the data set, and the sampler shares that part out once more: {samples} of {parts} samples were trained on"
        ),
        known(&one.split_made).or_else(|| made(reports)),
        NEVER_SEEN,
        "give all ranks the whole data set, and leave the sharing to the sampler",
    )
}

/// Whether each rank has read files that no other has, before its first update.
fn have_own_files(seen: &Inspection) -> bool {
    let mut readers: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let is_early = |report: &StateReport| report.action == StateAction::Read && report.updates == 0;
    for (rank, report) in seen.of_all::<StateReport>().filter(|(_, report)| is_early(report)) {
        readers.entry(&report.path).or_default().insert(rank);
    }
    let owners: BTreeSet<usize> = readers.into_values().filter(|ranks| ranks.len() == 1).flatten().collect();
    owners.len() == seen.size()
}

/// A distributed sampler whose epoch is never set, or is the same each time.
pub(super) fn same_order(seen: &Inspection, passes: &BTreeMap<(usize, usize), Reports<'_>>) -> Option<Finding> {
    passes.iter().find_map(|((loader, number), reports)| {
        // Between two passes the program may take a look at one batch, which is a pass of its own.
        let ((of, earlier), before) = passes.range(..(*loader, *number)).next_back()?;
        if of != loader {
            return None;
        }
        let stays = |rank: &usize, now: &PassReport| {
            let then = before.get(rank)?;
            // Of a pass that was left early the order is known as far as it came: equal orders are of equal parts.
            let is_known = (now.replicas.is_some() || now.shuffles && !now.picked.is_empty())
                && now.batches > 1
                && now.batches == then.batches
                && now.shuffles == then.shuffles;
            (is_known && now.order == then.order && (now.epoch == then.epoch || !now.shuffles)).then_some(now.shuffles)
        };
        let shuffles: Vec<bool> = reports.iter().filter_map(|(rank, pass)| stays(rank, pass)).collect();
        if shuffles.len() == reports.len() && !shuffles.contains(&true) {
            return never_shuffled(seen, reports, before);
        }
        (shuffles.len() == reports.len() && !shuffles.contains(&false)).then(|| {
            let who = names(reports.keys());
            let which = format!("pass {} has the order of pass {}", number + 1, earlier + 1);
            let is_told = reports.values().all(|pass| pass.epoch.is_some());
            let cost = "every epoch has the same batches in the same order, so the model learns the order too";
            if let Some(again) = seen.told("set_epoch again").filter(|_| is_told) {
                let number_told = again.settings.first().map_or("the same number", String::as_str);
                let said = format!("{which} on {who}: set_epoch is told {number_told} each time");
                return wrong(said, known(&again.place), cost, "give set_epoch the number of the epoch that begins");
            }
            let why = if is_told { "the sampler was not told the epoch" } else { "the sampler shuffles alike each time" };
            let said = format!("{which} on {who}: {why}");
            let loop_at = reports.values().next().and_then(|pass| known(&pass.place));
            let at = loop_at.map_or(String::new(), |place| format!(" at {}", line(&place)));
            let remedy = if is_told { "call" } else { "seed the shuffle with the epoch, as DistributedSampler does, and call" };
            let before = if seen.uses(&["transformers"]) {
                "in a callback, at on_epoch_begin: the Trainer does so for loaders that it makes itself".to_owned()
            } else {
                format!("before the loop over the batches{at}")
            };
            let remedy = format!("{remedy} sampler.set_epoch(epoch) {before}");
            wrong(said, sampler_made(reports), cost, remedy)
        })?
    })
}

/// A distributed sampler whose epoch is set, and which still keeps the order of the data set. If it is never set, the fixed order may
/// be on purpose.
fn never_shuffled(seen: &Inspection, reports: &Reports<'_>, before: &Reports<'_>) -> Option<Finding> {
    let is_told = |(rank, pass): (&usize, &&PassReport)| before.get(rank).is_some_and(|then| then.epoch != pass.epoch);
    let is_its_own = reports.values().all(|pass| pass.sampler.contains("Distributed")) && reports.iter().all(is_told);
    let finding = TOPIC.look(
        format!(
            "{} train on their samples in the order of the data set, though their sampler is told the epoch",
            names(reports.keys())
        ),
        sampler_made(reports),
        "samples that stand side by side always come into the same batch",
        if seen.is_lightning() || seen.uses(&["accelerate"]) {
            "give the DataLoader shuffle=True"
        } else {
            "leave shuffle=False out of the DistributedSampler"
        },
    );
    is_its_own.then_some(finding)
}

/// Samples that two ranks must have had, before anything is said of their labels.
const FEWEST: usize = 16;

/// Ranks that number the classes in ways of their own, as by the order of a set: what one rank calls 3 is always 5 on another.
pub(super) fn numbered_apart(seen: &Inspection) -> Option<Finding> {
    let is_shared = |pass: &PassReport| pass.replicas == Some(seen.size());
    let mut labels: BTreeMap<usize, BTreeMap<usize, BTreeMap<u32, u32>>> = BTreeMap::new();
    for (rank, pass) in seen.of_all::<PassReport>().filter(|(_, pass)| is_shared(pass)) {
        let known = pass.picked.iter().zip(&pass.labels).filter(|(_, label)| **label != 0);
        labels.entry(pass.loader).or_default().entry(rank).or_default().extend(known);
    }
    labels.iter().find_map(|(loader, ranks)| {
        let (root, own) = ranks.first_key_value()?;
        let (other, differing, common) = ranks.iter().skip(1).find_map(|(rank, labels)| {
            let pairs: Vec<(u32, u32)> = own.iter().filter_map(|(sample, label)| Some((*label, *labels.get(sample)?))).collect();
            let names: BTreeSet<&(u32, u32)> = pairs.iter().collect();
            let differing = pairs.iter().filter(|(one, other)| one != other).count();
            // Labels that are drawn by chance, or differ for a few samples, follow no such rule.
            let is_rule = |side: fn(&(u32, u32)) -> u32| names.iter().map(|pair| side(pair)).collect::<BTreeSet<_>>().len() == names.len();
            (pairs.len() >= FEWEST && differing > 0 && is_rule(|pair| pair.0) && is_rule(|pair| pair.1))
                .then_some((*rank, differing, pairs.len()))
        })?;
        let reports = seen.of_all::<PassReport>().filter(|(_, pass)| pass.loader == *loader).collect();
        wrong(
            format!("{differing} of {common} samples that ranks {root} and {other} both had have another label on each: the ranks number the classes in different ways"),
            made(&reports),
            "what one rank teaches the model the other takes back",
            "number the classes alike on all ranks: by sorted(classes), and not by the order of a set, of a folder, or of a rank's own samples",
        )
    })
}
