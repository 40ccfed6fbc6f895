//! The devices that a job has from a shared machine: kept while it lasts, with an estimate of when they will be free.

use tokio::time::Instant;

use crate::domain::event::Event;
use crate::host;
use crate::lease::Lease;

/// The lease of a job, and how far that job is.
pub(super) struct JobLease {
    lease: Lease,
    since: Instant,
    /// The first epoch of this attempt: what came before it took none of its time.
    first: Option<usize>,
}

impl JobLease {
    pub fn new(lease: Lease) -> JobLease {
        JobLease { lease, since: Instant::now(), first: None }
    }

    pub fn into_lease(self) -> Lease {
        self.lease
    }

    /// About once a second: the locks are still those that others look at. Returns what to report if they are not.
    pub fn look(&mut self) -> Vec<String> {
        let said = |device| {
            format!("the folder of this shared machine was cleaned, and another run has {device} as well now: both will be slow")
        };
        self.lease.keep().into_iter().map(said).collect()
    }

    /// Updates the estimate for those who wait for these devices. `epochs` in total.
    pub fn heard(&mut self, event: &Event, epochs: usize) {
        let Event::Epoch(report) = event else { return };
        let first = *self.first.get_or_insert(report.epoch);
        let (done, left) = (report.epoch.saturating_sub(first) + 1, epochs.saturating_sub(report.epoch));
        self.lease.expect_end(host::now_s() + self.since.elapsed().as_secs_f64() / done as f64 * left as f64);
    }
}
