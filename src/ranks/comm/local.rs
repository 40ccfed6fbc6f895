//! Rank 0 of 1: what a process is without step 1, or alone.
//!
//! Never communicates, so every collective returns at once.

use super::communicator::{Communicator, ReduceOp};
use super::compression::Compression;
use super::error::{CommError, check_root};
use super::region::Region;
use crate::domain::topology::{Rank, Topology};

/// The communicator of a process that knows of no other.
///
/// Every law of the collectives holds for one rank: the sum and the average of one value are that value, and a broadcast
/// from the root changes nothing. That is why no caller asks whether a run is distributed.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalComm;

impl Communicator for LocalComm {
    fn topology(&self) -> Topology {
        Topology::ALONE
    }

    fn name(&self) -> &'static str {
        "local"
    }

    fn allreduce(&self, _: &mut [f32], _: ReduceOp) -> Result<(), CommError> {
        Ok(())
    }

    fn allreduce_f64(&self, _: &mut [f64], _: ReduceOp) -> Result<(), CommError> {
        Ok(())
    }

    /// The average over one rank is its own numbers, apart from the rounding.
    fn start_allreduce(&self, source: Region, target: Region, compression: Compression) -> Result<(), CommError> {
        assert_eq!(source.len(), target.len(), "a bucket has one length");
        match compression.half() {
            Some(half) => {
                let mut halves = Vec::new();
                half.compress(source.numbers(), 1, &mut halves);
                half.decompress(&halves, target.numbers_mut());
            }
            None if source.overlaps(target) => {}
            None => target.numbers_mut().copy_from_slice(source.numbers()),
        }
        Ok(())
    }

    fn broadcast(&self, _: &mut [f32], root: Rank) -> Result<(), CommError> {
        check_root(root, Topology::ALONE.size)
    }

    fn broadcast_bytes(&self, _: &mut Vec<u8>, root: Rank) -> Result<(), CommError> {
        check_root(root, Topology::ALONE.size)
    }

    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        Ok(vec![bytes.to_vec()])
    }

    fn barrier(&self) -> Result<(), CommError> {
        Ok(())
    }

    fn abort(&self, code: i32) -> ! {
        // Under mpirun without step 1 this process does not know the others. The launcher sees the exit code.
        std::process::exit(code)
    }
}
