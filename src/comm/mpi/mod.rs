//! Ranks as processes that mpirun started: the `mpi` crate (rsmpi) over the MPI library of the machine.
//!
//! Never handles MPI's errors itself: MPI's own handler stays in place, which prints the cause and ends the whole job.
//! That is the right answer here, as no collective can go on without one of its ranks.

mod buckets;
mod flight;
mod gpus;
mod operation;
mod wait;
mod watch;

use std::cell::{Cell, OnceCell, RefCell};
use std::time::Duration;

use ::mpi::Threading;
use ::mpi::collective::SystemOperation;
use ::mpi::datatype::PartitionMut;
use ::mpi::environment::{self, Universe};
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator as _, CommunicatorCollectives as _, Equivalence, Root as _};

use self::buckets::Buckets;
use self::flight::{Flight, Memory};
use self::watch::{Wait, Watch};
use super::average::average;
use super::call::{Call, WORDS, mismatch};
use super::nccl::{Gpu, Nccl};
use super::{CHUNK, CommError, Communicator, Compression, Limits, ReduceOp, Region, Way, check_root};
use crate::domain::topology::{LocalRank, Rank, Topology, WorldSize};

/// All processes of one mpirun. Finalizes MPI when dropped, which waits for the other ranks to do so too.
///
/// MPI is asked for the level "funneled": the process may have threads (libtorch has), and only the thread that
/// connected makes MPI calls. The type is not `Send`, so the compiler keeps that promise.
///
/// # First agree, then move
/// Each collective begins with an agreement: an allreduce of seven numbers that say what the rank is about to do. It
/// does three things. It finds ranks that call different collectives, before any data goes astray. It is where a rank
/// waits for late ones, with tests and sleeps that leave its core to others ([`wait`]), watched by [`watch`]. And once
/// it is over all ranks are there, so that the data moves at full speed by MPI's blocking call, the fastest that MPI has.
///
/// What it costs is the way of one short message: 4 us, with 2 ranks on 2 busy cores of one host. There an allreduce of
/// 4 B, 1 KB and 64 KB takes MPI alone 1.7, 3.4 and 24 us, here 5.8, 7.5 and 33 us with the division (best of many, by
/// `cargo test --release --no-default-features --features train --test collectives -- --ignored --nocapture`). A step of
/// training has one such agreement, in its `finish_allreduces`.
pub struct MpiComm {
    /// Carries data.
    world: SimpleCommunicator,
    /// Carries agreements. A communicator of its own, as buckets may be on their way on the other.
    agreements: SimpleCommunicator,
    topology: Topology,
    scratch: RefCell<Scratch>,
    buckets: RefCell<Buckets>,
    watch: RefCell<Watch>,
    /// The direct way between the ranks' GPUs, where there is one.
    gpu: OnceCell<Nccl>,
    /// Number of agreements so far.
    number: Cell<u64>,
    /// Why no collective can be carried out any more: something is on its way that will never arrive.
    broken: RefCell<Option<CommError>>,
    /// Last, as fields drop in order: its drop is MPI_Finalize.
    _universe: Universe,
}

/// Elements summed up in one go: short enough that the sum is still in the core's cache when it is copied back, which
/// makes long sums twice as fast as chunks of 16 MiB, and long enough that the way of a message is little beside it.
const SUM: usize = 128 << 10;

/// Room for one piece of a sum. The safe interface of rsmpi knows no MPI_IN_PLACE: source and target are two buffers.
#[derive(Default)]
struct Scratch {
    f32: Vec<f32>,
    f64: Vec<f64>,
}

/// Awake for so long before a rank sleeps that waits for others.
const PATIENCE: Duration = Duration::from_micros(100);
/// And when all are there, and only their data is not: it moves only while ranks are awake.
const PATIENCE_FOR_DATA: Duration = Duration::from_millis(100);
/// How long what a rank printed has to get through the launcher before the rank ends the job.
const LAST_WORDS: Duration = Duration::from_millis(100);

impl MpiComm {
    /// Initialises MPI and finds out who this process is. Without mpirun it is rank 0 of 1.
    ///
    /// `local_rank` comes from MPI_Comm_split_type over processes that can share memory, thus from MPI itself, and not
    /// from the environment, whose names differ with the launcher.
    ///
    /// `on_warning` is called with one line about a rank that has waited for long, by the rank itself.
    ///
    /// # Collective
    /// All processes of the job, once, on the main thread, with the same limits. MPI cannot be initialised again after
    /// the drop.
    pub fn connect(limits: Limits, on_warning: impl Fn(&str) + 'static) -> Result<MpiComm, CommError> {
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
        Ok(MpiComm {
            agreements: world.duplicate(),
            watch: RefCell::new(Watch::new(&world, topology, limits, Box::new(on_warning))),
            world,
            topology,
            scratch: RefCell::default(),
            buckets: RefCell::new(Buckets::new(topology.size.0)),
            gpu: OnceCell::new(),
            number: Cell::new(0),
            broken: RefCell::new(None),
            _universe: universe,
        })
    }

    /// Waits until all ranks are about to do the same. After it, all ranks are known to have come so far.
    ///
    /// The largest of each number and of its complement, which is the smallest of it: where the two are one, all ranks
    /// said the same. Sent by MPI_Iallreduce, whose memory is the flight's own: a wait that is given up leaves it be.
    fn agree(&self, call: Call) -> Result<Wait, CommError> {
        if let Some(cause) = &*self.broken.borrow() {
            return Err(cause.clone());
        }
        let mut watch = self.watch.borrow_mut();
        let number = self.number.get() + 1;
        self.number.set(number);
        let mut wait = watch.begin(number, call);

        let words = call.words();
        let mut message = Vec::with_capacity(2 * WORDS + 1);
        message.extend(words);
        message.extend(words.map(|word| !word));
        message.push(watch.is_owed_a_reading().into());
        let answer = Memory::Own(vec![0; message.len()]);
        let mut flight = Flight::allreduce(&self.agreements, Memory::Own(message), answer, SystemOperation::max());
        wait::until(PATIENCE, || flight.is_over(), |waited| watch.look(&mut wait, waited))
            .map_err(|error| self.give_up(error))?;
        wait.everyone_came = true;

        let (_, answer) = flight.land();
        if answer[2 * WORDS] != 0 {
            watch.read();
        }
        match (0..WORDS).all(|at| answer[at] == !answer[WORDS + at]) {
            true => Ok(wait),
            false => Err(self.difference(call)),
        }
    }

    /// Which ranks called what, where they disagree. All ranks come here together.
    fn difference(&self, call: Call) -> CommError {
        let mut all = vec![0u64; WORDS * self.topology.size.0];
        self.agreements.all_gather_into(&call.words()[..], &mut all[..]);
        let calls = all.chunks_exact(WORDS).map(|words| Call::from_words([words[0], words[1], words[2]]));
        let error = mismatch(calls).unwrap_or_else(|| CommError::Mismatch("which ones is not known".into()));
        let mut buckets = self.buckets.borrow_mut();
        let stranded = buckets.are_travelling();
        buckets.abandon();
        if stranded { self.give_up(error) } else { error }
    }

    /// Something stays on its way for ever: MPI is not called again, but to abort.
    fn give_up(&self, cause: CommError) -> CommError {
        if let Some(gpu) = self.gpu.get() {
            gpu.abandon();
        }
        *self.broken.borrow_mut() = Some(cause.clone());
        cause
    }

    /// [`Self::agree`], for a collective of its own: not between the start of buckets and their end.
    fn enter(&self, call: Call) -> Result<(), CommError> {
        if self.buckets.borrow().are_started() {
            return Err(CommError::Mismatch(format!("rank {} {call} before finish_allreduces", self.topology.rank)));
        }
        self.agree(call).map(|_| ())
    }

    /// All ranks are there; waits for their data. What fails on the way is given up.
    fn arrive(&self, wait: &mut Wait, mut has_arrived: impl FnMut() -> Result<bool, CommError>) -> Result<(), CommError> {
        let failed = Cell::new(None);
        let is_over = || {
            has_arrived().unwrap_or_else(|error| {
                failed.set(Some(error));
                true
            })
        };
        let waited = wait::until(PATIENCE_FOR_DATA, is_over, |waited| self.watch.borrow_mut().look(wait, waited));
        match failed.take() {
            Some(error) => Err(self.give_up(error)),
            None => waited.map_err(|error| self.give_up(error)),
        }
    }

    /// Copies the root's buffer to all ranks, in chunks for MPI's counts alone: nothing is copied on the way.
    ///
    /// # Collective
    /// All ranks with equal lengths and the same root, which have been agreed on.
    fn spread<T: Equivalence>(&self, buffer: &mut [T], root: Rank) {
        let root = self.world.process_at_rank(root.0 as i32);
        buffer.chunks_mut(CHUNK).for_each(|chunk| root.broadcast_into(chunk));
    }
}

/// Sums the buffer over the ranks chunk by chunk, into scratch memory, and copies back what is wanted of it.
///
/// The library picks the algorithm by size: recursive doubling for short buffers, a ring for long ones. In each, one
/// rank adds up an element and the others receive that very sum (or both partners of a pair add the same two numbers),
/// which is why all ranks end with the same bits. The copy and the division find the chunk in the core's cache.
///
/// A rank that waits here spins, for no longer than data is on its way: all ranks are there. `mpi_yield_when_idle`
/// (Open MPI) makes it yield where ranks share a core; that is the launcher's to set, as it knows.
macro_rules! reduce {
    ($comm:expr, $buffer:expr, $op:expr, $float:ident) => {{
        let scratch = &mut $comm.scratch.borrow_mut().$float;
        for chunk in $buffer.chunks_mut(SUM) {
            scratch.resize(chunk.len(), 0.0);
            $comm.world.all_reduce_into(&*chunk, &mut scratch[..], SystemOperation::sum());
            chunk.copy_from_slice(scratch);
            if $op == ReduceOp::Average {
                average(chunk, $comm.topology.size.0);
            }
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
        self.enter(Call::Allreduce { length: buffer.len(), op })?;
        reduce!(self, buffer, op, f32)
    }

    fn allreduce_f64(&self, buffer: &mut [f64], op: ReduceOp) -> Result<(), CommError> {
        self.enter(Call::AllreduceF64 { length: buffer.len(), op })?;
        reduce!(self, buffer, op, f64)
    }

    fn start_allreduce(&self, source: Region, target: Region, compression: Compression) -> Result<(), CommError> {
        assert_eq!(source.len(), target.len(), "a bucket has one length");
        if let Some(cause) = &*self.broken.borrow() {
            return Err(cause.clone());
        }
        self.buckets.borrow_mut().start(&self.world, self.gpu.get(), source, target, compression)
    }

    fn reach_gpu(&self, gpu: Option<Gpu>) -> Result<Option<Way>, CommError> {
        self.link(gpu)
    }

    fn reaches_gpu(&self) -> bool {
        self.gpu.get().is_some()
    }

    fn progress(&self) -> Result<(), CommError> {
        if self.broken.borrow().is_none() {
            self.buckets.borrow_mut().progress();
        }
        Ok(())
    }

    fn allreduces_over(&self) -> usize {
        self.buckets.borrow().over()
    }

    /// The agreement travels beside the buckets, which move on whenever it is tested.
    fn finish_allreduces(&self) -> Result<(), CommError> {
        let call = self.buckets.borrow().call();
        let mut wait = self.agree(call)?;
        let mut buckets = self.buckets.borrow_mut();
        buckets.agree(&self.world, self.gpu.get()).map_err(|error| self.give_up(error))?;
        if let Some(gpu) = self.gpu.get() {
            gpu.hand_over().map_err(|error| self.give_up(error))?;
        }
        self.arrive(&mut wait, || match self.gpu.get() {
            Some(gpu) => Ok(buckets.have_arrived() && gpu.is_in_step()?),
            None => Ok(buckets.have_arrived()),
        })
    }

    fn broadcast(&self, buffer: &mut [f32], root: Rank) -> Result<(), CommError> {
        check_root(root, self.topology.size)?;
        self.enter(Call::Broadcast { length: buffer.len(), root })?;
        self.spread(buffer, root);
        Ok(())
    }

    fn broadcast_region(&self, region: Region, root: Rank) -> Result<(), CommError> {
        let (true, Some(gpu)) = (region.is_on_gpu(), self.gpu.get()) else {
            return self.broadcast(region.numbers_mut(), root);
        };
        check_root(root, self.topology.size)?;
        let mut wait = self.agree(Call::Broadcast { length: region.len(), root })?;
        gpu.broadcast(region, root).and_then(|()| gpu.hand_over()).map_err(|error| self.give_up(error))?;
        self.arrive(&mut wait, || gpu.is_idle())
    }

    /// Two broadcasts: first the length, so that the others can make room, then the bytes.
    fn broadcast_bytes(&self, bytes: &mut Vec<u8>, root: Rank) -> Result<(), CommError> {
        check_root(root, self.topology.size)?;
        self.enter(Call::BroadcastBytes { root })?;
        let mut length = [bytes.len() as u64];
        self.spread(&mut length, root);
        bytes.resize(length[0] as usize, 0);
        self.spread(bytes, root);
        Ok(())
    }

    /// Two allgathers: first the lengths, from which every rank works out the same places, then the bytes.
    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        self.enter(Call::Allgather)?;
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

    /// The agreement is a barrier: it ends when all ranks have come.
    fn barrier(&self) -> Result<(), CommError> {
        self.enter(Call::Barrier)
    }

    /// MPI_Abort: mpirun ends every process of the job, on all hosts, and names this one.
    fn abort(&self, code: i32) -> ! {
        // MPICH's launcher drops what it has not passed on by then: often the words that say why.
        std::thread::sleep(LAST_WORDS);
        self.world.abort(code)
    }
}

impl Drop for MpiComm {
    /// A rank that panics must not finalize: MPI_Finalize waits for the others, and they wait for this one's next
    /// collective. So the panic ends the job. And so does leaving while others go on, or with something on its way.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.abort(101);
        }
        if let Err(error) = self.enter(Call::Leave) {
            self.watch.borrow().warn(&format!("the job ends here: {error}"));
            self.abort(1);
        }
        self.watch.borrow_mut().settle();
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
