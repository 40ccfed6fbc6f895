//! The file that a checkpoint is written to before it gets its name, and the removal of those whose writers were killed.
//!
//! Never removes the file of a living writer: each holds a lock on its file, which goes with the process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::host;

/// Not every network file system tells one host of the locks of another: a file of another host must also have been left
/// alone for so long. A checkpoint is written in seconds.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Names that are tried. Between making and locking a file another program may take it for a dead one's, once in a blue moon.
const ATTEMPTS: usize = 8;

/// A file of this process alone, removed with this value unless it was renamed.
pub(super) struct Temporary {
    pub(super) path: PathBuf,
    _lock: File,
}

impl Temporary {
    pub(super) fn create(folder: &Path, epoch: usize) -> io::Result<Temporary> {
        for _ in 0..ATTEMPTS {
            let path = folder.join(name(epoch));
            let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
            match file.try_lock() {
                Ok(()) if file.metadata()?.nlink() == 0 => {}
                Err(TryLockError::WouldBlock) => {}
                // Not held where the file system has no locks.
                _ => return Ok(Temporary { path, _lock: file }),
            }
        }
        Err(io::Error::other("another program keeps removing the temporary file"))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename there is nothing to remove, and that is no matter.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Two hosts that share the folder may have the same pid; not at the same nanosecond as well.
fn name(epoch: usize) -> String {
    let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!(".checkpoint-{epoch}.{}.{}-{nanoseconds}.tmp", host::name().replace('/', "-"), std::process::id())
}

/// The host in a name, empty in those of older trainers. `None` for a name that is none of ours.
fn host_of(name: &str) -> Option<&str> {
    let (epoch, rest) = name.strip_prefix(".checkpoint-")?.strip_suffix(".tmp")?.split_once('.')?;
    let (host, writer) = rest.rsplit_once('.').unwrap_or(("", rest));
    let (pid, nanoseconds) = writer.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    [epoch, pid, nanoseconds].into_iter().all(is_number).then_some(host)
}

/// Removes what writers that were killed left in this folder. Whose writer may be alive stays.
pub fn sweep(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(host) = name.to_str().and_then(host_of) else { continue };
        if entry.file_type().is_ok_and(|kind| kind.is_file()) && is_abandoned(&entry.path(), host) == Some(true) {
            // The next run tries again.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether the lock of a file is free, and its writer was on this host or has not written for long. `None` where that
/// cannot be told.
fn is_abandoned(path: &Path, host: &str) -> Option<bool> {
    let file = OpenOptions::new().write(true).open(path).ok()?;
    file.try_lock().ok()?;
    let is_old = |modified: SystemTime| modified.elapsed().is_ok_and(|age| age > ABANDONED);
    Some(host == host::name() || file.metadata().ok()?.modified().is_ok_and(is_old))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_dead_writer_left_goes_and_a_living_ones_stays() {
        let folder = tempfile::tempdir().unwrap();
        let living = Temporary::create(folder.path(), 3).unwrap();
        let dead = folder.path().join(name(4));
        std::fs::write(&dead, "half of a checkpoint").unwrap();
        for stranger in ["checkpoint-4.safetensors", ".checkpoint-4.tmp", ".checkpoint-x.here.1-2.tmp", "notes.tmp"] {
            std::fs::write(folder.path().join(stranger), "not ours to remove").unwrap();
        }
        std::fs::create_dir(folder.path().join(name(5))).unwrap();
        let before = left(folder.path()).len();
        sweep(folder.path());
        assert_eq!((left(folder.path()).len(), dead.exists(), living.path.exists()), (before - 1, false, true));
        drop(living);
        assert_eq!(left(folder.path()).len(), before - 2);
        sweep(&folder.path().join("gone"));
    }

    #[test]
    fn what_another_host_left_goes_when_it_was_not_touched_for_long() {
        let folder = tempfile::tempdir().unwrap();
        let long_ago = SystemTime::now() - 2 * ABANDONED;
        let make = |name: &str, modified: SystemTime| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(modified).unwrap();
            file
        };
        // Of another host with dots in its name, and of an older trainer, which names none.
        for name in [".checkpoint-1.node-7.cluster.org.77-123.tmp", ".checkpoint-1.77-123.tmp"] {
            make(name, SystemTime::now());
            sweep(folder.path());
            assert_eq!(left(folder.path()), [name], "it may be alive");
            let file = make(name, long_ago);
            file.lock().unwrap();
            sweep(folder.path());
            assert_eq!(left(folder.path()), [name], "it is alive");
            drop(file);
            sweep(folder.path());
            assert_eq!(left(folder.path()), [""; 0]);
        }
    }
}
