//! Runs whose supervisor was killed: they are marked failed, and the ranks it left behind are ended.
//!
//! Never touches a process that was not started for the run in question.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::{RunFolder, process};
use crate::domain::run::{RunState, RunStatus};
use crate::host;

/// A supervisor writes its pid within this time of being started, in seconds.
const START_SECONDS: f64 = 10.0;
const GRACE: Duration = Duration::from_millis(500);

/// The run as it is in truth: one that is marked as going without a supervisor has failed.
///
/// `here` says that the run was launched on this host; pids of another host say nothing.
pub(super) fn reconcile(folder: &RunFolder, status: RunStatus, here: bool) -> RunStatus {
    if status.state.is_over() || !here || has_supervisor(&status) {
        return status;
    }
    // It may have ended well between the two looks.
    let status = folder.read_status().unwrap_or(status);
    if status.state.is_over() {
        return status;
    }
    end_leftovers(folder);
    let message = match status.supervisor_pid {
        0 => "its supervisor never came up; launcher.log may say why".to_owned(),
        pid => format!("its supervisor (pid {pid}) was killed while it was {}; no rank is left", status.state.name()),
    };
    let failed = RunStatus { state: RunState::Failed, message, ended_s: Some(host::now_s()), ..status };
    // On a disk that takes nothing the next reader comes to the same result.
    let _ = folder.write_status(&failed);
    failed
}

fn has_supervisor(status: &RunStatus) -> bool {
    match status.supervisor_pid {
        0 => host::now_s() - status.started_s < START_SECONDS,
        pid => process::is_alive(pid, status.supervisor_start_ticks),
    }
}

/// SIGTERM, a short grace, SIGKILL, to everything started for the run.
fn end_leftovers(folder: &RunFolder) {
    let all = |signal| {
        let left = process::of_run(folder.path());
        left.iter().for_each(|pid| process::signal(*pid, signal));
        !left.is_empty()
    };
    let mut left = all(Signal::SIGTERM);
    let begin = Instant::now();
    while left && begin.elapsed() < GRACE * 2 {
        std::thread::sleep(Duration::from_millis(20));
        left = match begin.elapsed() < GRACE {
            true => !process::of_run(folder.path()).is_empty(),
            false => all(Signal::SIGKILL),
        };
    }
}
