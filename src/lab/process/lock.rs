//! The lock of a run folder: its holder may supervise the run, start its supervisor, or record that it has none.
//!
//! Never replaced while it is held: a lock on a file that is renamed over stays with the old one. A supervisor holds it for
//! as long as it lives, and gets it from the process that starts it, so that the run is locked without a gap.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::host::{owners, read};

const NAME: &str = "lock";
/// A process that only [looks](held) has it for less than this.
const PATIENCE: Duration = Duration::from_millis(50);

/// Held until it is dropped here and wherever it was handed to.
#[derive(Debug)]
pub struct RunLock {
    file: File,
    path: PathBuf,
}

/// Whether a lock is held, as far as is known without taking it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    Yes,
    No,
    /// There is no lock file, or this file system has no locks.
    Unknown,
}

/// Which step failed, and on which file.
#[derive(Debug, thiserror::Error)]
#[error("{what} {}: {cause}", path.display())]
pub struct LockError {
    pub what: &'static str,
    pub path: PathBuf,
    pub cause: io::Error,
}

impl LockError {
    /// The step that fails on a file system without locks.
    pub const NO_LOCKS: &str = "cannot lock";

    /// For `map_err`.
    fn at(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LockError {
        move |cause| LockError { what, path: path.to_owned(), cause }
    }
}

/// Whether anybody holds the lock of this folder, in whatever container, and on whatever host where the file system says so.
pub fn held(folder: &Path) -> Held {
    let Ok(file) = read::open(&folder.join(NAME)) else { return Held::Unknown };
    match file.try_lock_shared() {
        Ok(()) => Held::No,
        Err(TryLockError::WouldBlock) => Held::Yes,
        Err(TryLockError::Error(_)) => Held::Unknown,
    }
}

impl RunLock {
    /// Take the lock of a run folder; `None` if another process has it.
    ///
    /// # Errors
    /// There is no such folder, or its file system has no locks.
    pub fn take(folder: &Path) -> Result<Option<RunLock>, LockError> {
        let path = folder.join(NAME);
        let open = |writing| {
            let mut options = OpenOptions::new();
            owners::open(&path, options.read(true).write(writing).create(writing).truncate(false), 0)
        };
        // An existing file can be locked on a full disk and in a read-only folder, too.
        let file = open(true).or_else(|error| open(false).map_err(|_| error)).map_err(LockError::at("cannot open", &path))?;
        RunLock { file, path }.locked()
    }

    /// The lock that the parent process has handed over as standard input; otherwise as [`RunLock::take`].
    ///
    /// # Errors
    /// As [`RunLock::take`].
    pub fn take_over(folder: &Path) -> Result<Option<RunLock>, LockError> {
        let path = folder.join(NAME);
        let handed = io::stdin().as_fd().try_clone_to_owned().map(|file| RunLock { file: file.into(), path });
        match handed {
            Ok(lock) if lock.identity().is_ok_and(|identity| identity.is_in_place()) => {
                // Programs that are started from here must not hold it as well.
                let nothing = File::open("/dev/null").map_err(LockError::at("cannot open", Path::new("/dev/null")))?;
                nix::unistd::dup2_stdin(nothing).map_err(|error| LockError::at("cannot let go of", &lock.path)(error.into()))?;
                lock.locked()
            }
            _ => RunLock::take(folder),
        }
    }

    /// Take the lock from a supervisor that will never let go of it: on a host that is gone, on a file system that does not
    /// know. If it lives after all, it finds that the lock is not its own any more, and ends.
    ///
    /// # Errors
    /// As [`RunLock::take`].
    pub fn seize(folder: &Path) -> Result<Option<RunLock>, LockError> {
        let path = folder.join(NAME);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LockError::at("cannot remove", &path)(error)),
            _ => RunLock::take(folder),
        }
    }

    fn locked(self) -> Result<Option<RunLock>, LockError> {
        let begin = Instant::now();
        loop {
            match self.file.try_lock() {
                // Between opening and locking it, the folder may have been moved away.
                Ok(()) => return Ok(self.identity()?.is_in_place().then_some(self)),
                Err(TryLockError::Error(cause)) => return Err(LockError { what: LockError::NO_LOCKS, path: self.path, cause }),
                Err(TryLockError::WouldBlock) if begin.elapsed() > PATIENCE => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// To find out later whether it is still the lock of the folder.
    ///
    /// # Errors
    /// The system's.
    pub fn identity(&self) -> Result<LockIdentity, LockError> {
        let metadata = self.file.metadata().map_err(LockError::at("cannot look at", &self.path))?;
        Ok(LockIdentity { path: self.path.clone(), device: metadata.dev(), inode: metadata.ino() })
    }

    /// As the standard input of a process, which [takes it over](RunLock::take_over).
    pub fn hand_over(self) -> Stdio {
        self.file.into()
    }
}

/// Which file a lock is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockIdentity {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl LockIdentity {
    /// Whether the folder is still where it was, and the lock still that of its supervisor: it may have been removed,
    /// moved, or given up by another host.
    pub fn is_in_place(&self) -> bool {
        match fs::metadata(&self.path) {
            Ok(metadata) => (metadata.dev(), metadata.ino()) == (self.device, self.inode),
            // Only what is known to be gone is gone: a file server may be out of reach for a while.
            Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Once it is let go of. A process that another test is just starting has a copy of all files until its program begins.
    fn held_in_the_end(folder: &Path) -> Held {
        let begin = Instant::now();
        while held(folder) == Held::Yes && begin.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        held(folder)
    }

    #[test]
    fn one_at_a_time_has_it_and_others_see_that() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(held(folder.path()), Held::Unknown);
        let lock = RunLock::take(folder.path()).unwrap().unwrap();
        assert_eq!(held(folder.path()), Held::Yes);
        assert!(RunLock::take(folder.path()).unwrap().is_none());
        drop(lock);
        assert_eq!(held_in_the_end(folder.path()), Held::No);
        assert!(RunLock::take(folder.path()).unwrap().is_some());
    }

    #[test]
    fn it_stays_with_the_process_that_it_was_handed_to() {
        let folder = tempfile::tempdir().unwrap();
        let lock = RunLock::take(folder.path()).unwrap().unwrap();
        let mut command = std::process::Command::new("sleep");
        let mut child = command.arg("60").stdin(lock.hand_over()).spawn().unwrap();
        // The command has a copy for as long as it is there.
        drop(command);
        let while_it_lives = held(folder.path());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((while_it_lives, held_in_the_end(folder.path())), (Held::Yes, Held::No));
    }

    #[test]
    fn a_folder_that_went_or_was_replaced_is_noticed() {
        let home = tempfile::tempdir().unwrap();
        let (folder, moved) = (home.path().join("0001"), home.path().join("elsewhere"));
        fs::create_dir(&folder).unwrap();
        let lock = RunLock::take(&folder).unwrap().unwrap();
        let identity = lock.identity().unwrap();
        assert!(identity.is_in_place());
        fs::rename(&folder, &moved).unwrap();
        assert!(!identity.is_in_place());
        fs::create_dir(&folder).unwrap();
        let other = RunLock::take(&folder).unwrap();
        assert!(other.is_some() && !identity.is_in_place());
        fs::remove_dir_all(&folder).unwrap();
        fs::rename(&moved, &folder).unwrap();
        assert!(identity.is_in_place());
        let seized = RunLock::seize(&folder).unwrap();
        assert!(seized.is_some() && !identity.is_in_place());
    }
}
