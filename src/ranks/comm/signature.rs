//! The signature of a collective: kind, length, operation and root. Ranks compare them before a blocking
//! collective moves data, and when started allreduces are finished.

use std::fmt;

use clap::ValueEnum as _;

use super::communicator::ReduceOp;
use super::compression::Compression;
use super::error::CommError;
use crate::domain::topology::Rank;
use crate::domain::units;

/// One collective, as far as all ranks must agree on it.
///
/// # Horovod
/// The fields of `Request` that its coordinator checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signature {
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
    /// The end of all started allreduces: `digest` stands for their lengths and compressions, in order.
    Finish {
        buckets: usize,
        numbers: usize,
        digest: u64,
    },
    Leave,
}

/// Numbers of an encoded signature, as ranks send it.
pub(super) const WORDS: usize = 3;

impl Signature {
    pub(super) fn to_words(self) -> [u64; WORDS] {
        match self {
            Signature::Allreduce { length, op } => [0, length as u64, op as u64],
            Signature::AllreduceF64 { length, op } => [1, length as u64, op as u64],
            Signature::Broadcast { length, root } => [2, length as u64, root.0 as u64],
            Signature::BroadcastBytes { root } => [3, 0, root.0 as u64],
            Signature::Allgather => [4, 0, 0],
            Signature::Barrier => [5, 0, 0],
            Signature::Start { length, compression } => [6, length as u64, compression as u64],
            Signature::Leave => [7, 0, 0],
            Signature::Finish { buckets, numbers, digest } => [8 + buckets as u64, numbers as u64, digest],
        }
    }

    pub(super) fn from_words([kind, length, detail]: [u64; WORDS]) -> Signature {
        let (length, root) = (length as usize, Rank(detail as usize));
        let compression = Compression::value_variants().get(detail as usize).copied().unwrap_or_default();
        let op = if detail == ReduceOp::Sum as u64 { ReduceOp::Sum } else { ReduceOp::Average };
        match kind {
            0 => Signature::Allreduce { length, op },
            1 => Signature::AllreduceF64 { length, op },
            2 => Signature::Broadcast { length, root },
            3 => Signature::BroadcastBytes { root },
            4 => Signature::Allgather,
            5 => Signature::Barrier,
            6 => Signature::Start { length, compression },
            7 => Signature::Leave,
            _ => Signature::Finish { buckets: kind as usize - 8, numbers: length, digest: detail },
        }
    }
}

/// An error that names rank 0 and the first rank that differs from it, and the calls of their programs that they are in, where those
/// have names; `None` if all signatures are the same.
///
/// All ranks compare the same signatures in the same order, so they come to the same verdict.
pub(super) fn mismatch(signatures: impl IntoIterator<Item = (Signature, String)>) -> Option<CommError> {
    let mut signatures = signatures.into_iter().enumerate();
    let (_, (first, call)) = signatures.next()?;
    let (rank, (other, other_call)) = signatures.find(|(_, (other, _))| *other != first)?;
    if call.is_empty() || other_call.is_empty() || call == other_call {
        return Some(mismatch_of((Rank(0), first), (Rank(rank), other)));
    }
    Some(CommError::DifferentCalls { one: Rank(0), call, other: Rank(rank), other_call })
}

/// [`CommError::Mismatch`] of two ranks.
pub(super) fn mismatch_of((one, first): (Rank, Signature), (other, second): (Rank, Signature)) -> CommError {
    CommError::Mismatch(format!("rank {one} {first}, rank {other} {second}"))
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Signature::Allreduce { length, op } => write!(f, "allreduce {op:?} of {length} f32"),
            Signature::AllreduceF64 { length, op } => write!(f, "allreduce {op:?} of {length} f64"),
            Signature::Broadcast { length, root } => write!(f, "broadcast of {length} f32 from rank {root}"),
            Signature::BroadcastBytes { root } => write!(f, "broadcast of bytes from rank {root}"),
            Signature::Allgather => f.write_str("allgather"),
            Signature::Barrier => f.write_str("barrier"),
            Signature::Start { length, compression } => write!(f, "started allreduce of {length} f32{compression}"),
            Signature::Finish { buckets, numbers, digest } => {
                // The digest tells apart buckets with equal sums: another order, or another compression.
                let started = units::counted(*buckets, "started allreduce");
                write!(f, "wait for {started} of {numbers} f32 in all (digest {:04x})", digest & 0xffff)
            }
            Signature::Leave => f.write_str("end of the program"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_it_all() {
        let signatures = [
            Signature::Allreduce { length: 77_000, op: ReduceOp::Average },
            Signature::Allreduce { length: 0, op: ReduceOp::Sum },
            Signature::AllreduceF64 { length: 3, op: ReduceOp::Sum },
            Signature::Broadcast { length: 5, root: Rank(2) },
            Signature::BroadcastBytes { root: Rank(1) },
            Signature::Allgather,
            Signature::Barrier,
            Signature::Start { length: 9, compression: Compression::Bf16 },
            Signature::Finish { buckets: 0, numbers: 0, digest: 7 },
            Signature::Finish { buckets: 12, numbers: 1000, digest: u64::MAX },
            Signature::Leave,
        ];
        for (at, signature) in signatures.into_iter().enumerate() {
            assert_eq!(Signature::from_words(signature.to_words()), signature);
            assert!(signatures[..at].iter().all(|other| other.to_words() != signature.to_words()), "{signature}");
        }
    }

    #[test]
    fn the_first_that_differs_from_rank_0_is_named() {
        let (a, b) = (Signature::Barrier, Signature::Allgather);
        let unnamed = |signatures: &[Signature]| mismatch(signatures.iter().map(|signature| (*signature, String::new())));
        assert_eq!(unnamed(&[a, a, a]), None);
        assert_eq!(unnamed(&[a, a, b, b]), Some(CommError::Mismatch("rank 0 barrier, rank 2 allgather".into())));
    }

    #[test]
    fn ranks_in_different_calls_of_a_program_are_told_by_these() {
        let (a, b) = (Signature::Barrier, Signature::Allgather);
        let of = |call: &str, other: &str| mismatch([(a, call.to_owned()), (b, other.to_owned())]).unwrap().to_string();
        let said = of("hvd.barrier at a.py:7", "model.fit at a.py:9");
        assert!(said.starts_with("rank 0 came to hvd.barrier at a.py:7 while rank 1 came to model.fit at a.py:9. "), "{said}");
        for (call, other) in [("model.fit at a.py:9", "model.fit at a.py:9"), ("model.fit at a.py:9", "")] {
            assert!(of(call, other).starts_with("the ranks called different collectives: rank 0 barrier"), "{call} {other}");
        }
    }
}
