//! A schedule as text: what each rank sends to whom, without a run.

use super::super::table::render;
use crate::domain::collective::{Algorithm, Operation, Schedule, Shape};
use crate::domain::units;

/// Round by round, then messages and bytes of each rank, then the terms of the formula.
pub fn text(algorithm: Algorithm, schedule: &Schedule, shape: Shape) -> String {
    let Schedule { ranks, elements, .. } = *schedule;
    let size = units::bytes(4 * elements as u64);
    let mut text = format!(
        "# schedule, no run: {}, np {ranks}, {} float32 ({size})\n# {}\n",
        algorithm.name(),
        units::counted(elements, "number"),
        algorithm.description()
    );
    if algorithm.needs_servers() {
        text += &format!("# servers: {}\n", shape.servers);
    }
    if algorithm.needs_ranks_per_host() {
        text += &format!("# ranks per host: {}\n", shape.ranks_per_host);
    }
    for (round, messages) in schedule.rounds.iter().enumerate() {
        text += &format!("round {} of {}\n", round + 1, schedule.rounds.len());
        for message in messages {
            text += &format!("  {}\n", one(message.from, message.to, message.range.clone(), message.operation));
        }
    }
    let of_rank =
        |rank: usize| vec![rank.to_string(), schedule.messages_from(rank).to_string(), units::bytes(schedule.bytes_from(rank))];
    text += &render(&["rank", "messages sent", "bytes sent"], (0..ranks).map(of_rank));
    let terms = schedule.terms(None);
    let bytes = |numbers: f64| units::bytes((4.0 * numbers) as u64);
    text += &format!(
        "one after the other: {} (a), {} sent (b), {} added (g)\nformula: {}\n",
        units::counted((terms.messages + terms.local_messages) as usize, "message"),
        bytes(terms.sent + terms.local_sent),
        bytes(terms.added),
        algorithm.formula_in_words()
    );
    text
}

/// `rank 0 -> rank 1  numbers 0 to 63  256 B  adds`.
pub fn one(from: usize, to: usize, range: std::ops::Range<usize>, operation: Operation) -> String {
    let numbers = match range.len() {
        0 => "no number".to_owned(),
        1 => format!("number {}", range.start),
        _ => format!("numbers {} to {}", range.start, range.end - 1),
    };
    let what = match operation {
        Operation::Reduce => "adds",
        Operation::Copy => "copies",
    };
    format!("rank {from} -> rank {to}  {numbers}  {}  {what}", units::bytes(4 * range.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_of_four_reads_round_by_round() {
        let shape = Shape { servers: 1, ranks_per_host: 2 };
        let text = text(Algorithm::Ring, &Algorithm::Ring.schedule(4, 256, shape), shape);
        assert!(text.starts_with("# schedule, no run: ring, np 4, 256 numbers float32 (1.0 KiB)\n"), "{text}");
        assert!(text.contains("round 6 of 6\n"), "{text}");
        assert_eq!(text.matches("  adds\n").count(), 12);
        assert_eq!(text.matches("  copies\n").count(), 12);
        assert!(text.contains("\n   0              6     1.5 KiB\n"), "{text}");
        assert!(text.contains("6 messages (a), 1.5 KiB sent (b), 768 B added (g)\nformula: 2(p-1)a"), "{text}");
    }
}
