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

    /// What is looked for before the ranks start, what they do then, what has not begun if the run is stopped early, what they have done,
    /// and what is counted.
    fn words(self) -> [&'static str; 5] {
        match self {
            Work::Training => ["the images", "training", "training", "trained", "epoch"],
            Work::Photos => ["the images", "training", "training", "trained", "step"],
            Work::Test => ["the launcher", "testing", "the test", "tested", "image"],
            Work::Collectives => ["the launcher", "measuring", "measuring", "measured", "row"],
            Work::Benchmark => ["the launcher", "measuring", "measuring", "measured", "iteration"],
            Work::Program => ["the program", "running", "the program", "run", "line"],
        }
    }

    /// Before the ranks are started.
    pub fn preparing(self) -> String {
        let [preparing, ..] = self.words();
        format!("looking for {preparing}")
    }

    /// Once all ranks have reported.
    pub fn going(self) -> &'static str {
        let [_, going, ..] = self.words();
        going
    }

    pub fn stopped_early(self) -> String {
        let [_, _, beginning, ..] = self.words();
        format!("stopped before {beginning} began")
    }

    /// `trained 3 epochs`.
    pub fn finished(self, done: usize) -> String {
        if self == Work::Program {
            return "the program has ended well".into();
        }
        let [.., did, _] = self.words();
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
        let [.., unit] = self.words();
        units::counted(done, unit)
    }
}
