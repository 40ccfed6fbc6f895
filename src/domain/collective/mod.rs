//! An allreduce as data: which rank sends which numbers to whom, round by round.
//!
//! One schedule is executed over MPI, proven, measured, predicted and drawn, so that all of them speak of the same thing. An
//! algorithm is one file that makes a [`Schedule`], and a line in [`Algorithm`].

mod report;
mod ring;
mod schedule;
mod settings;

pub use report::{AllreduceReport, LinkReport, LinkRow, MessageReport, MessagesReport};
pub use schedule::{Message, Operation, Schedule, chunk};
pub use settings::CollectivesSpec;

use serde::{Deserialize, Serialize};

/// An algorithm whose schedule the lab makes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Reduce-scatter around the ring, then allgather.
    Ring,
}

impl Algorithm {
    pub const ALL: [Algorithm; 1] = [Algorithm::Ring];

    /// As flags, tables and events spell it.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Ring => "ring",
        }
    }

    /// The schedule for so many ranks and numbers.
    pub fn schedule(self, ranks: usize, elements: usize, shape: Shape) -> Schedule {
        let _ = shape;
        match self {
            Algorithm::Ring => ring::schedule(ranks, elements),
        }
    }
}

/// What some algorithms need to know beside ranks and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Servers of the parameter server: the first so many ranks, each for its part of the numbers.
    pub servers: usize,
    /// Ranks of one host, for the hierarchical algorithm: ranks 0 to L-1 are on the first host, and so on.
    pub ranks_per_host: usize,
}

/// One way to do an allreduce: a schedule of our own, MPI's own choice or one of its algorithms, or NCCL. As text: `ring`,
/// `mpi`, `mpi-ring`, `nccl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    Own(Algorithm),
    /// MPI_Allreduce, with the algorithm that the library picks.
    Mpi,
}
