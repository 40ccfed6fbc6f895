//! The laws of all algorithms, played on plain vectors: any number of ranks, any length, and numbers that are none.

mod mutants;
mod proofs;

use super::*;

const SHAPES: [Shape; 6] = [shape(1, 1), shape(2, 2), shape(3, 3), shape(5, 4), shape(9, 9), shape(100, 100)];

const fn shape(servers: usize, ranks_per_host: usize) -> Shape {
    Shape { servers, ranks_per_host }
}

/// Every algorithm, once for each shape that changes it.
fn cases() -> impl Iterator<Item = (Algorithm, Shape)> {
    let has_shapes = |algorithm: Algorithm| algorithm.needs_servers() || algorithm.needs_ranks_per_host();
    let shapes = move |algorithm| SHAPES[..if has_shapes(algorithm) { SHAPES.len() } else { 1 }].iter().copied();
    Algorithm::ALL.into_iter().flat_map(move |algorithm| shapes(algorithm).map(move |shape| (algorithm, shape)))
}

/// All ranks in one place. What a round sends is what was there when it began.
fn play(schedule: &Schedule, buffers: &mut [Vec<f32>]) {
    for round in &schedule.rounds {
        let sent: Vec<Vec<f32>> = round.iter().map(|message| buffers[message.from][message.range.clone()].to_vec()).collect();
        for (message, numbers) in round.iter().zip(sent) {
            let own = &mut buffers[message.to][message.range.clone()];
            match message.operation {
                Operation::Reduce => own.iter_mut().zip(numbers).for_each(|(own, new)| *own += new),
                Operation::Copy => own.copy_from_slice(&numbers),
            }
        }
    }
}

#[test]
fn every_algorithm_sums_for_any_number_of_ranks_and_numbers() {
    for ((algorithm, shape), ranks) in cases().flat_map(|case| (1..=9).map(move |ranks| (case, ranks))) {
        for elements in [0, 1, 2, 7, 33] {
            check_sum(algorithm, shape, ranks, elements);
        }
    }
    for algorithm in Algorithm::ALL {
        check_sum(algorithm, shape(2, 2), 3, 1_000_003);
    }
}

fn check_sum(algorithm: Algorithm, shape: Shape, ranks: usize, elements: usize) {
    let schedule = algorithm.schedule(ranks, elements, shape);
    assert_eq!((schedule.ranks, schedule.elements), (ranks, elements));
    let mine = |rank: usize, place: usize| (rank * 1000 + place % 1000) as f32;
    let mut buffers: Vec<Vec<f32>> = (0..ranks).map(|rank| (0..elements).map(|place| mine(rank, place)).collect()).collect();
    play(&schedule, &mut buffers);
    let sum = |place: usize| (0..ranks).map(|rank| mine(rank, place)).sum::<f32>();
    let wrong = buffers.iter().position(|buffer| buffer.iter().enumerate().any(|(place, &number)| number != sum(place)));
    assert_eq!(wrong, None, "first rank with a wrong sum: {algorithm:?} {shape:?} p {ranks} n {elements}");
    if elements <= 33 {
        assert_eq!(prove(&schedule), Ok(()), "{algorithm:?} {shape:?} p {ranks} n {elements}");
        assert_eq!(judge(&schedule, &schedule), Ok(()));
    }
}

#[test]
fn what_is_no_number_reaches_every_rank() {
    for ((algorithm, shape), ranks) in cases().flat_map(|case| (2..=9).map(move |ranks| (case, ranks))) {
        let mut buffers: Vec<Vec<f32>> = (0..ranks).map(|rank| vec![rank as f32; 12]).collect();
        buffers[ranks - 1][0] = f32::NAN;
        buffers[0][5] = f32::INFINITY;
        buffers[ranks / 2][7] = f32::NEG_INFINITY;
        (buffers[0][11], buffers[ranks - 1][11]) = (f32::INFINITY, f32::NEG_INFINITY);
        play(&algorithm.schedule(ranks, 12, shape), &mut buffers);
        for buffer in &buffers {
            assert!(buffer[0].is_nan() && buffer[11].is_nan(), "{algorithm:?} p {ranks}: {buffer:?}");
            assert_eq!((buffer[5], buffer[7]), (f32::INFINITY, f32::NEG_INFINITY), "{algorithm:?} p {ranks}");
            assert_eq!(buffer[1], (ranks * (ranks - 1) / 2) as f32);
        }
    }
}

/// In each round a message's numbers stay where they are: nobody writes what somebody sends and nobody writes it twice, but to
/// add. So a round needs no order.
#[test]
fn the_ranks_end_with_the_same_bits() {
    for ((algorithm, shape), ranks) in cases().flat_map(|case| (2..=9).map(move |ranks| (case, ranks))) {
        let value =
            |rank: usize, place: usize| ((place * 31 + rank * 17) as f32 + 0.1).sin() * 10f32.powi((place % 9) as i32 - 4);
        let mut buffers: Vec<Vec<f32>> = (0..ranks).map(|rank| (0..100).map(|place| value(rank, place)).collect()).collect();
        play(&algorithm.schedule(ranks, 100, shape), &mut buffers);
        let bits = |rank: usize| buffers[rank].iter().map(|number| number.to_bits()).collect::<Vec<_>>();
        assert!((1..ranks).all(|rank| bits(rank) == bits(0)), "{algorithm:?} {shape:?} p {ranks}");
    }
}

#[test]
fn a_schedule_costs_what_the_formula_says() {
    let mut compared = 0;
    for ((algorithm, shape), ranks) in cases().flat_map(|case| (1..=16).map(move |ranks| (case, ranks))) {
        // A multiple of all numbers of parts that the formulas divide by.
        let elements = 720_720;
        let Some(formula) = algorithm.formula(ranks, elements, shape) else { continue };
        let locals = algorithm.needs_ranks_per_host().then_some(shape.ranks_per_host);
        let terms = algorithm.schedule(ranks, elements, shape).terms(locals);
        let pairs = [
            (terms.messages, formula.messages),
            (terms.sent, formula.sent),
            (terms.local_messages, formula.local_messages),
            (terms.local_sent, formula.local_sent),
            (terms.added, formula.added),
        ];
        let are_equal = pairs.iter().all(|(one, other)| (one - other).abs() < 1e-6 * elements as f64);
        assert!(are_equal, "{algorithm:?} {shape:?} p {ranks}: {terms:?} is not {formula:?}");
        compared += 1;
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn messages_and_bytes_of_a_rank_follow_from_the_schedule() {
    let ring = Algorithm::Ring.schedule(4, 8, shape(1, 1));
    assert_eq!((ring.messages_from(2), ring.elements_from(2), ring.bytes_from(2)), (6, 12, 48));
    assert_eq!((ring.rounds.len(), ring.messages().count()), (6, 24));
    let short = Algorithm::Ring.schedule(4, 2, shape(1, 1));
    assert_eq!((short.rounds.len(), short.messages().count()), (6, 12), "what is empty is not sent");
    let server = Algorithm::ParameterServer.schedule(4, 8, shape(1, 1));
    assert_eq!([0, 1].map(|rank| (server.messages_from(rank), server.elements_from(rank))), [(3, 24), (1, 8)]);
    // Ranks 0 to 2 on the first host, 3 and 4 on the second: rank 4 has the last of the three parts, rank 3 the others.
    let hosts = Algorithm::Hierarchical.schedule(5, 12, shape(1, 3));
    let between = hosts.messages().map(|(_, message)| message).filter(|message| (message.from < 3) != (message.to < 3));
    let mut pairs: Vec<(usize, usize)> = between.map(|message| (message.from, message.to)).filter(|pair| pair.0 < 3).collect();
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs, [(0, 3), (1, 3), (2, 4)]);
}

#[test]
fn every_method_has_a_name_that_is_read_back() {
    for (place, method) in Method::ALL.into_iter().enumerate() {
        assert_eq!((method.name().parse(), method.to_string()), (Ok(method), method.name().to_owned()));
        assert!(Method::ALL[..place].iter().all(|other| other.name() != method.name()));
        assert!(!method.description().contains('\n') && !method.description().is_empty());
    }
    assert_eq!(Algorithm::ALL.map(Method::Own).as_slice(), &Method::ALL[..6]);
    assert_eq!(MpiAlgorithm::ALL.map(MpiAlgorithm::number), [1, 2, 3, 4, 5, 6]);
    assert_eq!(Method::parse_list("mpi, ring,mpi").unwrap(), [Method::Mpi, Method::Own(Algorithm::Ring)]);
    assert_eq!(Method::parse_list("all").unwrap(), Method::ALL);
    let unknown = Method::parse_list("ring,rings").unwrap_err().to_string();
    assert!(unknown.starts_with("`rings` is not an algorithm: choose from ring, recursive-doubling, "), "{unknown}");
}
