//! What a learner completes: the programs in Rust, and the ring of the collectives in Python.

use super::program::Program;
use super::programs::{PROGRAMS, TEN_STEPS};

/// The ring allreduce with its two places open, and done.
const RING: &str = include_str!("../../lessons/ring.py");
pub const RING_SOLUTION: &str = include_str!("../../solutions/ring.py");

/// Which exercise.
#[derive(Clone, Copy, Debug)]
pub enum Track {
    /// A program in Rust, place by place.
    Rust(&'static Program),
    /// The schedule of a ring allreduce, in Python.
    Collectives,
}

impl Track {
    pub fn all() -> impl Iterator<Item = Track> {
        PROGRAMS.into_iter().map(Track::Rust).chain([Track::Collectives])
    }

    /// As flags spell it.
    pub fn name(self) -> &'static str {
        match self {
            Track::Rust(program) => program.track,
            Track::Collectives => "collectives",
        }
    }

    /// Name of the file.
    pub fn file(self) -> &'static str {
        match self {
            Track::Rust(program) => program.file,
            Track::Collectives => "ring.py",
        }
    }

    /// The program as the learner gets it.
    pub fn text(self) -> &'static str {
        match self {
            Track::Rust(program) => program.exercise,
            Track::Collectives => RING,
        }
    }

    /// The command for this exercise: `start` makes the learner's copy.
    pub fn command(self, verb: &str) -> String {
        match self {
            Track::Rust(program) => format!("hvd-lab exercise {verb}{}", program.flag()),
            Track::Collectives => format!("hvd-lab exercise {verb} --track collectives"),
        }
    }
}

impl Default for Track {
    fn default() -> Track {
        Track::Rust(&TEN_STEPS)
    }
}

impl PartialEq for Track {
    fn eq(&self, other: &Track) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Track {}

impl std::str::FromStr for Track {
    type Err = String;

    fn from_str(name: &str) -> Result<Track, String> {
        let names = || Track::all().map(Track::name).collect::<Vec<_>>().join(", ");
        Track::all().find(|track| track.name() == name).ok_or_else(|| format!("use one of {}", names()))
    }
}
