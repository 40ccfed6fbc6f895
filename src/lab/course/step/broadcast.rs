//! Step 4: all ranks start from the weights of rank 0, and stay equal.

use crate::course::check::group::{Group, because_strangers};
use crate::course::check::terms::{self, short};
use crate::course::check::verdict::{Finding, Objection, failed, unclear};
use crate::course::check::watched;
use crate::course::contrast::{Contrast, Side, alike, distinct, small};
use crate::domain::event::{CheckpointAction, DigestMoment};
use crate::domain::step::Step;

/// Step 4: all ranks start from the root's weights, and hold the same ones at the end of every epoch.
pub fn check(group: &Group) -> Finding {
    let root = group.root();
    let of = |moment, what: &str| group.all(what, |process| process.digests_of(moment).first().copied());
    let start = of(DigestMoment::StartParameters, terms::WEIGHTS_AT_START)?;
    let drawn = of(DigestMoment::InitialParameters, terms::WEIGHTS_DRAWN)?;
    let apart = group.differing(&start);
    if let Some(&first) = apart.first().filter(|_| watched::were_shared(group) && root_resumed(group)) {
        return failed(format!(
            "{who} started from other weights than {root}, which loaded a checkpoint after the broadcast: load it \
             first, then broadcast",
            who = group.name(first),
            root = group.name(root)
        ));
    }
    if let Some(&first) = apart.first() {
        return failed(format!(
            "{} started from other weights than {} ({}, not {}): broadcast the root's after they are drawn and before training{}",
            group.names(&apart),
            group.name(root),
            short(start[first]),
            short(start[root]),
            because_strangers(group)
        ));
    }
    if start[root] != drawn[root] {
        let whose = group.others().find(|process| drawn[*process] == start[root]);
        let whose = whose.map_or("of none of them".to_owned(), |process| format!("those of {}", group.name(process)));
        return failed(format!("all ranks started from the same weights, but {whose}, not of rank 0: broadcast from rank 0"));
    }
    if group.differing(&drawn).is_empty() {
        return unclear("all ranks drew the same weights, so that they start alike proves no broadcast");
    }
    let epochs = group.epochs()?;
    if let Some((epoch, apart)) = drifted(group)? {
        let part = (group.part)(Step::DistributedOptimizer);
        return unclear(format!(
            "all ranks started from the same weights ({digest}), but {who} drifted away by the end of epoch \
             {epoch}: see {part}",
            digest = short(start[root]),
            who = group.names(&apart)
        ));
    }
    let until = epochs.last().copied().unwrap_or(0);
    Ok(format!(
        "all {np} ranks started from rank 0's weights ({}) and were still equal after epoch {until}",
        short(start[root]),
        np = group.np
    ))
}

/// Whether the root resumes from a checkpoint.
fn root_resumed(group: &Group) -> bool {
    group.process(group.root()).is_some_and(|root| root.checkpoints.iter().any(|file| file.action == CheckpointAction::Loaded))
}

pub fn starts_equal(group: &Group) -> Result<bool, Objection> {
    let start =
        group.all(terms::WEIGHTS_AT_START, |process| process.digests_of(DigestMoment::StartParameters).first().copied())?;
    Ok(group.differing(&start).is_empty())
}

/// The first epoch at whose end some held other weights than the root, though all started from the same ones, and who.
pub fn drifted(group: &Group) -> Result<Option<(usize, Vec<usize>)>, Objection> {
    if !starts_equal(group)? {
        return Ok(None);
    }
    for epoch in group.epochs()? {
        let held =
            group.all("its weights at the end of an epoch", |process| process.digest(DigestMoment::EpochParameters, epoch))?;
        let apart = group.differing(&held);
        if !apart.is_empty() {
            return Ok(Some((epoch, apart)));
        }
    }
    Ok(None)
}

pub fn contrast(pair: [&Side; 2], found: &mut Contrast) {
    let of = |moment| pair.map(|side| alike(&side.first_digests(moment)));
    found.fact("weights as drawn", of(DigestMoment::InitialParameters));
    found.fact("weights to start from", of(DigestMoment::StartParameters));
    found.fact("first gradients", of(DigestMoment::FirstGradients));
    let epochs = pair.map(|side| side.last_epoch().unwrap_or(0));
    for epoch in 1..=epochs[0].min(epochs[1]).min(3) {
        let held = pair.map(|side| side.digests(DigestMoment::EpochParameters, epoch));
        found.fact(&format!("after epoch {epoch}"), [alike(&held[0]), alike(&held[1])]);
    }
    let apart = |side: &Side| side.last_epoch().and_then(|epoch| side.apart(DigestMoment::EpochParameters, Some(epoch)));
    if let [Some((before, size)), Some((after, _))] = pair.map(apart) {
        found.fact("apart at the end", [small(before), small(after)]);
        if distinct(&pair[0].last_weights()) > 1 && distinct(&pair[1].last_weights()) == 1 {
            let start = pair[0].apart(DigestMoment::StartParameters, None).map_or(0.0, |(start, _)| start);
            found.say(format!(
                "Before, the weights of the ranks were {} apart at the start and {} at the end, on average over those looked at, \
                 which are about {} in size. After, they are equal bit by bit, from the start to the end of every epoch.",
                small(start),
                small(before),
                small(size)
            ));
        }
    } else if distinct(&pair[0].last_weights()) > 1 && distinct(&pair[1].last_weights()) == 1 {
        found.say("Before, the weights of the ranks differ to the end. After, they are equal bit by bit.".into());
    }
    let drawn = pair.map(|side| side.first_digests(DigestMoment::InitialParameters).first().copied());
    let start = pair[1].first_digests(DigestMoment::StartParameters);
    if let (Some(root), [_, ..]) = (drawn[1], start.as_slice())
        && start.iter().all(|digest| *digest == root)
    {
        found.say(format!("All start from the weights that rank 0 drew ({}).", short(root)));
    }
}
