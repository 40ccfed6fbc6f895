//! What a learner is told about a wrong schedule.

use super::*;

fn ring() -> Schedule {
    Algorithm::Ring.schedule(4, 8, shape(1, 1))
}

/// What is said of the ring after this change.
fn said(change: impl FnOnce(&mut Schedule)) -> String {
    let mut schedule = ring();
    change(&mut schedule);
    judge(&schedule, &ring()).unwrap_err().to_string()
}

fn message(schedule: &mut Schedule, round: usize, from: usize) -> &mut Message {
    schedule.rounds[round].iter_mut().find(|message| message.from == from).unwrap()
}

#[test]
fn a_fault_is_told_with_its_round_and_rank() {
    let twice = "round 3: rank 2 adds rank 1's numbers 2 to 3 for a second time (they come from rank 1)";
    assert_eq!(said(|ring| message(ring, 2, 1).range = 2..4), twice);
    let early = "round 3: rank 1 sends numbers 6 to 7 to rank 2 as finished, and after round 2 it lacks rank 2's part of it";
    assert_eq!(said(|ring| message(ring, 2, 1).operation = Operation::Copy), early);
    let lost = "round 6: rank 3 ends with a sum of numbers 2 to 3 and lacks rank 0's part of it";
    assert_eq!(said(|ring| ring.rounds[5].retain(|message| message.from != 2)), lost);
    assert_eq!(said(|ring| message(ring, 0, 3).to = 3), "round 1: rank 3 sends numbers 6 to 7 to itself");
    let astray = "round 1: rank 3 sends numbers 6 to 7 to rank 4, and there are only the ranks 0 to 3";
    assert_eq!(said(|ring| message(ring, 0, 3).to = 4), astray);
    assert_eq!(
        said(|ring| message(ring, 1, 0).range = 6..9),
        "round 2: rank 0 sends numbers 6 to 8, and there are only 8 numbers"
    );
    let again = said(|ring| {
        let copy = message(ring, 3, 0).clone();
        ring.rounds[3].push(copy);
    });
    assert_eq!(again, "round 4: rank 1 gets numbers 2 to 3 twice, so that one of them is lost");
}

#[test]
fn an_allreduce_that_is_another_algorithm_is_told_apart() {
    let doubling = Algorithm::RecursiveDoubling.schedule(4, 8, shape(1, 1));
    assert_eq!(prove(&doubling), Ok(()));
    let other = judge(&doubling, &ring()).unwrap_err().to_string();
    let due = "round 1: rank 0 should send numbers 0 to 1 to rank 1, to be added";
    assert_eq!(other, format!("{due}; it sends numbers 0 to 7 to rank 1, to be added instead"));
    let wasteful = said(|ring| {
        let copy = message(ring, 5, 0).clone();
        ring.rounds.push(vec![copy]);
    });
    assert_eq!(
        wasteful,
        "round 7: rank 0 sends numbers 6 to 7 to rank 1, as the finished sum, which the algorithm does not do here"
    );
    let shorter = judge(&Algorithm::Ring.schedule(3, 8, shape(1, 1)), &ring()).unwrap_err().to_string();
    assert_eq!(shorter, "round 1: rank 0 has a schedule for 3 ranks and 8 numbers, instead of 4 and 8");
}

#[test]
fn the_order_within_a_round_is_free() {
    let mut schedule = ring();
    schedule.rounds.iter_mut().for_each(|round| round.reverse());
    schedule.rounds[0].push(Message { from: 0, to: 2, range: 3..3, operation: Operation::Copy });
    assert_eq!(judge(&schedule, &ring()), Ok(()));
}
