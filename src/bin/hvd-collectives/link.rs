//! What the way between ranks 0 and 1 can do, by size: a message, an exchange, and the sum on a processor.

use std::hint::black_box;

use hvd_lab::comm::p2p::{Executor, PointToPoint, now};
use hvd_lab::comm::{CommError, Communicator, MpiPoint};
use hvd_lab::domain::collective::{CollectivesSpec, LinkReport, LinkRow, Message, Operation, Schedule};

/// Bytes that are sent at one size, about.
const SENT: u64 = 64 << 20;
/// Repetitions of the longest messages: on a slow network each takes a second.
const FEWEST: u64 = 5;
/// The smallest message: below it only the number of messages counts.
const LEAST_BYTES: u64 = 64;

/// The medians of messages up to the largest buffer, as rank 0 measures them. The other ranks wait.
///
/// # Collective
/// All ranks, of which there are two or more.
///
/// # Errors
/// [`CommError`].
pub fn measure(comm: &dyn Communicator, peers: &MpiPoint<'_>, spec: &CollectivesSpec) -> Result<LinkReport, CommError> {
    let mut rows = Vec::new();
    for bytes in sizes(spec) {
        if peers.rank() < 2 {
            let most = (SENT / bytes.max(1)).max(FEWEST);
            rows.push(row(peers, (bytes / 4) as usize, (spec.iterations as u64).max(FEWEST).min(most) as usize)?);
        }
        // It sleeps while it waits, and so leaves the cores to those that measure.
        comm.barrier()?;
    }
    Ok(LinkReport { rows })
}

/// From small messages to the largest buffer, however few sizes the table has: what ranks send each other are parts of a buffer. In
/// steps of two, for at some size MPI begins to ask before it sends, and that doubles the time of a message.
fn sizes(spec: &CollectivesSpec) -> impl Iterator<Item = u64> {
    let most = spec.max_bytes.max(LEAST_BYTES);
    std::iter::successors(Some(LEAST_BYTES), |bytes| Some(bytes * 2)).take_while(move |bytes| *bytes < most).chain([most])
}

fn row(peers: &MpiPoint<'_>, elements: usize, repetitions: usize) -> Result<LinkRow, CommError> {
    let message = |from, to, start| Message { from, to, range: start..start + elements, operation: Operation::Copy };
    let executor = |rounds| Executor::new(&Schedule::new(2, 2 * elements, rounds), peers.rank());
    let there_and_back = executor(vec![vec![message(0, 1, 0)], vec![message(1, 0, 0)]]);
    let exchange = executor(vec![vec![message(0, 1, 0), message(1, 0, elements)]]);
    let mut numbers = vec![1.0f32; 2 * elements];
    let mut scratch = Vec::new();
    let round_trip = median(repetitions, &mut numbers, |numbers| there_and_back.run(peers, numbers, &mut scratch))?;
    let exchange_s = median(repetitions, &mut numbers, |numbers| exchange.run(peers, numbers, &mut scratch))?;
    // Both at the same time, as in an allreduce: they share the memory.
    let sum_s = median(repetitions, &mut numbers, |numbers| {
        let (own, new) = black_box(numbers).split_at_mut(elements);
        own.iter_mut().zip(new).for_each(|(own, new)| *own += *new);
        Ok(())
    })?;
    Ok(LinkRow { bytes: 4 * elements as u64, one_way_s: round_trip / 2.0, exchange_s, sum_s })
}

/// Seconds, after two that do not count.
fn median(
    repetitions: usize,
    numbers: &mut [f32],
    mut once: impl FnMut(&mut [f32]) -> Result<(), CommError>,
) -> Result<f64, CommError> {
    let mut seconds = Vec::with_capacity(repetitions);
    for repetition in 0..repetitions + 2 {
        // As in an allreduce, where a rank has just written what it sends: the other one has to fetch it from this one's cache.
        black_box(&mut *numbers).fill(1.0);
        let began = now();
        once(numbers)?;
        if repetition >= 2 {
            seconds.push((now() - began) as f64 / 1e9);
        }
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[repetitions / 2])
}
