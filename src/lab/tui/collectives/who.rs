//! Whose numbers are in a place: a set of ranks, and how it reads in a few columns.

use crate::domain::collective::Operation;

/// More ranks than this have no picture.
pub const MOST_RANKS: usize = 64;

/// The ranks whose numbers were added up in one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Who {
    once: u64,
    /// Those that were added more than once: a sum that is wrong.
    twice: u64,
}

impl Who {
    pub fn rank(rank: usize) -> Who {
        Who { once: 1 << (rank % MOST_RANKS), twice: 0 }
    }

    /// Other numbers arrive.
    pub fn take(&mut self, other: Who, operation: Operation) {
        match operation {
            Operation::Copy => *self = other,
            Operation::Reduce => {
                self.twice |= other.twice | (self.once & other.once);
                self.once |= other.once;
            }
        }
    }

    pub fn count(self) -> usize {
        self.once.count_ones() as usize
    }

    pub fn is_complete(self, ranks: usize) -> bool {
        self.count() == ranks && self.twice == 0
    }

    fn ranks(self) -> Vec<usize> {
        (0..MOST_RANKS).filter(|rank| self.once & (1 << rank) != 0).collect()
    }

    /// `2`, `0+1`, `0..3`, `6..1` around the end, `all`, or how many of all where that is too long.
    pub fn text(self, ranks: usize, width: usize) -> String {
        let wrong = if self.twice == 0 { "" } else { "!" };
        let members = self.ranks();
        let text = match &members[..] {
            [] => "–".to_owned(),
            _ if members.len() == ranks => "all".to_owned(),
            [one] => one.to_string(),
            [one, other] => format!("{one}+{other}"),
            _ => match neighbours(&members, ranks) {
                Some((first, last)) => format!("{first}..{last}"),
                None => members.iter().map(usize::to_string).collect::<Vec<_>>().join("+"),
            },
        };
        let text = format!("{text}{wrong}");
        if text.len() <= width || members.is_empty() { text } else { format!("{}/{ranks}{wrong}", members.len()) }
    }
}

/// The first and the last of ranks that follow each other, perhaps around the end of the ring.
fn neighbours(members: &[usize], ranks: usize) -> Option<(usize, usize)> {
    let follows = |rank: usize| members.contains(&((rank + 1) % ranks));
    let mut ends = members.iter().copied().filter(|rank| !follows(*rank));
    let last = ends.next()?;
    ends.next().is_none().then(|| ((last + ranks + 1 - members.len()) % ranks, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ranks: &[usize]) -> Who {
        let mut who = Who::default();
        ranks.iter().for_each(|rank| who.take(Who::rank(*rank), Operation::Reduce));
        who
    }

    #[test]
    fn a_set_reads_as_one_says_it() {
        let cases: [(&[usize], &str); 9] = [
            (&[2], "2"),
            (&[0, 1], "0+1"),
            (&[0, 4], "0+4"),
            (&[0, 1, 2, 3], "0..3"),
            (&[6, 7, 0, 1], "6..1"),
            (&[0, 2, 5], "0+2+5"),
            (&[0, 2, 4, 6], "4/8"),
            (&[0, 1, 2, 3, 4, 5, 6, 7], "all"),
            (&[], "–"),
        ];
        for (ranks, text) in cases {
            assert_eq!(of(ranks).text(8, 6), text);
        }
        assert!(of(&[0, 1, 2, 3, 4, 5, 6, 7]).is_complete(8) && !of(&[0, 1]).is_complete(8));
    }

    #[test]
    fn what_was_added_twice_is_never_complete() {
        let mut who = of(&[0, 1]);
        who.take(Who::rank(1), Operation::Reduce);
        assert_eq!((who.text(2, 6).as_str(), who.is_complete(2)), ("all!", false));
        who.take(of(&[0, 1]), Operation::Copy);
        assert!(who.is_complete(2), "a copy takes the place of what was there");
    }
}
