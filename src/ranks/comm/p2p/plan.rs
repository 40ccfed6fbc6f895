//! What one rank does of a schedule: round by round, what it sends, adds and copies.

use std::ops::Range;

use crate::domain::collective::{Fault, Message, Naming, Operation, Schedule};

/// Numbers in one message of MPI, which counts in i32: longer ones are cut.
const LONGEST: usize = 1 << 30;

/// One rank's part of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub elements: usize,
    pub rounds: Vec<Round>,
}

/// One rank's part of a round. What is copied, is neither sent nor written by another message of the round: that is why only a
/// plan makes one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    pub sends: Vec<Part>,
    /// What is added, in the order of the senders.
    pub reduces: Vec<Part>,
    pub copies: Vec<Part>,
    /// Where in the scratch memory the numbers of each of these arrive.
    pub slots: Vec<Range<usize>>,
    /// Receives that are under way at a time, of those that are added.
    pub window: usize,
    /// What is added is also sent: so it must have left before.
    pub sends_what_it_adds: bool,
}

/// Numbers from or to another rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub peer: usize,
    pub range: Range<usize>,
    /// What the receiver does with them.
    pub operation: Operation,
}

impl Plan {
    /// # Panics
    /// If a message goes outside of the ranks or the numbers, or overwrites what is sent in the same round: a schedule that was
    /// not made by this program is proven first.
    pub fn new(schedule: &Schedule, rank: usize) -> Plan {
        Plan::cut(schedule, rank, LONGEST)
    }

    /// Whether there is a plan for every rank of a schedule that is proven. The proof lets a rank send numbers and get others in their
    /// place in one round; memory does not, since both are the same place.
    ///
    /// # Errors
    /// The first rank for which there is none.
    pub fn check(schedule: &Schedule) -> Result<(), Fault> {
        for (round, messages) in schedule.rounds.iter().enumerate() {
            let mut sends: Vec<Vec<&Message>> = vec![Vec::new(); schedule.ranks];
            messages.iter().for_each(|sent| sends[sent.from].push(sent));
            for copy in messages.iter().filter(|sent| sent.operation == Operation::Copy && !sent.range.is_empty()) {
                let meets = |sent: &&&Message| sent.range.start < copy.range.end && copy.range.start < sent.range.end;
                if let Some(sent) = sends[copy.to].iter().find(meets) {
                    let shared = copy.range.start.max(sent.range.start)..copy.range.end.min(sent.range.end);
                    let (what, them) = (Naming::Numbers.place(&shared), if shared.len() == 1 { "it" } else { "them" });
                    let what = format!(
                        "sends {what} to rank {} and gets a copy of {them} from rank {} in the same round: put one of the two into \
                         another round",
                        sent.to, copy.from
                    );
                    return Err(Fault { round, rank: copy.to, what });
                }
            }
        }
        Ok(())
    }

    /// As [`Plan::new`], with at most `longest` numbers in a message.
    fn cut(schedule: &Schedule, rank: usize, longest: usize) -> Plan {
        let rounds = schedule.rounds.iter().map(|messages| Round::new(messages, rank, longest)).collect::<Vec<_>>();
        for round in &rounds {
            for part in round.sends.iter().chain(&round.reduces).chain(&round.copies) {
                assert!(part.range.end <= schedule.elements && part.peer < schedule.ranks && part.peer != rank, "{part:?}");
            }
        }
        Plan { elements: schedule.elements, rounds }
    }

    /// Numbers of scratch memory that the execution needs.
    pub fn scratch(&self) -> usize {
        self.rounds.iter().flat_map(|round| &round.slots).map(|slot| slot.end).max().unwrap_or_default()
    }
}

impl Round {
    fn new(messages: &[Message], rank: usize, longest: usize) -> Round {
        let parts = |peer: fn(&Message) -> usize, is_wanted: &dyn Fn(&Message) -> bool| {
            let mut messages: Vec<&Message> = messages.iter().filter(|message| is_wanted(message)).collect();
            // Both ends of a pair then count their messages in the same order.
            messages.sort_by_key(|message| (peer(message), message.range.start));
            let cut = |message: &Message| {
                let (peer, end, operation) = (peer(message), message.range.end, message.operation);
                let part = move |start| Part { peer, range: start..end.min(start + longest), operation };
                message.range.clone().step_by(longest).map(part)
            };
            messages.into_iter().flat_map(cut).collect::<Vec<_>>()
        };
        let received = |operation| move |message: &Message| message.to == rank && message.operation == operation;
        let mut round = Round {
            sends: parts(|message| message.to, &|message| message.from == rank),
            reduces: parts(|message| message.from, &received(Operation::Reduce)),
            copies: parts(|message| message.from, &received(Operation::Copy)),
            ..Round::default()
        };
        round.sends_what_it_adds = overlap(&round.sends, &round.reduces);
        // A server has one message in flight while it adds another, and so never needs memory for all of them. But what is also
        // sent cannot be added before it has left: then all are in flight, or two ranks might wait for each other.
        round.window = if round.sends_what_it_adds { round.reduces.len() } else { round.reduces.len().min(2) };
        round.slots = (0..round.reduces.len()).map(|index| slot(&round.reduces, round.window, index)).collect();
        for (place, copy) in round.copies.iter().enumerate() {
            let copy = std::slice::from_ref(copy);
            let others = [&round.sends, &round.reduces, &round.copies[..place]];
            assert!(!others.into_iter().any(|other| overlap(other, copy)), "{copy:?} overwrites what its round needs");
        }
        round
    }
}

/// Slots follow each other, each as long as the longest message that it is for.
fn slot(reduces: &[Part], window: usize, index: usize) -> Range<usize> {
    let length = |slot: usize| reduces.iter().skip(slot).step_by(window).map(|part| part.range.len()).max();
    let start = (0..index % window).filter_map(length).sum();
    start..start + reduces[index].range.len()
}

fn overlap(some: &[Part], others: &[Part]) -> bool {
    let meet = |one: &Part, other: &Part| one.range.start < other.range.end && other.range.start < one.range.end;
    some.iter().any(|one| others.iter().any(|other| meet(one, other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::collective::{Algorithm, Shape};

    fn schedule(algorithm: Algorithm, ranks: usize, elements: usize) -> Schedule {
        algorithm.schedule(ranks, elements, Shape { servers: 1, ranks_per_host: 2 })
    }

    #[test]
    fn a_server_has_room_for_two_messages_and_a_partner_for_one() {
        let server = Plan::new(&schedule(Algorithm::ParameterServer, 5, 100), 0);
        assert_eq!((server.rounds[0].reduces.len(), server.scratch()), (4, 200));
        assert_eq!(server.rounds[0].slots, [0..100, 100..200, 0..100, 100..200]);
        let partner = Plan::new(&schedule(Algorithm::RecursiveDoubling, 4, 100), 1);
        assert_eq!((partner.rounds[0].sends_what_it_adds, partner.scratch()), (true, 100));
        let alone = Plan::new(&schedule(Algorithm::Ring, 1, 100), 0);
        assert_eq!((alone.rounds.len(), alone.scratch()), (0, 0));
    }

    #[test]
    fn long_messages_are_cut_alike_at_both_ends() {
        let schedule = schedule(Algorithm::Hierarchical, 5, 1_003);
        let plans: Vec<Plan> = (0..5).map(|rank| Plan::cut(&schedule, rank, 7)).collect();
        for (round, from, to) in (0..schedule.rounds.len()).flat_map(|round| (0..25).map(move |pair| (round, pair / 5, pair % 5)))
        {
            let ranges = |parts: &[Part], peer| {
                parts.iter().filter(|part| part.peer == peer).map(|part| part.range.clone()).collect::<Vec<_>>()
            };
            let (sender, receiver) = (&plans[from].rounds[round], &plans[to].rounds[round]);
            let received = [ranges(&receiver.reduces, from), ranges(&receiver.copies, from)].concat();
            assert_eq!(ranges(&sender.sends, to), received, "round {round}, {from} to {to}");
            assert!(received.iter().all(|range| range.len() <= 7));
        }
    }

    #[test]
    fn what_has_no_plan_is_said_before_it_panics() {
        let copy = |from, to, range| Message { from, to, range, operation: Operation::Copy };
        let both = Schedule::new(2, 8, vec![vec![], vec![copy(0, 1, 0..4), copy(1, 0, 2..8)]]);
        let fault = Plan::check(&both).unwrap_err();
        assert_eq!((fault.round, fault.rank), (1, 1));
        assert!(fault.what.starts_with("sends numbers 2 to 3 to rank 0 and gets a copy of them from rank 0"), "{fault}");
        assert_eq!(Plan::check(&Schedule::new(2, 8, vec![vec![copy(0, 1, 0..4), copy(1, 0, 4..8)]])), Ok(()));
        for algorithm in Algorithm::ALL {
            assert_eq!(Plan::check(&schedule(algorithm, 7, 33)), Ok(()));
        }
    }

    #[test]
    #[should_panic(expected = "overwrites")]
    fn a_copy_over_what_is_sent_is_refused() {
        let message = |from, to| Message { from, to, range: 0..4, operation: Operation::Copy };
        Plan::new(&Schedule::new(2, 4, vec![vec![message(0, 1), message(1, 0)]]), 0);
    }
}
