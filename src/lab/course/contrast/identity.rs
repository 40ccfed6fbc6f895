//! Steps 1 and 2: who is who and where, and who speaks.
//!
//! Never looks at training, but to say that it stayed the same.

use std::collections::BTreeSet;

use super::fact::Contrast;
use super::side::{Pair, Side, alike, distinct, list, named};
use crate::domain::event::TopologyReport;

pub fn init_and_pin(pair: &[Side; 2], found: &mut Contrast) {
    found.fact("each is", pair.each(|side| list(&side.places().iter().map(|place| identity(place)).collect::<Vec<_>>())));
    found.fact("talks by", pair.each(|side| side.places().first().map_or(String::new(), |place| place.communicator.clone())));
    found.fact("computes on", pair.each(|side| list(&side.places().iter().map(|place| device(place)).collect::<Vec<_>>())));
    let alone = |side: &Side| side.places().iter().filter(|place| place.topology.size.0 == 1).count();
    let (before, after) = (alone(&pair[0]), alone(&pair[1]));
    let np = pair[1].np();
    if before == pair[0].np() && after == 0 {
        found.say(format!(
            "Before, each of the {before} processes thought it was rank 0 of 1: {before} serial programs at once. After, they \
             are ranks 0 to {} of {np} and know how many they are.",
            np - 1
        ));
    }
    match (shared(&pair[0]), shared(&pair[1])) {
        (true, false) => {
            found.say("Before, all had the same device or cores. After, each has its own, by its local rank.".into())
        }
        (true, true) => {
            found.say("In both runs they share a device or cores, because this machine does not have one for each.".into())
        }
        (false, _) => {}
    }
    same_training(pair, found, "The ranks know about each other, but they do not exchange anything yet");
}

fn identity(place: &TopologyReport) -> String {
    format!("{} of {}", place.topology.rank, place.topology.size)
}

fn device(place: &TopologyReport) -> String {
    match (place.device.as_str(), place.cores.as_slice()) {
        ("cpu", [core]) => format!("core {core}"),
        ("cpu", [first, .., last]) => format!("cores {first}-{last}"),
        (device, _) => device.to_owned(),
    }
}

fn shared(side: &Side) -> bool {
    let used: Vec<String> = side.places().iter().map(|place| device(place)).collect();
    used.iter().collect::<BTreeSet<_>>().len() < used.len()
}

pub fn verbose_on_root(pair: &[Side; 2], found: &mut Contrast) {
    let lines = |side: &Side| side.evidence.printed.iter().flatten().map(|(_, speakers)| speakers.len()).sum::<usize>();
    let epochs = |side: &Side| side.evidence.printed.as_ref().map_or(0, |printed| printed.len());
    let speakers = |side: &Side| -> Vec<usize> {
        let speakers = side.evidence.printed.iter().flatten().flat_map(|(_, speakers)| speakers.iter().copied());
        speakers.collect::<BTreeSet<_>>().into_iter().collect()
    };
    found.fact("lines `Epoch`", pair.each(|side| lines(side).to_string()));
    found.fact("printed by", pair.each(|side| named(side.noun(), &speakers(side))));
    let (before, after) = (lines(&pair[0]), lines(&pair[1]));
    let each = [before / epochs(&pair[0]).max(1), after / epochs(&pair[1]).max(1)];
    if each[0] > each[1] && each[1] > 0 {
        found.say(format!(
            "{} copies of the log against {}: for {} epochs there were {before} lines `Epoch`, printed by {}. Now {} prints, and \
             there are {after}.",
            each[0],
            each[1],
            epochs(&pair[0]),
            named(pair[0].noun(), &speakers(&pair[0])),
            named(pair[1].noun(), &speakers(&pair[1])),
        ));
    }
    same_training(pair, found, "Printing less changes nothing else");
}

/// The weights of each process at the end are those of the other run.
fn same_training(pair: &[Side; 2], found: &mut Contrast, why: &str) {
    let weights = [pair[0].last_weights(), pair[1].last_weights()];
    found.fact("weights of the ranks", [alike(&weights[0]), alike(&weights[1])]);
    if !weights[0].is_empty() && weights[0] == weights[1] {
        found.say(format!(
            "{why}: at the end each holds the same weights as in the other run, {}.",
            match distinct(&weights[1]) {
                1 => "one model for all".to_owned(),
                models => format!("{models} models for one job"),
            }
        ));
    }
}
