//! The messages of one allreduce as the ranks logged them, and whether they are those of the schedule.

use std::fmt;

use crate::domain::collective::{Algorithm, Message, MessageReport, Method, Schedule, Shape, judge};
use crate::domain::units;

/// All messages of one allreduce, round by round.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageLog {
    pub method: String,
    pub elements: usize,
    pub messages: Vec<MessageReport>,
}

/// A log beside the schedule that it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// A library does it its own way.
    NoSchedule,
    TooManyRanks,
    Equal {
        messages: usize,
    },
    /// Messages are missing, and the others are as planned.
    Incomplete {
        logged: usize,
        planned: usize,
    },
    Differs {
        logged: usize,
        planned: usize,
    },
}

impl MessageLog {
    /// Whether the ranks sent what a schedule says, message by message.
    ///
    /// # Errors
    /// The first difference.
    pub fn follows(&self, reference: &Schedule) -> Result<(), String> {
        judge(&self.as_schedule(reference)?, reference).map_err(|fault| fault.to_string())
    }

    /// The messages of the log as a schedule of as many rounds as the reference has.
    fn as_schedule(&self, reference: &Schedule) -> Result<Schedule, String> {
        let mut rounds = vec![Vec::new(); reference.rounds.len()];
        for sent in &self.messages {
            let Some(round) = rounds.get_mut(sent.round) else {
                let (round, all) = (sent.round + 1, reference.rounds.len());
                return Err(format!("a message of round {round} was logged, and there are only {all}"));
            };
            round.push(Message { from: sent.from, to: sent.to, range: sent.start..sent.end, operation: sent.operation });
        }
        Ok(Schedule::new(reference.ranks, reference.elements, rounds))
    }

    /// Whether the ranks sent what their schedule says.
    pub fn compared(&self, ranks: usize, shape: Shape) -> Comparison {
        let Some(algorithm) = self.method.parse::<Method>().ok().and_then(Method::algorithm) else {
            return Comparison::NoSchedule;
        };
        let Some(schedule) = algorithm.schedule_to_compare(ranks, self.elements, shape) else { return Comparison::TooManyRanks };
        let planned = schedule.messages().count();
        let Ok(told) = self.as_schedule(&schedule) else { return Comparison::Differs { logged: self.messages.len(), planned } };
        // Both are in one order: each message that was logged is looked for behind the one before. One without numbers is not sent.
        let (mut rest, logged) = (schedule.messages(), self.messages.len());
        let is_part = told.messages().count() == logged && told.messages().all(|sent| rest.any(|due| due == sent));
        match (logged, planned) {
            (logged, planned) if !is_part => Comparison::Differs { logged, planned },
            (messages, planned) if messages == planned => Comparison::Equal { messages },
            (logged, planned) => Comparison::Incomplete { logged, planned },
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Comparison::NoSchedule => f.write_str("a library's own algorithm: the lab has no schedule of it"),
            Comparison::TooManyRanks => f.write_str("too many ranks to compare with the schedule"),
            Comparison::Equal { messages } => write!(f, "the log equals the schedule: {}", units::counted(*messages, "message")),
            Comparison::Incomplete { logged, planned } => {
                write!(f, "the log is incomplete: it has {logged} of the schedule's {}", units::counted(*planned, "message"))
            }
            Comparison::Differs { logged, planned } => {
                write!(f, "the log has {}, the schedule {planned}: they differ", units::counted(*logged, "message"))
            }
        }
    }
}

/// More ranks than this have no schedule to compare with: its messages grow with the square of the ranks.
pub const MOST_COMPARED: usize = 1024;

impl Algorithm {
    /// The schedule that a log is compared with; `None` for too many ranks.
    pub fn schedule_to_compare(self, ranks: usize, elements: usize, shape: Shape) -> Option<Schedule> {
        (ranks <= MOST_COMPARED).then(|| self.schedule(ranks, elements, shape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_the_schedule_a_part_of_it_or_another() {
        let shape = Shape { servers: 1, ranks_per_host: 2 };
        let schedule = Algorithm::Ring.schedule(4, 16, shape);
        let mut log =
            MessageLog { method: "ring".into(), elements: 16, messages: schedule.messages().map(MessageReport::of).collect() };
        log.messages.reverse();
        assert_eq!(log.compared(4, shape).to_string(), "the log equals the schedule: 24 messages");
        let empty = MessageReport { end: log.messages[0].start, ..log.messages[0].clone() };
        let more = MessageLog { messages: [log.messages.clone(), vec![empty]].concat(), ..log.clone() };
        assert_eq!(more.compared(4, shape).to_string(), "the log has 25 messages, the schedule 24: they differ");
        log.messages.remove(7);
        assert_eq!(log.compared(4, shape).to_string(), "the log is incomplete: it has 23 of the schedule's 24 messages");
        log.messages[3].to = 2;
        log.messages[3].from = 0;
        assert_eq!(log.compared(4, shape).to_string(), "the log has 23 messages, the schedule 24: they differ");
        assert_eq!(log.compared(MOST_COMPARED + 1, shape), Comparison::TooManyRanks);
        let of_mpi = MessageLog { method: "mpi".into(), ..log };
        assert_eq!(of_mpi.compared(4, shape), Comparison::NoSchedule);
    }
}
