//! Steps 1 and 2 in words.

use super::some;
use crate::domain::event::TopologyReport;

pub const NO_LOGS: &str = "there are no logs of the ranks";

pub fn alone(who: &str, is_one: bool) -> String {
    let think = if is_one { "thinks it is" } else { "each think they are" };
    format!("{who} {think} rank 0 of 1: let every process find the others first")
}

pub fn no_such_rank(process: usize, rank: usize, size: usize, np: usize) -> String {
    format!("process {process} says that it is rank {rank} of {size}, but {np} processes were started")
}

pub fn same_rank(one: usize, other: usize, rank: usize) -> String {
    format!("processes {one} and {other} both say that they are rank {rank}")
}

pub fn same_local_rank(who: &str, host: &str, local: usize) -> String {
    format!("{who} on {host} both have local rank {local}")
}

pub fn crowded(who: &str, item: &str, there: usize, ranks: usize) -> String {
    format!("{who} share {item}, and there are {there} for {ranks} ranks: pin each by its local rank")
}

pub fn placed(np: usize, hosts: usize, places: &[&TopologyReport]) -> String {
    let on = |place: &&TopologyReport| format!("rank {} on {}", place.topology.rank, device(place));
    let hosts = if hosts == 1 { "one host".to_owned() } else { format!("{hosts} hosts") };
    format!("{np} ranks on {hosts}: {}", some(places.iter().map(on), np))
}

pub fn core(number: usize) -> String {
    format!("core {number}")
}

fn device(place: &TopologyReport) -> String {
    match (place.device.as_str(), place.cores.as_slice()) {
        ("cpu", [one]) => core(*one),
        ("cpu", cores) => format!("{} cores", cores.len()),
        (device, _) => device.to_owned(),
    }
}

pub fn printed_too(who: &str, epoch: usize, root_too: bool, strangers: &str) -> String {
    let too = if root_too { " too" } else { ", and rank 0 did not" };
    format!("{who} printed epoch {epoch}{too}: set verbose on rank 0 only{strangers}")
}

pub fn nobody_printed(epoch: usize) -> String {
    format!("nobody printed epoch {epoch}: rank 0 has to")
}

pub fn root_alone_printed(epochs: usize) -> String {
    match epochs {
        1 => "rank 0 alone printed its one epoch".to_owned(),
        epochs => format!("rank 0 alone printed all {epochs} epochs"),
    }
}
