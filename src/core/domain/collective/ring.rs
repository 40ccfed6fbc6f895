//! The ring: every rank sends to the next one only, in every round.

use std::ops::Range;

use super::schedule::{Message, Operation, Schedule, chunk};

/// `p - 1` rounds of reduce-scatter, after which rank r holds the sum of chunk r + 1, then `p - 1` rounds of allgather.
pub(super) fn schedule(ranks: usize, elements: usize) -> Schedule {
    let members: Vec<usize> = (0..ranks).collect();
    let pieces: Vec<Range<usize>> = (0..ranks).map(|rank| chunk(elements, ranks, (rank + 1) % ranks)).collect();
    let rounds = reduce_scatter(&members, &pieces).into_iter().chain(allgather(&members, &pieces)).collect();
    Schedule::new(ranks, elements, rounds)
}

/// Each member ends with the sum of its own piece. Each piece travels once around, and collects one member's numbers a round.
pub(super) fn reduce_scatter(members: &[usize], pieces: &[Range<usize>]) -> Vec<Vec<Message>> {
    around(members, pieces, 1, Operation::Reduce)
}

/// Each member starts with its own piece, and ends with all of them.
pub(super) fn allgather(members: &[usize], pieces: &[Range<usize>]) -> Vec<Vec<Message>> {
    around(members, pieces, 0, Operation::Copy)
}

/// In round 0 a member sends the piece of the member `back` places before it, and then what it received last.
fn around(members: &[usize], pieces: &[Range<usize>], back: usize, operation: Operation) -> Vec<Vec<Message>> {
    let count = members.len();
    let message = |round: usize, place: usize| Message {
        from: members[place],
        to: members[(place + 1) % count],
        range: pieces[(place + 2 * count - round - back) % count].clone(),
        operation,
    };
    (0..count.saturating_sub(1)).map(|round| (0..count).map(|place| message(round, place)).collect()).collect()
}
