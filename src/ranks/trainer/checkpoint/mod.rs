//! Checkpoints: all that training needs to continue as if it had never stopped, one file an epoch, and commits in between.
//!
//! A checkpoint is names, shapes and numbers, without a tensor library. Checkpoints are never deleted; commits are, once newer ones
//! have replaced them ([`prune`]).
//!
//! `LOGDIR/checkpoint-{epoch}.safetensors`, readable by every program that reads safetensors. Weights are named
//! `model.*`, batch norm statistics `buffer.*`, optimizer state `optimizer.*`; the rest is in the file's metadata, with
//! a SHA-256 over everything. A file is complete or not there ([`save`]); a file that is not what it should be is
//! refused with its reason, and the one before it is taken ([`latest`]). What a killed writer left goes with [`sweep`].

mod contents;
mod file;
mod temporary;
#[cfg(test)]
mod tests;

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use contents::place_of;
pub use contents::{Checkpoint, Reason, Refused, path};
pub use file::{SaveError, load, save};
pub use temporary::sweep;

use crate::domain::checkpoint::Progress;
use crate::domain::event::{CheckpointAction, CheckpointReport};

/// The newest checkpoint or commit of at most `up_to_epoch` epochs that `fits`, and every newer one that was refused on the way.
///
/// A file of more than `most_bytes` holds more than this training can need, and is not read. `fits` says what makes a whole checkpoint unfit for the training at hand, such as another model, optimizer or shape.
/// Other files in the folder do not matter, nor what a dead process left of a file it was writing. No folder, no
/// checkpoint.
///
/// # Collective
/// None. With step 7 only root calls this and broadcasts the epoch; ranks that each look for themselves may find
/// different answers while another rank writes.
pub fn latest(
    folder: &Path,
    up_to_epoch: usize,
    most_bytes: u64,
    mut fits: impl FnMut(&Checkpoint) -> Result<(), Reason>,
) -> (Option<(Checkpoint, CheckpointReport)>, Vec<Refused>) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return (None, Vec::new()),
        Err(error) => {
            return (None, vec![Refused { path: folder.into(), reason: Reason::Unreadable(error.to_string()) }]);
        }
    };
    let end = Progress { epoch: up_to_epoch, images: 0 };
    let places = entries.flatten().filter_map(|entry| place_of(&entry.path()));
    let mut places: Vec<Progress> = places.filter(|place| *place > Progress::default() && *place <= end).collect();
    places.sort_unstable();
    let mut refused = Vec::new();
    for place in places.into_iter().rev() {
        let path = folder.join(place.file_name());
        let attempt =
            small_enough(&path, most_bytes).and_then(|()| load(&path)).and_then(|found| match found.0.place() == place {
                true => fits(&found.0).map(|()| found),
                false if place.images > 0 => {
                    Err(Reason::Mismatch(format!("it holds what belongs into {}", found.0.place().file_name())))
                }
                false => Err(Reason::Mismatch(format!("it holds epoch {}, not {}", found.0.epoch, place.epoch))),
            });
        match attempt {
            Ok(found) => return (Some(found), refused),
            Err(reason) => refused.push(Refused { path, reason }),
        }
    }
    (None, refused)
}

/// Removes the commits before this place, apart from the `kept` newest.
pub fn prune(folder: &Path, before: Progress, kept: usize) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // A folder of such a name is no commit that could be taken.
    let places = entries.map(|entry| entry.path()).filter(|path| path.is_file()).filter_map(|path| place_of(&path));
    let mut commits: Vec<Progress> = places.filter(|place| place.images > 0 && *place < before).collect();
    commits.sort_unstable();
    // What cannot be removed is older than what training goes on from, and does no harm.
    commits.iter().rev().skip(kept).for_each(|place| _ = std::fs::remove_file(folder.join(place.file_name())));
}

fn small_enough(path: &Path, most_bytes: u64) -> Result<(), Reason> {
    // What is not there, or no file, is refused where it is opened.
    match std::fs::metadata(path).map_or(0, |found| found.len()) {
        bytes if bytes > most_bytes => Err(Reason::TooLarge { bytes, most_bytes }),
        _ => Ok(()),
    }
}

/// What a checkpoint is like after several ranks have written it (step 7 off).
///
/// Each writer has a temporary file of its own and renames it, so the file is never a mixture: it is whole, and one
/// rank's; the others' work is gone. `digest` tells whose it is.
pub fn inspect(folder: &Path, epoch: usize) -> CheckpointReport {
    let path = path(folder, epoch);
    let report = load(&path).map(|(_, found)| {
        let digest = found.digest.as_deref().unwrap_or_default();
        let note = format!("whole, with the weights {digest}: of several ranks that write it, the last to rename its file wins");
        CheckpointReport { note: Some(note), ..found }
    });
    let report = report.unwrap_or_else(|reason| CheckpointReport { epoch, images: 0, ..Refused { path, reason }.report() });
    CheckpointReport { action: CheckpointAction::Inspected, ..report }
}

/// Claims a folder of checkpoints: two trainings would go on from each other's and overwrite them. It is held as long as the file lives,
/// which goes with the process, however that ends.
///
/// # Errors
/// The folder cannot be opened, or another training holds it.
pub fn claim(folder: &Path) -> io::Result<File> {
    let folder = File::open(folder)?;
    match folder.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::other("another training writes to it: wait for its end, or give another one"))
        }
        // Not held where the file system has no locks.
        _ => Ok(folder),
    }
}
