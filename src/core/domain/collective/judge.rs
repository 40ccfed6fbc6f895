//! Whether a schedule that a learner wrote is the algorithm that it should be.

use super::naming::Naming;
use super::proof::{Fault, prove_in};
use super::schedule::{Message, Operation, Schedule};

/// A schedule can be an allreduce and still another algorithm, or a wasteful one. So it is proven first, and then every round
/// must have the messages of the reference, in any order.
///
/// # Errors
/// The first fault.
pub fn judge(schedule: &Schedule, reference: &Schedule) -> Result<(), Fault> {
    judge_in(schedule, reference, Naming::Numbers)
}

/// As [`judge`], with faults in the words of a reader.
///
/// # Errors
/// As [`judge`].
pub fn judge_in(schedule: &Schedule, reference: &Schedule, naming: Naming) -> Result<(), Fault> {
    let told = |message, sends| told(message, sends, naming);
    if (schedule.ranks, schedule.elements) != (reference.ranks, reference.elements) {
        let Schedule { ranks, elements, .. } = schedule;
        let what = format!(
            "has a schedule for {ranks} ranks and {elements} numbers, instead of {} and {}",
            reference.ranks, reference.elements
        );
        return Err(Fault { round: 0, rank: 0, what });
    }
    prove_in(schedule, naming)?;
    for round in 0..schedule.rounds.len().max(reference.rounds.len()) {
        let (mut surplus, mut missing) = (sorted(schedule, round), sorted(reference, round));
        // What is in both goes from both.
        missing.retain(|due| surplus.iter().position(|sent| sent == due).map(|place| surplus.remove(place)).is_none());
        let fault = |message: &Message, what| Err(Fault { round, rank: message.from, what });
        let is_from = |rank: usize| move |message: &&&Message| message.from == rank;
        match (missing.first(), surplus.first()) {
            (Some(due), _) => {
                let instead = surplus.iter().find(is_from(due.from)).map(|sent| format!("; it {} instead", told(sent, "sends")));
                return fault(due, format!("{}{}", told(due, "should send"), instead.unwrap_or_default()));
            }
            (None, Some(sent)) => return fault(sent, format!("{}, which the algorithm does not do here", told(sent, "sends"))),
            (None, None) => {}
        }
    }
    Ok(())
}

/// The messages with numbers of a round that may not be there.
fn sorted(schedule: &Schedule, round: usize) -> Vec<&Message> {
    let messages = schedule.rounds.get(round).into_iter().flatten();
    let mut messages: Vec<&Message> = messages.filter(|message| !message.range.is_empty()).collect();
    messages.sort_by_key(|message| (message.from, message.to, message.range.start, message.range.end));
    messages
}

/// `sends numbers 4 to 7 to rank 3, to be added`.
fn told(message: &Message, sends: &str, naming: Naming) -> String {
    let purpose = match message.operation {
        Operation::Reduce => "to be added",
        Operation::Copy => "as the finished sum",
    };
    format!("{sends} {} to rank {}, {purpose}", naming.place(&message.range), message.to)
}
