//! What the supervisor sees of the ranks from outside while they run, and the faults that it makes in them when it is asked.

use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::time::Instant;

use super::{FAILURE_GRACE, JobOptions, Launch};
use crate::domain::event::{CheckpointAction, Event, TopologyReport};
use crate::domain::units;
use crate::launch::discovery::Wish;
use crate::launch::fault::FAULT_REFUSED;
use crate::launch::link_monitor::LinkMonitor;
use crate::launch::verdict::Verdict;
use crate::launch::work::Work;
use crate::lease::Lease;
use crate::{host, process};

/// How long a rank may stay stopped before an elastic run gives it up.
pub(super) const FROZEN: Duration = Duration::from_secs(8);

impl Launch {
    /// The processes of this host that reported and are of this run, with their pids.
    fn ranks_here(&self) -> Vec<(usize, u32)> {
        let observations = &self.writer.observations;
        // A pid is what a program printed: only one of this session is a rank.
        let is_ours = |pid: u32| process::look_up(pid).is_some_and(|found| found.session == std::process::id());
        let ranks = observations.here().filter(|(process, _)| !observations.has_finished(*process));
        ranks.map(|(process, report)| (process, report.pid)).filter(|(_, pid)| is_ours(*pid)).collect()
    }

    /// Ranks of this host that have ended without a word.
    pub(super) fn look_for_vanished(&mut self) {
        let observations = &mut self.writer.observations;
        if observations.work == Work::Program || self.options.is_batch {
            // It need not say when it has finished; its launcher knows who failed.
            return;
        }
        let is_gone = |pid| process::look_up(pid).is_none_or(|found| found.zombie);
        let missed = |(process, report): &(usize, &TopologyReport)| !observations.has_finished(*process) && is_gone(report.pid);
        let missing: Vec<usize> = observations.here().filter(missed).map(|(process, _)| process).collect();
        // The first one stays the first when the others are ended behind it.
        let first = observations.vanished.filter(|process| missing.contains(process)).or(missing.first().copied());
        observations.vanished = first;
        // If none is missing any more, a final event was still on its way.
        let end_at = self.state.end_after_vanishing_at.or(Some(Instant::now() + FAILURE_GRACE));
        self.state.end_after_vanishing_at = observations.vanished.and(end_at);
    }

    /// The time for every rank to report is over.
    pub(super) fn judge_start(&mut self) {
        let Some((_, seconds)) = self.options.start.take() else { return };
        let reported: Vec<usize> = self.writer.observations.introduced().map(|(process, _)| process).collect();
        let missing = (0..self.options.np).filter(|process| !reported.contains(process));
        let missing: Vec<String> = missing.map(|process| process.to_string()).collect();
        if let Some((first, others)) = missing.split_first() {
            let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            self.state.stuck = Some(format!(
                "rank {first}{others} of {} did not report within {}: is a host slow or behind a firewall? `hvd-lab doctor -H \
                 HOSTS` looks at hosts, and --start-timeout gives more time",
                self.options.np,
                units::clock(seconds)
            ));
            self.begin_end();
        }
    }

    /// Ten times a second: a rank that is stopped.
    pub(super) fn look_at_ranks(&mut self) {
        if self.state.kill_at.is_none() {
            for (process, words) in self.stopped_ranks.look() {
                self.warn(process, &words);
            }
            self.end_frozen();
        }
    }

    /// An elastic run continues without a rank that stays stopped: the others would wait for it for ever.
    fn end_frozen(&mut self) {
        if !self.options.is_elastic {
            return;
        }
        for (rank, pid) in self.stopped_ranks.down_for(FROZEN) {
            self.stopped_ranks.forget(rank);
            self.writer.observations.given_up.insert(rank);
            self.say(&format!(
                "hvd-lab: rank {rank} has been stopped for {} s: it is ended, and the run goes on from its last checkpoint",
                FROZEN.as_secs()
            ));
            process::signal(pid, Signal::SIGKILL);
        }
    }

    /// Once a second, as it reads a file of the run's folder: which ranks there are, whether they were bound to the same core or have
    /// a slow network, news of the hosts, and requests for a fault.
    pub(super) fn look_for_faults(&mut self) {
        if self.state.kill_at.is_some() {
            return;
        }
        let ranks = self.ranks_here();
        if let Some(request) = self.faults.requested() {
            let line = match request.and_then(|request| self.faults.begin(request, &ranks).map(|()| request)) {
                Ok(request) => {
                    // The same fault may be made twice in a row.
                    self.stopped_ranks.forget(request.process);
                    self.link_monitor.iter_mut().for_each(LinkMonitor::forget);
                    format!("hvd-lab: fault {} in rank {}, as asked for", request.kind, request.process)
                }
                Err(problem) => format!("{FAULT_REFUSED}{problem}"),
            };
            self.say(&line);
        }
        // As long as a rank is there, so are the cables.
        let slow = self.link_monitor.as_mut().filter(|_| !ranks.is_empty()).and_then(LinkMonitor::look);
        for (process, words) in self.stopped_ranks.watch(ranks).into_iter().chain(slow) {
            self.warn(process, &words);
        }
        if let Some(news) = self.options.wish.as_ref().and_then(Wish::news) {
            self.say(&format!("hvd-lab: {news}"));
        }
    }

    /// A report may name the rank that is at fault.
    pub(super) fn heard(&mut self, process: usize, event: &Event) {
        let line = match event {
            Event::Warning { message } => self.faults.found_in(message),
            Event::Fatal { cause, .. } => self.faults.found(process, cause).or_else(|| self.faults.found_in(cause)),
            _ => None,
        };
        line.into_iter().for_each(|line| self.say(&line));
        if let (Event::Inspected(_), Some(own)) = (event, &mut self.options.own) {
            own.is_inspected = true;
        }
        self.resize(process, event);
        // Those who wait for its devices are shown when it will end.
        let JobOptions { lease, limits, .. } = &mut self.options;
        if let (0, Event::Epoch(report), Some(lease), Some(epochs)) = (process, event, lease, limits.epochs) {
            let first = *self.state.first_epoch.get_or_insert(report.epoch);
            let (done, left) = (report.epoch.saturating_sub(first) + 1, epochs.saturating_sub(report.epoch));
            lease.expect_end(host::now_s() + self.since.elapsed().as_secs_f64() / done as f64 * left as f64);
        }
    }

    /// At a checkpoint nothing is lost: the moment to go on with other hosts, unless there is nothing left to train.
    fn resize(&mut self, process: usize, event: &Event) {
        let Event::Checkpoint(report) = event else { return };
        let is_wished = self.options.wish.as_ref().is_some_and(Wish::is_better);
        let is_saved = matches!(report.action, CheckpointAction::Written | CheckpointAction::Committed);
        let is_last = self.options.limits.epochs.is_none_or(|epochs| report.epoch >= epochs);
        if process == 0 && is_saved && is_wished && !is_last && self.state.kill_at.is_none() {
            self.state.is_resized = true;
            self.say("hvd-lab: there are other hosts now: the ranks are ended at this checkpoint, and started there");
            self.begin_end();
        }
    }

    /// Once a second: its devices are still its own.
    pub(super) fn look_at_lease(&mut self) {
        for device in self.options.lease.as_mut().map_or(Vec::new(), Lease::keep) {
            self.say(&format!(
                "the folder of this shared machine was cleaned, and another run has {device} as well now: both will be slow"
            ));
        }
    }

    /// The end may name it too.
    pub(super) fn judged(&mut self, verdict: &Verdict) {
        self.faults.undo();
        let line = verdict.failed_process.and_then(|process| self.faults.found(process, &verdict.message));
        let line = line.or_else(|| self.faults.found_in(&verdict.message));
        line.into_iter().for_each(|line| self.say(&line));
        // The run is judged: that a last line cannot be written changes nothing.
        let _ = self.writer.flush();
    }

    /// Whether the run folder is not there any more.
    pub(super) fn is_lost(&self) -> bool {
        !self.options.lock.is_in_place()
    }

    /// At once, and by force: a rank that is given time makes its folders again.
    pub(super) fn look_for_folder(&mut self) {
        if self.is_lost() {
            self.state.broken.get_or_insert("the run folder is not there any more".to_owned());
            self.state.kill_at = Some(Instant::now());
        }
    }

    pub(super) fn warn(&mut self, process: usize, words: &str) {
        self.write(|writer| writer.warn(process, words));
        self.faults.found(process, words).into_iter().for_each(|line| self.say(&line));
    }

    pub(super) fn say(&mut self, line: &str) {
        self.write(|writer| writer.say(line));
    }
}
