//! Ranks that something holds up from outside: stopped by a signal, or crowded on one core. Found by looking at them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use crate::host::cores;
use crate::process;

/// Looks that are kept of each rank: three seconds at ten looks a second.
const KEPT: usize = 30;
/// A rank that was stopped in each of the last looks is stopped.
const STOPPED: usize = 10;
/// A rank that is stopped again and again runs in between: it was seen to change at least this often.
const CHANGES: usize = 4;
/// Ranks that share a core at so many looks in a row, a second apart, are bound to it.
const CROWDED: usize = 2;

/// What was seen of the ranks of this host so far.
#[derive(Default)]
pub(super) struct StoppedRanks {
    /// The ranks with their pids.
    ranks: Vec<(usize, u32)>,
    looks: BTreeMap<usize, VecDeque<bool>>,
    /// Ranks that were reported as stopped, all the time or in turns, until they make progress again.
    told: BTreeSet<(usize, bool)>,
    crowded: BTreeMap<usize, usize>,
    /// Since when a rank is stopped.
    down: BTreeMap<usize, Instant>,
}

impl StoppedRanks {
    /// The ranks that have been stopped for so long by now, with their pids.
    pub(super) fn down_for(&self, limit: Duration) -> Vec<(usize, u32)> {
        let is_down = |rank: &usize| self.down.get(rank).is_some_and(|since| since.elapsed() >= limit);
        self.ranks.iter().copied().filter(|(rank, _)| is_down(rank)).collect()
    }

    /// Looks at each rank, about ten times a second. Returns what to report, and about which rank.
    pub(super) fn look(&mut self) -> Vec<(usize, String)> {
        let is_stopped = |pid| process::look_up(pid).is_some_and(|found| found.suspended);
        let looks: Vec<(usize, u32, bool)> = self.ranks.iter().map(|(rank, pid)| (*rank, *pid, is_stopped(*pid))).collect();
        looks.into_iter().filter_map(|(rank, pid, stopped)| Some((rank, self.seen(rank, pid, stopped)?))).collect()
    }

    /// Forget what was seen of this rank: the next stop is a new one.
    pub(super) fn forget(&mut self, rank: usize) {
        self.looks.remove(&rank);
        self.told.retain(|(told, _)| *told != rank);
        self.crowded.clear();
    }

    fn seen(&mut self, rank: usize, pid: u32, is_stopped: bool) -> Option<String> {
        let looks = self.looks.entry(rank).or_default();
        let was_down = looks.iter().rev().take_while(|stopped| **stopped).count() >= STOPPED;
        if was_down && !is_stopped {
            // That stop is over: the next one is counted from here.
            looks.clear();
        } else if looks.len() == KEPT {
            looks.pop_front();
        }
        looks.push_back(is_stopped);
        let stops = looks.iter().filter(|stopped| **stopped).count();
        let changes = looks.iter().zip(looks.iter().skip(1)).filter(|(before, after)| before != after).count();
        let is_down = looks.iter().rev().take_while(|stopped| **stopped).count() >= STOPPED;
        if is_down {
            _ = self.down.entry(rank).or_insert_with(Instant::now)
        } else {
            _ = self.down.remove(&rank)
        }
        if stops == 0 {
            self.told.retain(|(told, _)| *told != rank);
        }
        let words = if is_down {
            format!("rank {rank} is stopped by a signal, and the others wait for it: `kill -CONT {pid}` lets it go on")
        } else if looks.len() == KEPT && changes >= CHANGES {
            format!(
                "rank {rank} is stopped again and again ({stops} of the last {KEPT} looks at pid {pid}), and every step waits for it"
            )
        } else {
            return None;
        };
        self.told.insert((rank, is_down)).then_some(words)
    }

    /// These are the ranks from now on, with their pids. Returns the ranks that are bound to the same single core although another core
    /// is free. To be called about once a second.
    pub(super) fn watch(&mut self, ranks: Vec<(usize, u32)>) -> Vec<(usize, String)> {
        let of = |pid: u32| cores::allowed(pid).into_iter().collect();
        let by_rank: Vec<(usize, BTreeSet<usize>)> = ranks.iter().map(|(rank, pid)| (*rank, of(*pid))).collect();
        self.ranks = ranks;
        self.crowds(&by_rank, &of(std::process::id()))
    }

    fn crowds(&mut self, ranks: &[(usize, BTreeSet<usize>)], all: &BTreeSet<usize>) -> Vec<(usize, String)> {
        let used: BTreeSet<usize> = ranks.iter().flat_map(|(_, cores)| cores).copied().collect();
        let mut by_core: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (rank, cores) in ranks {
            if let (1, Some(core)) = (cores.len(), cores.first()) {
                by_core.entry(*core).or_default().push(*rank);
            }
        }
        by_core.retain(|_, ranks| ranks.len() > 1);
        self.crowded.retain(|core, _| by_core.contains_key(core));
        let Some(free) = all.difference(&used).next() else { return Vec::new() };
        // A rank that is just being started may be bound for a moment.
        let is_told_now = |looks: &mut usize| {
            *looks += 1;
            *looks == CROWDED
        };
        let told = by_core.into_iter().filter(|(core, _)| is_told_now(self.crowded.entry(*core).or_default()));
        let said = told.flat_map(|(core, ranks)| {
            let names = ranks.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            let words = format!("ranks {names} share core {core}, and core {free} is left for none: look at how ranks are bound");
            ranks.into_iter().map(move |rank| (rank, words.clone())).collect::<Vec<_>>()
        });
        said.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(looks: impl IntoIterator<Item = bool>) -> Vec<String> {
        let mut ranks = StoppedRanks::default();
        looks.into_iter().filter_map(|stopped| ranks.seen(1, 77, stopped)).collect()
    }

    #[test]
    fn a_rank_that_is_stopped_is_told_once_and_one_that_runs_never() {
        assert_eq!(told((0..100).map(|_| false)), [""; 0]);
        let stopped = told((0..100).map(|look| look >= 20));
        assert_eq!(stopped.len(), 1, "{stopped:?}");
        assert!(stopped[0].starts_with("rank 1 is stopped by a signal") && stopped[0].contains("kill -CONT 77"), "{stopped:?}");
        // A short stop, such as a debugger's, is nobody's business.
        assert_eq!(told((0..100).map(|look| (20..25).contains(&look))), [""; 0]);
        let twice = told((0..200).map(|look| (20..60).contains(&look) || look >= 150));
        assert_eq!(twice.len(), 2, "{twice:?}");
    }

    #[test]
    fn a_rank_that_is_stopped_in_turns_is_told_as_such() {
        let turns = told((0..100).map(|look| look >= 20 && look % 4 == 0));
        let after_a_stop = told((0..100).map(|look| (10..30).contains(&look) || (look >= 32 && look % 4 == 0)));
        assert_eq!(after_a_stop.len(), 2, "{after_a_stop:?}");
        assert_eq!(turns.len(), 1, "{turns:?}");
        assert!(turns[0].contains("again and again"), "{turns:?}");
    }

    #[test]
    fn ranks_crowd_only_where_a_core_is_left() {
        let cores = |list: &[usize]| list.iter().copied().collect::<BTreeSet<_>>();
        let mut ranks = StoppedRanks::default();
        let apart = [(0, cores(&[0])), (1, cores(&[1]))];
        let together = [(0, cores(&[1])), (1, cores(&[1]))];
        assert_eq!(ranks.crowds(&apart, &cores(&[0, 1])), []);
        assert_eq!(ranks.crowds(&together, &cores(&[1])), [], "there is no other");
        assert_eq!(ranks.crowds(&together, &cores(&[0, 1])), [], "it may be for a moment");
        let said = ranks.crowds(&together, &cores(&[0, 1]));
        assert_eq!(said.iter().map(|(rank, _)| *rank).collect::<Vec<_>>(), [0, 1]);
        assert!(said[0].1.contains("ranks 0, 1 share core 1, and core 0 is left"), "{said:?}");
        assert_eq!(ranks.crowds(&together, &cores(&[0, 1])), [], "once");
        ranks.crowds(&apart, &cores(&[0, 1]));
        ranks.crowds(&together, &cores(&[0, 1]));
        assert_eq!(ranks.crowds(&together, &cores(&[0, 1])).len(), 2, "again, after it was over");
    }
}
