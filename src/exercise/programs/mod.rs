//! The exercises in Rust, each a file here and a line in [`PROGRAMS`].

mod four_changes;
mod ten_steps;

pub use four_changes::FOUR_CHANGES;
pub use ten_steps::TEN_STEPS;

use super::program::Program;

/// All of them; the first is meant where none is named.
pub static PROGRAMS: [&Program; 2] = [&TEN_STEPS, &FOUR_CHANGES];

/// The one whose track has this name.
pub fn of_track(track: &str) -> Option<&'static Program> {
    PROGRAMS.into_iter().find(|program| program.track == track)
}
