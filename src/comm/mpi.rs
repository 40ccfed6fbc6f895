//! Ranks as processes that mpirun started: the `mpi` crate (rsmpi) over the MPI library of the machine.
//!
//! Never handles MPI's errors itself: MPI's own handler stays in place, which prints the cause and ends the whole job.
//! That is the right answer here, as no collective can go on without one of its ranks.

use std::cell::RefCell;

use ::mpi::Threading;
use ::mpi::collective::SystemOperation;
use ::mpi::datatype::PartitionMut;
use ::mpi::environment::{self, Universe};
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator as _, CommunicatorCollectives as _, Equivalence, Root as _};

use super::{CHUNK, CommError, Communicator, ReduceOp, check_root, finish};
use crate::domain::topology::{LocalRank, Rank, Topology, WorldSize};

/// All processes of one mpirun. Finalizes MPI when dropped, which waits for the other ranks to do so too.
///
/// MPI is asked for the level "funneled": the process may have threads (libtorch has), and only the thread that
/// connected makes MPI calls. The type is not `Send`, so the compiler keeps that promise.
pub struct MpiComm {
    world: SimpleCommunicator,
    topology: Topology,
    scratch: RefCell<Scratch>,
    /// Last, as fields drop in order: its drop is MPI_Finalize.
    _universe: Universe,
}

/// Room for one chunk of a sum. The safe interface of rsmpi knows no MPI_IN_PLACE: source and target are two buffers.
#[derive(Default)]
struct Scratch {
    f32: Vec<f32>,
    f64: Vec<f64>,
}

impl MpiComm {
    /// Initialises MPI and finds out who this process is. Without mpirun it is rank 0 of 1.
    ///
    /// `local_rank` comes from MPI_Comm_split_type over processes that can share memory, thus from MPI itself, and not
    /// from the environment, whose names differ with the launcher.
    ///
    /// # Collective
    /// All processes of the job, once, on the main thread. MPI cannot be initialised again after the drop.
    pub fn connect() -> Result<MpiComm, CommError> {
        let (universe, threading) = environment::initialize_with_threading(Threading::Funneled)
            .ok_or(CommError::Init("it is initialised already, or was once before in this process"))?;
        if !environment::is_initialized() {
            return Err(CommError::Init("MPI_Init_thread failed"));
        }
        if threading < Threading::Funneled {
            return Err(CommError::Init("this MPI library allows no threads at all, and libtorch needs them"));
        }
        let world = universe.world();
        let host = world.split_shared(world.rank());
        // Ranks and sizes of MPI are i32 that are never negative.
        let topology = Topology {
            rank: Rank(world.rank() as usize),
            size: WorldSize(world.size() as usize),
            local_rank: LocalRank(host.rank() as usize),
            local_size: WorldSize(host.size() as usize),
        };
        Ok(MpiComm { world, topology, scratch: RefCell::default(), _universe: universe })
    }

    /// Sums `buffer` over the ranks, chunk by chunk: copy aside, reduce back into place.
    ///
    /// The library picks the algorithm by size: recursive doubling for short buffers, a ring for long ones. In each, one
    /// rank adds up an element and the others receive that very sum (or both partners of a pair add the same two
    /// numbers), which is why all ranks end with the same bits. The copy costs what one pass over the memory costs, a
    /// few percent of the exchange.
    ///
    /// While a rank waits it spins, which starves another rank on the same core: `mpi_yield_when_idle` (Open MPI) makes
    /// it yield. That is the launcher's to set, as it knows how many ranks share a core.
    ///
    /// # Collective
    /// All ranks with equal lengths. The chunks follow from the length alone, so all ranks cut alike.
    fn sum<T: Equivalence + Copy>(&self, buffer: &mut [T], scratch: &mut Vec<T>) {
        for chunk in buffer.chunks_mut(CHUNK) {
            scratch.clear();
            scratch.extend_from_slice(chunk);
            self.world.all_reduce_into(&scratch[..], chunk, SystemOperation::sum());
        }
    }

    /// Copies the root's buffer to all ranks, in chunks for MPI's counts alone: nothing is copied on the way.
    ///
    /// # Collective
    /// All ranks with equal lengths and the same root.
    fn spread<T: Equivalence>(&self, buffer: &mut [T], root: Rank) -> Result<(), CommError> {
        check_root(root, self.topology.size)?;
        let root = self.world.process_at_rank(root.0 as i32);
        buffer.chunks_mut(CHUNK).for_each(|chunk| root.broadcast_into(chunk));
        Ok(())
    }
}

impl Communicator for MpiComm {
    fn topology(&self) -> Topology {
        self.topology
    }

    fn name(&self) -> &'static str {
        "mpi"
    }

    fn allreduce(&self, buffer: &mut [f32], op: ReduceOp) -> Result<(), CommError> {
        self.sum(buffer, &mut self.scratch.borrow_mut().f32);
        finish!(buffer, op, self.topology.size, f32);
        Ok(())
    }

    fn allreduce_f64(&self, buffer: &mut [f64], op: ReduceOp) -> Result<(), CommError> {
        self.sum(buffer, &mut self.scratch.borrow_mut().f64);
        finish!(buffer, op, self.topology.size, f64);
        Ok(())
    }

    fn broadcast(&self, buffer: &mut [f32], root: Rank) -> Result<(), CommError> {
        self.spread(buffer, root)
    }

    /// Two broadcasts: first the length, so that the others can make room, then the bytes.
    fn broadcast_bytes(&self, bytes: &mut Vec<u8>, root: Rank) -> Result<(), CommError> {
        let mut length = [bytes.len() as u64];
        self.spread(&mut length, root)?;
        bytes.resize(length[0] as usize, 0);
        self.spread(bytes, root)
    }

    /// Two allgathers: first the lengths, from which every rank works out the same places, then the bytes.
    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
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
        let mut rest = all.as_slice();
        Ok(lengths
            .iter()
            .map(|&length| {
                let (part, after) = rest.split_at(length as usize);
                rest = after;
                part.to_vec()
            })
            .collect())
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.world.barrier();
        Ok(())
    }

    /// MPI_Abort: mpirun ends every process of the job, on all hosts, and names this one.
    fn abort(&self, code: i32) -> ! {
        self.world.abort(code)
    }
}

impl Drop for MpiComm {
    /// A rank that panics must not finalize: MPI_Finalize waits for the others, and they wait for this one's next
    /// collective. So the panic ends the job.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.abort(101);
        }
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
