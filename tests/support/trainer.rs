//! A lab with the real mpirun and the real trainer, and a turn for each test that trains.
//!
//! Never a stand-in. Needs `mod lab` (tests/launch/lab.rs) at the root of the test.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::lab::{Lab, program};

/// The trainer is the one built beside the lab; `None` where it or mpirun is missing, unless HVD_LAB_REQUIRE asks for it.
pub fn with_trainer() -> Option<Lab> {
    let trainer = program().with_file_name("hvd-train");
    if trainer.is_file() {
        return Some(Lab::with_mpirun()?.env("HVD_TRAIN", &trainer.display().to_string()));
    }
    let required = std::env::var("HVD_LAB_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name == "train"), "HVD_LAB_REQUIRE asks for train, and there is no hvd-train");
    eprintln!("skipped: no hvd-train beside hvd-lab; `make test` builds it");
    None
}

/// One run at a time: each has the cores of the machine to itself.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
