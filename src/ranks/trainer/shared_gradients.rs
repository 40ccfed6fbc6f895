//! Gradients of all ranks of a host in memory that all of them see, and one place for their averages.
//!
//! Never decides whether it is worth it: `distributed` does.

use std::io;

use crate::comm::{CommError, Communicator, Region, SharedRegions};
use crate::domain::topology::ROOT_RANK;
use crate::host::shared_memory::{Address, PAGE, SharedMemory};

/// Memory for `length` float32 numbers of each rank, and for their averages; `None` if some rank cannot have or see it. It stays to the end
/// of the process.
///
/// # Collective
/// All ranks, with the same length.
pub fn share(comm: &dyn Communicator, length: usize) -> Result<Option<SharedRegions>, CommError> {
    let (rank, ranks) = (comm.topology().rank.0, comm.topology().size.0);
    let stride = (length * size_of::<f32>()).next_multiple_of(PAGE);
    let place = |index: usize| PAGE + index * stride..PAGE + (index + 1) * stride;
    // What the root thinks counts, so that all ranks make the same calls.
    let made = (comm.topology().is_root() && comm.can_share()).then(|| SharedMemory::create(place(ranks).end).ok()).flatten();
    let mut told = made.as_ref().map_or(Vec::new(), |(_, address)| serde_json::to_vec(address).unwrap_or_default());
    comm.broadcast_bytes(&mut told, ROOT_RANK)?;
    if told.is_empty() {
        return Ok(None);
    }
    let mine = made.map_or_else(|| open(&told, place(ranks).end), |(memory, _)| Ok(memory)).and_then(|memory| {
        memory.reserve(place(rank))?;
        if rank == 0 {
            memory.reserve(place(ranks))?;
        }
        // The file of the root stays open until all have opened it.
        Ok((memory.map()?, memory))
    });
    let can_all = comm.allgather(&[u8::from(mine.is_ok())])?.iter().all(|can| *can == [1]);
    let (Ok((mapping, _)), true) = (mine, can_all) else { return Ok(None) };
    let start = mapping.keep();
    // SAFETY: within the memory, which stays. Who reads and writes it when, is the promise of those who get the regions.
    let region = |index: usize| unsafe { Region::new(start.add(place(index).start).cast(), length) };
    Ok(Some(SharedRegions { sources: (0..ranks).map(region).collect(), target: region(ranks) }))
}

fn open(told: &[u8], bytes: usize) -> io::Result<SharedMemory> {
    let address: Address = serde_json::from_slice(told)?;
    if address.bytes == bytes { SharedMemory::open(address) } else { Err(io::ErrorKind::InvalidData.into()) }
}
