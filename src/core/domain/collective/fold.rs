//! Algorithms that need a power of two of ranks, run by any number of them.

use super::schedule::{Message, Operation};

/// The ranks that run the algorithm, and what happens before and after it for the others.
pub(super) struct Fold {
    /// As many as the largest power of two that is not above the number of ranks.
    pub active: Vec<usize>,
    /// The others give all their numbers to a neighbour. No round, or one.
    pub before: Vec<Vec<Message>>,
    /// They get the result from it.
    pub after: Vec<Vec<Message>>,
}

impl Fold {
    pub fn new(ranks: usize, elements: usize) -> Fold {
        let power = if ranks.is_power_of_two() { ranks } else { ranks.next_power_of_two() / 2 };
        let idle: Vec<usize> = (0..ranks - power).map(|pair| 2 * pair).collect();
        let round = |message: &dyn Fn(usize) -> Message| match idle.is_empty() {
            true => Vec::new(),
            false => vec![idle.iter().map(|&rank| message(rank)).collect()],
        };
        Fold {
            before: round(&|rank| Message { from: rank, to: rank + 1, range: 0..elements, operation: Operation::Reduce }),
            after: round(&|rank| Message { from: rank + 1, to: rank, range: 0..elements, operation: Operation::Copy }),
            active: (0..ranks).filter(|rank| !idle.contains(rank)).collect(),
        }
    }
}
