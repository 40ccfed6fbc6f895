//! Reports once a second what the devices of a host do, from the first rank there, in a run that spans several hosts.
//!
//! On one host the lab looks for itself. GPUs are read on the lab's own host only.

use std::time::Duration;

use super::report::Reporter;
use crate::comm::{CommError, Communicator, allgather_json};
use crate::domain::device::RankPlace;
use crate::domain::event::Event;
use crate::host::{self, cpu::CpuProbe};

const PERIOD: Duration = Duration::from_secs(1);
const GPU_MISSING: &str = "GPUs are read on the lab's own host only";

/// Starts the reports of this host, if it is this rank that gives them. Which host the lab is on, only the lab knows: it
/// passes over that host's.
///
/// # Collective
/// Every rank calls it, once.
///
/// # Errors
/// As for every collective, see [`Communicator`].
pub fn start(comm: &dyn Communicator, report: &Reporter) -> Result<(), CommError> {
    let ranks = allgather_json(comm, &(host::name(), std::process::id()))?;
    let ranks: Vec<(String, u32)> = ranks.into_iter().map(Option::unwrap_or_default).collect();
    if let Some(here) = first_of_host(&ranks, comm.topology().rank.0) {
        let mut probe = None;
        report.every(PERIOD, move || {
            // Made on the thread that uses it: training does not wait for it.
            let probe = probe.get_or_insert_with(|| CpuProbe::new(GPU_MISSING));
            Event::Devices { sample: probe.sample(&here) }
        });
    }
    Ok(())
}

/// The ranks on the host of `rank`, if it is the first of them and there are other hosts. By name rather than by local
/// rank: so it is one report for each host that the lab shows. `places` are host and process id of each rank.
fn first_of_host(places: &[(String, u32)], rank: usize) -> Option<Vec<RankPlace>> {
    let host = &places.get(rank)?.0;
    let of_host = places.iter().enumerate().filter(|(_, (name, _))| name == host);
    let here: Vec<_> = of_host.map(|(rank, (_, pid))| RankPlace { rank, pid: *pid, device_uuid: None }).collect();
    (here.len() < places.len() && here.first()?.rank == rank).then_some(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(hosts: &[&str], rank: usize) -> Option<Vec<(usize, u32)>> {
        let places: Vec<(String, u32)> = hosts.iter().zip(100..).map(|(host, pid)| ((*host).to_owned(), pid)).collect();
        let here = first_of_host(&places, rank)?;
        Some(here.iter().map(|place| (place.rank, place.pid)).collect())
    }

    #[test]
    fn the_first_rank_of_each_host_speaks_for_the_ranks_there() {
        let hosts = ["a", "b", "a", "b b"];
        assert_eq!(watched(&hosts, 0), Some(vec![(0, 100), (2, 102)]));
        assert_eq!(watched(&hosts, 1), Some(vec![(1, 101)]));
        assert_eq!(watched(&hosts, 2), None);
        assert_eq!(watched(&hosts, 3), Some(vec![(3, 103)]));
    }

    #[test]
    fn nobody_speaks_on_the_only_host() {
        assert_eq!(watched(&["a"], 0), None);
        assert_eq!(watched(&["a", "a"], 0), None);
    }
}
