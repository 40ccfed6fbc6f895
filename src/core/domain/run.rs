//! How a run is going.

use serde::{Deserialize, Serialize};

use super::benchmark::choices::choices;
use super::bounds::{Bounded, count, first, moment, process};
use super::process_location::ProcessLocation;

/// Set for a supervisor and everything that it starts, to the path of the run folder: leftovers are known by it, and ranks find it.
pub const RUN_DIR_VARIABLE: &str = "HVD_LAB_RUN_DIR";

/// Last lines that a status may have: the supervisor writes far fewer.
const MAX_LINES: usize = 10_000;

/// How a run is going; the supervisor rewrites it at every change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStatus {
    pub state: RunState,
    /// What it is doing, or why it ended, in one sentence.
    pub message: String,
    /// Process id and session of the supervisor, and its start time in clock ticks since boot: a pid may be reused. 0
    /// before there is one.
    pub supervisor_pid: u32,
    #[serde(default)]
    pub supervisor_start_ticks: u64,
    /// Where that process runs; `None` where an older version of the lab wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supervisor_place: Option<ProcessLocation>,
    /// Unix time in seconds.
    pub started_s: f64,
    pub ended_s: Option<f64>,
    /// Exit code of the launcher, where it ended: 2 for bad input. 1 where the run folder could not be written.
    pub exit_code: Option<i32>,
    /// The process that failed first, and its last lines.
    pub failed_process: Option<usize>,
    #[serde(default)]
    pub last_lines: Vec<String>,
}

/// Begins what a run says of itself where its lines are lost, as on a full disk.
pub const UNKEPT: &str = "what it prints is neither kept nor shown";

impl RunStatus {
    /// Why its lines are lost, with what to do, while it is running.
    pub fn loss(&self) -> Option<&str> {
        self.message.find(UNKEPT).map(|at| &self.message[at..])
    }

    /// Without a supervisor, and not ended.
    pub fn new(state: RunState, message: impl Into<String>, started_s: f64) -> RunStatus {
        RunStatus {
            state,
            message: message.into(),
            supervisor_pid: 0,
            supervisor_start_ticks: 0,
            supervisor_place: None,
            started_s,
            ended_s: None,
            exit_code: None,
            failed_process: None,
            last_lines: Vec::new(),
        }
    }

    /// How it ended, behind "the run": `failed: rank 1 ...`, `stopped after 3 epochs`.
    pub fn end_in_words(&self) -> String {
        let name = self.state.name();
        if self.message.starts_with(name) { self.message.clone() } else { format!("{name}: {}", self.message) }
    }
}

impl Bounded for RunStatus {
    fn out_of_bounds(&self) -> Option<String> {
        first([
            moment("start", self.started_s),
            self.ended_s.and_then(|ended_s| moment("end", ended_s)),
            self.failed_process.and_then(|failed| process("failed process", failed)),
            count("number of last lines", self.last_lines.len(), MAX_LINES),
        ])
    }
}

choices! {
    /// Where a run is between its launch and its end.
    RunState("a state of a run") {
        /// Looking for or fetching the data.
        Preparing = "preparing",
        Running = "running",
        Stopping = "stopping",
        Finished = "finished",
        Failed = "failed",
        Stopped = "stopped",
    }
}

impl RunState {
    pub fn is_over(self) -> bool {
        matches!(self, RunState::Finished | RunState::Failed | RunState::Stopped)
    }
}
