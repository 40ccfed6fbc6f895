//! How places in the buffer are called in what is said of a schedule: by their numbers, or by the chunks of a ring.

use std::ops::Range;

use super::schedule::chunk;

/// What a reader thinks in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// `numbers 4 to 7`.
    Numbers,
    /// `chunk 1`, of so many numbers cut into as many chunks as there are ranks.
    Chunks { elements: usize, ranks: usize },
}

impl Naming {
    /// `numbers 4 to 7`, `chunk 1`, `chunks 1 to 3`, `numbers 4 to 5 of chunk 1`.
    pub fn place(self, range: &Range<usize>) -> String {
        let Naming::Chunks { elements, ranks } = self else { return numbers(range) };
        let of = |index: usize| chunk(elements, ranks, index);
        let holding = |number: usize| (0..ranks).find(|index| of(*index).contains(&number));
        let ends = range.end.checked_sub(1).filter(|last| *last >= range.start);
        let Some((first, last)) = ends.and_then(|last| Some((holding(range.start)?, holding(last)?))) else {
            return numbers(range);
        };
        match (of(first).start == range.start && of(last).end == range.end, first == last) {
            (true, true) => format!("chunk {first}"),
            (true, false) => format!("chunks {first} to {last}"),
            (false, true) => format!("{} of chunk {first}", numbers(range)),
            (false, false) => numbers(range),
        }
    }

    /// What these ranks gave for a place: `rank 1's numbers 2 to 3`, `rank 1's part of chunk 1`.
    pub(super) fn parts(self, whose: &[usize], range: &Range<usize>) -> String {
        match self {
            Naming::Numbers => format!("{}'s {}", of_ranks(whose), numbers(range)),
            Naming::Chunks { .. } if whose.len() == 1 => format!("{}'s part of {}", of_ranks(whose), self.place(range)),
            Naming::Chunks { .. } => format!("the parts of {} of {}", of_ranks(whose), self.place(range)),
        }
    }

    /// What these ranks gave is missing, where the place was just named.
    pub(super) fn lacking(whose: &[usize]) -> String {
        match whose.len() {
            1 => format!("{}'s part of it", of_ranks(whose)),
            _ => format!("the parts of {} of it", of_ranks(whose)),
        }
    }
}

/// `numbers 4 to 7`, of the range from 4 to before 8.
pub(super) fn numbers(range: &Range<usize>) -> String {
    match range.end.saturating_sub(range.start) {
        0 => format!("no numbers (from {} to before {})", range.start, range.end),
        1 => format!("number {}", range.start),
        _ => format!("numbers {} to {}", range.start, range.end - 1),
    }
}

/// `rank 2`, `ranks 0 and 1`, `ranks 0, 1 and 2`.
pub(super) fn of_ranks(of: &[usize]) -> String {
    match of {
        [] => "no rank".to_owned(),
        [one] => format!("rank {one}"),
        [many @ .., last] => {
            let many: Vec<String> = many.iter().map(usize::to_string).collect();
            format!("ranks {} and {last}", many.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_called_by_its_chunk_where_it_is_one() {
        let chunks = Naming::Chunks { elements: 7, ranks: 3 };
        let named = [0..3, 3..5, 0..5, 3..7, 1..2, 2..4, 2..2, 6..9].map(|range| chunks.place(&range));
        let expected = [
            "chunk 0",
            "chunk 1",
            "chunks 0 to 1",
            "chunks 1 to 2",
            "number 1 of chunk 0",
            "numbers 2 to 3",
            "no numbers",
            "numbers 6 to 8",
        ];
        for (named, expected) in named.iter().zip(expected) {
            assert!(named.starts_with(expected), "{named}: {expected}");
        }
        assert_eq!(chunks.parts(&[1], &(3..5)), "rank 1's part of chunk 1");
        assert_eq!(chunks.parts(&[0, 2], &(3..5)), "the parts of ranks 0 and 2 of chunk 1");
        assert_eq!(Naming::Numbers.parts(&[1], &(3..5)), "rank 1's numbers 3 to 4");
    }
}
