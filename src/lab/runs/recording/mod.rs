//! Recorded runs: packed into one file, unpacked, and played again by the clock.
//!
//! Never adds anything to what a run left, and never writes into a run's folder.

mod anonymous;
mod error;
mod pack;
mod player;
mod recorded;
mod timeline;

#[cfg(test)]
mod tests;

pub use error::RecordingError;
pub use pack::pack;
pub use player::{Played, Player, PlayerOrder, Position};
pub use recorded::Recording;

/// The temporary folder of an unpacked recording, and what removes all of this process.
pub use crate::process::scratch::{Scratch as Unpacked, remove_all as remove_unpacked};
