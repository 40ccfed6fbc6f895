//! What a communicator was busy with, told to whoever wants to know.
//!
//! Never keeps or judges what it tells: times are the caller's own clock, and comparing ranks is the observer's affair.

use std::time::Instant;

/// Wants to know what communication took. Called after each collective, so cheap: it runs between the steps of training.
pub trait Observer {
    fn activity(&self, activity: Activity);
}

/// One collective on one rank, from the call until it was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    pub kind: Collective,
    /// Horovod's word for the kind over what carried it, such as `MPI_ALLREDUCE`.
    pub name: &'static str,
    /// Counts the collectives of the communicator from 0. As all ranks make the same calls in the same order, equal
    /// numbers on two ranks are one collective.
    pub call: u64,
    /// Index of the bucket since the last finish, for what ran beside other work.
    pub bucket: Option<usize>,
    /// Size of this rank's buffer as it travels.
    pub bytes: usize,
    pub began: Instant,
    pub ended: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    Allreduce,
    Broadcast,
    Allgather,
    Barrier,
}

impl Collective {
    /// Horovod's word for the time from a rank's call until the last rank has called.
    pub fn negotiation(self) -> &'static str {
        match self {
            Collective::Allreduce => "NEGOTIATE_ALLREDUCE",
            Collective::Broadcast => "NEGOTIATE_BROADCAST",
            Collective::Allgather => "NEGOTIATE_ALLGATHER",
            Collective::Barrier => "NEGOTIATE_BARRIER",
        }
    }

    /// The activity over the communicator of this name.
    pub(super) fn over(self, communicator: &str) -> &'static str {
        match (communicator, self) {
            ("mpi", Collective::Allreduce) => "MPI_ALLREDUCE",
            ("mpi", Collective::Broadcast) => "MPI_BCAST",
            ("mpi", Collective::Allgather) => "MPI_ALLGATHER",
            ("mpi", Collective::Barrier) => "MPI_BARRIER",
            ("nccl", Collective::Allreduce) => "NCCL_ALLREDUCE",
            ("nccl", Collective::Broadcast) => "NCCL_BCAST",
            ("nccl", Collective::Allgather) => "NCCL_ALLGATHER",
            ("nccl", Collective::Barrier) => "NCCL_BARRIER",
            (_, Collective::Allreduce) => "ALLREDUCE",
            (_, Collective::Broadcast) => "BROADCAST",
            (_, Collective::Allgather) => "ALLGATHER",
            (_, Collective::Barrier) => "BARRIER",
        }
    }
}
