//! The ring: every rank sends to the next one only, in every round.

use super::schedule::{Message, Operation, Schedule, chunk};

/// `p - 1` rounds of reduce-scatter, after which rank r holds the sum of chunk r + 1, then `p - 1` rounds of allgather.
pub(super) fn schedule(ranks: usize, elements: usize) -> Schedule {
    let round = |shift: usize, operation: Operation| {
        let message = |from: usize| Message {
            from,
            to: (from + 1) % ranks,
            range: chunk(elements, ranks, (from + ranks + shift) % ranks),
            operation,
        };
        (0..ranks).map(message).collect::<Vec<_>>()
    };
    let hops = ranks.saturating_sub(1);
    let reduce = (0..hops).map(|hop| round(ranks - hop, Operation::Reduce));
    let gather = (0..hops).map(|hop| round(ranks + 1 - hop, Operation::Copy));
    Schedule { ranks, elements, rounds: reduce.chain(gather).collect() }
}
