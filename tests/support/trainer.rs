//! A lab with the real mpirun and the real trainer, and a turn for each test that trains.
//!
//! Never a stand-in.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::images;
use super::lab::{Lab, program};
use super::needs::skip;

/// The trainer is the one built beside the lab, and trains on a few images unless a test asks for others. `None` where it or mpirun is
/// missing, unless HVD_LAB_REQUIRE asks for it.
pub fn with_trainer() -> Option<Lab> {
    let trainer = program().with_file_name("hvd-train");
    if trainer.is_file() {
        return Some(Lab::with_mpirun()?.env("HVD_TRAIN", &trainer.display().to_string()).env("HVD_LAB_DATA", images::few()));
    }
    skip("train", "no hvd-train beside hvd-lab; `make test` builds it");
    None
}

/// One run at a time: each has the cores of the machine to itself.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
