//! Steps 1 and 2: who is who and where, and who speaks.

use std::collections::{BTreeMap, BTreeSet};

use super::group::{Group, because_strangers};
use super::verdict::{Finding, failed, unclear};
use crate::domain::event::TopologyReport;

/// Ranks 0 to np - 1, each with a GPU or cores of its own, as far as there are enough.
pub fn init_and_pin(group: &Group) -> Finding {
    let np = group.np();
    let places = group.topologies()?;
    let alone: Vec<usize> = (0..np).filter(|process| places[*process].topology.size.0 == 1).collect();
    if !alone.is_empty() {
        let take = if alone.len() == 1 { "takes itself" } else { "take themselves" };
        return failed(format!("{} {take} for rank 0 of 1: initialise the communicator in every process", group.names(&alone)));
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
                return failed(format!("{} on {host} both have local rank {local}", group.names(&[other, process])));
            }
        }
        pinned(group, &places, processes)?;
    }
    let on = |process: usize| format!("rank {} on {}", places[process].topology.rank, device(places[process]));
    let some: Vec<String> = (0..np.min(4)).map(on).collect();
    Ok(format!("{np} ranks on {}: {}{}", hosts_in_words(hosts.len()), some.join(", "), if np > 4 { ", ..." } else { "" }))
}

/// Nothing is shared by more ranks than it must be.
fn pinned(group: &Group, places: &[&TopologyReport], processes: &[usize]) -> Result<(), super::verdict::Objection> {
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
            "{} share {item}, and there are {there} for {} ranks: pin each by its local rank",
            group.names(crowd),
            processes.len()
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

fn device(place: &TopologyReport) -> String {
    match (place.device.as_str(), place.cores.as_slice()) {
        ("cpu", [core]) => format!("core {core}"),
        ("cpu", cores) => format!("{} cores", cores.len()),
        (device, _) => device.to_owned(),
    }
}

fn hosts_in_words(hosts: usize) -> String {
    if hosts == 1 { "one host".into() } else { format!("{hosts} hosts") }
}

/// The heading of every epoch was printed by the root, and by nobody else.
pub fn verbose_on_root(group: &Group, printed: Option<&BTreeMap<usize, BTreeSet<usize>>>) -> Finding {
    let Some(printed) = printed else { return unclear("there are no logs of the ranks") };
    group.topologies()?;
    let root = group.root();
    for (epoch, speakers) in printed {
        let too_many: Vec<usize> = speakers.iter().copied().filter(|process| *process != root).collect();
        if !too_many.is_empty() {
            let too = if speakers.contains(&root) { " too" } else { ", and rank 0 did not" };
            let remedy = "set verbose on rank 0 only";
            let strangers = because_strangers(group);
            return failed(format!("{} printed epoch {epoch}{too}: {remedy}{strangers}", group.names(&too_many)));
        }
    }
    let epochs = group.epochs()?;
    match epochs.iter().find(|epoch| !printed.contains_key(epoch)) {
        Some(epoch) => failed(format!("nobody printed epoch {epoch}: rank 0 has to")),
        None => Ok(format!(
            "rank 0 alone printed {}",
            match epochs.len() {
                1 => "its one epoch".to_owned(),
                epochs => format!("all {epochs} epochs"),
            }
        )),
    }
}
