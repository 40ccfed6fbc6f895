//! Values of any kind, gathered from all ranks.

use serde::Serialize;
use serde::de::DeserializeOwned;
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

/// Every rank's value, on every rank, in rank order; `None` for one that cannot be read. Values are sent as JSON, and such as can always
/// be written.
///
/// # Collective
/// As [`Communicator::allgather`].
///
/// # Errors
/// As [`Communicator::allgather`].
pub fn allgather_json<T: Serialize + DeserializeOwned>(comm: &dyn Communicator, own: &T) -> Result<Vec<Option<T>>, CommError> {
    let all = comm.allgather(&serde_json::to_vec(own).unwrap_or_default())?;
    Ok(all.iter().map(|bytes| serde_json::from_slice(bytes).ok()).collect())
}

/// Numbers as they lie in memory, which is how ranks send them.
pub fn from_bytes<T: FromBytes>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).filter_map(|number| T::read_from_bytes(number).ok()).collect()
}
