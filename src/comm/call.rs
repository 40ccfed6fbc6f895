//! What a rank is about to do, in a few words: what ranks compare before they do it together.
//!
//! Never carries the data of a call.

use std::fmt;

use super::{CommError, Compression, ReduceOp};
use crate::domain::topology::Rank;

/// One collective, as far as all ranks must agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Allreduce {
        length: usize,
        op: ReduceOp,
    },
    AllreduceF64 {
        length: usize,
        op: ReduceOp,
    },
    Broadcast {
        length: usize,
        root: Rank,
    },
    BroadcastBytes {
        root: Rank,
    },
    Allgather,
    Barrier,
    Start {
        length: usize,
        compression: Compression,
    },
    /// The end of what was started: `digest` stands for the lengths and compressions, in their order.
    Finish {
        buckets: usize,
        numbers: usize,
        digest: u64,
    },
    Leave,
}

/// A call as numbers, for messages between ranks.
pub(super) const WORDS: usize = 3;

impl Call {
    pub(super) fn words(self) -> [u64; WORDS] {
        match self {
            Call::Allreduce { length, op } => [0, length as u64, op as u64],
            Call::AllreduceF64 { length, op } => [1, length as u64, op as u64],
            Call::Broadcast { length, root } => [2, length as u64, root.0 as u64],
            Call::BroadcastBytes { root } => [3, 0, root.0 as u64],
            Call::Allgather => [4, 0, 0],
            Call::Barrier => [5, 0, 0],
            Call::Start { length, compression } => [6, length as u64, compression as u64],
            Call::Leave => [7, 0, 0],
            Call::Finish { buckets, numbers, digest } => [8 + buckets as u64, numbers as u64, digest],
        }
    }

    pub(super) fn from_words([kind, length, detail]: [u64; WORDS]) -> Call {
        let (length, root) = (length as usize, Rank(detail as usize));
        let op = if detail == ReduceOp::Sum as u64 { ReduceOp::Sum } else { ReduceOp::Average };
        match kind {
            0 => Call::Allreduce { length, op },
            1 => Call::AllreduceF64 { length, op },
            2 => Call::Broadcast { length, root },
            3 => Call::BroadcastBytes { root },
            4 => Call::Allgather,
            5 => Call::Barrier,
            6 => Call::Start { length, compression: compression(detail) },
            7 => Call::Leave,
            _ => Call::Finish { buckets: kind as usize - 8, numbers: length, digest: detail },
        }
    }
}

fn compression(word: u64) -> Compression {
    let all = [Compression::None, Compression::Fp16, Compression::Bf16];
    all.into_iter().find(|compression| *compression as u64 == word).unwrap_or_default()
}

/// [`CommError::Mismatch`] naming rank 0 and the first that differs from it; `None` if all calls are the same.
///
/// All ranks compare the same calls in the same order, and so come to the same verdict.
pub(super) fn mismatch(calls: impl IntoIterator<Item = Call>) -> Option<CommError> {
    let mut calls = calls.into_iter().enumerate();
    let (_, first) = calls.next()?;
    calls.find(|(_, call)| *call != first).map(|(odd, call)| differ((Rank(0), first), (Rank(odd), call)))
}

pub(super) fn differ((one, first): (Rank, Call), (other, second): (Rank, Call)) -> CommError {
    CommError::Mismatch(format!("rank {one} {first}, rank {other} {second}"))
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Allreduce { length, op } => write!(f, "allreduce {op:?} of {length} f32"),
            Call::AllreduceF64 { length, op } => write!(f, "allreduce {op:?} of {length} f64"),
            Call::Broadcast { length, root } => write!(f, "broadcast of {length} f32 from rank {root}"),
            Call::BroadcastBytes { root } => write!(f, "broadcast of bytes from rank {root}"),
            Call::Allgather => f.write_str("allgather"),
            Call::Barrier => f.write_str("barrier"),
            Call::Start { length, compression } => write!(f, "started allreduce of {length} f32{compression}"),
            Call::Finish { buckets, numbers, digest } => {
                // The digest tells apart what has the same sums: another order, or another compression.
                write!(f, "finish of {buckets} started allreduces of {numbers} f32 in all (digest {:04x})", digest & 0xffff)
            }
            Call::Leave => f.write_str("end of the program"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_it_all() {
        let calls = [
            Call::Allreduce { length: 77_000, op: ReduceOp::Average },
            Call::Allreduce { length: 0, op: ReduceOp::Sum },
            Call::AllreduceF64 { length: 3, op: ReduceOp::Sum },
            Call::Broadcast { length: 5, root: Rank(2) },
            Call::BroadcastBytes { root: Rank(1) },
            Call::Allgather,
            Call::Barrier,
            Call::Start { length: 9, compression: Compression::Bf16 },
            Call::Finish { buckets: 0, numbers: 0, digest: 7 },
            Call::Finish { buckets: 12, numbers: 1000, digest: u64::MAX },
            Call::Leave,
        ];
        for (at, call) in calls.into_iter().enumerate() {
            assert_eq!(Call::from_words(call.words()), call);
            assert!(calls[..at].iter().all(|other| other.words() != call.words()), "{call}");
        }
    }

    #[test]
    fn the_first_that_differs_from_rank_0_is_named() {
        let (a, b) = (Call::Barrier, Call::Allgather);
        assert_eq!(mismatch([a, a, a]), None);
        assert_eq!(mismatch([a, a, b, b]), Some(CommError::Mismatch("rank 0 barrier, rank 2 allgather".into())));
    }
}
