//! How a job is ended: asked first, by force after that, until nothing of it is left.

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use nix::sys::signal::Signal;

use super::{DRAIN, GRACE, Job, ROUND, ROUNDS};
use crate::domain::event::TopologyReport;
use crate::launch::event_socket::EventSocket;
use crate::launch::work::Work;
use crate::runs::process;

impl Job {
    /// Ask the launcher to end the ranks; `kill_at` sees to it that they do.
    pub(super) fn begin_end(&mut self) {
        if self.kill_at.is_none() {
            let is_asked = self.asked_to_stop && self.ask_ranks();
            // None once it has ended: its number may be another process's then.
            if let Some(launcher) = self.child.id().filter(|_| !is_asked) {
                process::signal(launcher, Signal::SIGTERM);
            }
            self.kill_at = Some(Instant::now() + GRACE);
        }
    }

    /// Ask ranks that may write a checkpoint first; whether all of them could be asked. The launcher would end them at once.
    fn ask_ranks(&self) -> bool {
        let evidence = &self.journal.evidence;
        let ranks: Vec<&TopologyReport> = evidence.introduced().map(|(_, report)| report).collect();
        let is_whole = ranks.len() == self.np && ranks.iter().all(|report| report.host == self.host);
        if evidence.work != Work::Photos || !is_whole {
            return false;
        }
        // Its number is what a program printed: only one of this session is a rank.
        let is_ours = |pid: &u32| process::look_up(*pid).is_some_and(|found| found.session == std::process::id());
        let pids: Vec<u32> = ranks.iter().map(|report| report.pid).filter(is_ours).collect();
        pids.iter().for_each(|pid| process::signal(*pid, Signal::SIGTERM));
        pids.len() == self.np
    }

    /// SIGKILL to every process that was started for this run; whether there was any. Ranks have process groups of
    /// their own, but share the session; the variable in their environment finds those that left even that.
    pub(super) fn kill_round(&self) -> bool {
        let in_session = process::signal_own_session(Signal::SIGKILL);
        // Given up and continued by another lab, the run has other processes by now.
        let is_anothers = self.is_lost() && self.folder.path().exists();
        let is_left = !is_anothers && process::signal_run(self.folder.path(), Signal::SIGKILL);
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
                self.take(line);
            }
        });
        let _ = drained.await;
        self.readers.iter().for_each(JoinHandle::abort);
    }
}
