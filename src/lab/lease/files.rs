//! Locks and tickets as files of several users in one folder.
//!
//! Another user's file is opened for reading only (`fs.protected_regular` refuses more in such folders), and no link is followed.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::libc::{O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::queue::{Allocation, Entry};
use crate::host::files;

/// Bytes of a ticket that are read: far more than one has.
const MOST_BYTES: u64 = 16 << 10;
/// Names in a folder that are looked at.
const MOST_NAMES: usize = 10_000;
/// A run locks its ticket at once: an unlocked one of this age was left by a process that was killed.
const LEFT_OVER: Duration = Duration::from_secs(2);
/// For all runs with devices to notice that their locks are gone, and to make new ones: they look about once a second.
const SETTLED: Duration = Duration::from_secs(3);

/// A folder that all users may write to, in which each may remove only their own files.
///
/// # Errors
/// It cannot be made, or is something else.
pub(super) fn common_folder(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path).is_err() {
        // Made under another name, so that no other user finds it before its permissions are set.
        let aside = path.with_file_name(unique(".new"));
        DirBuilder::new().mode(0o700).create(&aside)?;
        // By its descriptor: another user may have put a link in its place by now.
        let made = OpenOptions::new()
            .read(true)
            .custom_flags(O_NOFOLLOW | O_DIRECTORY)
            .open(&aside)
            .and_then(|folder| folder.set_permissions(Permissions::from_mode(0o1777)))
            .and_then(|()| Ok(renameat_with(CWD, &aside, CWD, path, RenameFlags::NOREPLACE)?));
        if made.is_err() {
            let _ = fs::remove_dir(&aside);
        }
        // Another may have been faster.
        made.or_else(|error| if fs::symlink_metadata(path).is_ok() { Ok(()) } else { Err(error) })?;
    }
    if fs::symlink_metadata(path)?.is_dir() {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder, or a link to one"))
    }
}

/// The lock of this file, which is made if need be; `None` while another process has it.
///
/// # Errors
/// It can neither be opened nor made, or this file system has no locks.
pub(super) fn try_lock(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = open_or_make(path)?;
        match file.try_lock() {
            // The folder may have been cleaned between opening and locking.
            Ok(()) if is_in_place(&file, path) => return Ok(Some(file)),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// A lock file that has just been made proves nothing yet: its folder may have been cleaned, and the run that has the device makes a
/// new lock at its next look.
#[derive(Debug, Default)]
pub(super) struct Fresh {
    /// When each file was seen first, with its number.
    seen: BTreeMap<PathBuf, (u64, Instant)>,
}

impl Fresh {
    /// Whether a lock on this file, which is made if need be, may be new.
    ///
    /// # Errors
    /// It can neither be opened nor made.
    pub fn is_fresh(&mut self, path: &Path) -> io::Result<bool> {
        let metadata = open_or_make(path)?.metadata()?;
        // Never written to since it was made. The clock of a file system may be another one.
        if metadata.modified().ok().and_then(|made| made.elapsed().ok()).is_some_and(|age| age >= SETTLED) {
            return Ok(false);
        }
        let seen = self.seen.entry(path.to_owned()).or_insert_with(|| (metadata.ino(), Instant::now()));
        if seen.0 != metadata.ino() {
            *seen = (metadata.ino(), Instant::now());
        }
        Ok(seen.1.elapsed() < SETTLED)
    }
}

/// The process that has the lock of a file: its number, if the system knows it; `None` if the file is not locked.
pub(super) fn holder(path: &Path) -> Option<Option<u32>> {
    let file = open(path).ok()?;
    if !files::is_held(&file) {
        return None;
    }
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    // "1: FLOCK  ADVISORY  WRITE 27090 fe:00:5619732 0 EOF"
    let pid = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, place, ..] = words[..] else { return None };
        (place.rsplit(':').next() == Some(&inode)).then(|| pid.parse().ok())?
    });
    Some(pid)
}

fn open_or_make(path: &Path) -> io::Result<File> {
    loop {
        match open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        match make(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")) }
}

/// A new file that all may read and its maker may write, whatever the umask.
fn make(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).custom_flags(O_NOFOLLOW).open(path)?;
    file.set_permissions(Permissions::from_mode(0o644))?;
    Ok(file)
}

/// Whether this very file is at that path.
pub(super) fn is_in_place(file: &File, path: &Path) -> bool {
    let same = |there: fs::Metadata, own: fs::Metadata| (there.dev(), there.ino()) == (own.dev(), own.ino());
    fs::symlink_metadata(path).ok().zip(file.metadata().ok()).is_some_and(|(there, own)| same(there, own))
}

/// A ticket with this text, locked before anybody can see it. Returns it with its path.
///
/// # Errors
/// The system's; nothing is left of it then.
pub(super) fn new_ticket(folder: &Path, text: &str) -> io::Result<(File, PathBuf)> {
    let aside = folder.join(unique(".ticket"));
    let mut file = make(&aside)?;
    let path = folder.join(unique(""));
    let placed = file
        .try_lock()
        .map_err(io::Error::from)
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&aside, &path));
    match placed {
        Ok(()) => Ok((file, path)),
        Err(error) => {
            let _ = fs::remove_file(&aside);
            Err(error)
        }
    }
}

/// The tickets of those who live, in the order in which they came. Those of the dead are removed where that is allowed.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn living(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder)?.take(MOST_NAMES).flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = entry.path();
        let Ok(file) = open(&path) else { continue };
        let Ok(metadata) = file.metadata() else { continue };
        if !files::is_held(&file) {
            let is_hidden = name.starts_with('.');
            let age = metadata.modified().ok().and_then(|made| made.elapsed().ok());
            if !is_hidden || age.is_some_and(|age| age > LEFT_OVER) {
                // In such a folder this works for one's own only.
                let _ = fs::remove_file(&path);
            }
        } else if !name.starts_with('.') {
            let mut text = String::new();
            // A ticket that is not text, or incomplete, is no allocation.
            let _ = file.take(MOST_BYTES).read_to_string(&mut text);
            if let Some(allocation) = Allocation::parse(&text) {
                // When it came into the folder is what the system says, not its owner.
                let place = (metadata.ctime(), metadata.ctime_nsec(), name.clone());
                found.insert(place, Entry { ticket: name, user: metadata.uid(), allocation });
            }
        }
    }
    Ok(found.into_values().collect())
}

/// A name that no other process here and none of before has, in the order of time.
fn unique(prefix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}{now:020}-{}-{}-{count}", nix::unistd::getuid(), std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_holder_until_its_last_copy_is_closed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("GPU-a.lock");
        let held = try_lock(&path).unwrap().expect("free");
        assert!(try_lock(&path).unwrap().is_none());
        let copy = held.try_clone().unwrap();
        drop(held);
        assert!(try_lock(&path).unwrap().is_none(), "a copy, such as a launcher's, still holds it");
        drop(copy);
        assert!(try_lock(&path).unwrap().is_some());
    }

    #[test]
    fn whoever_has_a_lock_is_told_by_number() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("core-0.lock");
        assert_eq!(holder(&path), None, "there is no such lock");
        let held = try_lock(&path).unwrap();
        let pid = cfg!(target_os = "linux").then(std::process::id);
        assert_eq!(holder(&path), Some(pid));
        drop(held);
        assert_eq!(holder(&path), None);
    }

    #[test]
    fn a_lock_that_was_just_made_is_fresh_until_all_have_looked() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("core-0.lock");
        let mut fresh = Fresh::default();
        assert!(fresh.is_fresh(&path).unwrap());
        let old = SystemTime::now() - SETTLED;
        File::open(&path).unwrap().set_modified(old).unwrap();
        assert!(!fresh.is_fresh(&path).unwrap());
        // A clock that is wrong holds nobody up: the time since the first look counts.
        File::open(&path).unwrap().set_modified(SystemTime::now() + Duration::from_secs(9999)).unwrap();
        let mut seen = Fresh { seen: [(path.clone(), (fs::metadata(&path).unwrap().ino(), Instant::now() - SETTLED))].into() };
        assert!(!seen.is_fresh(&path).unwrap() && Fresh::default().is_fresh(&path).unwrap());
        fs::remove_file(&path).unwrap();
        fs::write(place.path().join("other"), "").unwrap();
        assert!(fresh.is_fresh(&path).unwrap(), "made anew");
    }

    #[test]
    fn what_is_no_file_is_no_lock() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir(path("folder")).unwrap();
        std::os::unix::fs::symlink(path("elsewhere"), path("link")).unwrap();
        nix::unistd::mkfifo(&path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        for name in ["folder", "link", "pipe"] {
            assert!(try_lock(&path(name)).is_err(), "{name}");
        }
        assert!(!path("elsewhere").exists(), "no link is followed");
    }

    #[test]
    fn a_common_folder_is_open_to_all_and_no_link() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("share");
        common_folder(&folder).unwrap();
        common_folder(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o7777, 0o1777);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing is left beside it");
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(common_folder(&link).is_err());
    }

    fn ticket(folder: &Path, run: &str) -> (File, PathBuf) {
        new_ticket(folder, &format!(r#"{{"run": "{run}", "count": 1, "pid": 7, "asked_s": 5.0}}"#)).unwrap()
    }

    fn runs(folder: &Path) -> Vec<String> {
        living(folder).unwrap().into_iter().map(|entry| entry.allocation.request.run).collect()
    }

    #[test]
    fn tickets_stand_in_the_order_in_which_they_came_and_the_dead_go() {
        let place = tempfile::tempdir().unwrap();
        let mut made: Vec<_> = (0..5).map(|number| ticket(place.path(), &format!("{number}"))).collect();
        assert_eq!(runs(place.path()), ["0", "1", "2", "3", "4"]);
        drop(made.remove(2));
        drop(made.remove(0));
        assert_eq!(runs(place.path()), ["1", "3", "4"]);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 3);
    }

    #[test]
    fn what_a_stranger_leaves_there_is_passed_over() {
        let place = tempfile::tempdir().unwrap();
        let (_own, _) = ticket(place.path(), "own");
        let (_no_allocation, _) = new_ticket(place.path(), "count: 1").unwrap();
        fs::write(place.path().join("00000000000000000000-0-1-0"), "dead").unwrap();
        fs::create_dir(place.path().join("00000000000000000001")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", place.path().join("00000000000000000002")).unwrap();
        assert_eq!(runs(place.path()), ["own"]);
    }
}
