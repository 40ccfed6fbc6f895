//! Why a collective failed.

use super::stall::Stall;
use crate::domain::topology::{Rank, WorldSize};

/// A collective that failed. The contents of its buffers are then undefined, and the job cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CommError {
    #[error("MPI could not be initialised ({0}). Start the program with the mpirun of the MPI library it was built with")]
    Init(&'static str),
    #[error(
        "this is one of {launched} processes that were started together, but MPI finds only this one: each would train alone and \
         write the same files. To mend it, {remedy}"
    )]
    Apart { launched: usize, remedy: &'static str },
    #[error("the ranks called different collectives: {0}. All ranks must make the same calls in the same order")]
    Mismatch(String),
    /// The same where each rank knows which call of its program it is in.
    #[error(
        "rank {one} came to {call} while rank {other} came to {other_call}. Every rank has to make the same calls in the same order: \
         look for an `if` or a loop that depends on the rank"
    )]
    DifferentCalls { one: Rank, call: String, other: Rank, other_call: String },
    #[error("{0}. It was the limit for waiting")]
    Stalled(Stall),
    #[error("root rank {root} does not exist among {size} ranks")]
    NoSuchRank { root: Rank, size: WorldSize },
    #[error("allgather of {bytes} bytes in all: MPI counts to 2147483647. Gather less at a time")]
    TooLarge { bytes: u64 },
    #[error("{0}. The numbers in the GPU's memory cannot be trusted any more")]
    Gpu(String),
    #[error("rank {0} left while others waited for it")]
    Left(Rank),
    #[error("rank {rank} aborted the job with code {code}")]
    Aborted { rank: Rank, code: i32 },
}

/// Roots come from arguments and constants, so a wrong one is reported before any rank waits for it.
///
/// # Errors
/// [`CommError::NoSuchRank`].
pub(super) fn check_root(root: Rank, size: WorldSize) -> Result<(), CommError> {
    if root.0 < size.0 { Ok(()) } else { Err(CommError::NoSuchRank { root, size }) }
}
