//! Where the ranks of a benchmark run: what was asked for, and what each rank really got.

use hvd_lab::comm::{CommError, Communicator, allgather_json};
use hvd_lab::domain::benchmark::{HostRoom, PlacementReport};
use hvd_lab::domain::event::Event;
use hvd_lab::host::{self, cpu::host_memory, numa};
use hvd_lab::trainer::device::{self, Placement};
use hvd_lab::trainer::report::Reporter;

/// Takes memory from this node from now on.
///
/// # Errors
/// Why that cannot be.
pub fn prefer_node(node: Option<usize>) -> Result<(), String> {
    let Some(node) = node else { return Ok(()) };
    numa::prefer(node).map_err(|error| format!("--mem-node {node}: the system does not choose where memory comes from ({error})"))
}

/// Where each rank really is, by rank.
///
/// # Collective
/// Every rank calls it, once.
pub fn of_all(comm: &dyn Communicator, placement: &Placement, report: &Reporter) -> Result<Vec<PlacementReport>, CommError> {
    let own = PlacementReport {
        host: host::name(),
        cores: placement.cores.clone(),
        nodes: numa::nodes_of(&placement.cores),
        running_on: numa::running_on(),
        memory: numa::memory(),
        threads: placement.threads,
        device: device::name(placement.device),
    };
    report.event(Event::Placement(own.clone()));
    Ok(allgather_json(comm, &own)?.into_iter().map(Option::unwrap_or_default).collect())
}

/// What this host has.
pub fn room(no_cuda: bool) -> HostRoom {
    let gpus = if no_cuda { 0 } else { device::gpu_count() };
    HostRoom { gpus, numa_nodes: numa::nodes(), free_memory: host_memory().0 }
}
