//! Ranks as processes that mpirun started: the `mpi` crate (rsmpi) over the MPI library of the machine.
//!
//! Never handles MPI's errors itself: MPI's own handler stays in place, which prints the cause and ends the whole job.
//! That is the right answer here, because no collective can go on without one of its ranks.

mod buckets;
mod gpu_allreduce;
mod gpu_transport;
mod library_allreduce;
mod negotiation;
mod operation;
mod point_to_point;
mod request;
mod shared_average;
mod stall_inspector;
mod wait;

use std::cell::{OnceCell, RefCell};
use std::time::Duration;

use ::mpi::Threading;
use ::mpi::collective::SystemOperation;
use ::mpi::datatype::PartitionMut;
use ::mpi::environment::{self, Universe};
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator as _, CommunicatorCollectives as _, Equivalence, Root as _};

use self::buckets::{Buckets, CACHED, MESSAGE};
pub use self::gpu_allreduce::GpuAllreduce;
pub use self::library_allreduce::LibraryAllreduce;
use self::negotiation::Negotiation;
pub use self::point_to_point::MpiPoint;
use self::shared_average::SharedAverage;
use self::stall_inspector::{StallInspector, Wait};
use super::average::average;
use super::communicator::{Communicator, ReduceOp, SharedRegions, Transport};
use super::compression::Compression;
use super::error::{CommError, check_root};
use super::launcher::{Launched, simulated_hosts};
use super::nccl::{Gpu, Nccl};
use super::region::Region;
use super::signature::Signature;
use super::stall::StallLimits;
use crate::domain::topology::{LocalRank, Rank, Topology, WorldSize};

/// All processes of one mpirun. Dropping it finalizes MPI, which waits for the other ranks to do so too.
///
/// MPI is initialised at the level "funneled": the process may have threads (libtorch has), and only the thread that
/// connected makes MPI calls. The type is not `Send`, so the compiler keeps that promise.
///
/// # First negotiate, then move data
/// Each blocking collective begins with a negotiation: an allreduce of seven numbers that say what the rank is about to do. So
/// does `finish_allreduces`, for buckets that may be in flight already. A negotiation does three things. It finds ranks that
/// call different collectives. It is where a rank waits for late ones, with tests and sleeps that leave its core to others
/// (`wait`), watched by the `stall_inspector`. And once it is over all ranks are there, so the data moves at full speed by
/// MPI's blocking call, the fastest that MPI has.
///
/// It costs the latency of one short message: 4 us, with 2 ranks on 2 busy cores of one host. There an allreduce of
/// 4 B, 1 KB and 64 KB takes MPI alone 1.7, 3.4 and 24 us, here 5.8, 7.5 and 33 us with the division (best of many, by
/// `cargo test --release --test ranks collectives -- --ignored --nocapture`). A step of
/// training has one negotiation, in its `finish_allreduces`.
pub struct MpiComm {
    /// Carries data.
    world: SimpleCommunicator,
    topology: Topology,
    negotiation: Negotiation,
    scratch: RefCell<Scratch>,
    buckets: RefCell<Buckets>,
    /// The direct connection between the ranks' GPUs, if there is one.
    gpu: OnceCell<Nccl>,
    /// Last, because fields drop in order: its drop is MPI_Finalize.
    _universe: Universe,
}

/// Room for one chunk of a sum. The safe interface of rsmpi has no MPI_IN_PLACE: source and target are two buffers.
#[derive(Default)]
struct Scratch {
    f32: Vec<f32>,
    f64: Vec<f64>,
}

/// What a rank printed last gets this long to pass through the launcher before the rank ends the job.
const ABORT_DELAY: Duration = Duration::from_millis(100);

impl MpiComm {
    /// Initialises MPI and finds out which rank this process is. Without mpirun it is rank 0 of 1.
    ///
    /// `local_rank` comes from MPI_Comm_split_type over processes that can share memory, so from MPI itself, and not
    /// from the environment, whose names differ between launchers. One case apart: `Launched::with_local_rank`.
    ///
    /// `on_warning` is called with one line of text by a rank that has waited for long.
    ///
    /// # Collective
    /// All processes of the job, once, on the main thread, with the same limits. MPI cannot be initialised again after
    /// the drop.
    ///
    /// # Errors
    /// [`CommError::Init`], and [`CommError::Apart`] for one of several processes that MPI does not know of each other.
    pub fn connect(limits: StallLimits, on_warning: impl Fn(&str) + 'static) -> Result<MpiComm, CommError> {
        let (universe, threading) = environment::initialize_with_threading(Threading::Funneled)
            .ok_or(CommError::Init("it is initialised already, or was initialised earlier in this process"))?;
        if !environment::is_initialized() {
            return Err(CommError::Init("MPI_Init_thread failed"));
        }
        if threading < Threading::Funneled {
            return Err(CommError::Init("this MPI library allows no threads at all, and libtorch needs them"));
        }
        let world = universe.world();
        let host = world.split_shared(world.rank());
        // Ranks and sizes of MPI are i32 that are never negative.
        let launched = Launched::from_environment();
        launched.check(WorldSize(world.size() as usize))?;
        let topology = launched.with_local_rank(Topology {
            rank: Rank(world.rank() as usize),
            size: WorldSize(world.size() as usize),
            local_rank: LocalRank(host.rank() as usize),
            local_size: WorldSize(host.size() as usize),
        });
        let topology = simulated_hosts().map_or(topology, |ranks| topology.on_hosts_of(ranks));
        let inspector = StallInspector::new(&world, topology, limits, Box::new(on_warning));
        Ok(MpiComm {
            negotiation: Negotiation::new(&world, topology.size.0, inspector),
            world,
            topology,
            scratch: RefCell::default(),
            buckets: RefCell::new(Buckets::new(topology.size.0)),
            gpu: OnceCell::new(),
            _universe: universe,
        })
    }

    /// [`Negotiation::agree`]. After a mismatch, buckets in flight will never arrive, and that is a failure for good.
    fn negotiate(&self, signature: Signature) -> Result<Wait, CommError> {
        self.negotiation.agree(signature).map_err(|error| {
            let mut buckets = self.buckets.borrow_mut();
            let is_final = self.negotiation.failure().is_some() || !buckets.in_flight.is_empty();
            buckets.abandon();
            if is_final { self.fail(error) } else { error }
        })
    }

    /// [`Self::negotiate`], for a collective of its own: not between the start of buckets and their end.
    fn enter(&self, signature: Signature) -> Result<(), CommError> {
        if !self.buckets.borrow().started.is_empty() {
            return Err(CommError::Mismatch(format!("rank {} {signature} before finish_allreduces", self.topology.rank)));
        }
        self.negotiate(signature).map(|_| ())
    }

    /// Something will never arrive: no collective can work any more.
    fn fail(&self, cause: CommError) -> CommError {
        if let Some(gpu) = self.gpu.get() {
            gpu.abort();
        }
        self.negotiation.fail(cause)
    }

    /// All ranks are there. Waits for their data.
    fn wait_for_data(&self, wait: &mut Wait, has_arrived: impl FnMut() -> Result<bool, CommError>) -> Result<(), CommError> {
        self.negotiation.wait_for_data(wait, has_arrived).map_err(|error| self.fail(error))
    }

    /// What sums over the ranks are divided by.
    fn divisor(&self, op: ReduceOp) -> usize {
        if op == ReduceOp::Average { self.topology.size.0 } else { 1 }
    }

    /// Copies the root's buffer to all ranks. It is cut only because MPI counts in i32: nothing is copied on the way.
    ///
    /// # Collective
    /// All ranks with equal lengths and the same root, which have been negotiated.
    fn broadcast_chunks<T: Equivalence>(&self, buffer: &mut [T], root: Rank) {
        let root = self.world.process_at_rank(root.0 as i32);
        buffer.chunks_mut(MESSAGE).for_each(|chunk| root.broadcast_into(chunk));
    }
}

/// The MPI library in one line, such as `Open MPI v5.0.11, ...`. Needs no mpirun and no initialisation.
pub fn library_version() -> String {
    let text = environment::library_version().unwrap_or_default();
    // MPICH answers with a page; its first line names it.
    text.trim_matches(['\0', '\n', ' ']).lines().next().unwrap_or("unknown").trim().to_owned()
}

/// Version of the MPI standard that the library implements, such as `3.1`.
pub fn standard_version() -> String {
    let (version, subversion) = environment::version();
    format!("{version}.{subversion}")
}

/// Sums the buffer over the ranks chunk by chunk, into scratch memory, and copies back what is wanted of it.
///
/// The library picks the algorithm by size: recursive doubling for short buffers, a ring for long ones. In each, one
/// rank adds up an element and the others receive that very sum (or both partners of a pair add the same two numbers),
/// so all ranks end with the same bits. The copy and the division find the chunk in the core's cache.
///
/// A rank that waits here spins, but only while data is in flight: all ranks are there. `mpi_yield_when_idle` (Open MPI)
/// makes it yield where ranks share a core. The launcher sets it, because it knows.
macro_rules! reduce {
    ($comm:expr, $buffer:expr, $float:ident, $combine:expr, $divisor:expr) => {{
        let scratch = &mut $comm.scratch.borrow_mut().$float;
        for chunk in $buffer.chunks_mut(CACHED) {
            scratch.resize(chunk.len(), 0.0);
            $comm.world.all_reduce_into(&*chunk, &mut scratch[..], $combine);
            chunk.copy_from_slice(scratch);
            average(chunk, $divisor);
        }
        Ok(())
    }};
}

impl Communicator for MpiComm {
    fn topology(&self) -> Topology {
        self.topology
    }

    fn name(&self) -> &'static str {
        "mpi"
    }

    fn allreduce(&self, buffer: &mut [f32], op: ReduceOp) -> Result<(), CommError> {
        self.enter(Signature::Allreduce { length: buffer.len(), op })?;
        match self.buckets.borrow().mean_of_two().filter(|_| op == ReduceOp::Average) {
            Some(mean) => reduce!(self, buffer, f32, mean, 1),
            None => reduce!(self, buffer, f32, SystemOperation::sum(), self.divisor(op)),
        }
    }

    fn allreduce_f64(&self, buffer: &mut [f64], op: ReduceOp) -> Result<(), CommError> {
        self.enter(Signature::AllreduceF64 { length: buffer.len(), op })?;
        reduce!(self, buffer, f64, SystemOperation::sum(), self.divisor(op))
    }

    fn start_allreduce(&self, source: Region, target: Region, compression: Compression) -> Result<(), CommError> {
        assert_eq!(source.len(), target.len(), "a bucket has one length");
        if let Some(cause) = self.negotiation.failure() {
            return Err(cause);
        }
        self.buckets.borrow_mut().start(&self.world, self.gpu.get(), source, target, compression)
    }

    fn connect_gpus(&self, gpu: Option<Gpu>) -> Result<Option<Transport>, CommError> {
        let (nccl, transport) = gpu_transport::connect(self, gpu)?;
        if let Some(nccl) = nccl {
            // Called once, as the callers are told.
            let _ = self.gpu.set(nccl);
        }
        Ok(transport)
    }

    fn is_cuda_aware(&self) -> bool {
        self.gpu.get().is_some()
    }

    fn can_share(&self) -> bool {
        self.topology.local_size == self.topology.size && self.buckets.borrow().shared.is_none()
    }

    fn share(&self, memory: SharedRegions) {
        self.buckets.borrow_mut().shared = Some(SharedAverage::new(self.topology.rank.0, memory));
    }

    fn progress(&self) -> Result<(), CommError> {
        if self.negotiation.failure().is_none() {
            self.buckets.borrow_mut().progress();
        }
        Ok(())
    }

    fn allreduces_over(&self) -> usize {
        self.buckets.borrow().completed()
    }

    /// The negotiation goes on beside the buckets, which make progress whenever it is tested.
    fn finish_allreduces(&self) -> Result<(), CommError> {
        let signature = self.buckets.borrow().signature();
        let mut wait = self.negotiate(signature)?;
        let mut buckets = self.buckets.borrow_mut();
        buckets.launch_deferred(&self.world, self.gpu.get()).map_err(|error| self.fail(error))?;
        if let Some(gpu) = self.gpu.get() {
            gpu.make_compute_wait().map_err(|error| self.fail(error))?;
        }
        // Sync point: the host waits for the other ranks. For the GPU it waits only if that is a whole step behind.
        self.wait_for_data(&mut wait, || Ok(buckets.have_arrived() && self.gpu.get().map_or(Ok(true), Nccl::is_previous_done)?))
    }

    fn broadcast(&self, buffer: &mut [f32], root: Rank) -> Result<(), CommError> {
        check_root(root, self.topology.size)?;
        self.enter(Signature::Broadcast { length: buffer.len(), root })?;
        self.broadcast_chunks(buffer, root);
        Ok(())
    }

    fn broadcast_region(&self, region: Region, root: Rank) -> Result<(), CommError> {
        let (true, Some(gpu)) = (region.is_on_gpu(), self.gpu.get()) else {
            return self.broadcast(region.numbers_mut(), root);
        };
        check_root(root, self.topology.size)?;
        let mut wait = self.negotiate(Signature::Broadcast { length: region.len(), root })?;
        gpu.broadcast(region, root).and_then(|()| gpu.make_compute_wait()).map_err(|error| self.fail(error))?;
        // Sync point: the host waits for the GPU.
        self.wait_for_data(&mut wait, || gpu.is_last_done())
    }

    /// Two broadcasts: first the length, so that the others can make room, then the bytes.
    fn broadcast_bytes(&self, bytes: &mut Vec<u8>, root: Rank) -> Result<(), CommError> {
        check_root(root, self.topology.size)?;
        self.enter(Signature::BroadcastBytes { root })?;
        let mut length = [bytes.len() as u64];
        self.broadcast_chunks(&mut length, root);
        bytes.resize(length[0] as usize, 0);
        self.broadcast_chunks(bytes, root);
        Ok(())
    }

    /// Two allgathers: first the lengths, from which every rank computes the same displacements, then the bytes.
    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        self.enter(Signature::Allgather)?;
        let mut lengths = vec![0u64; self.topology.size.0];
        self.world.all_gather_into(&[bytes.len() as u64], &mut lengths[..]);
        let total = lengths.iter().sum();
        if i32::try_from(total).is_err() {
            // All ranks have the same lengths, so all return here, and none waits for the second half.
            return Err(CommError::TooLarge { bytes: total });
        }
        if total == 0 {
            return Ok(vec![Vec::new(); lengths.len()]);
        }
        // The trap here: an empty Rust slice of bytes may point to address 1, and Open MPI's MPI_IN_PLACE *is* address 1.
        let bytes = if bytes.is_empty() { &[0][..0] } else { bytes };
        let counts: Vec<i32> = lengths.iter().map(|&length| length as i32).collect();
        let starts: Vec<i32> = counts.iter().scan(0, |end, count| Some(std::mem::replace(end, *end + count))).collect();
        let mut all = vec![0u8; total as usize];
        self.world.all_gather_varcount_into(bytes, &mut PartitionMut::new(&mut all[..], &counts[..], &starts[..]));
        Ok(starts.iter().zip(&counts).map(|(&start, &count)| all[start as usize..][..count as usize].to_vec()).collect())
    }

    /// The negotiation is a barrier: it ends when all ranks have come.
    fn barrier(&self) -> Result<(), CommError> {
        self.enter(Signature::Barrier)
    }

    /// MPI_Abort: mpirun ends every process of the job, on all hosts, and names this one.
    fn abort(&self, code: i32) -> ! {
        // MPICH's launcher drops output that it has not passed on by then: often the lines that say why.
        std::thread::sleep(ABORT_DELAY);
        self.world.abort(code)
    }
}

impl Drop for MpiComm {
    /// A rank that panics must not finalize: MPI_Finalize waits for the others, and they wait for this one's next
    /// collective. So the panic ends the job. Leaving while others go on, or with data in flight, ends it as well.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.abort(101);
        }
        if let Err(error) = self.enter(Signature::Leave) {
            (self.negotiation.inspector.borrow().on_warning)(&format!("the job ends here: {error}"));
            self.abort(1);
        }
        self.negotiation.inspector.borrow_mut().drain();
    }
}
