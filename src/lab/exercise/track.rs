//! The exercises: programs with numbered places, and the ring of the collectives.

use std::collections::BTreeSet;

use super::language::Language;
use super::program::Program;
use super::programs::{PROGRAMS, TEN_STEPS};

/// The ring allreduce with its two places open, and done.
const RING: &str = include_str!("../../../lessons/ring.py");
pub const RING_SOLUTION: &str = include_str!("../../../solutions/ring.py");

/// Which exercise.
#[derive(Clone, Copy, Debug)]
pub enum Track {
    /// A program, place by place.
    Program(&'static Program),
    /// The schedule of a ring allreduce, in Python.
    Collectives,
}

impl Track {
    /// Those that need nothing but the lab come first.
    pub fn all() -> impl Iterator<Item = Track> {
        let (in_pytorch, own): (Vec<_>, Vec<_>) = PROGRAMS.into_iter().partition(|program| program.is_in_pytorch());
        own.into_iter().map(Track::Program).chain([Track::Collectives]).chain(in_pytorch.into_iter().map(Track::Program))
    }

    /// The program that is completed place by place; `None` of the ring.
    fn program(self) -> Option<&'static Program> {
        if let Track::Program(program) = self { Some(program) } else { None }
    }

    /// Name as flags spell it.
    pub fn name(self) -> &'static str {
        self.program().map_or("collectives", |program| program.track)
    }

    /// Name of the file.
    pub fn file(self) -> &'static str {
        self.program().map_or("ring.py", |program| program.file)
    }

    /// The program as the learner gets it.
    pub fn text(self) -> &'static str {
        self.program().map_or(RING, |program| program.exercise)
    }

    /// Title with the language, for a list.
    pub fn title(self) -> String {
        let language = if self.language() == Language::Python { "Python" } else { "Rust" };
        format!("{}, in {language}", self.what())
    }

    /// Title of the exercise.
    pub(super) fn what(self) -> &'static str {
        self.program().map_or("a ring allreduce, two places", |program| program.title_of_all)
    }

    /// The language that it is written in.
    pub fn language(self) -> Language {
        self.program().map_or(Language::Python, |program| program.language)
    }

    /// The number of the lesson that is about it, or about the step that is next.
    pub fn lesson(self, next: usize) -> usize {
        self.program().map_or(15, |program| program.lesson.unwrap_or(next))
    }

    /// The one that is kept in a file of this name.
    pub fn of_file(path: &str) -> Option<Track> {
        let name = path.rsplit('/').next().unwrap_or_default();
        Track::all().find(|track| track.file() == name)
    }

    /// The line of the next `TODO`, and its number where the track has numbers.
    pub fn next(self, text: &str) -> Option<(Option<usize>, usize)> {
        match self {
            Track::Program(program) => program.next(text).map(|(number, line)| (Some(number), line)),
            Track::Collectives => text.lines().position(|line| line.contains("TODO ")).map(|index| (None, index + 1)),
        }
    }

    /// The command for this exercise: `start` makes the learner's copy.
    pub fn command(self, verb: &str) -> String {
        let flag = self.program().map_or(" --track collectives".to_owned(), Program::flag);
        format!("hvd-lab exercise {verb}{flag}")
    }
}

impl Default for Track {
    fn default() -> Track {
        Track::Program(&TEN_STEPS)
    }
}

impl PartialEq for Track {
    fn eq(&self, other: &Track) -> bool {
        self.file() == other.file()
    }
}

impl Eq for Track {}

impl std::str::FromStr for Track {
    type Err = String;

    fn from_str(name: &str) -> Result<Track, String> {
        Track::all().find(|track| track.name() == name).ok_or_else(|| {
            // One that is there in two languages is named once.
            let mut seen = BTreeSet::new();
            let names: Vec<_> = Track::all().map(Track::name).filter(|name| seen.insert(*name)).collect();
            format!("use one of {}", names.join(", "))
        })
    }
}
