//! The ranks of one attempt by the host that they run on: those in trouble first.
//!
//! Never reads a clock: a host is silent compared with the newest report of the others.

use std::collections::{BTreeMap, BTreeSet};

use super::{Attempt, Process, TrainingStep};
use crate::domain::units;

/// A host is silent if the others have reported for this long since its last report.
const SILENT_S: f64 = 5.0;

/// The ranks of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRanks<'a> {
    pub host: &'a str,
    /// In their order.
    pub ranks: Vec<usize>,
    /// Those of them that failed, the first to do so first.
    pub failed: Vec<usize>,
    /// The newest step of any of them.
    pub step: Option<TrainingStep>,
    /// How long before the newest step of the run that was, if the host is silent.
    pub silent_s: Option<f64>,
}

impl HostRanks<'_> {
    pub fn is_in_trouble(&self) -> bool {
        !self.failed.is_empty() || self.silent_s.is_some()
    }

    /// `317 failed, ranks 312-319, epoch 6, batch 50`.
    pub fn in_words(&self) -> String {
        let numbers = |ranks: &[usize]| units::ranges(ranks).replace(',', ", ");
        let mut words = Vec::new();
        if !self.failed.is_empty() {
            words.push(format!("{} failed", numbers(&self.failed)));
        }
        words.extend(self.silent_s.map(|silent_s| format!("silent for {}", units::clock(silent_s))));
        words.push(format!("rank{} {}", if self.ranks.len() == 1 { "" } else { "s" }, numbers(&self.ranks)));
        words.extend(self.step.map(|step| format!("epoch {}, batch {}", step.epoch + 1, step.batch + 1)));
        words.join(", ")
    }
}

impl Attempt {
    /// The processes that failed, each once: the one that the run blames, then in the order in which they said so.
    pub fn failed(&self, blamed: Option<usize>) -> Vec<usize> {
        let mut known = BTreeSet::new();
        let failed = blamed.into_iter().chain(self.fatal.iter().map(|fatal| fatal.process));
        failed.filter(|process| known.insert(*process)).collect()
    }

    /// The host of a process, where it has introduced itself.
    pub fn host(&self, process: usize) -> Option<&str> {
        Some(self.processes.get(&process)?.topology.as_ref()?.host.as_str())
    }

    /// The ranks host by host: hosts with failed ranks, then silent ones, then the others, each by their first rank.
    pub fn by_host<'a>(&'a self, failed: &[usize]) -> Vec<HostRanks<'a>> {
        let mut by_name: BTreeMap<&str, Vec<(usize, &Process)>> = BTreeMap::new();
        for (index, process) in &self.processes {
            let Some(report) = &process.topology else { continue };
            by_name.entry(&report.host).or_default().push((*index, process));
        }
        let newer = |one: TrainingStep, other: TrainingStep| if one.time_s < other.time_s { other } else { one };
        let newest = by_name.values().flatten().filter_map(|(_, process)| process.step).reduce(newer);
        let host = |(host, processes): (&'a str, Vec<(usize, &Process)>)| {
            let ranks: Vec<usize> = processes.iter().map(|(index, _)| *index).collect();
            let step = processes.iter().filter_map(|(_, process)| process.step).reduce(newer);
            let quiet_s = newest.zip(step).map(|(newest, step)| newest.time_s - step.time_s);
            let is_over = processes.iter().all(|(_, process)| process.has_finished);
            let failed = failed.iter().copied().filter(|process| ranks.binary_search(process).is_ok()).collect();
            HostRanks { host, ranks, failed, step, silent_s: quiet_s.filter(|quiet_s| *quiet_s >= SILENT_S && !is_over) }
        };
        let mut hosts: Vec<HostRanks> = by_name.into_iter().map(host).collect();
        let first = |host: &HostRanks| host.failed.first().and_then(|of| failed.iter().position(|process| process == of));
        hosts.sort_by_key(|host| (first(host).unwrap_or(usize::MAX), host.silent_s.is_none(), host.ranks[0]));
        hosts
    }
}

#[cfg(test)]
mod tests {
    use super::super::{History, Keep};
    use super::*;
    use crate::domain::event::{Event, EventLine, TopologyReport};

    /// Eight ranks on four hosts, which have trained for as many seconds as they say.
    fn history(told_s: [f64; 4]) -> History {
        let mut history = History::new(Keep::Epochs(2));
        let mut tell = |process, time_s, event| history.take(&EventLine { time_s, process, event });
        for process in 0..8 {
            let report = TopologyReport { host: format!("node{}", process / 2), ..TopologyReport::sample() };
            tell(process, 100.0, Event::Topology(report));
            let step = Event::Step { epoch: 0, batch: process, lr: 0.1, loss: 1.0 };
            tell(process, 100.0 + told_s[process / 2], step);
        }
        history
    }

    fn names(history: &History, failed: &[usize]) -> Vec<String> {
        let hosts = history.attempt().unwrap().by_host(failed);
        hosts.iter().map(|host| host.host.to_owned()).collect()
    }

    #[test]
    fn hosts_in_trouble_come_first() {
        let mut history = history([30.0, 30.0, 3.0, 29.0]);
        assert_eq!(names(&history, &[]), ["node2", "node0", "node1", "node3"], "the silent one");
        let fatal = |process| Event::Fatal { during: "epoch 1".into(), cause: format!("cause of {process}") };
        for process in [7, 3, 7] {
            history.take(&EventLine { time_s: 131.0, process, event: fatal(process) });
        }
        let attempt = history.attempt().unwrap();
        assert_eq!(attempt.failed(Some(3)), [3, 7], "the blamed one first, and each once");
        assert_eq!(attempt.failed(None), [7, 3]);
        assert_eq!(names(&history, &[7, 3]), ["node3", "node1", "node2", "node0"]);
        let hosts = attempt.by_host(&[7, 3]);
        assert_eq!((&hosts[0].ranks[..], &hosts[0].failed[..], hosts[0].silent_s), (&[6, 7][..], &[7][..], None));
        assert_eq!(hosts[2].silent_s, Some(27.0));
        let words = hosts.iter().map(HostRanks::in_words).collect::<Vec<_>>();
        assert_eq!(words[0], "7 failed, ranks 6-7, epoch 1, batch 7");
        assert_eq!(words[2], "silent for 0:27, ranks 4-5, epoch 1, batch 5");
        assert_eq!(hosts[3].step.unwrap().batch, 0, "the first of two of the same moment");
        assert_eq!((attempt.host(5), attempt.host(8)), (Some("node2"), None));
    }

    #[test]
    fn a_host_whose_ranks_have_all_finished_is_not_silent() {
        let mut history = history([30.0, 3.0, 30.0, 30.0]);
        for process in [2, 3] {
            let finished = Event::Finished { epochs: 1, training_seconds: 1.0, total_seconds: 1.0, peak_rss_bytes: None };
            history.take(&EventLine { time_s: 104.0, process, event: finished });
        }
        assert_eq!(names(&history, &[]), ["node0", "node1", "node2", "node3"]);
    }
}
