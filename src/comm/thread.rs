//! N ranks as N threads of one process: the double that tests run collectives on.
//!
//! Never used for training, and never faster than one rank: it copies each buffer to every rank under a lock.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::average::average;
use super::call::{Call, mismatch};
use super::{CommError, Communicator, Compression, ReduceOp, Region, check_root};
use crate::domain::topology::{LocalRank, Rank, Topology, WorldSize};

/// One rank of a group of threads, all on one host.
///
/// How it cheats: nothing is sent. Each rank lays its call on a shared table, waits until all have, and then works the
/// result out for itself from all calls, in rank order: sums are deterministic, and mistakes come back as errors
/// rather than as hangs.
pub struct ThreadComm {
    rank: Rank,
    table: Arc<Table>,
}

/// One rank's part in one collective: what it does, and what with.
#[derive(Clone)]
struct Part {
    call: Call,
    data: Data,
}

#[derive(Clone)]
enum Data {
    Nothing,
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Compressed float32.
    Words(Vec<u16>),
    Bytes(Vec<u8>),
}

struct Table {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Parts in the round that is going on, by rank.
    parts: Vec<Option<Part>>,
    /// Number of rounds that are complete, and the parts in the last one.
    round: u64,
    complete: Arc<Vec<Part>>,
    /// Ranks whose communicator is gone.
    left: Vec<bool>,
    aborted: Option<(Rank, i32)>,
}

impl ThreadComm {
    /// The communicators of `size` ranks, in rank order: hand one to each thread.
    pub fn group(size: usize) -> Vec<ThreadComm> {
        let state = State { parts: vec![None; size], round: 0, complete: Arc::default(), left: vec![false; size], aborted: None };
        let table = Arc::new(Table { state: Mutex::new(state), changed: Condvar::new() });
        (0..size).map(|rank| ThreadComm { rank: Rank(rank), table: table.clone() }).collect()
    }

    /// Lays down this rank's part and returns all ranks' parts, once there is one of each.
    ///
    /// A round is over when its last part arrives: that rank moves the parts to `complete` and counts the round. The
    /// others wait for the count to change. None can lose `complete` to the next round, as that needs a part of every
    /// rank, and a rank makes its next call only after it has taken this round's.
    ///
    /// A rank that has left or aborted will never call: whoever waits for it gets an error instead.
    fn exchange(&self, call: Call, data: Data) -> Result<Arc<Vec<Part>>, CommError> {
        let mut state = self.lock();
        let round = state.round;
        state.parts[self.rank.0] = Some(Part { call, data });
        if state.parts.iter().all(Option::is_some) {
            state.complete = Arc::new(state.parts.iter_mut().filter_map(Option::take).collect());
            state.round += 1;
            self.table.changed.notify_all();
        }
        while state.round == round {
            if let Some((rank, code)) = state.aborted {
                return Err(CommError::Aborted { rank, code });
            }
            let gone = state.parts.iter().zip(&state.left).position(|(part, left)| part.is_none() && *left);
            if let Some(rank) = gone {
                return Err(CommError::Left(Rank(rank)));
            }
            state = self.table.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let parts = state.complete.clone();
        drop(state);
        mismatch(parts.iter().map(|part| part.call)).map_or(Ok(parts), Err)
    }

    /// The state stays sound when a thread panics while it holds the lock, as nothing in between can panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.table.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Both widths of allreduce: rank 0's values, plus the others' in rank order, then the division.
macro_rules! reduce {
    ($comm:expr, $buffer:expr, $op:expr, $call:ident, $data:ident) => {{
        let call = Call::$call { length: $buffer.len(), op: $op };
        let parts = $comm.exchange(call, Data::$data($buffer.to_vec()))?;
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

    /// Done at once: a mistake is named where it is made.
    fn start_allreduce(&self, source: Region, target: Region, compression: Compression) -> Result<(), CommError> {
        assert_eq!(source.len(), target.len(), "a bucket has one length");
        let size = self.topology().size.0;
        let mine = match compression.format() {
            None => Data::F32(source.numbers().to_vec()),
            Some(format) => {
                let mut words = Vec::new();
                format.shrink(source.numbers(), size, &mut words);
                Data::Words(words)
            }
        };
        let parts = self.exchange(Call::Start { length: source.len(), compression }, mine)?;
        let target = target.numbers_mut();
        let mut words = vec![0; if compression == Compression::None { 0 } else { target.len() }];
        for (rank, part) in parts.iter().enumerate() {
            match (&part.data, compression.format()) {
                (Data::F32(values), _) if rank == 0 => target.copy_from_slice(values),
                (Data::F32(values), _) => target.iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
                (Data::Words(values), _) if rank == 0 => words.copy_from_slice(values),
                (Data::Words(values), Some(format)) => format.add(values, &mut words),
                _ => {}
            }
        }
        match compression.format() {
            None => average(target, size),
            Some(format) => format.decode(&words, target),
        }
        Ok(())
    }

    fn broadcast(&self, buffer: &mut [f32], root: Rank) -> Result<(), CommError> {
        check_root(root, self.topology().size)?;
        let parts = self.exchange(Call::Broadcast { length: buffer.len(), root }, Data::F32(buffer.to_vec()))?;
        if let Data::F32(values) = &parts[root.0].data {
            buffer.copy_from_slice(values);
        }
        Ok(())
    }

    fn broadcast_bytes(&self, bytes: &mut Vec<u8>, root: Rank) -> Result<(), CommError> {
        check_root(root, self.topology().size)?;
        let parts = self.exchange(Call::BroadcastBytes { root }, Data::Bytes(std::mem::take(bytes)))?;
        if let Data::Bytes(values) = &parts[root.0].data {
            bytes.clone_from(values);
        }
        Ok(())
    }

    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        let parts = self.exchange(Call::Allgather, Data::Bytes(bytes.to_vec()))?;
        let bytes = |part: &Part| if let Data::Bytes(bytes) = &part.data { Some(bytes.clone()) } else { None };
        Ok(parts.iter().filter_map(bytes).collect())
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.exchange(Call::Barrier, Data::Nothing).map(|_| ())
    }

    /// Ends this rank's thread by unwinding it, without a panic message; the others get [`CommError::Aborted`].
    fn abort(&self, code: i32) -> ! {
        self.lock().aborted = Some((self.rank, code));
        self.table.changed.notify_all();
        std::panic::resume_unwind(Box::new(CommError::Aborted { rank: self.rank, code }))
    }
}

impl Drop for ThreadComm {
    fn drop(&mut self) {
        self.lock().left[self.rank.0] = true;
        self.table.changed.notify_all();
    }
}
