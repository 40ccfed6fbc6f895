//! Numbers of any kind, gathered from all ranks.

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::communicator::Communicator;
use super::error::CommError;

/// Every rank's numbers, on every rank, in rank order.
///
/// # Collective
/// As [`Communicator::allgather`].
///
/// # Errors
/// As [`Communicator::allgather`].
pub fn allgather_numbers<T: FromBytes + IntoBytes + Immutable>(
    comm: &dyn Communicator,
    numbers: &[T],
) -> Result<Vec<Vec<T>>, CommError> {
    Ok(comm.allgather(numbers.as_bytes())?.iter().map(|bytes| from_bytes(bytes)).collect())
}

/// Numbers as they lie in memory, which is how ranks send them.
pub fn from_bytes<T: FromBytes>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).filter_map(|number| T::read_from_bytes(number).ok()).collect()
}
