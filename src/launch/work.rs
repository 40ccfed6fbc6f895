//! What the ranks of a run do, in the words of its status: a training counts epochs, collectives count rows of their table.

use super::journal::Evidence;
use crate::domain::job::Workload;
use crate::domain::units;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    #[default]
    Training,
    Collectives,
}

impl Work {
    pub fn of(workload: &Workload) -> Work {
        match workload {
            Workload::Training(_) | Workload::Unknown(_) => Work::Training,
            Workload::Collectives(_) => Work::Collectives,
        }
    }

    /// Before the ranks are started.
    pub fn preparing(self) -> &'static str {
        match self {
            Work::Training => "looking for the images",
            Work::Collectives => "looking for the launcher",
        }
    }

    /// Once all ranks have reported.
    pub fn going(self) -> &'static str {
        match self {
            Work::Training => "training",
            Work::Collectives => "measuring",
        }
    }

    pub fn stopped_early(self) -> &'static str {
        match self {
            Work::Training => "stopped before training began",
            Work::Collectives => "stopped before measuring began",
        }
    }

    pub fn finished(self, evidence: &Evidence) -> String {
        match self {
            Work::Training => format!("trained {}", self.done(evidence)),
            Work::Collectives => format!("measured {}", self.done(evidence)),
        }
    }

    pub fn stopped(self, evidence: &Evidence) -> String {
        format!("stopped after {}", self.done(evidence))
    }

    fn done(self, evidence: &Evidence) -> String {
        match self {
            Work::Training => units::counted(evidence.epoch(), "epoch"),
            Work::Collectives => units::counted(evidence.rows(), "row"),
        }
    }

    /// Where a process was last seen, as the end of a sentence; nothing where nobody knows.
    pub fn place(self, process: usize, evidence: &Evidence) -> String {
        match (self, evidence.step(process)) {
            (Work::Training, Some(step)) => format!(" in epoch {} after batch {}", step.epoch + 1, step.batch + 1),
            (Work::Collectives, _) if evidence.rows() > 0 => format!(" after {}", self.done(evidence)),
            _ => String::new(),
        }
    }
}
