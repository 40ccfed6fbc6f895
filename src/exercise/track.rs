//! The programs that a learner completes: the trainer with its ten steps, and the ring of the collectives.

use super::programs;

/// Which exercise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Track {
    /// The trainer, step by step, in Rust.
    #[default]
    TenSteps,
    /// The schedule of a ring allreduce, in Python.
    Collectives,
}

impl Track {
    pub const ALL: [Track; 2] = [Track::TenSteps, Track::Collectives];

    /// As flags spell it.
    pub fn name(self) -> &'static str {
        match self {
            Track::TenSteps => "ten-steps",
            Track::Collectives => "collectives",
        }
    }

    /// Name of the file.
    pub fn file(self) -> &'static str {
        match self {
            Track::TenSteps => "fashion_mnist.rs",
            Track::Collectives => "ring.py",
        }
    }

    /// The program as the learner gets it.
    pub fn text(self) -> &'static str {
        match self {
            Track::TenSteps => programs::EXERCISE,
            Track::Collectives => programs::RING,
        }
    }

    /// The command that makes the learner's copy.
    pub fn start(self) -> &'static str {
        match self {
            Track::TenSteps => "hvd-lab exercise start",
            Track::Collectives => "hvd-lab exercise start --track collectives",
        }
    }
}
