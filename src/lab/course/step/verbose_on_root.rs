//! Step 2: rank 0 alone prints.

use super::init_and_pin::same_training;
use crate::course::check::group::{Group, because_strangers};
use crate::course::check::verdict::{Finding, failed, unclear};
use crate::course::contrast::{Contrast, Side, named};
use std::collections::BTreeSet;

/// Only the root printed the heading of every epoch.
pub fn check(group: &Group) -> Finding {
    let Some(printed) = group.printed else { return unclear("there are no logs of the ranks") };
    group.topologies()?;
    let root = group.root();
    for (epoch, speakers) in printed {
        let too_many: Vec<usize> = speakers.iter().copied().filter(|process| *process != root).collect();
        if !too_many.is_empty() {
            let (who, strangers) = (group.names(&too_many), because_strangers(group));
            let too = if speakers.contains(&root) { " too" } else { ", and rank 0 did not" };
            return failed(format!("{who} printed epoch {epoch}{too}: set verbose on rank 0 only{strangers}"));
        }
    }
    let epochs = group.epochs()?;
    match epochs.iter().find(|epoch| !printed.contains_key(epoch)) {
        Some(epoch) => failed(format!("nobody printed epoch {epoch}: rank 0 has to")),
        None if epochs.len() == 1 => Ok("rank 0 alone printed its one epoch".into()),
        None => Ok(format!("rank 0 alone printed all {} epochs", epochs.len())),
    }
}

pub fn contrast(pair: [&Side; 2], found: &mut Contrast) {
    let lines = |side: &Side| side.evidence.printed.iter().flatten().map(|(_, speakers)| speakers.len()).sum::<usize>();
    let epochs = |side: &Side| side.evidence.printed.as_ref().map_or(0, |printed| printed.len());
    let speakers = |side: &Side| -> Vec<usize> {
        let speakers = side.evidence.printed.iter().flatten().flat_map(|(_, speakers)| speakers.iter().copied());
        speakers.collect::<BTreeSet<_>>().into_iter().collect()
    };
    found.fact("lines `Epoch`", pair.map(|side| lines(side).to_string()));
    found.fact("printed by", pair.map(|side| named(side.noun(), &speakers(side))));
    let (before, after) = (lines(pair[0]), lines(pair[1]));
    let each = [before / epochs(pair[0]).max(1), after / epochs(pair[1]).max(1)];
    if each[0] > each[1] && each[1] > 0 {
        found.say(format!(
            "{} copies of the log against {}: for {} epochs there were {before} lines `Epoch`, printed by {}. Now {} prints, and \
             there are {after}.",
            each[0],
            each[1],
            epochs(pair[0]),
            named(pair[0].noun(), &speakers(pair[0])),
            named(pair[1].noun(), &speakers(pair[1])),
        ));
    }
    same_training(pair, found, "Printing less changes nothing else");
}
