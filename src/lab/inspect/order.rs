//! The order of the samples is another one in each pass.

use std::collections::BTreeMap;

use super::batches::{Reports, TOPIC, sampler_made, wrong};
use super::finding::Finding;
use super::inspection::{Inspection, known, line, ranks as names};
use crate::domain::event::PassReport;

/// A distributed sampler that is never told the epoch, or the same one each time.
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

/// A distributed sampler that is told each epoch, and still keeps the order of the data set. If it is never told, the fixed order may
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
