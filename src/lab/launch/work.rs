//! What the ranks of a run do, in the words of its status: a training counts epochs, collectives count rows of their table,
//! a benchmark counts iterations, a test counts images.

use crate::domain::job::Workload;
use crate::domain::units;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    #[default]
    Training,
    /// On photos, which counts steps: an epoch of them may take days.
    Photos,
    Collectives,
    Benchmark,
    Test,
    /// The user's own.
    Program,
}

impl Work {
    pub fn of(workload: &Workload) -> Work {
        match workload {
            Workload::Nvcnn(nvcnn) if nvcnn.eval => Work::Test,
            Workload::Nvcnn(_) => Work::Photos,
            Workload::Training(_) | Workload::Unknown(_) => Work::Training,
            Workload::Collectives(_) => Work::Collectives,
            Workload::Benchmark(_) => Work::Benchmark,
            Workload::Command(_) => Work::Program,
        }
    }

    /// Before the ranks are started.
    pub fn preparing(self) -> &'static str {
        match self {
            Work::Training | Work::Photos => "looking for the images",
            Work::Collectives | Work::Benchmark | Work::Test => "looking for the launcher",
            Work::Program => "looking for the program",
        }
    }

    /// Once all ranks have reported.
    pub fn going(self) -> &'static str {
        match self {
            Work::Training | Work::Photos => "training",
            Work::Test => "testing",
            Work::Collectives | Work::Benchmark => "measuring",
            Work::Program => "running",
        }
    }

    pub fn stopped_early(self) -> &'static str {
        match self {
            Work::Training | Work::Photos => "stopped before training began",
            Work::Test => "stopped before the test began",
            Work::Collectives | Work::Benchmark => "stopped before measuring began",
            Work::Program => "stopped before the program began",
        }
    }

    /// `trained 3 epochs`.
    pub fn finished(self, done: usize) -> String {
        let did = match self {
            Work::Program => return "the program has ended well".into(),
            Work::Training | Work::Photos => "trained",
            Work::Test => "tested",
            Work::Collectives | Work::Benchmark => "measured",
        };
        format!("{did} {}", self.counted(done))
    }

    /// `stopped after 3 epochs`.
    pub fn stopped(self, done: usize) -> String {
        if self == Work::Program {
            return "stopped before the program had ended".into();
        }
        format!("stopped after {}", self.counted(done))
    }

    /// `3 epochs`, `3 rows`.
    pub fn counted(self, done: usize) -> String {
        let noun = match self {
            Work::Training => "epoch",
            Work::Photos => "step",
            Work::Collectives => "row",
            Work::Benchmark => "iteration",
            Work::Test => "image",
            Work::Program => "line",
        };
        units::counted(done, noun)
    }
}
