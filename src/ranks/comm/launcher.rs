//! What the launcher of this process has set in its environment, before and beside MPI; and simulated hosts.
//!
//! mpirun of Open MPI, Slurm's srun and MPICH's hydra each use other names.

use std::num::NonZeroUsize;
use std::sync::OnceLock;

use super::error::CommError;
use crate::domain::topology::{LocalRank, Topology, WorldSize};

/// Index of this process as it was launched: what the launcher says, whether MPI is initialised or not. 0 without a launcher.
///
/// With step 1 off, every process takes itself for rank 0. This index still tells them apart in the log.
pub fn launched_index() -> usize {
    // Set by Open MPI, by any PMIx launcher (srun is one), by MPICH's hydra, and by srun without PMIx, in this order.
    let names = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    names.into_iter().find_map(number).unwrap_or(0)
}

fn number(name: &str) -> Option<usize> {
    parse(&std::env::var(name).ok()?)
}

fn parse(text: &str) -> Option<usize> {
    text.trim().parse().ok()
}

/// How many processes were launched together, and by whom. Each field is the number that a launcher wrote for its processes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Launched {
    /// Open MPI's mpirun: `OMPI_COMM_WORLD_SIZE`.
    open_mpi: Option<usize>,
    /// Hydra, and srun with PMI-2: `PMI_SIZE`.
    pmi: Option<usize>,
    /// srun: `SLURM_STEP_NUM_TASKS`. mpirun leaves it as it finds it, so it counts only without the other two.
    srun: Option<usize>,
    /// srun: `SLURM_LOCALID`, from 0 on each node.
    srun_local_id: Option<usize>,
    /// srun: the tasks on this node, of `SLURM_STEP_TASKS_PER_NODE` and `SLURM_NODEID`.
    srun_local_size: Option<usize>,
}

impl Launched {
    pub(super) fn from_environment() -> Launched {
        let node = number("SLURM_NODEID").unwrap_or(0);
        Launched {
            open_mpi: number("OMPI_COMM_WORLD_SIZE"),
            pmi: number("PMI_SIZE"),
            srun: number("SLURM_STEP_NUM_TASKS"),
            srun_local_id: number("SLURM_LOCALID"),
            srun_local_size: std::env::var("SLURM_STEP_TASKS_PER_NODE").ok().and_then(|list| tasks_on(&list, node)),
        }
    }

    /// Whether this process finds only itself, while others were launched with it: they would train np times the same, and write
    /// the same files.
    ///
    /// # Errors
    /// [`CommError::Apart`].
    pub(super) fn check(&self, found: WorldSize) -> Result<(), CommError> {
        let with_pmix = "with srun, add --mpi=pmix (srun --mpi=list shows whether this Slurm has it); or use mpirun";
        let with_own_mpirun = "start it with the mpirun of the MPI library that it was built with";
        let launchers = [(self.open_mpi, with_own_mpirun), (self.srun, with_pmix), (self.pmi, with_own_mpirun)];
        match launchers.into_iter().find_map(|(size, remedy)| Some((size?, remedy))) {
            Some((launched, remedy)) if found.0 == 1 && launched > 1 => Err(CommError::Apart { launched, remedy }),
            _ => Ok(()),
        }
    }

    /// The topology with the local rank that srun gave. Where the name of a node in Slurm is not the name of its host, MPI finds nobody
    /// else on the host under srun: all ranks would be local rank 0 there, and take the first GPU.
    pub(super) fn with_local_rank(&self, topology: Topology) -> Topology {
        let is_by_srun = self.open_mpi.is_none();
        match (self.srun_local_id, self.srun_local_size) {
            (Some(id), Some(size)) if is_by_srun && topology.local_size.0 == 1 && id < size && size <= topology.size.0 => {
                Topology { local_rank: LocalRank(id), local_size: WorldSize(size), ..topology }
            }
            _ => topology,
        }
    }
}

/// Of Slurm's short form `2(x3),1`, two tasks on each of three nodes and one on the fourth: the tasks on a node.
fn tasks_on(list: &str, node: usize) -> Option<usize> {
    let mut nodes_before = 0;
    for part in list.split(',') {
        let (tasks, nodes) = match part.split_once("(x") {
            Some((tasks, times)) => (parse(tasks)?, parse(times.strip_suffix(')')?)?),
            None => (parse(part)?, 1),
        };
        nodes_before += nodes;
        if node < nodes_before {
            return Some(tasks);
        }
    }
    None
}

static RANKS_PER_HOST: OnceLock<NonZeroUsize> = OnceLock::new();

/// From now on ranks act as if each host had so many of them: local ranks begin again from 0 on each.
pub fn simulate_hosts(ranks: NonZeroUsize) {
    // The first answer stands, as it does for the number of ranks.
    let _ = RANKS_PER_HOST.set(ranks);
}

/// Ranks on each simulated host, where hosts are simulated.
pub fn simulated_hosts() -> Option<NonZeroUsize> {
    RANKS_PER_HOST.get().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_a_node_in_slurms_short_form() {
        let of = |list, nodes: &[usize]| nodes.iter().map(|node| tasks_on(list, *node)).collect::<Vec<_>>();
        assert_eq!(of("2(x3),1", &[0, 2, 3, 4]), [Some(2), Some(2), Some(1), None]);
        assert_eq!(of("4", &[0, 1]), [Some(4), None]);
        assert_eq!(of("", &[0]), [None]);
        assert_eq!(of("2(x", &[0]), [None]);
        assert_eq!(of("1,x", &[0, 1]), [Some(1), None]);
    }

    #[test]
    fn processes_that_find_only_themselves_are_refused() {
        let apart = |launched: Launched| launched.check(WorldSize(1)).map_err(|error| error.to_string());
        let pmix = apart(Launched { srun: Some(2), ..Launched::default() }).unwrap_err();
        assert!(pmix.contains("one of 2 processes") && pmix.contains("--mpi=pmix"), "{pmix}");
        // PMI-2, which Open MPI 5 does not speak.
        let pmi2 = apart(Launched { srun: Some(2), pmi: Some(2), ..Launched::default() }).unwrap_err();
        assert!(pmi2.contains("--mpi=pmix"), "{pmi2}");
        let other = apart(Launched { pmi: Some(4), ..Launched::default() }).unwrap_err();
        assert!(other.contains("one of 4 processes") && other.contains("mpirun"), "{other}");
        assert_eq!(apart(Launched::default()), Ok(()));
        // `mpirun -np 1` in a step of two tasks.
        assert_eq!(apart(Launched { open_mpi: Some(1), srun: Some(2), ..Launched::default() }), Ok(()));
        assert_eq!(Launched { srun: Some(2), ..Launched::default() }.check(WorldSize(2)), Ok(()));
    }

    #[test]
    fn the_local_rank_of_srun_counts_where_mpi_finds_nobody_on_the_host() {
        let of = |local_size| Topology {
            rank: Rank(3),
            size: WorldSize(4),
            local_rank: LocalRank(0),
            local_size: WorldSize(local_size),
        };
        let srun = Launched { srun: Some(4), srun_local_id: Some(1), srun_local_size: Some(2), ..Launched::default() };
        let mended = srun.with_local_rank(of(1));
        assert_eq!((mended.rank, mended.local_rank, mended.local_size), (Rank(3), LocalRank(1), WorldSize(2)));
        assert_eq!(srun.with_local_rank(of(2)), of(2), "MPI knows");
        let mpirun = Launched { open_mpi: Some(4), ..srun.clone() };
        assert_eq!(mpirun.with_local_rank(of(1)), of(1), "under mpirun SLURM_LOCALID is that of its daemon");
        let odd = Launched { srun_local_id: Some(2), ..srun };
        assert_eq!(odd.with_local_rank(of(1)), of(1));
    }

    use crate::domain::topology::Rank;
}
