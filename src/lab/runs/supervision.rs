//! Who supervises a run: the one place that says so, to all who stop, continue, delete or show it.
//!
//! Three things are asked. Where the supervisor's process runs: its number means something here only within the same boot and
//! the same container. Whether that process lives and is proven to be the run's. And whether anybody holds the run's lock,
//! which counts in other containers too, and on other hosts where the file system passes locks on.

use std::time::Duration;

use super::{RunFolder, RunId, RunRecord, StoreError};
use crate::domain::process_location::{ProcessLocation, Relation};
use crate::domain::run::RunStatus;
use crate::host;
use crate::process::lock::{Held, held};
use crate::process::{self, Proof};

/// A supervisor of an older version writes its pid within this time of being started, in seconds.
const START_SECONDS: f64 = 10.0;
/// A supervisor writes telemetry twice a second: after this time without any it is not heard of any more, in seconds.
pub const SILENCE_SECONDS: f64 = 60.0;

/// Who supervises a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Supervision {
    /// It is over, and needs no supervisor.
    Over,
    /// This process of this host, which is proven to be the run's.
    Here { pid: u32, start_ticks: u64 },
    /// In transition: its supervisor has just been started, or the run is just being marked as failed.
    Beginning,
    /// A supervisor out of our reach, as far as we can see: `on host node3`.
    Elsewhere(String),
    /// No supervisor, although the run is not over.
    Nobody,
}

impl Supervision {
    /// # Errors
    /// The run is not over: [`StoreError::Elsewhere`], or else [`StoreError::StillGoing`].
    pub(super) fn refuse_unless_over(self, id: RunId) -> Result<(), StoreError> {
        match self {
            Supervision::Over => Ok(()),
            Supervision::Elsewhere(place) => Err(StoreError::Elsewhere { id, place }),
            Supervision::Here { .. } | Supervision::Beginning | Supervision::Nobody => Err(StoreError::StillGoing { id }),
        }
    }
}

/// Who supervises the run with this status. `record` is `None` where it cannot be read.
pub fn supervision(folder: &RunFolder, record: Option<&RunRecord>, status: &RunStatus, here: &ProcessLocation) -> Supervision {
    if status.state.is_over() {
        return Supervision::Over;
    }
    let there = match (&status.supervisor_place, record) {
        (Some(place), _) => place.clone(),
        // Written by an older version.
        (None, Some(record)) => ProcessLocation::named(&record.host),
        (None, None) => here.clone(),
    };
    let on_host = || Supervision::Elsewhere(format!("on host `{}`", there.host));
    match (there.seen_from(here), held(folder.path())) {
        (Relation::Same, held) => on_this_host(folder, status, held),
        (Relation::Container, Held::No) => Supervision::Nobody,
        (Relation::Container, _) => Supervision::Elsewhere(format!("in another container of this machine, `{}`", there.host)),
        (Relation::Earlier, Held::No | Held::Unknown) => Supervision::Nobody,
        // Machines that were cloned together have one id: only one that is silent is this one of before.
        (Relation::Renamed, Held::No) if silent_seconds(folder) >= SILENCE_SECONDS => Supervision::Nobody,
        (Relation::Earlier | Relation::Renamed | Relation::Other, _) => on_host(),
    }
}

fn on_this_host(folder: &RunFolder, status: &RunStatus, held: Held) -> Supervision {
    let (pid, start_ticks) = (status.supervisor_pid, status.supervisor_start_ticks);
    let proof = if pid == 0 { Proof::Gone } else { process::prove(pid, start_ticks, folder.path()) };
    // A start far in the future is not waited for: the clock was set back.
    let is_young = (host::now_s() - status.started_s).abs() < START_SECONDS;
    match proof {
        Proof::Ours => Supervision::Here { pid, start_ticks },
        Proof::Hidden => Supervision::Elsewhere(format!("as process {pid} of another user of this host")),
        // A supervisor that is about to start holds the lock.
        Proof::Gone if held == Held::Yes => Supervision::Beginning,
        Proof::Gone if pid == 0 && status.supervisor_place.is_none() && is_young => Supervision::Beginning,
        Proof::Gone => Supervision::Nobody,
    }
}

/// How long ago anything was written to the folder, in seconds.
///
/// Clocks of hosts differ: what was written in the future may have been written now.
pub fn silent_seconds(folder: &RunFolder) -> f64 {
    let files = [folder.status_file(), folder.telemetry_file(), folder.events_file(), folder.launcher_log()];
    let written = files.iter().filter_map(|path| path.metadata().ok()?.modified().ok());
    let ages = written.map(|written| written.elapsed().unwrap_or_else(|future| future.duration()));
    ages.min().unwrap_or(Duration::MAX).as_secs_f64()
}

#[cfg(test)]
mod tests;
