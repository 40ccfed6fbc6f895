//! Communication between ranks over flat buffers: one trait, and the ways to carry it out.
//!
//! Never names a tensor, a file or a terminal.
//!
//! # The rules that every caller keeps
//!
//! A *collective* is a call that all ranks of a communicator make together. Three rules make it work, and the classic
//! hangs and silent errors of distributed training are these rules broken:
//!
//! 1. **Everyone calls.** A rank that skips a collective leaves the others waiting for ever. So no collective stands
//!    behind a condition that only some ranks fulfil ("if I am root", "if *my* accuracy is good enough"): decide on a
//!    value that all ranks share, and broadcast it first where they do not.
//! 2. **In the same order.** Collectives carry no names: the third call of one rank meets the third call of another. So
//!    ranks never walk a hash map around a collective, as each process has an order of its own.
//! 3. **With equal lengths,** the same operation and the same root. Only [`Communicator::broadcast_bytes`] and
//!    [`Communicator::allgather`] carry lengths with them.
//!
//! A rank that cannot go on calls [`Communicator::abort`], as the others would wait for it.
//!
//! Which way carries a communicator out is chosen once, by [`connect`]; nothing else asks whether a run is distributed.
//! Alone, a program talks to [`LocalComm`], rank 0 of 1, for which every collective is the identity.

mod local;
mod mpi;
mod observed;
mod observer;
mod region;
mod thread;

pub use local::LocalComm;
pub use mpi::{MpiComm, library_version, standard_version};
pub use observed::Observed;
pub use observer::{Activity, Collective, Observer};
pub use region::Region;
pub use thread::ThreadComm;

use crate::domain::topology::{Rank, Topology, WorldSize};

/// How an allreduce combines the ranks' values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceOp {
    Sum,
    /// The sum divided by the number of ranks.
    Average,
}

/// How float32 numbers travel. The lossy ways halve the traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    #[default]
    None,
    /// 10 bits of fraction, greatest number 65504.
    Fp16,
    /// 7 bits of fraction, the range of float32.
    Bf16,
}

/// A collective that could not be carried out. The buffers then hold anything: the job cannot go on.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommError {
    #[error("MPI could not be initialised ({0}). Start the program with the mpirun of the MPI library it was built with")]
    Init(&'static str),
    #[error("the ranks called different collectives: {0}. All ranks must make the same calls in the same order")]
    Mismatch(String),
    #[error("root rank {root} does not exist among {size} ranks")]
    NoSuchRank { root: Rank, size: WorldSize },
    #[error("allgather of {bytes} bytes in all: MPI counts to 2147483647. Gather less at a time")]
    TooLarge { bytes: u64 },
    #[error("rank {0} left while others waited for it")]
    Left(Rank),
    #[error("rank {rank} aborted the job with code {code}")]
    Aborted { rank: Rank, code: i32 },
}

/// A group of ranks that compute together.
///
/// Not `Send`, as MPI is initialised for calls from the main thread alone ([`LocalComm`] and [`ThreadComm`] are).
/// All methods but `topology`, `name` and `abort` are collectives: see the rules above.
///
/// # Horovod
/// `hvd.allreduce`, `hvd.broadcast`, `hvd.allgather`, `hvd.barrier`, over one flat buffer each.
pub trait Communicator {
    /// Who this process is. No communication.
    fn topology(&self) -> Topology;

    /// `local`, `thread` or `mpi`.
    fn name(&self) -> &'static str;

    /// Replaces each element by the sum or average over the ranks' elements at its place.
    ///
    /// All ranks end with the same bits: each element is summed once and handed on (or summed in one order everywhere),
    /// and the division by the size is the same operation on the same bits on every rank. So replicas that start equal
    /// stay equal. A different number of ranks may sum in another order, and differ in the last bits.
    ///
    /// # Collective
    /// All ranks, in the same order, with equal lengths and the same operation.
    ///
    /// # Errors
    /// As far as the communicator notices: over MPI unequal lengths end the job with MPI's own message, or go unnoticed
    /// where the library splits both alike. [`ThreadComm`] reports every mismatch.
    fn allreduce(&self, buffer: &mut [f32], op: ReduceOp) -> Result<(), CommError>;

    /// [`Self::allreduce`] in double precision, for metrics and times.
    ///
    /// # Collective
    /// All ranks, in the same order, with equal lengths and the same operation.
    fn allreduce_f64(&self, buffer: &mut [f64], op: ReduceOp) -> Result<(), CommError>;

    /// Begins to average `source` over the ranks into `target`, which may be the same region: a bucket of gradients,
    /// while backward computes the next one. What is started is over when [`Self::finish_allreduces`] returns.
    ///
    /// This default is a plain allreduce, done at once and uncompressed.
    ///
    /// # Collective
    /// All ranks start the same buckets in the same order, with no other collective before they are finished.
    fn start_allreduce(&self, source: Region, target: Region, compression: Compression) -> Result<(), CommError> {
        let _ = compression;
        if source.numbers().as_ptr() != target.numbers().as_ptr() {
            target.numbers_mut().copy_from_slice(source.numbers());
        }
        self.allreduce(target.numbers_mut(), ReduceOp::Average)
    }

    /// Moves on what was started, without waiting: called now and then while something else is computed.
    fn progress(&self) -> Result<(), CommError> {
        Ok(())
    }

    /// How many of the buckets started since the last finish are known to be over, in the order of their start. No
    /// communication. This default knows of none.
    fn allreduces_over(&self) -> usize {
        0
    }

    /// Waits until everything that was started is over.
    fn finish_allreduces(&self) -> Result<(), CommError> {
        Ok(())
    }

    /// Overwrites each rank's buffer with the root's.
    ///
    /// # Collective
    /// All ranks, in the same order, with equal lengths and the same root.
    fn broadcast(&self, buffer: &mut [f32], root: Rank) -> Result<(), CommError>;

    /// Replaces each rank's bytes by the root's. The others need not know the length: it travels first.
    ///
    /// # Collective
    /// All ranks, in the same order, with the same root; lengths are free.
    fn broadcast_bytes(&self, bytes: &mut Vec<u8>, root: Rank) -> Result<(), CommError>;

    /// Every rank's bytes, on every rank, in rank order.
    ///
    /// # Collective
    /// All ranks, in the same order; lengths are free, also 0.
    ///
    /// # Errors
    /// [`CommError::TooLarge`] on all ranks alike where the whole is 2 GiB or more. It is for reports, not for tensors.
    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommError>;

    /// Returns when all ranks have called it.
    ///
    /// # Collective
    /// All ranks, in the same order.
    fn barrier(&self) -> Result<(), CommError>;

    /// Ends all ranks of the job, from any one of them and at any time. `code` becomes the exit code, if the launcher
    /// allows: give 1 to 255. Destructors do not run: write what must be kept before.
    fn abort(&self, code: i32) -> !;
}

/// The communicator of this process: MPI when `distributed` (step 1), else rank 0 of 1.
///
/// MPI is not touched at all without step 1, even under mpirun: each process then believes to be alone.
///
/// # Collective
/// All processes of the job with the same answer, once, on the main thread.
///
/// # Horovod
/// `hvd.init()`.
pub fn connect(distributed: bool) -> Result<Box<dyn Communicator>, CommError> {
    match distributed {
        true => Ok(Box::new(MpiComm::connect()?)),
        false => Ok(Box::new(LocalComm)),
    }
}

/// Index of this process as it was launched: what mpirun says, whether MPI is initialised or not. 0 without mpirun.
///
/// With step 1 off all processes are rank 0 to themselves; this still tells them apart in the log.
pub fn launched_index() -> usize {
    // Set by Open MPI, by any PMIx launcher (srun among them), and by MPICH's hydra, in this order.
    first_number(["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"], |name| std::env::var(name).ok()).unwrap_or(0)
}

fn first_number<const N: usize>(names: [&str; N], lookup: impl Fn(&str) -> Option<String>) -> Option<usize> {
    names.into_iter().find_map(|name| lookup(name)?.trim().parse().ok())
}

/// Elements in one MPI call. MPI counts in i32, and in-place reduction needs a copy of a chunk (16 MiB of f32), so long
/// buffers go in pieces. Long enough that the price of a call is nothing against its transfer.
const CHUNK: usize = 4 << 20;

/// What [`ReduceOp::Average`] does after the sum. Division, as multiplying by the reciprocal would round once more.
macro_rules! finish {
    ($buffer:expr, $op:expr, $size:expr, $float:ty) => {
        if $op == ReduceOp::Average {
            let size = $size.0 as $float;
            $buffer.iter_mut().for_each(|value| *value /= size);
        }
    };
}
use finish;

/// Roots come from arguments and constants: a wrong one is named before any rank waits for it.
fn check_root(root: Rank, size: WorldSize) -> Result<(), CommError> {
    if root.0 < size.0 { Ok(()) } else { Err(CommError::NoSuchRank { root, size }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launched_index_is_the_first_number_that_a_launcher_gives() {
        let names = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];
        let environment = |set: &'static [(&str, &str)]| {
            move |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
        };
        assert_eq!(first_number(names, environment(&[])), None);
        assert_eq!(first_number(names, environment(&[("PMI_RANK", "3")])), Some(3));
        assert_eq!(first_number(names, environment(&[("PMI_RANK", "3"), ("OMPI_COMM_WORLD_RANK", "2")])), Some(2));
        assert_eq!(first_number(names, environment(&[("PMIX_RANK", "x"), ("PMI_RANK", "1")])), Some(1));
    }

    #[test]
    fn a_communicator_is_an_object() {
        let comm = connect(false).unwrap();
        assert_eq!((comm.name(), comm.topology()), ("local", Topology::ALONE));
    }
}
