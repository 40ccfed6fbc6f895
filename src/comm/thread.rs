//! N ranks as N threads of one process: the double that tests run collectives on.
//!
//! Never used for training, and never faster than one rank: it copies each buffer to every rank under a lock.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{CommError, Communicator, ReduceOp, check_root, finish};
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

/// One rank's part in one collective.
#[derive(Clone, PartialEq)]
enum Call {
    Allreduce(Vec<f32>, ReduceOp),
    AllreduceF64(Vec<f64>, ReduceOp),
    Broadcast(Vec<f32>, Rank),
    BroadcastBytes(Vec<u8>, Rank),
    Allgather(Vec<u8>),
    Barrier,
}

struct Table {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Calls of the round that is going on, by rank.
    calls: Vec<Option<Call>>,
    /// Number of rounds that are complete, and the calls of the last one.
    round: u64,
    complete: Arc<Vec<Call>>,
    /// Ranks whose communicator is gone.
    left: Vec<bool>,
    aborted: Option<(Rank, i32)>,
}

impl ThreadComm {
    /// The communicators of `size` ranks, in rank order: hand one to each thread.
    pub fn group(size: usize) -> Vec<ThreadComm> {
        let state = State { calls: vec![None; size], round: 0, complete: Arc::default(), left: vec![false; size], aborted: None };
        let table = Arc::new(Table { state: Mutex::new(state), changed: Condvar::new() });
        (0..size).map(|rank| ThreadComm { rank: Rank(rank), table: table.clone() }).collect()
    }

    /// Lays down this rank's call and returns all ranks' calls, once there is one of each.
    ///
    /// A round is over when its last call arrives: that rank moves the calls to `complete` and counts the round. The
    /// others wait for the count to change. None can lose `complete` to the next round, as that needs a call of every
    /// rank, and a rank makes its next call only after it has taken this round's.
    ///
    /// A rank that has left or aborted will never call: whoever waits for it gets an error instead.
    fn exchange(&self, call: Call) -> Result<Arc<Vec<Call>>, CommError> {
        let mut state = self.lock();
        let round = state.round;
        state.calls[self.rank.0] = Some(call);
        if state.calls.iter().all(Option::is_some) {
            state.complete = Arc::new(state.calls.iter_mut().filter_map(Option::take).collect());
            state.round += 1;
            self.table.changed.notify_all();
        }
        while state.round == round {
            if let Some((rank, code)) = state.aborted {
                return Err(CommError::Aborted { rank, code });
            }
            let gone = state.calls.iter().zip(&state.left).position(|(call, left)| call.is_none() && *left);
            if let Some(rank) = gone {
                return Err(CommError::Left(Rank(rank)));
            }
            state = self.table.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let calls = state.complete.clone();
        drop(state);
        // Every rank compares all with rank 0's call, so all come to the same verdict.
        match calls.iter().position(|call| !call.fits(&calls[0])) {
            Some(odd) => Err(CommError::Mismatch(format!("rank 0 {}, rank {odd} {}", calls[0], calls[odd]))),
            None => Ok(calls),
        }
    }

    /// The state stays sound when a thread panics while it holds the lock, as nothing in between can panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.table.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    /// Whether the two can be parts of one collective.
    fn fits(&self, other: &Call) -> bool {
        match (self, other) {
            (Call::Allreduce(a, op), Call::Allreduce(b, other)) => (a.len(), op) == (b.len(), other),
            (Call::AllreduceF64(a, op), Call::AllreduceF64(b, other)) => (a.len(), op) == (b.len(), other),
            (Call::Broadcast(a, root), Call::Broadcast(b, other)) => (a.len(), root) == (b.len(), other),
            (Call::BroadcastBytes(_, root), Call::BroadcastBytes(_, other)) => root == other,
            (Call::Allgather(_), Call::Allgather(_)) | (Call::Barrier, Call::Barrier) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Allreduce(buffer, op) => write!(f, "allreduce {op:?} of {} f32", buffer.len()),
            Call::AllreduceF64(buffer, op) => write!(f, "allreduce {op:?} of {} f64", buffer.len()),
            Call::Broadcast(buffer, root) => write!(f, "broadcast of {} f32 from rank {root}", buffer.len()),
            Call::BroadcastBytes(_, root) => write!(f, "broadcast of bytes from rank {root}"),
            Call::Allgather(_) => f.write_str("allgather"),
            Call::Barrier => f.write_str("barrier"),
        }
    }
}

/// Both widths of allreduce: rank 0's values, plus the others' in rank order, then the division.
macro_rules! reduce {
    ($comm:expr, $buffer:expr, $op:expr, $variant:path, $float:ty) => {{
        let calls = $comm.exchange($variant($buffer.to_vec(), $op))?;
        for (rank, call) in calls.iter().enumerate() {
            let $variant(values, _) = call else { continue };
            match rank {
                0 => $buffer.copy_from_slice(values),
                _ => $buffer.iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
            }
        }
        finish!($buffer, $op, $comm.topology().size, $float);
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
        reduce!(self, buffer, op, Call::Allreduce, f32)
    }

    fn allreduce_f64(&self, buffer: &mut [f64], op: ReduceOp) -> Result<(), CommError> {
        reduce!(self, buffer, op, Call::AllreduceF64, f64)
    }

    fn broadcast(&self, buffer: &mut [f32], root: Rank) -> Result<(), CommError> {
        check_root(root, self.topology().size)?;
        let calls = self.exchange(Call::Broadcast(buffer.to_vec(), root))?;
        if let Call::Broadcast(values, _) = &calls[root.0] {
            buffer.copy_from_slice(values);
        }
        Ok(())
    }

    fn broadcast_bytes(&self, bytes: &mut Vec<u8>, root: Rank) -> Result<(), CommError> {
        check_root(root, self.topology().size)?;
        let calls = self.exchange(Call::BroadcastBytes(std::mem::take(bytes), root))?;
        if let Call::BroadcastBytes(values, _) = &calls[root.0] {
            bytes.clone_from(values);
        }
        Ok(())
    }

    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        let calls = self.exchange(Call::Allgather(bytes.to_vec()))?;
        let bytes = |call: &Call| if let Call::Allgather(bytes) = call { Some(bytes.clone()) } else { None };
        Ok(calls.iter().filter_map(bytes).collect())
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.exchange(Call::Barrier).map(|_| ())
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
