//! Rounds of messages between ranks, and what follows from them: messages and bytes of each rank.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// What the receiver does with the numbers that arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Adds them to its own.
    Reduce,
    /// Puts them in the place of its own.
    Copy,
}

/// Numbers on their way from one rank to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub from: usize,
    pub to: usize,
    /// Which of the numbers: the same places in the buffers of both.
    pub range: Range<usize>,
    pub operation: Operation,
}

/// An allreduce, round by round. All messages of a round leave with the numbers that their sender had when the round began; a
/// receiver adds what it is sent in the order of the senders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub ranks: usize,
    pub elements: usize,
    pub rounds: Vec<Vec<Message>>,
}

impl Schedule {
    /// With the messages of each round in the order of their senders, and none without numbers.
    pub fn new(ranks: usize, elements: usize, mut rounds: Vec<Vec<Message>>) -> Schedule {
        for round in &mut rounds {
            round.retain(|message| !message.range.is_empty());
            round.sort_by_key(|message| (message.from, message.to, message.range.start));
        }
        Schedule { ranks, elements, rounds }
    }

    /// All messages with their rounds, from 0.
    pub fn messages(&self) -> impl Iterator<Item = (usize, &Message)> {
        self.rounds.iter().enumerate().flat_map(|(round, messages)| messages.iter().map(move |message| (round, message)))
    }

    /// Messages that a rank sends. Those without numbers are not sent.
    pub fn messages_from(&self, rank: usize) -> usize {
        self.sent_by(rank).count()
    }

    /// Numbers that a rank sends, each time it sends them.
    pub fn elements_from(&self, rank: usize) -> usize {
        self.sent_by(rank).map(|message| message.range.len()).sum()
    }

    /// Bytes of float32 that a rank sends.
    pub fn bytes_from(&self, rank: usize) -> u64 {
        (size_of::<f32>() * self.elements_from(rank)) as u64
    }

    fn sent_by(&self, rank: usize) -> impl Iterator<Item = &Message> {
        self.rounds.iter().flatten().filter(move |message| message.from == rank && !message.range.is_empty())
    }
}

/// Part `index` of `elements` numbers cut into `parts` of equal size; the first ones have one more where it does not come out.
pub fn chunk(elements: usize, parts: usize, index: usize) -> Range<usize> {
    let (size, rest) = (elements / parts, elements % parts);
    let start = index * size + index.min(rest);
    start..start + size + usize::from(index < rest)
}
