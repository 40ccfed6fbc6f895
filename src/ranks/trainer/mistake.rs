//! The mistakes that this rank is told to make on purpose, by a file in the folder of its run: see `hvd-lab fault`.

use std::path::PathBuf;

use crate::comm;
use crate::domain::fault::{FaultKind, mistake_file};
use crate::domain::run::RUN_DIR_VARIABLE;
use crate::host::read;

/// The name of a mistake is shorter.
const MOST_BYTES: u64 = 64;

/// From now on this process makes the mistakes that it is told to make; only in a run of the lab.
pub fn listen() {
    if file().is_some() {
        comm::make_mistakes(told);
    }
}

/// Where the lab writes what this process is to do.
fn file() -> Option<PathBuf> {
    Some(PathBuf::from(std::env::var_os(RUN_DIR_VARIABLE)?).join(mistake_file(comm::launched_index())))
}

fn told() -> Option<FaultKind> {
    let file = file()?;
    let name = read::small_text(&file, MOST_BYTES).ok()?;
    // It is made once. One that cannot be removed is not made: it would come again and again.
    std::fs::remove_file(&file).ok()?;
    name.trim().parse().ok()
}
