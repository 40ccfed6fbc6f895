//! Wrong schedules by the thousand: none of them passes for the algorithm that it was made from.

use super::*;

/// Numbers that are the same in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

/// One thing of the schedule is changed.
fn mutant(reference: &Schedule, dice: &mut Dice) -> Schedule {
    let mut schedule = reference.clone();
    let place = |schedule: &Schedule, dice: &mut Dice| loop {
        let round = dice.below(schedule.rounds.len());
        let count = schedule.rounds[round].len();
        if count > 0 {
            return (round, dice.below(count));
        }
    };
    let (round, at) = place(&schedule, dice);
    let (rounds, ranks, elements) = (schedule.rounds.len(), schedule.ranks, schedule.elements);
    let message = &mut schedule.rounds[round][at];
    match dice.below(10) {
        0 => message.from = dice.below(ranks + 1),
        1 => message.to = dice.below(ranks + 1),
        2 => message.range.start = dice.below(message.range.end),
        3 => message.range.end = message.range.start + 1 + dice.below(elements + 1 - message.range.start),
        4 => message.range = chunk(elements, ranks, dice.below(ranks)),
        5 => {
            let flipped = if message.operation == Operation::Reduce { Operation::Copy } else { Operation::Reduce };
            message.operation = flipped;
        }
        6 => drop(schedule.rounds[round].remove(at)),
        7 => {
            let copy = message.clone();
            schedule.rounds[dice.below(rounds)].push(copy);
        }
        8 => {
            let moved = schedule.rounds[round].remove(at);
            schedule.rounds[dice.below(rounds)].push(moved);
        }
        _ => {
            let (other_round, other) = place(&schedule, dice);
            let one = schedule.rounds[round][at].clone();
            let two = std::mem::replace(&mut schedule.rounds[other_round][other], one);
            schedule.rounds[round][at] = two;
        }
    }
    schedule
}

/// A change that changes nothing, but the order within a round.
fn is_the_same(one: &Schedule, other: &Schedule) -> bool {
    let sorted = |schedule: &Schedule| Schedule::new(schedule.ranks, schedule.elements, schedule.rounds.clone());
    sorted(one) == sorted(other)
}

#[test]
fn no_mutant_passes_for_the_algorithm() {
    let mut dice = Dice(13);
    let (mut made, mut are_an_allreduce) = (0, 0);
    for ((algorithm, shape), ranks) in cases().flat_map(|case| (2..=9).map(move |ranks| (case, ranks))) {
        let reference = algorithm.schedule(ranks, 4 * ranks + 3, shape);
        for _ in 0..20 {
            let schedule = mutant(&reference, &mut dice);
            if is_the_same(&schedule, &reference) {
                continue;
            }
            made += 1;
            are_an_allreduce += usize::from(prove(&schedule).is_ok());
            let fault = judge(&schedule, &reference).expect_err("a mutant passes");
            let text = fault.to_string();
            assert!(text.starts_with(&format!("round {}: rank {} ", fault.round + 1, fault.rank)), "{text}");
            assert!(fault.round < reference.rounds.len() && fault.rank <= ranks, "{text}");
        }
    }
    assert!(made >= 980, "{made} mutants");
    assert!(are_an_allreduce > 0, "the proof alone would do, and the comparison with the reference is never tried");
}

/// The proof and the play of the numbers agree: what is proven sums up right, whatever algorithm it is.
#[test]
fn what_is_proven_sums_up() {
    let mut dice = Dice(17);
    for ((algorithm, shape), ranks) in cases().flat_map(|case| (2..=6).map(move |ranks| (case, ranks))) {
        let reference = algorithm.schedule(ranks, 2 * ranks + 1, shape);
        for _ in 0..20 {
            let schedule = mutant(&reference, &mut dice);
            if prove(&schedule).is_err() {
                continue;
            }
            let mut buffers: Vec<Vec<f32>> = (0..ranks).map(|rank| vec![(1 << rank) as f32; schedule.elements]).collect();
            play(&schedule, &mut buffers);
            let sum = ((1 << ranks) - 1) as f32;
            assert!(buffers.iter().flatten().all(|number| *number == sum), "{algorithm:?} p {ranks}: {schedule:?}");
        }
    }
}
