//! Recursive doubling: pairs exchange all their numbers, then pairs of pairs, and so on.

use super::fold::Fold;
use super::schedule::{Message, Operation, Schedule};

/// `lg p` rounds. In each of them both ranks of a pair add what the other has, so both have the same sum.
pub(super) fn schedule(ranks: usize, elements: usize) -> Schedule {
    let Fold { active, before, after } = Fold::new(ranks, elements);
    let round = |bit: u32| {
        let message = |place: usize| Message {
            from: active[place],
            to: active[place ^ (1 << bit)],
            range: 0..elements,
            operation: Operation::Reduce,
        };
        (0..active.len()).map(message).collect()
    };
    let doubling = (0..active.len().ilog2()).map(round);
    let rounds = before.into_iter().chain(doubling).chain(after).collect();
    Schedule::new(ranks, elements, rounds)
}
