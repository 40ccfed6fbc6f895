//! N ranks as N threads of one process: the test double of a communicator.
//!
//! Never used for training, and never faster than one rank: it copies each buffer to every rank under a lock.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::comm::average::average;
use crate::comm::communicator::{Communicator, ReduceOp};
use crate::comm::compression::Compression;
use crate::comm::error::{CommError, check_root};
use crate::comm::region::Region;
use crate::comm::signature::{Signature, mismatch};
use crate::domain::topology::{LocalRank, Rank, Topology, WorldSize};

/// One rank of a group of threads, all on one host.
///
/// How it cheats: nothing is sent. Each rank puts its data into shared memory and waits until all have. Then it computes
/// the result itself, in rank order. So sums are deterministic, and mistakes become errors rather than hangs.
pub struct ThreadComm {
    rank: Rank,
    shared: Arc<Shared>,
}

/// One rank's contribution to one collective.
#[derive(Clone)]
struct Part {
    signature: Signature,
    data: Data,
}

#[derive(Clone)]
enum Data {
    Nothing,
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Compressed float32.
    Halves(Vec<u16>),
    Bytes(Vec<u8>),
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Parts of the current round, by rank.
    parts: Vec<Option<Part>>,
    /// Number of complete rounds, and the parts of the last one.
    round: u64,
    complete: Arc<Vec<Part>>,
    /// Ranks whose communicator was dropped.
    left: Vec<bool>,
    aborted: Option<(Rank, i32)>,
}

impl ThreadComm {
    /// The communicators of `size` ranks, in rank order: hand one to each thread.
    pub fn group(size: usize) -> Vec<ThreadComm> {
        let state = State { parts: vec![None; size], round: 0, complete: Arc::default(), left: vec![false; size], aborted: None };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        (0..size).map(|rank| ThreadComm { rank: Rank(rank), shared: shared.clone() }).collect()
    }

    /// Contributes this rank's part and returns all ranks' parts, once they are complete.
    ///
    /// A round is over when its last part arrives: that rank moves the parts to `complete` and counts the round. The
    /// others wait for the count to change. No rank can lose `complete` to the next round, because the next round needs a
    /// part of every rank, and a rank makes its next call only after it has taken this round's parts.
    ///
    /// A rank that has left or aborted will never call: ranks that wait for it get an error instead.
    fn exchange(&self, signature: Signature, data: Data) -> Result<Arc<Vec<Part>>, CommError> {
        let mut state = self.lock();
        let round = state.round;
        state.parts[self.rank.0] = Some(Part { signature, data });
        if state.parts.iter().all(Option::is_some) {
            state.complete = Arc::new(state.parts.iter_mut().filter_map(Option::take).collect());
            state.round += 1;
            self.shared.changed.notify_all();
        }
        while state.round == round {
            if let Some((rank, code)) = state.aborted {
                return Err(CommError::Aborted { rank, code });
            }
            let gone = state.parts.iter().zip(&state.left).position(|(part, left)| part.is_none() && *left);
            if let Some(rank) = gone {
                return Err(CommError::Left(Rank(rank)));
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let parts = state.complete.clone();
        drop(state);
        mismatch(parts.iter().map(|part| (part.signature, String::new()))).map_or(Ok(parts), Err)
    }

    /// A poisoned lock is taken all the same: nothing that runs under the lock can panic halfway through a change.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Both widths of allreduce: rank 0's values, plus the others' in rank order, then the division.
macro_rules! reduce {
    ($comm:expr, $buffer:expr, $op:expr, $kind:ident, $data:ident) => {{
        let signature = Signature::$kind { length: $buffer.len(), op: $op };
        let parts = $comm.exchange(signature, Data::$data($buffer.to_vec()))?;
        for (rank, part) in parts.iter().enumerate() {
            let Data::$data(values) = &part.data else { continue };
            match rank {
                0 => $buffer.copy_from_slice(values),
                _ => $buffer.iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
            }
        }
        if $op == ReduceOp::Average {
            average($buffer, parts.len());
        }
        Ok(())
    }};
}

impl Communicator for ThreadComm {
    fn topology(&self) -> Topology {
        let size = WorldSize(self.lock().left.len());
        Topology { rank: self.rank, size, local_rank: LocalRank(self.rank.0), local_size: size }
    }

    fn name(&self) -> &'static str {
        "thread"
    }

    fn allreduce(&self, buffer: &mut [f32], op: ReduceOp) -> Result<(), CommError> {
        reduce!(self, buffer, op, Allreduce, F32)
    }

    fn allreduce_f64(&self, buffer: &mut [f64], op: ReduceOp) -> Result<(), CommError> {
        reduce!(self, buffer, op, AllreduceF64, F64)
    }

    /// Done at once, so a mistake is reported where it is made.
    fn start_allreduce(&self, source: Region, target: Region, compression: Compression) -> Result<(), CommError> {
        assert_eq!(source.len(), target.len(), "a bucket has one length");
        let size = self.topology().size.0;
        let mine = match compression.half() {
            None => Data::F32(source.numbers().to_vec()),
            Some(half) => {
                let mut halves = Vec::new();
                half.compress(source.numbers(), size, &mut halves);
                Data::Halves(halves)
            }
        };
        let parts = self.exchange(Signature::Start { length: source.len(), compression }, mine)?;
        let target = target.numbers_mut();
        let mut sum = vec![0; if compression == Compression::None { 0 } else { target.len() }];
        for (rank, part) in parts.iter().enumerate() {
            match (&part.data, compression.half()) {
                (Data::F32(values), _) if rank == 0 => target.copy_from_slice(values),
                (Data::F32(values), _) => target.iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
                (Data::Halves(values), _) if rank == 0 => sum.copy_from_slice(values),
                (Data::Halves(values), Some(half)) => half.add(values, &mut sum),
                _ => {}
            }
        }
        match compression.half() {
            None => average(target, size),
            Some(half) => half.decompress(&sum, target),
        }
        Ok(())
    }

    fn broadcast(&self, buffer: &mut [f32], root: Rank) -> Result<(), CommError> {
        check_root(root, self.topology().size)?;
        let parts = self.exchange(Signature::Broadcast { length: buffer.len(), root }, Data::F32(buffer.to_vec()))?;
        if let Data::F32(values) = &parts[root.0].data {
            buffer.copy_from_slice(values);
        }
        Ok(())
    }

    fn broadcast_bytes(&self, bytes: &mut Vec<u8>, root: Rank) -> Result<(), CommError> {
        check_root(root, self.topology().size)?;
        let parts = self.exchange(Signature::BroadcastBytes { root }, Data::Bytes(std::mem::take(bytes)))?;
        if let Data::Bytes(values) = &parts[root.0].data {
            bytes.clone_from(values);
        }
        Ok(())
    }

    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        let parts = self.exchange(Signature::Allgather, Data::Bytes(bytes.to_vec()))?;
        let bytes = |part: &Part| if let Data::Bytes(bytes) = &part.data { Some(bytes.clone()) } else { None };
        Ok(parts.iter().filter_map(bytes).collect())
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.exchange(Signature::Barrier, Data::Nothing).map(|_| ())
    }

    /// Ends this rank's thread by unwinding it, without a panic message; the others get [`CommError::Aborted`].
    fn abort(&self, code: i32) -> ! {
        self.lock().aborted = Some((self.rank, code));
        self.shared.changed.notify_all();
        std::panic::resume_unwind(Box::new(CommError::Aborted { rank: self.rank, code }))
    }
}

impl Drop for ThreadComm {
    fn drop(&mut self) {
        self.lock().left[self.rank.0] = true;
        self.shared.changed.notify_all();
    }
}
