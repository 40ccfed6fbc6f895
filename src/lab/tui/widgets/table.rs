//! The columns of a table that there is room for.

/// The places of the columns that fit, in their order: those of the lowest rank first, up to one that has no room. A column takes
/// one more than its width.
pub fn fitting(room: usize, columns: impl Iterator<Item = (usize, u8)>) -> Vec<usize> {
    let mut by_rank: Vec<(usize, usize, u8)> = columns.enumerate().map(|(place, (width, rank))| (place, width, rank)).collect();
    by_rank.sort_by_key(|(_, _, rank)| *rank);
    let (mut left, mut chosen) = (room, Vec::new());
    for (place, width, _) in by_rank {
        let Some(rest) = left.checked_sub(width + 1) else { break };
        left = rest;
        chosen.push(place);
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_most_stays_and_the_order_is_kept() {
        let columns = [(9, 3), (3, 0), (6, 1), (1, 2)];
        let fitting = |room| fitting(room, columns.into_iter());
        assert_eq!(fitting(40), [0, 1, 2, 3]);
        assert_eq!(fitting(13), [1, 2, 3]);
        assert_eq!(fitting(12), [1, 2], "nothing smaller takes the place of what has no room");
        assert!(fitting(3).is_empty());
    }
}
