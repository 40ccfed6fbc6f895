//! Clock synchronisation: how far each rank's clock is ahead of the root's, measured with barriers alone.
//!
//! Never sets a clock, and never assumes that a message takes as long there as back.
//!
//! Nobody leaves a barrier before everybody has entered it. So a rank left after the root had entered, and entered before
//! the root left: the first says how far its clock is ahead at most, the second at least. Over a few rounds the closest
//! two limits are some microseconds apart, whatever delayed the other rounds, and the truth lies between them.

use super::communicator::Communicator;
use super::error::CommError;
use super::gather::allgather_numbers;
use crate::domain::topology::ROOT_RANK;

/// Barriers in one comparison. More find shorter ways through a busy machine; 20 take well under a millisecond.
const ROUNDS: usize = 20;

/// One rank's clock against the root's, at one moment. Nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockOffset {
    /// The moment, on the rank's own clock.
    pub at: i64,
    /// How much later it is on the rank's clock than on the root's.
    pub ahead: i64,
    /// `ahead` is wrong by at most this.
    pub error: i64,
}

/// Compares this rank's clock, which `now` reads in nanoseconds, with the root's.
///
/// # Collective
/// Every rank calls it.
pub fn compare(comm: &dyn Communicator, now: impl Fn() -> i64) -> Result<ClockOffset, CommError> {
    let mut mine = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let entered = now();
        comm.barrier()?;
        mine.push([entered, now()]);
    }
    let root = &allgather_numbers(comm, &mine)?[ROOT_RANK.0];
    let at = mine.last().map_or(0, |[_, left]| *left);
    if comm.topology().is_root() {
        return Ok(ClockOffset { at, ahead: 0, error: 0 });
    }
    let rounds = || mine.iter().zip(root);
    let least = rounds().map(|([entered, _], [_, root_left])| entered - root_left).max().unwrap_or(0);
    let most = rounds().map(|([_, left], [root_entered, _])| left - root_entered).min().unwrap_or(0);
    Ok(ClockOffset { at, ahead: least + (most - least) / 2, error: (most - least).max(0) / 2 })
}

/// Times of this rank as times of the root, between two comparisons: clocks drift, so the difference changes evenly.
#[derive(Clone, Copy, Debug)]
pub struct Correction {
    pub before: ClockOffset,
    pub after: ClockOffset,
}

impl Correction {
    /// At most so many nanoseconds wrong, as far as the clocks drift evenly.
    pub fn error(&self) -> i64 {
        self.before.error.max(self.after.error)
    }

    /// Later times come out later, or equal: what lies within a span stays within it.
    pub fn on_root(&self, at: i64) -> i64 {
        let Correction { before, after } = self;
        let between = (after.at - before.at).max(1) as f64;
        let part = ((at - before.at) as f64 / between).clamp(0.0, 1.0);
        at - before.ahead - ((after.ahead - before.ahead) as f64 * part).round() as i64
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::comm::ThreadComm;

    /// Each rank's clock: `offset` ahead of the root's, and faster by `drift` per second.
    const CLOCKS: [(i64, f64); 3] = [(0, 0.0), (1_500_000_000, 1e-2), (-70_000_000, -1e-2)];

    #[test]
    fn offset_and_drift_are_found_within_the_error_that_is_told() {
        let truth = Instant::now();
        let real = move || truth.elapsed().as_nanos() as i64;
        let ranks = ThreadComm::group(CLOCKS.len()).into_iter().zip(CLOCKS).map(|(comm, (offset, drift))| {
            std::thread::spawn(move || {
                let skewed = |ns: i64| ns + offset + (ns as f64 * drift) as i64;
                let compare = || {
                    let began = real();
                    let fix = compare(&comm, || skewed(real())).unwrap();
                    // What the clocks drifted meanwhile adds to the error.
                    ClockOffset { error: fix.error + 1_000 + ((real() - began) as f64 * drift.abs()) as i64, ..fix }
                };
                let before = compare();
                std::thread::sleep(Duration::from_millis(50));
                let middle = real();
                std::thread::sleep(Duration::from_millis(50));
                let after = compare();
                let off = Correction { before, after }.on_root(skewed(middle)) - middle;
                assert!(off.abs() <= before.error.max(after.error), "{offset}: {off} ns off, {before:?}, {after:?}");
                before.error.max(after.error)
            })
        });
        for rank in ranks.collect::<Vec<_>>() {
            assert!(rank.join().unwrap() < 20_000_000, "threads of one process find each other");
        }
    }

    #[test]
    fn order_survives_the_correction() {
        let correction = Correction {
            before: ClockOffset { at: 1_000, ahead: 500, error: 0 },
            after: ClockOffset { at: 1_000_000, ahead: -300, error: 0 },
        };
        let placed: Vec<i64> = (0..2_000).map(|at| correction.on_root(at * 1_000)).collect();
        assert!(placed.is_sorted());
        assert_eq!((placed[0], correction.on_root(2_000_000)), (-500, 2_000_300), "outside, the nearest offset holds");
    }
}
