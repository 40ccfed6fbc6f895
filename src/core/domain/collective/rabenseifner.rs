//! Rabenseifner's algorithm: reduce-scatter by halving the numbers, then allgather by doubling them.

use std::ops::Range;

use super::fold::Fold;
use super::schedule::{Message, Operation, Schedule};

/// `lg p` rounds in which a pair splits what it has, each rank keeping the sum of one half, then `lg p` rounds back.
pub(super) fn schedule(ranks: usize, elements: usize) -> Schedule {
    let Fold { active, before, after } = Fold::new(ranks, elements);
    let bits = active.len().ilog2();
    // Partners that are far apart come first: then the pairs of the last round are neighbours, and so are their numbers.
    let exchange = |round: u32, operation: Operation| {
        let message = |place: usize| {
            let partner = place ^ distance(bits, round);
            let holder = if operation == Operation::Reduce { partner } else { place };
            Message { from: active[place], to: active[partner], range: held(holder, bits, round + 1, elements), operation }
        };
        (0..active.len()).map(message).collect()
    };
    let halving = (0..bits).map(|round| exchange(round, Operation::Reduce));
    let doubling = (0..bits).rev().map(|round| exchange(round, Operation::Copy));
    let rounds = before.into_iter().chain(halving).chain(doubling).chain(after).collect();
    Schedule::new(ranks, elements, rounds)
}

/// Places between the partners of a round of the first half.
fn distance(bits: u32, round: u32) -> usize {
    1 << (bits - 1 - round)
}

/// What a place is responsible for after so many rounds of the first half.
fn held(place: usize, bits: u32, rounds: u32, elements: usize) -> Range<usize> {
    (0..rounds).fold(0..elements, |range, round| {
        let middle = range.start + range.len() / 2;
        if place & distance(bits, round) == 0 { range.start..middle } else { middle..range.end }
    })
}
