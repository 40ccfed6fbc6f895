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

    fn words(self) -> Words {
        let [preparing, going, beginning, did, unit] = match self {
            Work::Training => ["the images", "training", "training", "trained", "epoch"],
            Work::Photos => ["the images", "training", "training", "trained", "step"],
            Work::Test => ["the launcher", "testing", "the test", "tested", "image"],
            Work::Collectives => ["the launcher", "measuring", "measuring", "measured", "row"],
            Work::Benchmark => ["the launcher", "measuring", "measuring", "measured", "iteration"],
            Work::Program => ["the program", "running", "the program", "run", "line"],
        };
        Words { preparing, going, beginning, did, unit }
    }

    /// Before the ranks are started.
    pub fn preparing(self) -> String {
        format!("looking for {}", self.words().preparing)
    }

    /// Once all ranks have reported.
    pub fn going(self) -> &'static str {
        self.words().going
    }

    pub fn stopped_early(self) -> String {
        format!("stopped before {} began", self.words().beginning)
    }

    /// `trained 3 epochs`.
    pub fn finished(self, done: usize) -> String {
        if self == Work::Program {
            return "the program has ended well".into();
        }
        format!("{} {}", self.words().did, self.counted(done))
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
        units::counted(done, self.words().unit)
    }
}

/// The words for one kind of work.
struct Words {
    /// What is looked for before the ranks start.
    preparing: &'static str,
    going: &'static str,
    /// What has not begun if the run is stopped early.
    beginning: &'static str,
    did: &'static str,
    /// What is counted.
    unit: &'static str,
}
