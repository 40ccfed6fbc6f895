//! The trait that every backend implements, with its types `ReduceOp` and `Transport`.

use super::compression::Compression;
use super::error::CommError;
use super::nccl::Gpu;
use super::region::Region;
use crate::domain::topology::{Rank, Topology};

/// Methods of a communicator that passes them on to the one inside.
macro_rules! pass_on {
    ($($method:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        $(fn $method(&self, $($argument: $kind),*) -> $result {
            self.inner.$method($($argument),*)
        })*
    };
}
pub(super) use pass_on;

/// How an allreduce combines the ranks' values.
///
/// # Horovod
/// `hvd.Sum` and `hvd.Average`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceOp {
    Sum,
    /// The sum divided by the number of ranks.
    Average,
}

/// How data in GPU memory gets from rank to rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transport {
    /// From GPU to GPU, by NCCL. Otherwise the caller copies to host memory before a collective, and back after it.
    pub direct: bool,
    /// For people: what carries the data, and why not something faster.
    pub text: String,
}

/// Memory of a host that all ranks see.
#[derive(Clone, Debug)]
pub struct SharedRegions {
    /// Each rank's own numbers, in the order of the ranks.
    pub sources: Vec<Region>,
    /// Their averages, in one place for all ranks.
    pub target: Region,
}

/// A group of ranks that compute together.
///
/// A communicator is not `Send`, because MPI is initialised for calls from the main thread alone.
/// ([`LocalComm`](super::LocalComm) and [`ThreadComm`](super::ThreadComm) are.)
/// All methods except `topology`, `name`, `is_cuda_aware`, `can_share`, `share`, `progress`, `allreduces_over` and `abort` are collectives: see
/// the rules in [`crate::comm`].
///
/// # Errors
/// Every collective fails with [`CommError::Mismatch`] on all ranks if one of them makes another call: a blocking one before its
/// data moves, started allreduces in [`Communicator::finish_allreduces`] at the latest. Over MPI it fails with [`CommError::Stalled`] if a rank does not come within the shutdown limit, which is off by
/// default. What a method adds to this is said there. After an error a rank can only abort.
///
/// # Horovod
/// `hvd.allreduce`, `hvd.broadcast`, `hvd.allgather`, `hvd.barrier`, each over one flat buffer.
pub trait Communicator {
    /// Which rank this process is, of how many. No communication.
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
    fn allreduce(&self, buffer: &mut [f32], op: ReduceOp) -> Result<(), CommError>;

    /// [`Self::allreduce`] in double precision, for metrics and times.
    ///
    /// # Collective
    /// All ranks, in the same order, with equal lengths and the same operation.
    fn allreduce_f64(&self, buffer: &mut [f64], op: ReduceOp) -> Result<(), CommError>;

    /// Connects the ranks' GPUs directly, if all of them can. From then on regions may lie in their memory. Returns how
    /// data in GPU memory travels, or `None` if no rank has a GPU or there is nobody to send to.
    ///
    /// # Collective
    /// All ranks, once, each with its GPU if it computes on one.
    fn connect_gpus(&self, _gpu: Option<Gpu>) -> Result<Option<Transport>, CommError> {
        Ok(None)
    }

    /// Whether regions may lie in the memory of this rank's GPU.
    fn is_cuda_aware(&self) -> bool {
        false
    }

    /// Whether [`Self::share`] would be of use: all ranks are on one host, and share no memory yet.
    fn can_share(&self) -> bool {
        false
    }

    /// From now on, [`Self::start_allreduce`] of parts of this memory, from this rank's own numbers to the averages, copies nothing from
    /// process to process. No communication: what is shared, and whether, all ranks must know.
    fn share(&self, _memory: SharedRegions) {}

    /// Starts to average `source` over the ranks into `target`, which may be the same region. This is for a bucket of
    /// gradients, while backward computes the next one. It is over when [`Self::finish_allreduces`] returns.
    ///
    /// With a [`Compression`], each number is divided by the number of ranks, rounded to 16 bits, summed in 16 bits, and
    /// cast back. All ranks get the same bits, but another order of the sum may give others. A single rank rounds as well.
    ///
    /// # Shapes
    /// Source and target are equally long, and either the same memory or disjoint.
    ///
    /// # Collective
    /// All ranks start the same buckets in the same order, with no other collective before they are finished.
    ///
    /// # Errors
    /// MPI finds different buckets on other ranks in [`Self::finish_allreduces`],
    /// [`ThreadComm`](super::ThreadComm) finds them here.
    ///
    /// # Panics
    /// If the two lengths differ.
    ///
    /// # Horovod
    /// `hvd.allreduce_async`, on one fusion buffer.
    fn start_allreduce(&self, source: Region, target: Region, compression: Compression) -> Result<(), CommError>;

    /// Lets started allreduces make progress, without waiting. Call it now and then while something else is computed.
    fn progress(&self) -> Result<(), CommError> {
        Ok(())
    }

    /// How many of the buckets started since the last finish are known to be over, in the order of their start. No
    /// communication. This default knows of none.
    fn allreduces_over(&self) -> usize {
        0
    }

    /// Waits until everything that was started is over.
    ///
    /// For regions in a GPU's memory, "over" refers to the compute stream: whatever it is given afterwards sees the
    /// averages, and the host does not wait for the GPU. Compression is for host memory alone.
    ///
    /// Over MPI, buckets that differ from those of the step before are sent only now, so the first step overlaps nothing.
    ///
    /// # Collective
    /// All ranks, also those that started nothing.
    ///
    /// # Horovod
    /// `hvd.synchronize`, for all handles at once.
    fn finish_allreduces(&self) -> Result<(), CommError> {
        Ok(())
    }

    /// Overwrites each rank's buffer with the root's.
    ///
    /// # Collective
    /// All ranks, in the same order, with equal lengths and the same root.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`] at once if there is no such root.
    fn broadcast(&self, buffer: &mut [f32], root: Rank) -> Result<(), CommError>;

    /// [`Self::broadcast`] of a region, which may lie in the memory of this rank's GPU if [`Self::is_cuda_aware`].
    ///
    /// # Collective
    /// All ranks, in the same order, with equal lengths and the same root.
    fn broadcast_region(&self, region: Region, root: Rank) -> Result<(), CommError> {
        self.broadcast(region.numbers_mut(), root)
    }

    /// Replaces each rank's bytes by the root's. The other ranks need not know the length, which is sent first.
    ///
    /// # Collective
    /// All ranks, in the same order, with the same root. Lengths may differ.
    fn broadcast_bytes(&self, bytes: &mut Vec<u8>, root: Rank) -> Result<(), CommError>;

    /// Every rank's bytes, on every rank, in rank order.
    ///
    /// # Collective
    /// All ranks, in the same order. Lengths may differ, and may be 0.
    ///
    /// # Errors
    /// [`CommError::TooLarge`] on all ranks alike if the whole is 2 GiB or more. It is for reports, not for tensors.
    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommError>;

    /// Returns when all ranks have called it.
    ///
    /// # Collective
    /// All ranks, in the same order.
    fn barrier(&self) -> Result<(), CommError>;

    /// Ends all ranks of the job, from any one of them and at any time. `code` becomes the exit code, if the launcher
    /// allows it: give 1 to 255. Destructors do not run, so write what must be kept before.
    fn abort(&self, code: i32) -> !;
}
