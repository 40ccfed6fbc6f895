//! Faults that can be made in a run on purpose, to see what such a fault looks like and how long it takes to find its cause.

use serde::{Deserialize, Serialize};

use super::benchmark::choices::choices;
use super::bounds::{Bounded, first, moment, process, seconds};

choices! {
    /// What is done to a rank.
    FaultKind("a fault") {
        /// SIGKILL.
        Kill = "kill",
        /// SIGSTOP, and SIGCONT when the time is over.
        Freeze = "freeze",
        /// SIGSTOP and SIGCONT in turns.
        Slow = "slow",
        /// It and another rank may only use one core.
        SharedCore = "shared-core",
        /// The cable to a rank lets much less through.
        SlowNetwork = "slow-network",
        /// The root's files may not grow beyond 4 KiB.
        FileLimit = "file-limit",
        /// The newest checkpoint is cut in the middle, and the root is killed.
        DamagedCheckpoint = "damaged-checkpoint",
        /// The folder of checkpoints becomes read-only, until the run ends.
        NoWrite = "no-write",
        /// A rank hands one number fewer to an allreduce than the others.
        WrongShape = "wrong-shape",
        /// Only the root calls a collective.
        RootCollective = "root-collective",
        /// A rank stops training alone.
        OwnEarlyStop = "own-early-stop",
    }
}

/// How long a fault lasts by default.
pub const DEFAULT_SECONDS: f64 = 10.0;
/// More in one attempt are a typing error.
pub const MAX_FAULTS: usize = 1000;
/// Longer ones would outlast every run.
pub const MAX_FAULT_SECONDS: f64 = 3600.0;

impl FaultKind {
    /// Whether it lasts for a while and is then undone.
    pub fn lasts(self) -> bool {
        matches!(self, FaultKind::Freeze | FaultKind::Slow | FaultKind::SharedCore | FaultKind::SlowNetwork)
    }

    /// The rank that it is made in: the one that is asked for, else the last. Only the root writes files.
    pub fn victim(self, asked: Option<usize>, np: usize) -> usize {
        if self.is_of_the_root() { 0 } else { asked.unwrap_or(np.saturating_sub(1)) }
    }

    /// Whether only rank 0 can have it: it alone writes files, and is the root.
    pub fn is_of_the_root(self) -> bool {
        use FaultKind::{DamagedCheckpoint, FileLimit, NoWrite, RootCollective};
        matches!(self, FileLimit | DamagedCheckpoint | NoWrite | RootCollective)
    }

    /// Whether it takes two ranks to see it.
    pub fn needs_two(self) -> bool {
        matches!(self, FaultKind::SharedCore | FaultKind::SlowNetwork) || self.is_mistake()
    }

    /// Whether it is a mistake of a program: the rank makes it itself, in what it asks of the others.
    pub fn is_mistake(self) -> bool {
        matches!(self, FaultKind::WrongShape | FaultKind::RootCollective | FaultKind::OwnEarlyStop)
    }

    /// Whether it shows only when something is due, at the end of an epoch.
    pub fn waits_for_an_epoch(self) -> bool {
        matches!(self, FaultKind::FileLimit | FaultKind::NoWrite | FaultKind::OwnEarlyStop)
    }

    /// What will happen, for the user who is about to cause it.
    pub fn expected_of(self, rank: &str, is_elastic: bool) -> String {
        let end = match self {
            FaultKind::Kill if is_elastic => {
                "This run is elastic (--min-np): it names rank {rank}, and goes on from its last checkpoint, as often as \
                 --reset-limit lets it."
            }
            FaultKind::Kill => "The run fails, and names rank {rank}. Its last checkpoint stays.",
            FaultKind::DamagedCheckpoint if is_elastic => {
                "This run is elastic (--min-np): it names rank 0, refuses the damaged file, says why, and goes on from the \
                 checkpoint before it, as often as --reset-limit lets it."
            }
            FaultKind::DamagedCheckpoint => {
                "The run fails, and names rank 0. When you continue it, the lab refuses the damaged file, says why, and takes the \
                 checkpoint before it: one epoch more has to be done again."
            }
            FaultKind::Freeze if is_elastic => {
                "Then the rank goes on, and nothing is lost. But this run is elastic (--min-np): a rank that is frozen for 8 s \
                 is ended, and the run goes on from its last checkpoint."
            }
            FaultKind::Freeze => "Then the rank goes on, and so does the training: nothing is lost.",
            _ => "",
        };
        format!("{} {end}", self.expected()).trim_end().replace("{rank}", rank)
    }

    /// `{rank}` stands for its number.
    fn expected(self) -> &'static str {
        match self {
            FaultKind::Kill => {
                "Rank {rank} is killed (SIGKILL), as when a host fails or memory runs out. The others wait for it in their next \
                 allreduce. mpirun notices, and ends the job."
            }
            FaultKind::Freeze => {
                "Rank {rank} is stopped (SIGSTOP), as a rank that hangs. The others wait for it in their next allreduce. The lab \
                 says which rank it is."
            }
            FaultKind::Slow => {
                "Rank {rank} is stopped for 30 of every 80 milliseconds, as on a device that is too hot or shared. All ranks get \
                 slower, since each step waits for the slowest. The losses stay the same."
            }
            FaultKind::SharedCore => {
                "Rank {rank} and another rank have to share one core, as with a wrong binding. All ranks get slower, since each \
                 step waits for the slowest. The losses stay the same."
            }
            FaultKind::SlowNetwork => {
                "The cable to rank {rank} lets at most 2 Mbit/s through, as a bad cable does, or a port that came up at a lower \
                 speed. All ranks get slower, since each allreduce waits for it. The losses stay the same. The run needs --link \
                 1gbit: without it no rank has a network."
            }
            FaultKind::FileLimit => {
                "No file of rank 0 may grow beyond 4 KiB, as on a full disk or with `ulimit -f`. The next checkpoint cannot be \
                 written. The run fails, and names the file. The checkpoint before it stays."
            }
            FaultKind::DamagedCheckpoint => {
                "The newest checkpoint is cut in the middle and rank 0 is killed, as when a host dies while its disk still \
                 writes."
            }
            FaultKind::NoWrite => {
                "The folder of checkpoints becomes read-only, as with wrong permissions or a disk that the system has taken away. \
                 The next checkpoint cannot be written. The run fails, and names the file. Afterwards the folder is as before."
            }
            FaultKind::WrongShape => {
                "In its next step rank {rank} hands one number fewer to the allreduce than the others, as when its model has a \
                 layer of another size. The ranks compare their calls before any data moves, so none computes with garbage. The \
                 run fails, and says what each rank called."
            }
            FaultKind::RootCollective => {
                "In its next step rank 0 calls an allreduce that the others do not call, as with a collective behind `if rank == \
                 0`. In many programs that hangs. Here the ranks compare their calls first: the run fails, and says what each rank \
                 called."
            }
            FaultKind::OwnEarlyStop => {
                "After this epoch rank {rank} stops training alone, as a rank does that decides on its own accuracy and not on the \
                 mean. It goes on to the test while the others begin the next epoch. The ranks compare their calls: the run \
                 fails, and says what each rank called."
            }
        }
    }
}

/// The file in the folder of a run in which a process reads the name of the mistake that it is to make.
pub fn mistake_file(process: usize) -> String {
    format!("mistake-{process}")
}

/// A fault that a user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultRequest {
    pub kind: FaultKind,
    pub process: usize,
    /// How long, of those that last.
    pub seconds: f64,
}

/// A fault that was made, as the record of a run has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultRecord {
    #[serde(flatten)]
    pub request: FaultRequest,
    /// Unix time in seconds.
    pub began_s: f64,
    /// Seconds from then until the process at fault was named, and by what words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_after_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_by: Option<String>,
}

impl Bounded for FaultRequest {
    fn out_of_bounds(&self) -> Option<String> {
        let too_long = (self.seconds > MAX_FAULT_SECONDS).then(|| format!("a fault of {} s", self.seconds));
        first([process("process of a fault", self.process), seconds("seconds of a fault", self.seconds), too_long])
    }
}

impl Bounded for FaultRecord {
    fn out_of_bounds(&self) -> Option<String> {
        let found = self.found_after_s.and_then(|found| seconds("seconds until a fault was found", found));
        first([self.request.out_of_bounds(), moment("time of a fault", self.began_s), found])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_nonsense_is_refused() {
        let request = FaultRequest { kind: FaultKind::SharedCore, process: 1, seconds: 10.0 };
        let record = FaultRecord { request, began_s: 1e9, found_after_s: Some(0.4), found_by: Some("it".into()) };
        let text = serde_json::to_string(&record).unwrap();
        assert!(text.contains(r#""kind":"shared-core""#), "{text}");
        assert_eq!(serde_json::from_str::<FaultRecord>(&text).unwrap(), record);
        assert_eq!(record.out_of_bounds(), None);
        let wrong = |change: fn(&mut FaultRecord)| {
            let mut record = record.clone();
            change(&mut record);
            record.out_of_bounds().is_some()
        };
        assert!(wrong(|record| record.request.seconds = 1e9));
        assert!(wrong(|record| record.request.seconds = f64::NAN));
        assert!(wrong(|record| record.request.process = usize::MAX));
        assert!(wrong(|record| record.began_s = -1.0));
    }
}
