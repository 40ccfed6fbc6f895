//! The temporary folder that a recording is unpacked into, and those that a killed lab has left behind.
//!
//! Never removes what may be in use: a living lab holds a lock on a file in its folder, and the kernel gives that back when the
//! lab ends, however it ends.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;

use crate::host::process;

/// Of every such folder, also of those that labs without locks made.
const PREFIX: &str = "hvd-lab-replay-";
const LOCK: &str = "in-use.lock";
/// A folder without a lock is of an older lab, or just being made.
const SURELY_MADE: Duration = Duration::from_secs(60 * 60);
/// Another lab may sweep a new folder away in the moment before its lock is taken.
const TRIES: usize = 5;

/// Folders of this process, for a program that ends without dropping what it has.
static LIVING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Remove all that this process has unpacked: nothing is played any more.
pub fn remove_unpacked() {
    // Where a thread fell while it held the list, the next lab sweeps.
    if let Ok(mut living) = LIVING.try_lock() {
        std::mem::take(&mut *living).iter().for_each(|folder| drop(fs::remove_dir_all(folder)));
    }
}

/// A folder of its own, which goes with this.
#[derive(Debug)]
pub struct Unpacked {
    folder: tempfile::TempDir,
    /// `None` on a file system without locks.
    _lock: Option<Flock<File>>,
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        if let Ok(mut living) = LIVING.lock() {
            living.remove(self.path());
        }
    }
}

impl Unpacked {
    /// An empty folder beside others of its kind. What dead labs of this user left there goes.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub(super) fn new() -> io::Result<Unpacked> {
        Unpacked::new_in(&std::env::temp_dir())
    }

    fn new_in(place: &Path) -> io::Result<Unpacked> {
        sweep(place);
        for _ in 0..TRIES {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
            let lock = lock(&folder.path().join(LOCK), true);
            // Whoever had the lock before has removed the folder.
            if lock.as_ref().is_ok_and(|lock| lock.metadata().is_ok_and(|file| file.nlink() > 0)) {
                return Ok(Unpacked::of(folder, lock.ok()));
            }
            if lock.is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock) && folder.path().is_dir() {
                return Ok(Unpacked::of(folder, None));
            }
        }
        Err(io::Error::other("another program removes each new folder there"))
    }

    fn of(folder: tempfile::TempDir, lock: Option<Flock<File>>) -> Unpacked {
        if let Ok(mut living) = LIVING.lock() {
            living.insert(folder.path().to_owned());
        }
        Unpacked { folder, _lock: lock }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn lock(path: &Path, create: bool) -> io::Result<Flock<File>> {
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).write(true).create(create).mode(0o600).custom_flags(flags).open(path)?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into())
}

/// Remove the folders of labs that are gone. What cannot be removed stays: the next lab tries again.
fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let folder = entry.path();
        let is_ours = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw());
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) || !is_ours {
            continue;
        }
        match lock(&folder.join(LOCK), false) {
            // Held until the folder is gone.
            Ok(_lock) => drop(fs::remove_dir_all(&folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_left(&folder) => drop(fs::remove_dir_all(&folder)),
            Err(_) => {}
        }
    }
}

/// An older lab took no lock, but it kept the events open for as long as it played them.
fn is_left(folder: &Path) -> bool {
    let modified = fs::metadata(folder).and_then(|found| found.modified());
    let age = modified.ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
    age.is_some_and(|age| age > SURELY_MADE) && !process::is_open(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn old(folder: &Path) {
        let before = SystemTime::now() - 2 * SURELY_MADE;
        File::open(folder).unwrap().set_modified(before).unwrap();
    }

    #[test]
    fn what_a_dead_lab_left_is_swept_and_what_is_in_use_stays() {
        let place = tempfile::tempdir().unwrap();
        let living = Unpacked::new_in(place.path()).unwrap();
        let at = |name: &str| place.path().join(format!("{PREFIX}{name}"));
        for name in ["killed", "older", "older-in-use", "being-made"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("events.jsonl"), "{}").unwrap();
        }
        // Its lab is gone, and the lock with it.
        fs::write(at("killed").join(LOCK), "").unwrap();
        let _played = File::open(at("older-in-use").join("events.jsonl")).unwrap();
        old(&at("older"));
        old(&at("older-in-use"));
        // What only has the name is none of ours.
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join(LOCK), "").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), at("link")).unwrap();
        fs::write(at("file"), "").unwrap();
        fs::create_dir(place.path().join("other")).unwrap();

        let next = Unpacked::new_in(place.path()).unwrap();
        let is_there = ["killed", "older", "older-in-use", "being-made", "link", "file"].map(|name| at(name).exists());
        // Other systems do not say that nobody has it open.
        let older = !cfg!(target_os = "linux");
        assert_eq!(is_there, [false, older, true, true, true, true]);
        assert!(living.path().is_dir() && next.path().is_dir() && elsewhere.path().join(LOCK).exists());
        let (first, second) = (living.path().to_owned(), next.path().to_owned());
        drop((living, next));
        assert!(!first.exists() && !second.exists() && place.path().join("other").is_dir());
    }

    #[test]
    fn many_labs_at_once_take_no_folder_from_each_other() {
        let place = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let own = Unpacked::new_in(place.path()).unwrap();
                        fs::write(own.path().join("events.jsonl"), "{}").unwrap();
                        assert!(own.path().join("events.jsonl").exists());
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
