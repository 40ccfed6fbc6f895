//! How a job is ended: asked first, by force after that, until nothing of it is left.

use std::collections::BTreeSet;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::{DRAIN, GRACE, Launch, ROUND, ROUNDS};
use crate::launch::event_socket::EventSocket;
use crate::launch::user_program::rank_number;
use crate::launch::work::Work;
use crate::process::{self, Process};

/// For ranks that are asked to end, before they are ended, and then for the launcher to pass on what they have printed.
const RANKS_GRACE: Duration = Duration::from_secs(1);

impl Launch {
    /// Ask the launcher to end the ranks; `kill_at` sees to it that they do.
    pub(super) fn begin_end(&mut self) {
        // Asked again, the follower of a job tries at once to have it cancelled.
        if let Some(follower) = self.child.id().filter(|_| self.options.is_batch && self.state.kill_at.is_some()) {
            process::signal(follower, Signal::SIGTERM);
        }
        if self.state.kill_at.is_none() {
            let is_asked = self.state.asked_to_stop && self.signal_ranks(Signal::SIGTERM);
            // None once it has ended: its number may be another process's then.
            if let Some(launcher) = self.child.id().filter(|_| !is_asked) {
                process::signal(launcher, Signal::SIGTERM);
            }
            if self.state.behind.is_some() {
                process::signal_descendants(Signal::SIGTERM);
            }
            let writes_checkpoint = self.writer.observations.work == Work::Photos;
            self.state.kill_at = Some(Instant::now() + if is_asked && !writes_checkpoint { RANKS_GRACE } else { GRACE });
            self.state.launcher_is_spared = is_asked;
        }
    }

    /// A signal to the ranks rather than to their launcher, which would end them at once and pass on nothing of what they have
    /// printed last; whether all of them could be reached.
    fn signal_ranks(&self, signal: Signal) -> bool {
        let beneath = self.child.id().map(process::descendants).unwrap_or_default();
        let numbered = beneath.into_iter().filter_map(|process| Some((rank_number(process.pid)?, process)));
        let (numbers, ranks): (BTreeSet<usize>, Vec<Process>) = numbered.unzip();
        let is_whole = !ranks.is_empty() && (0..self.options.np).all(|rank| numbers.contains(&rank));
        if is_whole {
            process::signal_each(&ranks, signal);
        }
        is_whole
    }

    /// What was asked to end has not: the ranks first, where the launcher may still pass on what they have printed.
    pub(super) fn end_by_force(&mut self) {
        if self.options.is_batch && self.state.asked_to_stop && self.state.broken.is_none() {
            // Force would only end the follower, and not the job, which Slurm may not cancel yet.
            self.state.kill_at = Some(Instant::now() + GRACE);
            return;
        }
        if std::mem::take(&mut self.state.launcher_is_spared) && self.signal_ranks(Signal::SIGKILL) {
            self.state.kill_at = Some(Instant::now() + RANKS_GRACE);
            return;
        }
        self.state.kill_at = Some(Instant::now() + ROUND);
        self.kill_round();
    }

    /// SIGKILL to every process that was started for this run; whether there was any. Ranks have process groups of
    /// their own, but share the session; the variable in their environment finds those that left even that.
    pub(super) fn kill_round(&self) -> bool {
        let in_session = process::signal_own_session(Signal::SIGKILL);
        if self.options.is_batch {
            // The ranks are Slurm's, also on this host.
            return in_session;
        }
        // Given up and continued by another lab, the run has other processes by now.
        let is_anothers = self.is_lost() && self.options.folder.path().exists();
        let is_left = !is_anothers && process::signal_run(self.options.folder.path(), Signal::SIGKILL);
        // A child that took on a session and an environment of its own is still a descendant.
        process::signal_descendants(Signal::SIGKILL) || is_left || in_session
    }

    /// End every process that is left, then take the output that is still on its way.
    pub(super) async fn end_what_is_left(&mut self) {
        for _ in 0..ROUNDS {
            if !self.kill_round() {
                break;
            }
            sleep(ROUND).await;
        }
        self.events.iter_mut().for_each(EventSocket::close);
        // The pipes close with the last process that holds them, which is gone; but a stray must not hang the end.
        let drained = timeout(DRAIN, async {
            while let Some(line) = self.lines.recv().await {
                self.enter(line);
            }
        });
        let _ = drained.await;
        self.readers.iter().for_each(JoinHandle::abort);
    }
}
