//! Who uses the cores of this host: all programs together, and some processes among them.
//!
//! Only cores that this process may use are counted.

use std::fs;

use sysinfo::MINIMUM_CPU_UPDATE_INTERVAL;

use super::{cores, process};

/// The kernel counts in ticks of 10 ms.
const TICKS_PER_SECOND: u64 = 100;

/// Processor time up to a moment, in ticks since the host was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Of all cores that this process may use, idle or not.
    all: u64,
    /// Of these, what programs used, those of other virtual machines on the same cores included.
    busy: u64,
    /// Of these, what the processes in question used.
    own: u64,
}

impl Load {
    /// With the processes of a session as those in question, and all of its processes that have ended.
    pub fn of_session(session: u32) -> Option<Load> {
        Load::with(process::all().filter(|process| process.session == session).map(|process| process.cpu_ticks).sum())
    }

    /// With this process and the children that it has waited for as those in question.
    pub fn of_this_process() -> Option<Load> {
        Load::with(process::look_up(std::process::id())?.cpu_ticks)
    }

    fn with(own: u64) -> Option<Load> {
        let (all, busy) = ticks(&fs::read_to_string("/proc/stat").ok()?, &cores::allowed(0));
        Some(Load { all, busy, own })
    }

    /// The part of the cores that other programs used since then, 0 to 1. `None` where the time was too short to tell, or
    /// the host does not.
    pub fn others_since(&self, before: &Load) -> Option<f64> {
        let (all, busy) = (self.all.checked_sub(before.all)?, self.busy.checked_sub(before.busy)?);
        let own = self.own.checked_sub(before.own)?;
        let shortest = MINIMUM_CPU_UPDATE_INTERVAL.as_millis() as u64 * TICKS_PER_SECOND / 1000;
        (all >= shortest.max(1)).then(|| (busy.saturating_sub(own) as f64 / all as f64).min(1.0))
    }
}

/// Ticks of these cores, all and busy.
fn ticks(stat: &str, allowed: &[usize]) -> (u64, u64) {
    let core = |line: &str| {
        let (core, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
        allowed.contains(&core.parse().ok()?).then_some(())?;
        // user, nice, system, idle, waiting for a disk, interrupts (two), taken by other virtual machines; what follows is
        // part of the first two.
        let ticks: Vec<u64> = fields.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        let idle: u64 = ticks.get(3..5)?.iter().sum();
        let all: u64 = ticks.iter().sum();
        Some((all, all - idle))
    };
    stat.lines().filter_map(core).fold((0, 0), |(all, busy), core| (all + core.0, busy + core.1))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn only_the_cores_that_may_be_used_count() {
        let stat =
            "cpu  90 0 0 90 0 0 0 0 0 0\ncpu0 10 1 2 50 5 3 4 6 9 9\ncpu1 80 0 0 40 0 0 0 0 0 0\ncpu11 1 1 1 1 1\nintr 5\n";
        assert_eq!(ticks(stat, &[0]), (81, 26));
        assert_eq!(ticks(stat, &[0, 1]), (201, 106));
        assert_eq!(ticks("cpu0 1 2\n", &[0]), (0, 0), "an odd kernel");
    }

    #[test]
    fn what_is_not_ones_own_is_the_others() {
        let load = |all, busy, own| Load { all, busy, own };
        let others = |now: Load| now.others_since(&load(1000, 500, 100));
        assert_eq!(others(load(1400, 800, 200)), Some(0.5));
        assert_eq!(others(load(1400, 560, 200)), Some(0.0), "ticks of both are not counted at the same moment");
        assert_eq!(others(load(1010, 505, 100)), None, "too short");
        assert_eq!(others(load(0, 0, 0)), None, "another boot");
    }

    #[test]
    fn ones_own_work_is_not_anothers() {
        let before = Load::of_this_process().unwrap();
        let begin = Instant::now();
        let mut sum = 0_u64;
        while begin.elapsed() < Duration::from_millis(500) {
            sum = std::hint::black_box(sum.wrapping_mul(31) + 1);
        }
        let now = Load::of_this_process().unwrap();
        assert!(now.own > before.own && now.others_since(&before).is_some_and(|others| (0.0..=1.0).contains(&others)));
        let session = nix::unistd::getsid(None).unwrap().as_raw() as u32;
        assert!(Load::of_session(session).unwrap().own >= now.own);
    }
}
