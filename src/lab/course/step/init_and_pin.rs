//! Step 1: the rank of each process, and its device.

use crate::course::check::group::Group;
use crate::course::check::terms::list;
use crate::course::check::verdict::{Finding, Objection, failed};
use crate::course::contrast::{Contrast, Side, alike, distinct};
use crate::domain::event::TopologyReport;
use std::collections::{BTreeMap, BTreeSet};

/// Ranks 0 to np - 1, each with a GPU or cores of its own, as far as there are enough.
pub fn check(group: &Group) -> Finding {
    let np = group.np;
    let places = group.topologies()?;
    let alone: Vec<usize> = (0..np).filter(|process| places[*process].topology.size.0 == 1).collect();
    if !alone.is_empty() {
        let think = if alone.len() == 1 { "thinks it is" } else { "each think they are" };
        let who = group.names(&alone);
        return failed(format!("{who} {think} rank 0 of 1: let every process find the others first"));
    }
    let mut seen = BTreeMap::new();
    for (process, place) in places.iter().enumerate() {
        let (rank, size) = (place.topology.rank.0, place.topology.size.0);
        if size != np || rank >= np {
            return failed(format!("process {process} says that it is rank {rank} of {size}, but {np} processes were started"));
        }
        if let Some(other) = seen.insert(rank, process) {
            return failed(format!("processes {other} and {process} both say that they are rank {rank}"));
        }
    }
    let mut hosts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    places.iter().enumerate().for_each(|(process, place)| hosts.entry(&place.host).or_default().push(process));
    for (host, processes) in &hosts {
        let mut seen = BTreeMap::new();
        for &process in processes {
            let local = places[process].topology.local_rank.0;
            if let Some(other) = seen.insert(local, process) {
                return failed(format!("{who} on {host} both have local rank {local}", who = group.names(&[other, process])));
            }
        }
        pinned(group, &places, processes)?;
    }
    let device = |place: &TopologyReport| match (place.device.as_str(), place.cores.as_slice()) {
        ("cpu", [one]) => format!("core {one}"),
        ("cpu", cores) => format!("{} cores", cores.len()),
        (device, _) => device.to_owned(),
    };
    let placed = places.iter().map(|place| format!("rank {} on {}", place.topology.rank, device(place)));
    let hosts = if hosts.len() == 1 { "one host".to_owned() } else { format!("{} hosts", hosts.len()) };
    Ok(format!("{np} ranks on {hosts}: {}", list(placed)))
}

/// No device or core is shared by more ranks than necessary.
fn pinned(group: &Group, places: &[&TopologyReport], processes: &[usize]) -> Result<(), Objection> {
    let mut users: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for &process in processes {
        for item in items(places[process]) {
            users.entry(item).or_default().push(process);
        }
    }
    let there = processes.iter().filter_map(|process| places[*process].devices_found).max().unwrap_or(users.len()).max(1);
    let fair = processes.len().div_ceil(there);
    match users.iter().max_by_key(|(_, users)| users.len()).filter(|(_, users)| users.len() > fair) {
        None => Ok(()),
        Some((item, crowd)) => failed(format!(
            "{who} share {item}, and there are {there} for {ranks} ranks: pin each by its local rank",
            who = group.names(crowd),
            ranks = processes.len()
        )),
    }
}

/// What a rank occupies: its GPU, or its cores one by one.
fn items(place: &TopologyReport) -> BTreeSet<String> {
    match place.device.as_str() {
        "cpu" => place.cores.iter().map(|core| format!("core {core}")).collect(),
        device => BTreeSet::from([place.device_uuid.clone().unwrap_or_else(|| device.to_owned())]),
    }
}

pub fn contrast(pair: [&Side; 2], found: &mut Contrast) {
    let each_is = |place: &&TopologyReport| format!("{} of {}", place.topology.rank, place.topology.size);
    found.fact("each is", pair.map(|side| list(side.places().iter().map(each_is))));
    found.fact("talks by", pair.map(|side| side.places().first().map_or(String::new(), |place| place.communicator.clone())));
    found.fact("computes on", pair.map(|side| list(side.places().iter().map(|place| device(place)))));
    let alone = |side: &Side| side.places().iter().filter(|place| place.topology.size.0 == 1).count();
    let (before, after) = (alone(pair[0]), alone(pair[1]));
    let np = pair[1].np();
    if before == pair[0].np() && after == 0 {
        found.say(format!(
            "Before, each of the {before} processes thought it was rank 0 of 1: {before} serial programs at once. After, they \
             are ranks 0 to {} of {np} and know how many they are.",
            np - 1
        ));
    }
    match (shared(pair[0]), shared(pair[1])) {
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

/// The weights of each process at the end are those of the other run.
pub fn same_training(pair: [&Side; 2], found: &mut Contrast, why: &str) {
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
