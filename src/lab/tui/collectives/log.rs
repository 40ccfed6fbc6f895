//! The messages of one allreduce in the order in which they arrived, and what each rank has after any number of them.
//!
//! Never guesses: what a message carries follows from the messages before it. A schedule that no run has executed has no times.

use std::ops::Range;

use super::who::{MOST_RANKS, Who};
use crate::domain::collective::{Message, MessageReport, Operation, Schedule};
use crate::domain::measured::MessageLog;

/// More places than this have no picture: a stranger's log may cut its numbers anywhere.
const MOST_PARTS: usize = 1024;
/// Places that all messages together carry.
const MOST_CARRIED: usize = 1_000_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    pub method: String,
    pub ranks: usize,
    pub elements: usize,
    /// In the order of arrival.
    pub messages: Vec<MessageReport>,
    pub rounds: usize,
    /// Executed by a run, with its times; else a schedule only.
    pub is_measured: bool,
    /// When the last one arrived.
    pub end_s: f64,
    /// What the cells are made from, where there are not too many.
    pub cells: Option<Cells>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    /// The numbers, cut wherever a message begins or ends.
    pub parts: Vec<Range<usize>>,
    /// Of each message the parts that it carries, and whose numbers are in each.
    carried: Vec<(Range<usize>, Vec<Who>)>,
}

impl Log {
    pub fn of(log: &MessageLog, ranks: usize) -> Log {
        let MessageLog { method, elements, messages } = log;
        // What the log names is there, whatever the record says.
        let named = messages.iter().map(|message| message.from.max(message.to) + 1).max().unwrap_or(1);
        Log::new(method.clone(), ranks.max(named), *elements, messages.clone(), true)
    }

    /// No run has executed it: every round takes as long as the others.
    pub fn of_schedule(method: &str, schedule: &Schedule) -> Log {
        let message = |(round, sent): (usize, &Message)| MessageReport {
            round,
            from: sent.from,
            to: sent.to,
            start: sent.range.start,
            end: sent.range.end,
            operation: sent.operation,
            began_s: round as f64,
            ended_s: (round + 1) as f64,
        };
        let all = schedule.messages().filter(|(_, sent)| !sent.range.is_empty()).map(message);
        Log::new(method.to_owned(), schedule.ranks, schedule.elements, all.collect(), false)
    }

    fn new(method: String, ranks: usize, elements: usize, mut messages: Vec<MessageReport>, is_measured: bool) -> Log {
        messages.sort_by(|a, b| a.ended_s.total_cmp(&b.ended_s).then((a.round, a.to, a.from).cmp(&(b.round, b.to, b.from))));
        let rounds = messages.iter().map(|message| message.round + 1).max().unwrap_or(0);
        let end_s = messages.last().map_or(0.0, |last| last.ended_s);
        let cells = cells(ranks, elements, &messages);
        Log { method, ranks, elements, messages, rounds, is_measured, end_s, cells }
    }

    /// What every rank has after so many messages, part by part; `None` where there are too many ranks or parts to draw.
    pub fn contents(&self, arrived: usize) -> Option<Vec<Vec<Who>>> {
        let cells = self.cells.as_ref()?;
        let mut ranks = at_first(self.ranks, cells.parts.len());
        for (message, (parts, carried)) in self.messages.iter().zip(&cells.carried).take(arrived) {
            deliver(&mut ranks[message.to][parts.clone()], carried, message.operation);
        }
        Some(ranks)
    }

    /// The parts that a message carries.
    pub fn parts_of(&self, message: &MessageReport) -> Option<Range<usize>> {
        Some(covered(&self.cells.as_ref()?.parts, message))
    }

    /// Messages that a rank has sent, of the first so many to arrive, and their bytes.
    pub fn sent(&self, rank: usize, arrived: usize) -> (usize, u64) {
        let own = self.messages[..arrived.min(self.messages.len())].iter().filter(|message| message.from == rank);
        own.fold((0, 0), |(count, sum), message| (count + 1, sum + bytes(message)))
    }

    /// The round of the next message to arrive, or of the last.
    pub fn round(&self, arrived: usize) -> usize {
        self.messages.get(arrived).or(self.messages.last()).map_or(0, |message| message.round)
    }

    /// The messages of a round by their sender, each with its place in the order of arrival.
    pub fn of_round(&self, round: usize) -> Vec<(usize, &MessageReport)> {
        let mut all: Vec<(usize, &MessageReport)> =
            self.messages.iter().enumerate().filter(|(_, message)| message.round == round).collect();
        all.sort_by_key(|(_, message)| (message.from, message.to, message.start));
        all
    }

    /// When the receiver of a message had all that it needed from the rounds before.
    pub fn ready_s(&self, of: &MessageReport) -> f64 {
        let before = self.messages.iter().filter(|message| message.to == of.to && message.round < of.round);
        before.map(|message| message.ended_s).fold(0.0, f64::max)
    }

    /// How many messages have arrived at a moment.
    pub fn arrived_at(&self, moment_s: f64) -> usize {
        self.messages.partition_point(|message| message.ended_s <= moment_s)
    }

    /// When so many had arrived.
    pub fn moment_s(&self, arrived: usize) -> f64 {
        arrived.checked_sub(1).and_then(|last| self.messages.get(last)).map_or(0.0, |last| last.ended_s)
    }
}

/// Bytes of float32.
pub fn bytes(message: &MessageReport) -> u64 {
    4 * (message.end - message.start) as u64
}

/// Each rank its own numbers.
fn at_first(ranks: usize, parts: usize) -> Vec<Vec<Who>> {
    (0..ranks).map(|rank| vec![Who::rank(rank); parts]).collect()
}

fn deliver(to: &mut [Who], carried: &[Who], operation: Operation) {
    to.iter_mut().zip(carried).for_each(|(place, other)| place.take(*other, operation));
}

/// The parts between the two ends of a message, which are ends of parts.
fn covered(parts: &[Range<usize>], message: &MessageReport) -> Range<usize> {
    let place = |end: usize| parts.partition_point(|part| part.end <= end);
    let from = place(message.start);
    from..place(message.end).max(from)
}

fn cells(ranks: usize, elements: usize, messages: &[MessageReport]) -> Option<Cells> {
    if ranks > MOST_RANKS {
        return None;
    }
    let ends = messages.iter().flat_map(|message| [message.start, message.end]);
    let mut ends: Vec<usize> = ends.chain([0, elements]).collect();
    ends.sort_unstable();
    ends.dedup();
    let parts: Vec<Range<usize>> = ends.windows(2).map(|ends| ends[0]..ends[1]).collect();
    let covered: Vec<Range<usize>> = messages.iter().map(|message| covered(&parts, message)).collect();
    if parts.len() > MOST_PARTS || covered.iter().map(Range::len).sum::<usize>() > MOST_CARRIED {
        return None;
    }
    // All messages of a round leave with what their sender had when it began, whenever they arrive.
    let mut order: Vec<usize> = (0..messages.len()).collect();
    order.sort_by_key(|index| (messages[*index].round, messages[*index].to, messages[*index].from));
    let mut carried = vec![(0..0, Vec::new()); messages.len()];
    let mut now = at_first(ranks, parts.len());
    for round in order.chunk_by(|a, b| messages[*a].round == messages[*b].round) {
        let before = now.clone();
        for index in round {
            let (message, parts) = (&messages[*index], covered[*index].clone());
            let own = before[message.from][parts.clone()].to_vec();
            deliver(&mut now[message.to][parts.clone()], &own, message.operation);
            carried[*index] = (parts, own);
        }
    }
    Some(Cells { parts, carried })
}
