//! Asks the supervisor of a run for a fault, and waits until it has made or refused it.

use std::time::{Duration, Instant};

use super::LaunchError;
use super::fault::FAULT_REFUSED;
use crate::domain::fault::{FaultRecord, FaultRequest};
use crate::domain::printable;
use crate::domain::run::RunState;
use crate::host::{files, read};
use crate::runs::{RunId, RunStore, StoreError, Supervision};

/// For the supervisor to take the request, which it looks for once a second.
const TAKEN_WITHIN: Duration = Duration::from_secs(5);
/// Of launcher.log, which is short.
const MOST_LOG_BYTES: u64 = 4 << 20;
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Let the supervisor of a run make a fault, which it notes in the record of the run. Returns its place among [`faults_made`].
///
/// # Errors
/// The run is over, runs elsewhere, has not taken the last request yet or refuses this one; its supervisor does not answer; or the folder
/// cannot be written to.
pub fn make_fault(store: &RunStore, id: RunId, request: FaultRequest) -> Result<usize, LaunchError> {
    let before = faults_made(store, id)?.len();
    let (refusals, _) = refused(store, id);
    ask(store, id, request)?;
    let begin = Instant::now();
    while faults_made(store, id)?.len() == before {
        match refused(store, id) {
            (count, Some(why)) if count > refusals => return Err(LaunchError::Failed(format!("run {id}: {why}"))),
            _ if begin.elapsed() > TAKEN_WITHIN => {
                // The next launch must not take it. If it was taken in the last moment, the file is gone already.
                let _ = std::fs::remove_file(store.folder(id).fault_file());
                let why = "its supervisor is busy, or of a version that makes no faults";
                return Err(LaunchError::Failed(format!("run {id} does not answer: {why}")));
            }
            _ => std::thread::sleep(LOOK_EVERY),
        }
    }
    Ok(before)
}

/// The faults that were made in a run, the oldest first.
///
/// # Errors
/// A run that is not there or whose record cannot be read.
pub fn faults_made(store: &RunStore, id: RunId) -> Result<Vec<FaultRecord>, StoreError> {
    Ok(store.record(id)?.attempts.into_iter().flat_map(|attempt| attempt.faults).collect())
}

fn ask(store: &RunStore, id: RunId, request: FaultRequest) -> Result<(), LaunchError> {
    let (status, supervision) = store.supervision(id)?;
    match supervision {
        Supervision::Here { .. } if status.state == RunState::Running => {}
        Supervision::Elsewhere(place) => return Err(StoreError::Elsewhere { id, place }.into()),
        _ if status.state.is_over() => return Err(LaunchError::NotGoing { id, state: status.state.name() }),
        _ => {
            let state = status.state.name();
            return Err(LaunchError::Spec(format!("run {id} is still {state}: try again in a few seconds")));
        }
    }
    let path = store.folder(id).fault_file();
    let text = serde_json::to_vec(&request).map_err(|error| StoreError::damaged(&path, &error.to_string()))?;
    match files::write_new(&path, &text) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(LaunchError::Spec(format!("another fault was just asked of run {id}: try again in a moment")))
        }
        written => Ok(written.map_err(StoreError::io("cannot write", &path))?),
    }
}

/// How many faults the run has refused so far, and why it refused the last one.
fn refused(store: &RunStore, id: RunId) -> (usize, Option<String>) {
    let text = read::small_file(&store.folder(id).launcher_log(), MOST_LOG_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let reasons = text.lines().filter_map(|line| line.strip_prefix(FAULT_REFUSED));
    reasons.fold((0, None), |(count, _), why| (count + 1, Some(printable::line(why).into_owned())))
}
