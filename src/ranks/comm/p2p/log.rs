//! When the messages of one execution travelled, told by their receivers on a clock that all ranks share.

use super::plan::{Part, Round};
use super::point::Times;
use crate::comm::clock_sync::Correction;
use crate::comm::communicator::Communicator;
use crate::comm::error::CommError;
use crate::comm::gather::allgather_numbers;
use crate::domain::collective::MessageReport;

/// What one rank saw of an execution, in nanoseconds of its own clock.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// When the rank began, after a barrier.
    began: i64,
    sent: Vec<Entry>,
    received: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    round: usize,
    part: Part,
    at: i64,
}

impl Log {
    pub(super) fn new(began: i64) -> Log {
        Log { began, ..Log::default() }
    }

    pub(super) fn take(&mut self, round: usize, of: &Round, times: &Times) {
        let entry = |(part, at): (&Part, &i64)| Entry { round, part: part.clone(), at: *at };
        self.sent.extend(of.sends.iter().zip(&times.handed).map(entry));
        for (parts, times) in [(&of.reduces, &times.reduced), (&of.copies, &times.copied)] {
            self.received.extend(parts.iter().zip(times).map(entry));
        }
    }
}

/// The messages that this rank received, with both ends on the clock of rank 0. Time counts from when the first rank began.
/// Without a correction all ranks read one clock.
///
/// # Collective
/// All ranks, with their logs of the same execution.
///
/// # Errors
/// What the allgather says.
pub fn gather(comm: &dyn Communicator, log: &Log, clock: Option<&Correction>) -> Result<Vec<MessageReport>, CommError> {
    let rank = comm.topology().rank.0;
    let common = |at: i64| clock.map_or(at, |clock| clock.on_root(at));
    let words = |entry: &Entry| [entry.round as i64, entry.part.peer as i64, entry.part.range.start as i64, common(entry.at)];
    let sent = log.sent.iter().flat_map(words);
    let own: Vec<i64> = std::iter::once(common(log.began)).chain(sent).collect();
    let all = allgather_numbers(comm, &own)?;
    let zero = all.iter().filter_map(|words| words.first()).min().copied().unwrap_or_default();
    let seconds = |at: i64| (at - zero) as f64 / 1e9;
    let report = |entry: &Entry| {
        let Part { peer: from, range, operation } = &entry.part;
        let is_this = |words: &&[i64]| words[..3] == [entry.round as i64, rank as i64, range.start as i64];
        let sent = all[*from].get(1..).unwrap_or_default();
        let ended = common(entry.at);
        // The clocks of two hosts are compared to some microseconds: what came cannot have left later.
        let began = sent.chunks_exact(4).find(is_this).map_or(ended, |words| words[3].min(ended));
        MessageReport {
            round: entry.round,
            from: *from,
            to: rank,
            start: range.start,
            end: range.end,
            operation: *operation,
            began_s: seconds(began),
            ended_s: seconds(ended),
        }
    };
    Ok(log.received.iter().map(report).collect())
}
