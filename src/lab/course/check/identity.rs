//! Steps 1 and 2: who is who and where, and who speaks.

use std::collections::{BTreeMap, BTreeSet};

use super::group::{Group, because_strangers};
use super::verdict::{Finding, Objection, failed, unclear};
use super::words::identity as words;
use crate::domain::event::TopologyReport;

/// Ranks 0 to np - 1, each with a GPU or cores of its own, as far as there are enough.
pub fn init_and_pin(group: &Group) -> Finding {
    let np = group.np();
    let places = group.topologies()?;
    let alone: Vec<usize> = (0..np).filter(|process| places[*process].topology.size.0 == 1).collect();
    if !alone.is_empty() {
        return failed(words::alone(&group.names(&alone), alone.len() == 1));
    }
    let mut seen = BTreeMap::new();
    for (process, place) in places.iter().enumerate() {
        let (rank, size) = (place.topology.rank.0, place.topology.size.0);
        if size != np || rank >= np {
            return failed(words::no_such_rank(process, rank, size, np));
        }
        if let Some(other) = seen.insert(rank, process) {
            return failed(words::same_rank(other, process, rank));
        }
    }
    let mut hosts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    places.iter().enumerate().for_each(|(process, place)| hosts.entry(&place.host).or_default().push(process));
    for (host, processes) in &hosts {
        let mut seen = BTreeMap::new();
        for &process in processes {
            let local = places[process].topology.local_rank.0;
            if let Some(other) = seen.insert(local, process) {
                return failed(words::same_local_rank(&group.names(&[other, process]), host, local));
            }
        }
        pinned(group, &places, processes)?;
    }
    Ok(words::placed(np, hosts.len(), &places))
}

/// Nothing is shared by more ranks than it must be.
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
        Some((item, crowd)) => failed(words::crowded(&group.names(crowd), item, there, processes.len())),
    }
}

/// What a rank occupies: its GPU, or its cores one by one.
fn items(place: &TopologyReport) -> BTreeSet<String> {
    match place.device.as_str() {
        "cpu" => place.cores.iter().copied().map(words::core).collect(),
        device => BTreeSet::from([place.device_uuid.clone().unwrap_or_else(|| device.to_owned())]),
    }
}

/// The heading of every epoch was printed by the root, and by nobody else.
pub fn verbose_on_root(group: &Group, printed: Option<&BTreeMap<usize, BTreeSet<usize>>>) -> Finding {
    let Some(printed) = printed else { return unclear(words::NO_LOGS) };
    group.topologies()?;
    let root = group.root();
    for (epoch, speakers) in printed {
        let too_many: Vec<usize> = speakers.iter().copied().filter(|process| *process != root).collect();
        if !too_many.is_empty() {
            let (who, strangers) = (group.names(&too_many), because_strangers(group));
            return failed(words::printed_too(&who, *epoch, speakers.contains(&root), &strangers));
        }
    }
    let epochs = group.epochs()?;
    match epochs.iter().find(|epoch| !printed.contains_key(epoch)) {
        Some(epoch) => failed(words::nobody_printed(*epoch)),
        None => Ok(words::root_alone_printed(epochs.len())),
    }
}
