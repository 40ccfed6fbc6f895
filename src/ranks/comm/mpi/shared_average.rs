//! Averages in memory that all ranks see: each rank works out its part of them where the numbers lie.
//!
//! Never sends a number. Between processes of a host a message is a copy by the kernel, and takes several times as long as the sum.

use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

use crate::comm::average::average;
use crate::comm::communicator::SharedRegions;
use crate::comm::region::Region;

/// Numbers that are averaged in one go: they stay in the core's nearest cache until all ranks' are added.
const CHUNK: usize = 4 << 10;
/// The parts of two ranks meet at a whole number of cache lines.
const LINE: usize = 32;

/// The memory, and which of it is this rank's.
pub(super) struct SharedAverage {
    rank: usize,
    memory: SharedRegions,
}

impl SharedAverage {
    /// # Panics
    /// If some rank has more or less numbers than there are averages.
    pub(super) fn new(rank: usize, memory: SharedRegions) -> SharedAverage {
        assert!(memory.sources.iter().all(|source| source.len() == memory.target.len()), "an average of unlike lengths");
        SharedAverage { rank, memory }
    }

    /// Which of the numbers these are, of this rank's and of the averages; `None` if they lie elsewhere.
    pub(super) fn range_of(&self, source: Region, target: Region) -> Option<Range<usize>> {
        source
            .range_in(self.memory.sources[self.rank])
            .filter(|range| target.range_in(self.memory.target).as_ref() == Some(range))
    }

    /// This rank's part of the work: the averages of some of the numbers, in the order of the ranks. All are there once all ranks have done
    /// theirs.
    pub(super) fn average_part(&self, range: Range<usize>) {
        let SharedRegions { sources, target } = &self.memory;
        let ranks = sources.len();
        let bound =
            |rank: usize| range.start + if rank == ranks { range.len() } else { range.len() * rank / ranks / LINE * LINE };
        // What the others have written before they came here is seen now, and they see what is written here.
        fence(Ordering::SeqCst);
        let end = bound(self.rank + 1);
        for start in (bound(self.rank)..end).step_by(CHUNK) {
            let chunk = start..end.min(start + CHUNK);
            let sums = target.part(chunk.clone()).numbers_mut();
            sums.copy_from_slice(sources[0].part(chunk.clone()).numbers());
            for source in &sources[1..] {
                sums.iter_mut().zip(source.part(chunk.clone()).numbers()).for_each(|(sum, number)| *sum += number);
            }
            average(sums, ranks);
        }
        fence(Ordering::SeqCst);
    }
}
