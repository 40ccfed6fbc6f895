//! What a job is told when it begins: its work, its limits, its devices.

use std::time::Duration;

use super::Job;
use super::lease::JobLease;
use super::timers::until;
use crate::launch::discovery::Wish;
use crate::launch::link_monitor::{Hub, LinkMonitor};
use crate::launch::no_progress::NoProgress;
use crate::launch::own::OwnProgram;
use crate::launch::work::Work;
use crate::lease::Lease;
use crate::process::LockIdentity;

impl Job {
    /// What its ranks do, for the words about it; of a training with the epochs that launches before this one have left.
    pub fn with_work(mut self, work: Work, epochs_before: usize) -> Job {
        (self.writer.evidence.work, self.writer.evidence.epochs_before) = (work, epochs_before);
        self
    }

    /// Who starts the ranks, as people call it.
    pub fn with_launcher(mut self, name: &'static str) -> Job {
        self.writer.evidence.launcher_name = name;
        self
    }

    /// Read what a program of the user's own prints.
    pub fn with_own_program(mut self, own: Option<OwnProgram>) -> Job {
        let is_alone = own.as_ref().is_some_and(|own| own.is_alone);
        self.writer.evidence.is_alone = is_alone;
        // What it prints is nobody else's.
        self.writer.evidence.is_untagged &= !is_alone;
        Job { own, ..self }
    }

    /// With these devices of a shared machine, until nothing of it is left.
    pub fn with_lease(self, lease: Option<Lease>) -> Job {
        Job { lease: lease.map(JobLease::new), ..self }
    }

    /// For the next attempt, once nothing of this one is left.
    pub fn take_lease(&mut self) -> Option<Lease> {
        self.lease.take().map(JobLease::into_lease)
    }

    /// End the ranks when the run folder is not there any more.
    pub fn with_lock(self, lock: LockIdentity) -> Job {
        Job { lock: Some(lock), ..self }
    }

    /// Take the ranks for stuck, and end them, when none has reported anything for so long; never without.
    pub fn with_patience(self, patience: Option<Duration>) -> Job {
        Job { no_progress: NoProgress::new(patience), ..self }
    }

    /// Stop the run when it has taken so many seconds, of which attempts before took some; never without.
    pub fn with_time_limit(self, limit_s: Option<f64>, elapsed: Duration) -> Job {
        let end = |limit_s: f64| until((limit_s - elapsed.as_secs_f64()).max(0.0)).map(|(end, _)| (end, limit_s));
        Job { deadline: limit_s.and_then(end), ..self }
    }

    /// End it at a checkpoint when there are better hosts.
    pub(in crate::launch) fn with_wish(self, wish: Option<Wish>) -> Job {
        Job { wish, ..self }
    }

    /// A rank that does not get on again is better lost.
    pub fn with_elastic(self, is_elastic: bool) -> Job {
        Job { is_elastic, ..self }
    }

    /// Each of its ranks has a network of so many bits a second.
    pub fn with_link(mut self, bits: Option<u64>) -> Job {
        let hub = bits.zip(self.child.id()).and_then(|(bits, launcher)| Hub::of(launcher, bits));
        self.faults.may_slow(hub.clone());
        Job { link_monitor: hub.map(LinkMonitor::new), ..self }
    }

    /// As a job of Slurm.
    pub fn with_batch(self, is_batch: bool) -> Job {
        Job { is_batch, ..self }
    }

    /// End it when not every rank has reported after so many seconds; never without.
    pub fn with_start_timeout(self, limit_s: Option<f64>) -> Job {
        Job { start: limit_s.and_then(until), ..self }
    }
}
