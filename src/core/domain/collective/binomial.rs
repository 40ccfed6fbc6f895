//! A binomial tree: reduce to rank 0, then broadcast from it.

use super::schedule::{Message, Operation, Schedule};

/// Twice `lg p` rounds, rounded up: half of those that are left give their numbers away, and then the same way back.
pub(super) fn schedule(ranks: usize, elements: usize) -> Schedule {
    let distances: Vec<usize> = (0..).map(|round| 1 << round).take_while(|distance| *distance < ranks).collect();
    let pairs = |distance: usize| (0..ranks).step_by(2 * distance).map(move |rank| (rank, rank + distance));
    let pairs = |distance| pairs(distance).filter(|(_, other)| *other < ranks);
    let message = |from, to, operation| Message { from, to, range: 0..elements, operation };
    let reduce = distances
        .iter()
        .map(|&distance| pairs(distance).map(|(near, far)| message(far, near, Operation::Reduce)).collect::<Vec<_>>());
    let broadcast =
        distances.iter().rev().map(|&distance| pairs(distance).map(|(near, far)| message(near, far, Operation::Copy)).collect());
    Schedule::new(ranks, elements, reduce.chain(broadcast).collect())
}
