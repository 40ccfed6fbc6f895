//! The link between ranks 0 and 1, by size: a message, an exchange, and what adding takes on top of it.

use std::hint::black_box;

use hvd_lab::comm::p2p::{Plan, PointToPoint, now};
use hvd_lab::comm::{CommError, Communicator, MpiPoint, allgather_numbers};
use hvd_lab::domain::collective::{CollectivesSpec, LinkReport, LinkRow, Message, Operation, Schedule};
use hvd_lab::domain::speedup::median;

/// Bytes that are sent at one size, about.
const SENT: u64 = 64 << 20;
/// Repetitions of the longest messages: on a slow network each takes a second.
const FEWEST: u64 = 5;
/// Repetitions that do not count.
const WARMUP: usize = 2;
/// The smallest message: below it only the number of messages counts.
const LEAST_BYTES: u64 = 64;

/// Measures beside the table rather than once before it: other programs make a machine several times slower from one second to the
/// next, and a prediction then says nothing of the row that it stands in.
pub struct Link<'a> {
    comm: &'a dyn Communicator,
    peers: &'a MpiPoint<'a>,
    spec: &'a CollectivesSpec,
    rows: Vec<LinkRow>,
}

impl<'a> Link<'a> {
    pub fn new(comm: &'a dyn Communicator, peers: &'a MpiPoint<'a>, spec: &'a CollectivesSpec) -> Link<'a> {
        Link { comm, peers, spec, rows: Vec::new() }
    }

    /// Measures messages of up to this size or the next, as far as that is still to be done; all that is known by then. The other
    /// ranks wait.
    ///
    /// # Collective
    /// All ranks, of which there are two or more.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn up_to(&mut self, bytes: u64) -> Result<LinkReport, CommError> {
        for size in sizes(self.spec).skip(self.rows.len()) {
            if self.rows.last().is_some_and(|row| row.bytes >= bytes) {
                break;
            }
            let most = (SENT / size.max(1)).max(FEWEST);
            let repetitions = (self.spec.iterations as u64).max(FEWEST).min(most) as usize;
            let is_one_of_two = self.peers.rank() < 2;
            let own = if is_one_of_two { Pair::new(self.peers, (size / 4) as usize).times(repetitions)? } else { Vec::new() };
            // Ranks that wait here sleep, which leaves the cores to those that measure.
            let told = allgather_numbers(self.comm, &own)?;
            self.rows.push(row(size / 4 * 4, &told));
        }
        Ok(LinkReport { rows: self.rows.clone() })
    }
}

/// From small messages to the largest buffer, however few sizes the table has: what ranks send each other are parts of a buffer. In
/// steps of two, for at some size MPI begins to ask before it sends, and that doubles the time of a message.
fn sizes(spec: &CollectivesSpec) -> impl Iterator<Item = u64> {
    let most = spec.max_bytes.max(LEAST_BYTES);
    std::iter::successors(Some(LEAST_BYTES), |bytes| Some(bytes * 2)).take_while(move |bytes| *bytes < most).chain([most])
}

/// What is timed at one size.
const KINDS: usize = 4;

/// One of the two ranks, with messages of one length. Everything is as in a measured allreduce: the numbers are written again, the ranks
/// meet, and then each takes its time. So caches are as cold, and a rank is as late.
struct Pair<'a> {
    peers: &'a MpiPoint<'a>,
    meet: Plan,
    /// Two rounds each, as few algorithms have less: a message there and one back, two exchanges, two exchanges that add.
    rounds: [Plan; KINDS - 1],
    source: Vec<f32>,
    target: Vec<f32>,
    scratch: Vec<f32>,
}

impl<'a> Pair<'a> {
    fn new(peers: &'a MpiPoint<'a>, elements: usize) -> Pair<'a> {
        let plan = |rounds| Plan::new(&Schedule::new(2, 2 * elements, rounds), peers.rank());
        let message = |from, to, place: usize, operation| {
            let start = place * elements;
            Message { from, to, range: start..start + elements, operation }
        };
        let exchange = |operation| vec![message(0, 1, 0, operation), message(1, 0, 1, operation)];
        let one = |from, to, start: usize| Message { from, to, range: start..start + 1, operation: Operation::Copy };
        let source = vec![1.0; 2 * elements];
        Pair {
            peers,
            meet: plan(vec![vec![one(0, 1, 0), one(1, 0, elements)]]),
            rounds: [
                plan(vec![vec![message(0, 1, 0, Operation::Copy)], vec![message(1, 0, 0, Operation::Copy)]]),
                plan(vec![exchange(Operation::Copy), exchange(Operation::Copy)]),
                plan(vec![exchange(Operation::Reduce), exchange(Operation::Reduce)]),
            ],
            target: source.clone(),
            source,
            scratch: Vec::new(),
        }
    }

    /// Seconds of a round of each kind, and of a sum that nothing is sent for; `repetitions` times.
    fn times(&mut self, repetitions: usize) -> Result<Vec<f64>, CommError> {
        let mut seconds = Vec::with_capacity(KINDS * repetitions);
        for repetition in 0..WARMUP + repetitions {
            // In turn, so that whatever disturbs the machine meanwhile disturbs all of them.
            for rounds in &self.rounds {
                self.target.copy_from_slice(&self.source);
                self.meet.run(self.peers, &mut self.target, &mut self.scratch)?;
                let began = now();
                rounds.run(self.peers, &mut self.target, &mut self.scratch)?;
                seconds.push(since(began) / 2.0);
            }
            let began = now();
            let (own, new) = black_box(&mut *self.target).split_at_mut(self.source.len() / 2);
            own.iter_mut().zip(new).for_each(|(own, new)| *own += *new);
            black_box(own);
            seconds.push(since(began));
            if repetition < WARMUP {
                seconds.clear();
            }
        }
        Ok(seconds)
    }
}

fn since(began: i64) -> f64 {
    (now() - began) as f64 / 1e9
}

/// The medians over the repetitions, each of the slower rank.
fn row(bytes: u64, told: &[Vec<f64>]) -> LinkRow {
    let slowest: Vec<f64> = told[0].iter().zip(&told[1]).map(|(first, second)| first.max(*second)).collect();
    let of = |kind: usize| median(&slowest.iter().skip(kind).step_by(KINDS).copied().collect::<Vec<_>>()).unwrap_or_default();
    let [one_way_s, exchange_s, adding_s, sum_s] = [0, 1, 2, 3].map(of);
    // A rank adds to what the other one has just read, so that it costs more than a sum on its own, and never less.
    LinkRow { bytes, one_way_s, exchange_s, sum_s: (adding_s - exchange_s).max(sum_s) }
}
