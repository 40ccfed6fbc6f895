//! A launcher that gathers a line which does not end: it is busy, and no line of any rank comes.

use std::collections::BTreeMap;

use crate::host::process::{Process, command, written};

/// Looks in a row in which the launcher was busy and passed nothing on, before it is reported.
const LOOKS: u64 = 4;
/// Processor time that a launcher has to use between two looks, and in all, in ticks of 10 ms: one that waits uses none, and where
/// others keep the cores busy it gets little.
const BUSY_TICKS: u64 = 3;
const MANY_TICKS: u64 = 150;
/// More bytes than a rank writes that prints lines and waits.
const MUCH: u64 = 1 << 20;
/// Programs that sort output by lines.
const LAUNCHERS: [&str; 7] = ["mpirun", "mpiexec", "prterun", "prun", "orterun", "mpiexec.hydra", "hydra_pmi_proxy"];

/// What was seen of a launcher, about once a second.
#[derive(Debug, Default)]
pub(super) struct Endless {
    lines: u64,
    ticks: Option<u64>,
    /// Since the last line came, or the launcher was idle: looks, and its processor time.
    looks: u64,
    busy_ticks: u64,
    is_told: bool,
    /// Bytes that each rank had written when the last line came, and has written by now.
    written: BTreeMap<usize, (u64, u64)>,
}

impl Endless {
    /// Of a launcher that is busy with a line: for how many seconds, and the rank that has written most since the last line came, if it is
    /// known, with its bytes. `lines` counts the lines that came so far, `ranks` lists the processes of the ranks.
    pub fn look<I: Iterator<Item = (usize, u32)>>(
        &mut self,
        launcher: &Process,
        lines: u64,
        ranks: impl Fn() -> I,
    ) -> Option<(u64, Option<(usize, u64)>)> {
        let used = self.ticks.replace(launcher.cpu_ticks).map_or(0, |before| launcher.cpu_ticks.saturating_sub(before));
        if std::mem::replace(&mut self.lines, lines) != lines || used < BUSY_TICKS {
            (self.looks, self.busy_ticks, self.is_told) = (0, 0, false);
            self.written = ranks().filter_map(|(rank, pid)| written(pid).map(|bytes| (rank, (bytes, bytes)))).collect();
            return None;
        }
        for (rank, bytes) in ranks().filter_map(|(rank, pid)| Some((rank, written(pid)?))) {
            self.written.entry(rank).or_default().1 = bytes;
        }
        (self.looks, self.busy_ticks) = (self.looks + 1, self.busy_ticks + used);
        if self.looks < LOOKS || self.busy_ticks < MANY_TICKS || !is_launcher(&command(launcher.pid)) {
            return None;
        }
        let since = self.written.iter().map(|(rank, (before, now))| (*rank, now.saturating_sub(*before)));
        let most = since.max_by_key(|(_, bytes)| *bytes).filter(|(_, bytes)| *bytes > MUCH);
        // A launcher that starts many ranks is busy as well.
        let is_known = most.is_some() || ranks().next().is_none();
        is_known.then_some((self.looks, most))
    }

    /// Whether the line that the last look has found was not reported yet.
    pub fn is_news(&mut self) -> bool {
        !std::mem::replace(&mut self.is_told, true)
    }
}

fn is_launcher(command: &str) -> bool {
    command.split(' ').next().is_some_and(|program| LAUNCHERS.contains(&program))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launcher(cpu_ticks: u64) -> Process {
        Process { pid: 0, parent: 0, session: 0, start_ticks: 0, zombie: false, suspended: false, cpu_ticks, resident: 0 }
    }

    #[test]
    fn a_launcher_that_waits_or_passes_lines_on_is_not_busy_with_one() {
        let me = std::process::id();
        for (ticks_a_look, lines_a_look) in [(0, 0), (90, 1)] {
            let mut endless = Endless::default();
            for look in 0..100 {
                let seen = endless.look(&launcher(look * ticks_a_look), look * lines_a_look, || [(0, me)].into_iter());
                assert_eq!((seen, endless.looks), (None, 0));
            }
        }
        let mut endless = Endless::default();
        for look in 0..10 {
            endless.look(&launcher(look * 50), 0, || [(0, me)].into_iter());
        }
        assert_eq!((endless.looks, endless.busy_ticks), (9, 450), "one that passes nothing on is");
    }

    #[test]
    fn launchers_are_known_by_their_names() {
        assert!(is_launcher("prterun --output tag -np 2 x") && is_launcher("mpirun"));
        assert!(!is_launcher("python3 mpirun") && !is_launcher("sh"));
    }
}
