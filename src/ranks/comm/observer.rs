//! What an observer gets to know about each collective. Times are on this rank's own clock.

use std::time::Instant;

/// One collective on one rank, from the call until it was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    pub kind: Collective,
    /// Horovod's word for the kind over what carried it, such as `MPI_ALLREDUCE`.
    pub name: &'static str,
    /// Number of the collective on this communicator, from 0. All ranks make the same calls in the same order, so equal
    /// numbers on two ranks are one collective.
    pub call: u64,
    /// Index of the bucket since the last finish, for an allreduce that ran beside other work.
    pub bucket: Option<usize>,
    /// Bytes of this rank's buffer as it is sent.
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
    /// Horovod's words: for the time until the last rank has called, and for the call over MPI, NCCL and any other communicator.
    fn words(self) -> [&'static str; 4] {
        match self {
            Collective::Allreduce => ["NEGOTIATE_ALLREDUCE", "MPI_ALLREDUCE", "NCCL_ALLREDUCE", "ALLREDUCE"],
            Collective::Broadcast => ["NEGOTIATE_BROADCAST", "MPI_BCAST", "NCCL_BCAST", "BROADCAST"],
            Collective::Allgather => ["NEGOTIATE_ALLGATHER", "MPI_ALLGATHER", "NCCL_ALLGATHER", "ALLGATHER"],
            Collective::Barrier => ["NEGOTIATE_BARRIER", "MPI_BARRIER", "NCCL_BARRIER", "BARRIER"],
        }
    }

    /// Horovod's word for the time from a rank's call until the last rank has called.
    pub fn negotiation(self) -> &'static str {
        self.words()[0]
    }

    /// The activity over the communicator of this name.
    pub(super) fn over(self, communicator: &str) -> &'static str {
        let [_, mpi, nccl, other] = self.words();
        match communicator {
            "mpi" => mpi,
            "nccl" => nccl,
            _ => other,
        }
    }
}
