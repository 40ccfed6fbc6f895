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

mod average;
mod call;
mod local;
mod mpi;
mod nccl;
mod observed;
mod observer;
mod region;
mod sixteen;
mod thread;

pub use local::LocalComm;
pub use mpi::{MpiComm, library_version, standard_version};
pub use nccl::Gpu;
pub use observed::Observed;
pub use observer::{Activity, Collective, Observer};
pub use region::Region;
pub use thread::ThreadComm;

use std::fmt;
use std::time::Duration;

use crate::domain::topology::{Rank, Topology, WorldSize};

/// How an allreduce combines the ranks' values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceOp {
    Sum,
    /// The sum divided by the number of ranks.
    Average,
}

/// How float32 numbers travel. The lossy ways halve the traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Compression {
    #[default]
    None,
    /// 10 bits of fraction, greatest number 65504.
    Fp16,
    /// 7 bits of fraction, the range of float32.
    Bf16,
}

impl fmt::Display for Compression {
    /// What follows the kind of the numbers: nothing, or ` as bf16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::None => "",
            Compression::Fp16 => " as fp16",
            Compression::Bf16 => " as bf16",
        })
    }
}

/// How numbers in GPUs' memory travel between ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// From GPU to GPU. Otherwise whoever wants them sent copies them to host memory, and back.
    pub direct: bool,
    /// For people: what carries them, and why not something faster.
    pub text: String,
}

/// How long a rank waits for others in a collective. Zero stands for: never.
///
/// # Horovod
/// `HOROVOD_STALL_CHECK_TIME_SECONDS` and `HOROVOD_STALL_SHUTDOWN_TIME_SECONDS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Before it says who is missing. It says so again after twice the time, and so on.
    pub warning: Duration,
    /// Before the collective fails with [`CommError::Stalled`].
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { warning: Duration::from_secs(10), shutdown: Duration::ZERO }
    }
}

/// A rank that waits, and whom it waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct Stall {
    pub rank: Rank,
    pub seconds: f64,
    /// The collective that it waits in, such as `allreduce Average of 77000 f32`.
    pub call: String,
    /// How many collectives all ranks have made so far, with this one.
    pub number: u64,
    /// Who has not said a word since. Empty if the network is at fault.
    pub missing: Vec<Rank>,
    /// All ranks have come, and it is data that does not arrive.
    pub everyone_came: bool,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stall { rank, seconds, call, number, missing, everyone_came } = self;
        let decimals = usize::from(*seconds < 10.0);
        write!(f, "rank {rank} has waited {seconds:.decimals$} s in {call} (collective {number}); ")?;
        let fault = if *everyone_came { "been heard of since all came" } else { "arrived" };
        match missing.as_slice() {
            [] => f.write_str("all ranks are there, and their messages do not arrive"),
            [one] => write!(f, "rank {one} has not {fault}"),
            [many @ .., last] => {
                let named = &many[..many.len().min(MAX_NAMED)];
                let names: Vec<String> = named.iter().map(Rank::to_string).collect();
                match many.len() - named.len() {
                    0 => write!(f, "ranks {} and {last} have not {fault}", names.join(", ")),
                    more => write!(f, "ranks {} and {} others have not {fault}", names.join(", "), more + 1),
                }
            }
        }
    }
}

/// Ranks that a message about a stall names one by one.
const MAX_NAMED: usize = 8;

/// A collective that could not be carried out. The buffers then hold anything: the job cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CommError {
    #[error("MPI could not be initialised ({0}). Start the program with the mpirun of the MPI library it was built with")]
    Init(&'static str),
    #[error("the ranks called different collectives: {0}. All ranks must make the same calls in the same order")]
    Mismatch(String),
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
    /// [`CommError::Mismatch`] on all ranks if one calls anything else, before any data moves; over MPI
    /// [`CommError::Stalled`] if one does not come within the limit, which is never unless set.
    fn allreduce(&self, buffer: &mut [f32], op: ReduceOp) -> Result<(), CommError>;

    /// [`Self::allreduce`] in double precision, for metrics and times.
    ///
    /// # Collective
    /// All ranks, in the same order, with equal lengths and the same operation.
    fn allreduce_f64(&self, buffer: &mut [f64], op: ReduceOp) -> Result<(), CommError>;

    /// Looks for a direct way between the ranks' GPUs, and takes it from now on for regions in their memory. `None` where
    /// no rank has a GPU, and where there is nobody to send to.
    ///
    /// # Collective
    /// All ranks, once, each with its GPU if it computes on one.
    fn reach_gpu(&self, gpu: Option<Gpu>) -> Result<Option<Way>, CommError> {
        drop(gpu);
        Ok(None)
    }

    /// Whether regions may lie in the memory of this rank's GPU.
    fn reaches_gpu(&self) -> bool {
        false
    }

    /// Begins to average `source` over the ranks into `target`, which may be the same region: a bucket of gradients,
    /// while backward computes the next one. What is started is over when [`Self::finish_allreduces`] returns.
    ///
    /// Source and target are equally long, and the same or apart. With a [`Compression`], each number is divided by
    /// the number of ranks, rounded to 16 bits, summed up in them, and cast back: alike on all ranks, but not alike for
    /// all orders of the sum. Alone, a rank rounds as well.
    ///
    /// # Collective
    /// All ranks start the same buckets in the same order, with no other collective before they are finished.
    ///
    /// # Errors
    /// Other buckets on other ranks are found out by [`Self::finish_allreduces`], over MPI; [`ThreadComm`] finds out
    /// here.
    fn start_allreduce(&self, source: Region, target: Region, compression: Compression) -> Result<(), CommError>;

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
    ///
    /// For regions in a GPU's memory, "over" is meant in the order of the stream that computes: whatever it is given
    /// afterwards sees the averages, and the host goes on. Compression is for host memory alone.
    ///
    /// Over MPI, buckets that differ from those of the last time travel only now: the first step overlaps nothing.
    ///
    /// # Collective
    /// All ranks, also those that started nothing.
    ///
    /// # Errors
    /// [`CommError::Mismatch`] on all ranks if they started different buckets, or one called something else.
    fn finish_allreduces(&self) -> Result<(), CommError> {
        Ok(())
    }

    /// Overwrites each rank's buffer with the root's.
    ///
    /// # Collective
    /// All ranks, in the same order, with equal lengths and the same root.
    fn broadcast(&self, buffer: &mut [f32], root: Rank) -> Result<(), CommError>;

    /// [`Self::broadcast`] of a region, which may lie in the memory of this rank's GPU if [`Self::reaches_gpu`].
    ///
    /// # Collective
    /// All ranks, in the same order, with equal lengths and the same root.
    fn broadcast_region(&self, region: Region, root: Rank) -> Result<(), CommError> {
        self.broadcast(region.numbers_mut(), root)
    }

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
/// `on_warning` is called with one line when this rank has waited for others for long.
///
/// # Collective
/// All processes of the job with the same answer and limits, once, on the main thread.
///
/// # Horovod
/// `hvd.init()`.
pub fn connect(
    distributed: bool,
    limits: Limits,
    on_warning: impl Fn(&str) + 'static,
) -> Result<Box<dyn Communicator>, CommError> {
    match distributed {
        true => Ok(Box::new(MpiComm::connect(limits, on_warning)?)),
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

/// `2.28.9`, or why there is no NCCL.
pub fn nccl_version() -> Result<String, String> {
    nccl::version().map(nccl::version_text)
}

fn first_number<const N: usize>(names: [&str; N], lookup: impl Fn(&str) -> Option<String>) -> Option<usize> {
    names.into_iter().find_map(|name| lookup(name)?.trim().parse().ok())
}

/// Elements in one MPI call. MPI counts in i32, so long buffers go in pieces. Long enough that the price of a call is nothing against its transfer.
const CHUNK: usize = 4 << 20;

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
    fn a_stall_is_told_in_one_line() {
        let mut stall = Stall {
            rank: Rank(0),
            seconds: 10.02,
            call: "allreduce Average of 77000 f32".into(),
            number: 57,
            missing: vec![Rank(1)],
            everyone_came: false,
        };
        let said = "rank 0 has waited 10 s in allreduce Average of 77000 f32 (collective 57); rank 1 has not arrived";
        assert_eq!(stall.to_string(), said);
        stall.missing = [1, 3, 4].map(Rank).to_vec();
        assert!(stall.to_string().ends_with("; ranks 1, 3 and 4 have not arrived"), "{stall}");
        stall.missing = (1..64).map(Rank).collect();
        assert!(stall.to_string().ends_with("; ranks 1, 2, 3, 4, 5, 6, 7, 8 and 55 others have not arrived"), "{stall}");
    }

    #[test]
    fn a_communicator_is_an_object() {
        let comm = connect(false, Limits::default(), |_| {}).unwrap();
        assert_eq!((comm.name(), comm.topology()), ("local", Topology::ALONE));
    }
}
