//! What the program of the collectives reports: a row of its table, the log of one execution, and what the network can do.

use serde::{Deserialize, Serialize};

use super::schedule::Operation;
use crate::domain::bounds::{Bounded, MAX_COUNT, MAX_RANKS, count, first, process, seconds};

/// One row of the table: one method at one size, of all ranks. Sent by rank 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AllreduceReport {
    /// Name of the method: `ring`, `parameter-server`, `mpi`, `mpi-ring`, `nccl`.
    pub method: String,
    /// Bytes of each rank's buffer.
    pub bytes: u64,
    /// Numbers (float32) in it.
    pub elements: usize,
    /// Allreduces that were timed, after the warm-up.
    pub iterations: usize,
    /// Seconds of one allreduce: in each iteration the slowest rank's.
    pub mean_s: f64,
    pub median_s: f64,
    pub min_s: f64,
    pub max_s: f64,
    /// Numbers that were not the expected sum, over all ranks; `None` where it was not checked.
    pub wrong: Option<u64>,
}

impl AllreduceReport {
    /// Whether it has a size and times, as every row that was measured. Some clock may not see how short the shortest one was.
    pub fn is_measured(&self) -> bool {
        self.bytes > 0 && self.mean_s > 0.0 && self.median_s > 0.0
    }

    /// Algorithm bandwidth as nccl-tests has it: bytes of the buffer a second.
    pub fn algbw(&self) -> f64 {
        self.bytes as f64 / self.mean_s
    }

    /// Bus bandwidth as nccl-tests has it, in bytes a second: what each link carried, if the method were a ring.
    pub fn busbw(&self, ranks: usize) -> f64 {
        bus_bandwidth(self.bytes, self.mean_s, ranks)
    }
}

/// Bus bandwidth in bytes a second, of an allreduce of so many bytes that took so long.
pub fn bus_bandwidth(bytes: u64, seconds: f64, ranks: usize) -> f64 {
    let ranks = ranks as f64;
    bytes as f64 / seconds * 2.0 * (ranks - 1.0) / ranks
}

/// What one rank received in one execution of a method, on the clock that all ranks share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessagesReport {
    pub method: String,
    pub elements: usize,
    /// From 0: a long log comes in several events.
    #[serde(default)]
    pub part: usize,
    /// Of those that this rank received, in the order of the rounds.
    pub messages: Vec<MessageReport>,
}

impl MessagesReport {
    /// Whether this is the next part of a log.
    pub fn goes_on_from(&self, before: &MessagesReport) -> bool {
        self.part > 0 && (&self.method, self.elements) == (&before.method, before.elements)
    }
}

/// One message as its receiver saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageReport {
    /// From 0.
    pub round: usize,
    pub from: usize,
    pub to: usize,
    /// The numbers from `start` to before `end`.
    pub start: usize,
    pub end: usize,
    pub operation: Operation,
    /// Seconds since the execution began, on the common clock: when the sender handed them to MPI, and when the receiver had
    /// them, before it adds them to its own.
    pub began_s: f64,
    pub ended_s: f64,
}

/// What two ranks measured of the way between them, for predictions. Sent by rank 0 before each size of the table: all that was
/// measured until then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkReport {
    pub rows: Vec<LinkRow>,
}

/// At one size. Medians, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkRow {
    pub bytes: u64,
    /// One message, one way: half of a round trip.
    pub one_way_s: f64,
    /// Both ranks send to each other at once.
    pub exchange_s: f64,
    /// Adding so many bytes of float32 to as many, which another rank has just read: what an exchange that adds takes longer.
    pub sum_s: f64,
}

impl Bounded for AllreduceReport {
    fn out_of_bounds(&self) -> Option<String> {
        let times = [self.mean_s, self.median_s, self.min_s, self.max_s];
        first([count("elements", self.elements, MAX_COUNT), count("iterations", self.iterations, MAX_COUNT)])
            .or_else(|| times.into_iter().find_map(|time| seconds("seconds of an allreduce", time)))
    }
}

impl Bounded for MessagesReport {
    fn out_of_bounds(&self) -> Option<String> {
        count("elements", self.elements, MAX_COUNT).or_else(|| {
            self.messages.iter().find_map(|message| {
                first([
                    process("sender", message.from),
                    process("receiver", message.to),
                    count("round", message.round, 4 * MAX_RANKS),
                    count("end of the range", message.end, self.elements),
                    count("start of the range", message.start, message.end),
                    seconds("start of a message", message.began_s),
                    seconds("end of a message", message.ended_s),
                ])
            })
        })
    }
}

impl Bounded for LinkReport {
    fn out_of_bounds(&self) -> Option<String> {
        let times = |row: &LinkRow| [row.one_way_s, row.exchange_s, row.sum_s];
        self.rows.iter().flat_map(times).find_map(|time| seconds("seconds of a message", time))
    }
}
