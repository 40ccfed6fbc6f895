//! Whether a schedule is an allreduce: whose numbers every rank holds after every round.
//!
//! The first fault is told in the words of a class. Its memory grows with the square of the ranks.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use super::naming::Naming;
use super::schedule::{Message, Operation, Schedule};

/// What is wrong with a schedule: in which round, counted from 0, at which rank, and in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub round: usize,
    pub rank: usize,
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "round {}: rank {} {}", self.round + 1, self.rank, self.what)
    }
}

impl std::error::Error for Fault {}

/// Follows every number through the schedule. It is an allreduce if no message goes astray, no rank's numbers are added twice,
/// no sum is handed on before it is complete, and every rank ends with all sums.
///
/// # Errors
/// The first fault, in the order of the rounds.
pub fn prove(schedule: &Schedule) -> Result<(), Fault> {
    prove_in(schedule, Naming::Numbers)
}

/// As [`prove`], with faults in the words of a reader.
///
/// # Errors
/// As [`prove`].
pub(super) fn prove_in(schedule: &Schedule, naming: Naming) -> Result<(), Fault> {
    for (round, message) in schedule.messages() {
        is_possible(schedule, message, naming).map_err(|what| Fault { round, rank: message.from, what })?;
    }
    let mut holdings = Holdings::new(schedule, naming);
    for (round, messages) in schedule.rounds.iter().enumerate() {
        holdings.play(round, messages)?;
    }
    holdings.are_complete(schedule.rounds.len().saturating_sub(1))
}

/// What can be said of a message without the others.
fn is_possible(schedule: &Schedule, message: &Message, naming: Naming) -> Result<(), String> {
    let numbers = |range| naming.place(range);
    let Message { from, to, range, .. } = message;
    let last = schedule.ranks.saturating_sub(1);
    if *from >= schedule.ranks {
        return Err(format!("sends {}, and there are only the ranks 0 to {last}", numbers(range)));
    }
    if *to >= schedule.ranks {
        return Err(format!("sends {} to rank {to}, and there are only the ranks 0 to {last}", numbers(range)));
    }
    if from == to {
        return Err(format!("sends {} to itself", numbers(range)));
    }
    if range.start > range.end || range.end > schedule.elements {
        return Err(format!("sends {}, and there are only {} numbers", numbers(range), schedule.elements));
    }
    Ok(())
}

/// A set of ranks.
type Ranks = Vec<u64>;

/// Whose numbers each rank has added up in each piece. Pieces are cut so that a message has whole ones.
struct Holdings {
    naming: Naming,
    ranks: usize,
    pieces: Vec<Range<usize>>,
    /// By rank, then by piece.
    sums: Vec<Vec<Ranks>>,
}

impl Holdings {
    fn new(schedule: &Schedule, naming: Naming) -> Holdings {
        let mut cuts: BTreeSet<usize> = schedule.messages().flat_map(|(_, sent)| [sent.range.start, sent.range.end]).collect();
        cuts.extend([0, schedule.elements]);
        let cuts: Vec<usize> = cuts.into_iter().collect();
        let pieces: Vec<Range<usize>> = cuts.windows(2).map(|pair| pair[0]..pair[1]).collect();
        let own = |rank: usize| {
            let mut set = vec![0u64; schedule.ranks.div_ceil(64)];
            set[rank / 64] |= 1 << (rank % 64);
            set
        };
        let sums = (0..schedule.ranks).map(|rank| vec![own(rank); pieces.len()]).collect();
        Holdings { naming, ranks: schedule.ranks, pieces, sums }
    }

    /// All messages of a round take what their senders had when it began.
    fn play(&mut self, round: usize, messages: &[Message]) -> Result<(), Fault> {
        let messages: Vec<(&Message, Range<usize>)> = messages.iter().map(|sent| (sent, self.pieces_of(&sent.range))).collect();
        let leave = |(sent, pieces): &(&Message, Range<usize>)| self.sums[sent.from][pieces.clone()].to_vec();
        let sent: Vec<Vec<Ranks>> = messages.iter().map(leave).collect();
        // Whether a place was written by a copy, or added to, in this round.
        let mut written: Vec<Vec<Option<Operation>>> = vec![vec![None; self.pieces.len()]; self.ranks];
        for ((message, pieces), sums) in messages.into_iter().zip(sent) {
            let Message { from, to, operation, .. } = *message;
            for (piece, sum) in pieces.zip(sums) {
                let (naming, range) = (self.naming, self.pieces[piece].clone());
                let place = || naming.place(&range);
                let at = |rank: usize, what: String| Err(Fault { round, rank, what });
                let before = written[to][piece].replace(operation);
                if before.is_some_and(|before| before == Operation::Copy || operation == Operation::Copy) {
                    return at(to, format!("gets {} twice, so that one of them is lost", place()));
                }
                let own = &mut self.sums[to][piece];
                let twice: Vec<usize> = (0..self.ranks).filter(|rank| has(own, *rank) && has(&sum, *rank)).collect();
                let missing: Vec<usize> = (0..self.ranks).filter(|rank| !has(&sum, *rank)).collect();
                match operation {
                    Operation::Reduce if !twice.is_empty() => {
                        let parts = naming.parts(&twice, &range);
                        return at(to, format!("adds {parts} for a second time (they come from rank {from})"));
                    }
                    Operation::Copy if !missing.is_empty() => {
                        let after = if round == 0 { String::new() } else { format!("after round {round} it ") };
                        let lacking = Naming::lacking(&missing);
                        return at(from, format!("sends {} to rank {to} as finished, and {after}lacks {lacking}", place()));
                    }
                    Operation::Reduce => own.iter_mut().zip(&sum).for_each(|(own, new)| *own |= new),
                    Operation::Copy => *own = sum,
                }
            }
        }
        Ok(())
    }

    fn pieces_of(&self, range: &Range<usize>) -> Range<usize> {
        let at = |cut: usize| self.pieces.partition_point(|piece| piece.start < cut);
        if range.is_empty() { 0..0 } else { at(range.start)..at(range.end) }
    }

    fn are_complete(&self, round: usize) -> Result<(), Fault> {
        for (rank, sums) in self.sums.iter().enumerate() {
            for (piece, sum) in self.pieces.iter().zip(sums) {
                let missing: Vec<usize> = (0..self.ranks).filter(|rank| !has(sum, *rank)).collect();
                if !missing.is_empty() {
                    let what = format!("ends with a sum of {} and lacks {}", self.naming.place(piece), Naming::lacking(&missing));
                    return Err(Fault { round, rank, what });
                }
            }
        }
        Ok(())
    }
}

fn has(set: &Ranks, rank: usize) -> bool {
    set[rank / 64] & (1 << (rank % 64)) != 0
}
