//! Communication between ranks over flat buffers: one trait, [`Communicator`], and its backends.
//!
//! Never names a tensor, a file or a terminal.
//!
//! # The rules that every caller keeps
//!
//! A *collective* is a call that all ranks of a communicator make together. Three rules make it work. The classic hangs
//! and silent errors of distributed training come from breaking them:
//!
//! 1. **Everyone calls.** A rank that skips a collective leaves the others waiting forever. So no collective stands behind
//!    a condition that only some ranks fulfil ("if I am root", "if *my* accuracy is good enough"). Decide on a value that
//!    all ranks share, and broadcast it first if they do not share it yet.
//! 2. **In the same order.** Collectives carry no names: the third call of one rank meets the third call of another. So
//!    ranks never walk a hash map around a collective, because every process has its own order.
//! 3. **With equal lengths,** the same operation and the same root. Only [`Communicator::broadcast_bytes`] and
//!    [`Communicator::allgather`] send the lengths along.
//!
//! A rank that cannot go on calls [`Communicator::abort`], because the others would wait for it.
//!
//! [`connect`] chooses the backend, once. Nothing else asks whether a run is distributed: a program that runs alone talks to
//! [`LocalComm`], rank 0 of 1, for which every collective is the identity.

mod average;
mod call;
pub mod clock_sync;
mod communicator;
mod compression;
mod error;
mod gather;
mod launcher;
mod local;
mod mistake;
mod mpi;
mod nccl;
mod observed;
mod observer;
pub mod p2p;
mod region;
mod signature;
mod stall;
mod testing;

pub use call::name_call;
pub use communicator::{Communicator, ReduceOp, SharedRegions, Transport};
pub use compression::Compression;
pub use error::CommError;
pub use gather::{allgather_json, allgather_numbers, from_bytes};
pub use launcher::{launched_index, simulate_hosts, simulated_hosts};
pub use local::LocalComm;
pub use mistake::make_mistakes;
pub use mpi::{GpuAllreduce, LibraryAllreduce, MpiComm, MpiPoint, library_version, standard_version};
pub use nccl::{Gpu, nccl_version};
pub use observed::Observed;
pub use observer::{Activity, Collective};
pub use region::Region;
pub use stall::{Stall, StallLimits};
pub use testing::{ThreadComm, ThreadPoint};

/// The communicator of this process: MPI when `distributed` (step 1), else rank 0 of 1.
///
/// MPI is not touched at all without step 1, even under mpirun: each process then thinks it is alone. `on_warning` is
/// called with one line of text when this rank has waited for others for longer than `limits.warning`.
///
/// # Collective
/// All processes of the job call it once, on the main thread, with the same answer and limits.
///
/// # Errors
/// [`CommError::Init`] if MPI cannot be initialised.
///
/// # Horovod
/// `hvd.init()`.
pub fn connect(
    distributed: bool,
    limits: StallLimits,
    on_warning: impl Fn(&str) + 'static,
) -> Result<Box<dyn Communicator>, CommError> {
    match distributed {
        true => Ok(mistake::with_mistakes(Box::new(MpiComm::connect(limits, on_warning)?))),
        false => Ok(Box::new(LocalComm)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::topology::Topology;

    #[test]
    fn a_communicator_is_an_object() {
        let comm = connect(false, StallLimits::default(), |_| {}).unwrap();
        assert_eq!((comm.name(), comm.topology()), ("local", Topology::ALONE));
    }
}
