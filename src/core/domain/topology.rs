//! Who is who in a distributed run: rank, local rank and sizes, as types that cannot be mixed up.
//!
//! Never asks MPI or the operating system: the numbers come from a communicator.

use std::fmt;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

/// Index of a process among all processes of a run, 0-based.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rank(pub usize);

/// Index of a process among those on its own host, 0-based. It picks the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LocalRank(pub usize);

/// Number of processes, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorldSize(pub usize);

/// The rank that speaks for all: it prints, writes checkpoints, and its weights are broadcast.
pub const ROOT_RANK: Rank = Rank(0);

/// The place of one process in its run, as the process itself sees it.
///
/// # Horovod
/// `hvd.rank()`, `hvd.size()`, `hvd.local_rank()`, `hvd.local_size()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    pub rank: Rank,
    pub size: WorldSize,
    pub local_rank: LocalRank,
    pub local_size: WorldSize,
}

impl Topology {
    /// A process that knows of no other: rank 0 of 1.
    pub const ALONE: Topology =
        Topology { rank: ROOT_RANK, size: WorldSize(1), local_rank: LocalRank(0), local_size: WorldSize(1) };

    pub fn is_root(&self) -> bool {
        self.rank == ROOT_RANK
    }

    /// The same process if each host has `ranks` ranks.
    pub fn on_hosts_of(self, ranks: NonZeroUsize) -> Topology {
        let (ranks, rank) = (ranks.get(), self.rank.0);
        let before = rank - rank % ranks;
        let local_size = WorldSize(ranks.min(self.size.0.saturating_sub(before)));
        Topology { local_rank: LocalRank(rank - before), local_size, ..self }
    }

    /// This process's share of `cores` cores: equal contiguous slices by local rank, at least one core each.
    ///
    /// With more ranks than cores, ranks share cores round robin.
    pub fn core_slice(&self, cores: usize) -> std::ops::Range<usize> {
        let (local, ranks, cores) = (self.local_rank.0, self.local_size.0.max(1), cores.max(1));
        if ranks >= cores {
            let core = local % cores;
            return core..core + 1;
        }
        local * cores / ranks..(local + 1) * cores / ranks
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for WorldSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_slices_cover_every_core_once_when_there_are_enough() {
        for cores in 1..20 {
            for ranks in 1..=cores {
                let mut seen = vec![0; cores];
                for local in 0..ranks {
                    let place = Topology { local_rank: LocalRank(local), local_size: WorldSize(ranks), ..Topology::ALONE };
                    let slice = place.core_slice(cores);
                    assert!(!slice.is_empty());
                    slice.for_each(|core| seen[core] += 1);
                }
                assert!(seen.iter().all(|&count| count == 1), "{cores} cores, {ranks} ranks: {seen:?}");
            }
        }
    }

    #[test]
    fn on_several_hosts_local_ranks_begin_again() {
        let place = |rank| Topology { rank: Rank(rank), size: WorldSize(5), ..Topology::ALONE };
        let two = NonZeroUsize::new(2).unwrap();
        let local: Vec<_> =
            (0..5).map(|rank| place(rank).on_hosts_of(two)).map(|of| (of.local_rank.0, of.local_size.0)).collect();
        assert_eq!(local, [(0, 2), (1, 2), (0, 2), (1, 2), (0, 1)]);
        assert_eq!(place(3).on_hosts_of(two).rank, Rank(3));
    }

    #[test]
    fn more_ranks_than_cores_share_them() {
        let place = |local| Topology { local_rank: LocalRank(local), local_size: WorldSize(5), ..Topology::ALONE };
        assert_eq!((0..5).map(|local| place(local).core_slice(2).start).collect::<Vec<_>>(), [0, 1, 0, 1, 0]);
    }
}
